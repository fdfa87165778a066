// The confusion matrix on a canvas: expected intents are rows, predicted ones columns. The pointer or the arrow keys
// mark a cell with its row and column; a click or Enter lists its sentences.

import { fill, h } from "./dom.ts";
import { code, signed, visible } from "./text.ts";

export type Side = "now" | "base" | "difference";

export interface Cells {
  /** Intents in their order. */
  order: number[];
  name(label: number): string;
  /** How often `predicted` came for `expected`; `null` where that is not known. */
  now(expected: number, predicted: number): number;
  base(expected: number, predicted: number): number;
  compared: boolean;
}

const SMALLEST = 6;
const LARGEST = 30;
const NUMBERED = 16; // cells of this size hold their number
const NAMED = 11; // rows of this height have their name beside them
const MARGIN = 150;

export class Matrix {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", {
    tabindex: 0,
    role: "application",
    "aria-roledescription": "confusion matrix",
    "aria-label": "Confusion matrix. Arrow keys move, Enter lists the sentences of the cell.",
  });
  private readonly told = h("p", { class: "told-cell", "aria-live": "polite" });
  private row = 0;
  private column = 0;
  private marked = false;
  private cell = LARGEST;
  private margin = 0;
  private drawn = 0;

  constructor(
    private readonly cells: Cells,
    private readonly side: Side,
    private readonly choose: (expected: number, predicted: number) => void,
  ) {
    this.element = h("div", { class: "matrix" }, this.told, h("div", { class: "scroll" }, this.canvas));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.mark(this.row, this.column, false));
    this.canvas.addEventListener("click", (event) => {
      if (this.point(event)) this.chooseMarked();
    });
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    this.canvas.addEventListener("focus", () => this.mark(this.row, this.column, true));
    this.canvas.addEventListener("blur", () => this.mark(this.row, this.column, false));
    new ResizeObserver(() => this.layOut()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.tell();
  }

  private value(expected: number, predicted: number): number {
    const { now, base } = this.cells;
    if (this.side === "now") return now(expected, predicted);
    if (this.side === "base") return base(expected, predicted);
    return now(expected, predicted) - base(expected, predicted);
  }

  private layOut(): void {
    const width = this.element.clientWidth;
    const number = this.cells.order.length;
    if (!width || !number) return;
    const wanted = Math.floor((width - MARGIN - 4) / number);
    this.cell = Math.max(SMALLEST, Math.min(LARGEST, wanted));
    this.margin = this.cell >= NAMED ? MARGIN : 0;
    const size = this.margin + this.cell * number + 2;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = size * ratio;
    this.canvas.height = size * ratio;
    this.canvas.style.width = `${size}px`;
    this.canvas.style.height = `${size}px`;
    this.draw();
  }

  private draw(): void {
    cancelAnimationFrame(this.drawn);
    this.drawn = requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    const { order, name } = this.cells;
    const colours = getComputedStyle(this.canvas);
    const colour = (variable: string): string => colours.getPropertyValue(variable).trim();
    const brush = this.canvas.getContext("2d")!;
    const ratio = devicePixelRatio || 1;
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    brush.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const { cell, margin } = this;
    const size = cell * order.length;
    brush.font = `${Math.min(12, cell)}px ui-sans-serif, system-ui, sans-serif`;
    brush.textBaseline = "middle";
    if (this.marked) {
      brush.fillStyle = colour("--band");
      brush.fillRect(0, margin + this.row * cell, margin + size, cell);
      brush.fillRect(margin + this.column * cell, 0, cell, margin + size);
    }
    const most = this.values().reduce((largest, value) => Math.max(largest, Math.abs(value)), 1);
    order.forEach((expected, row) => {
      order.forEach((predicted, column) => {
        const value = this.value(expected, predicted);
        const x = margin + column * cell;
        const y = margin + row * cell;
        if (row === column) {
          brush.fillStyle = colour("--line");
          brush.fillRect(x + 1, y + 1, cell - 1, cell - 1);
        }
        if (!value) return;
        const strength = 0.25 + 0.75 * Math.sqrt(Math.abs(value) / most);
        brush.globalAlpha = strength;
        brush.fillStyle = value < 0 ? colour("--better") : colour("--worse");
        brush.fillRect(x + 1, y + 1, cell - 1, cell - 1);
        brush.globalAlpha = 1;
        if (cell < NUMBERED) return;
        brush.fillStyle = strength > 0.6 ? colour("--paper") : colour("--text");
        brush.textAlign = "center";
        brush.fillText(this.side === "difference" ? signed(value, 0) : String(value), x + cell / 2 + 0.5, y + cell / 2 + 1);
      });
    });
    brush.strokeStyle = colour("--line");
    brush.strokeRect(margin + 0.5, margin + 0.5, size, size);
    if (margin) {
      order.forEach((label, place) => {
        const middle = margin + place * cell + cell / 2;
        const shown = shortened(brush, visible(name(label)), margin - 10);
        brush.fillStyle = colour("--text");
        brush.textAlign = "right";
        brush.fillText(shown, margin - 5, middle + 0.5);
        brush.save();
        brush.translate(middle, margin - 5);
        brush.rotate(-Math.PI / 2);
        brush.textAlign = "left";
        brush.fillText(shown, 0, 0.5);
        brush.restore();
      });
    }
    if (this.marked) {
      brush.strokeStyle = colour("--focus");
      brush.lineWidth = 2;
      brush.strokeRect(margin + this.column * cell, margin + this.row * cell, cell + 1, cell + 1);
      brush.lineWidth = 1;
    }
  }

  private values(): number[] {
    const { order } = this.cells;
    return order.flatMap((expected) => order.map((predicted) => this.value(expected, predicted)));
  }

  private point(event: MouseEvent): boolean {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - this.margin) / this.cell);
    const row = Math.floor((event.clientY - box.top - this.margin) / this.cell);
    const last = this.cells.order.length - 1;
    if (row < 0 || column < 0 || row > last || column > last) return false;
    this.mark(row, column, true);
    return true;
  }

  private press(event: KeyboardEvent): void {
    const last = this.cells.order.length - 1;
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      Home: [0, -last],
      End: [0, last],
      PageUp: [-last, 0],
      PageDown: [last, 0],
    };
    const step = steps[event.key];
    if (step) {
      const within = (place: number): number => Math.max(0, Math.min(last, place));
      this.mark(within(this.row + step[0]), within(this.column + step[1]), true);
    } else if (event.key === "Enter" || event.key === " ") {
      this.chooseMarked();
    } else return;
    event.preventDefault();
  }

  private mark(row: number, column: number, marked: boolean): void {
    if (row === this.row && column === this.column && marked === this.marked) return;
    this.row = row;
    this.column = column;
    this.marked = marked;
    this.tell();
    this.draw();
  }

  private tell(): void {
    const { order, name, now, base, compared } = this.cells;
    const expected = order[this.row];
    const predicted = order[this.column];
    if (!this.marked || expected === undefined || predicted === undefined) {
      fill(this.told, "Rows are expected intents, columns what was predicted. Point at a cell, or focus the matrix and use the arrow keys.");
      return;
    }
    const [was, is] = [base(expected, predicted), now(expected, predicted)];
    const times = compared ? `${is} now, ${was} on the base (${signed(is - was, 0)})` : `${is}`;
    const told = expected === predicted ? ["expected and got ", code(name(expected))] : [
      "expected ", code(name(expected)), ", got ", code(name(predicted)), `: ${times}`,
    ];
    fill(this.told, ...told);
  }

  private chooseMarked(): void {
    const expected = this.cells.order[this.row];
    const predicted = this.cells.order[this.column];
    if (expected !== undefined && predicted !== undefined) this.choose(expected, predicted);
  }
}

/** Cut a name so that it fits beside the rows. */
function shortened(brush: CanvasRenderingContext2D, name: string, width: number): string {
  if (brush.measureText(name).width <= width) return name;
  let kept = name;
  while (kept && brush.measureText(`${kept}…`).width > width) kept = kept.slice(0, -1);
  return `${kept}…`;
}
