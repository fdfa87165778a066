// A table of any number of rows of equal height: only those in sight are elements.

import { h } from "./dom.ts";

const AROUND = 12; // rows beyond the edge, so that scrolling and Tab find some
const AT_ONCE = 14; // rows of the table's own height
const ON_PAPER = 1000;

export class VirtualTable {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private readonly table: HTMLTableElement;
  private readonly above = h("tr", { class: "spacer", "aria-hidden": "true" }, h("td"));
  private readonly below = h("tr", { class: "spacer", "aria-hidden": "true" }, h("td"));
  private readonly rows = new Map<number, HTMLElement>();
  private readonly notOnPaper = h("p", { class: "on-paper note" });
  private items: number[] = [];
  private printing = false;
  private waiting = 0;

  /** `draw` makes the cells of an item; `height` is that of a row, which the style gives it too. */
  constructor(
    name: string,
    titles: string[],
    private readonly draw: (item: number) => HTMLElement[],
  ) {
    this.table = h(
      "table",
      { class: "virtual" },
      h("caption", { class: "aloud" }, name),
      h("thead", {}, h("tr", {}, ...titles.map((title) => h("th", { scope: "col" }, title)))),
      this.body,
    );
    this.element = h("div", { class: "scroller", tabindex: 0, role: "group", "aria-label": name }, this.table, this.notOnPaper);
    this.element.addEventListener("scroll", () => this.soon(), { passive: true });
    new ResizeObserver(() => this.soon()).observe(this.element);
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  show(items: number[]): void {
    this.items = items;
    this.rows.clear();
    this.table.setAttribute("aria-rowcount", String(items.length + 1));
    this.element.scrollTop = 0;
    this.body.replaceChildren(this.above, this.below);
    this.update();
  }

  /** Paper does not scroll: it gets the rows themselves. */
  private print(printing: boolean): void {
    if (!this.element.isConnected) return;
    this.printing = printing;
    const more = this.items.length - ON_PAPER;
    this.notOnPaper.textContent = more > 0 ? `… and ${more.toLocaleString("en")} more` : "";
    this.update();
  }

  private soon(): void {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.update());
  }

  private update(): void {
    const height = this.rowHeight();
    this.element.style.maxHeight = `${height * AT_ONCE + 40}px`;
    const [first, end] = this.range(height);
    this.body.prepend(this.above);
    this.body.append(this.below);
    const outside = [...this.rows].filter(([place]) => place < first || place >= end);
    for (const [place, row] of outside) {
      // The row that has the focus stays, beyond the spacer. It is never moved, since that would take its focus.
      if (!row.contains(document.activeElement)) {
        row.remove();
        this.rows.delete(place);
      } else if (place < first) row.after(this.above);
      else row.before(this.below);
    }
    let before: Element = this.above;
    for (let place = first; place < end; place++) {
      const row = this.rows.get(place) ?? this.make(place);
      if (before.nextElementSibling !== row) before.after(row);
      before = row;
    }
    const kept = (side: Element | null): number => (side?.matches("tr:not(.spacer)") ? 1 : 0);
    this.setHeight(this.above, (first - kept(this.above.previousElementSibling)) * height);
    this.setHeight(this.below, (this.items.length - end - kept(this.below.nextElementSibling)) * height);
  }

  /** The rows that are to be elements: from, and up to but not. */
  private range(height: number): [number, number] {
    if (this.printing) return [0, Math.min(this.items.length, ON_PAPER)];
    const top = Math.max(0, Math.floor(this.element.scrollTop / height));
    const seen = Math.min(AT_ONCE + 2, Math.ceil((this.element.clientHeight || height * AT_ONCE) / height));
    return [Math.max(0, top - AROUND), Math.min(this.items.length, top + seen + AROUND)];
  }

  private make(place: number): HTMLElement {
    const row = h("tr", { "aria-rowindex": place + 2 }, ...this.draw(this.items[place] ?? 0));
    this.rows.set(place, row);
    return row;
  }

  private setHeight(spacer: HTMLElement, height: number): void {
    (spacer.firstElementChild as HTMLElement).style.height = `${height}px`;
    spacer.hidden = height === 0;
  }

  private rowHeight(): number {
    const height = parseFloat(getComputedStyle(this.element).getPropertyValue("--row"));
    return height || 40;
  }
}
