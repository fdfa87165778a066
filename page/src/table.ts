// A table whose columns sort: a click on a heading, or Enter on it, sorts by that column, again the other way.

import { fill, h, type Child } from "./dom.ts";

export interface Column<Row> {
  title: string;
  number?: boolean;
  /** What it sorts by; without it the column does not sort. */
  key?: (row: Row) => number | string;
  cell: (row: Row) => Child | Child[];
}

/** Make a table; the first column names its rows. `sort` is a title, with a minus before it from large to small. */
export function sortable<Row>(
  caption: string,
  columns: Column<Row>[],
  rows: Row[],
  { sort = "", sorted = (_: string): void => undefined } = {},
): HTMLElement {
  const body = h("tbody");
  const head = h("tr");
  const table = h("table", {}, h("caption", { class: "aloud" }, caption), h("thead", {}, head), body);
  let by = sort;

  const draw = (): void => {
    const down = by.startsWith("-");
    const column = columns.find((one) => one.title === by.replace(/^-/, ""));
    const key = column?.key;
    const shown = key ? [...rows].sort((a, b) => (down ? -1 : 1) * compare(key(a), key(b))) : rows;
    fill(head, ...columns.map((one) => heading(one, one === column ? (down ? "descending" : "ascending") : null)));
    fill(body, ...shown.map((row) => h("tr", {}, ...columns.map((one, place) => cell(one, row, place === 0)))));
  };
  const heading = (column: Column<Row>, direction: string | null): HTMLElement => {
    const kind = { scope: "col", class: column.number && "number", "aria-sort": direction };
    if (!column.key) return h("th", kind, column.title);
    const button = h("button", { class: "sort" }, column.title, h("span", { "aria-hidden": "true" }, arrow(direction)));
    button.addEventListener("click", () => {
      const place = columns.indexOf(column);
      by = direction === "descending" ? column.title : direction === "ascending" ? `-${column.title}` : column.title;
      sorted(by);
      draw();
      head.children[place]?.querySelector("button")?.focus();
    });
    return h("th", kind, button);
  };
  draw();
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption }, table);
}

function cell<Row>(column: Column<Row>, row: Row, first: boolean): HTMLElement {
  const content = [column.cell(row)].flat();
  if (first) return h("th", { scope: "row" }, ...content);
  return h("td", { class: column.number && "number" }, ...content);
}

function arrow(direction: string | null): string {
  return direction === "descending" ? " ▼" : direction === "ascending" ? " ▲" : "";
}

function compare(one: number | string, other: number | string): number {
  return typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en");
}
