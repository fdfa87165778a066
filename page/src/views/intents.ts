// Intents: their figures, the confusions as ranked pairs, and the matrix.

import { viewAddress, type Context } from "../context.ts";
import { label, type Intent } from "../data.ts";
import { fill, h } from "../dom.ts";
import { Matrix, type Cells, type Side } from "../matrix.ts";
import { confusedTogether } from "../order.ts";
import { place } from "../place.ts";
import { sentenceList } from "../sentence.ts";
import { sortable, type Column } from "../table.ts";
import { code, count, figure, said, signed } from "../text.ts";
import { change, nothing, sideSwitch } from "../widgets.ts";

const SIDES: Side[] = ["now", "base", "difference"];
const PAIRS_AT_FIRST = 15;
const LARGEST_TABLE = 200;
const LARGEST_MATRIX = 500; // a canvas has its limits, and so has who looks at it

export function intentsView(context: Context): HTMLElement {
  return h(
    "section",
    { "aria-labelledby": "intents-title" },
    h("h1", { id: "intents-title" }, "Intents"),
    figures(context),
    pairs(context),
    matrixPart(context),
  );
}

// --- figures ---------------------------------------------------------------------------------------------------------

function figures(context: Context): HTMLElement {
  const { assistant, route } = context;
  const { compared } = assistant;
  const rows = assistant.intents.filter((row) => !context.onlyChanged || changed(row));
  if (!rows.length) return nothing(context, context.onlyChanged ? "The F1 of no intent changed, and none is new." : "No intent was judged.");
  const columns: Column<Intent>[] = [
    {
      title: "intent",
      key: (row) => label(assistant, row.name),
      cell: (row) =>
        h("span", {}, h("a", { href: viewAddress(context, "sentences", { intent: label(assistant, row.name) }) }, code(label(assistant, row.name))), row.shared && "*"),
    },
    { title: "support", number: true, key: (row) => row.support ?? -1, cell: (row) => row.support ?? "–" },
    { title: "precision", number: true, key: (row) => row.precision ?? -1, cell: (row) => figure(row.precision) },
    { title: "recall", number: true, key: (row) => row.recall ?? -1, cell: (row) => figure(row.recall) },
    { title: "F1", number: true, key: (row) => row.f1 ?? -1, cell: (row) => figure(row.f1) },
  ];
  if (compared) {
    columns.push(
      { title: "base", number: true, key: (row) => row.base_f1 ?? -1, cell: (row) => figure(row.base_f1) },
      { title: "change", key: difference, cell: (row) => changeCell(row) },
    );
  }
  const sorted = (by: string): void => context.remember({ sort: by });
  return h(
    "section",
    { class: "figures" },
    sortable("Figures of each intent", columns, rows, { sort: route.query.get("sort") ?? (compared ? "change" : "F1"), sorted }),
    rows.some((row) => row.shared) && h("p", { class: "note" }, "The figures of intents marked * are of the sentences that both sides judged."),
  );
}

function difference(row: Intent): number {
  return row.f1 === null || row.base_f1 === null ? 0 : row.f1 - row.base_f1;
}

function changed(row: Intent): boolean {
  return row.new !== "" || (row.change !== "" && row.change !== "±0");
}

function changeCell(row: Intent): HTMLElement {
  if (row.new) return h("span", {}, row.new);
  if (row.f1 === null || row.base_f1 === null) return h("span", {}, "not judged on both sides");
  if (!row.change) return h("span", {}, "not comparable");
  return change(row.change, row.judgement, row.worth === "unchanged" ? "" : row.worth);
}

// --- pairs -----------------------------------------------------------------------------------------------------------

interface Pair {
  expected: number;
  predicted: number;
  now: number;
  base: number;
}

function allPairs(context: Context): Pair[] {
  const found = new Map<string, Pair>();
  const add = (side: "now" | "base", confusions: [number, number, number][]): void => {
    for (const [expected, predicted, times] of confusions) {
      const pair = found.get(`${expected} ${predicted}`) ?? { expected, predicted, now: 0, base: 0 };
      pair[side] += times;
      found.set(`${expected} ${predicted}`, pair);
    }
  };
  add("now", context.assistant.confusions);
  add("base", context.assistant.base_confusions);
  return [...found.values()];
}

function pairs(context: Context): HTMLElement {
  const { assistant } = context;
  const { query } = context.route;
  const showMore = (): void => {
    context.remember({ more: "1" });
    draw(all.length);
  };
  const all = allPairs(context)
    .filter((pair) => (context.onlyChanged ? pair.now !== pair.base : pair.now > 0 || pair.base > 0))
    .sort((a, b) => (context.onlyChanged ? Math.abs(b.now - b.base) - Math.abs(a.now - a.base) : 0) || b.now - a.now);
  const section = h("section", { class: "pairs", "aria-labelledby": "pairs-title" });
  const title = h("h2", { id: "pairs-title" }, context.onlyChanged ? "Confusions that changed" : "Confused intents, the most frequent first");
  const draw = (most: number): void => {
    const columns: Column<Pair>[] = [
      { title: "expected", key: (pair) => label(assistant, pair.expected), cell: (pair) => code(label(assistant, pair.expected)) },
      { title: "got", key: (pair) => label(assistant, pair.predicted), cell: (pair) => code(label(assistant, pair.predicted)) },
      { title: "times", number: true, key: (pair) => pair.now, cell: (pair) => pair.now },
    ];
    if (assistant.compared) {
      columns.push(
        { title: "base", number: true, key: (pair) => pair.base, cell: (pair) => pair.base },
        { title: "change", number: true, key: (pair) => pair.now - pair.base, cell: (pair) => signed(pair.now - pair.base, 0) },
      );
    }
    columns.push({ title: "sentences", cell: (pair) => sentencesLink(context, pair) });
    const more = all.length - most;
    fill(
      section,
      title,
      all.length ? sortable("Confused intents", columns, all.slice(0, most), { sort: query.get("pairs") ?? "", sorted: (by) => context.remember({ pairs: by }) }) : nothing(context, context.onlyChanged ? "No confusion changed." : "No intent is confused with another."),
      more > 0 && h("button", { class: "more", onclick: showMore }, `Show ${count(more, "more pair")}`),
    );
  };
  draw(query.has("more") ? all.length : PAIRS_AT_FIRST);
  return section;
}

function sentencesLink(context: Context, pair: Pair): HTMLElement | string {
  if (!pair.now) return "none now";
  const filters = { intent: label(context.assistant, pair.expected), got: label(context.assistant, pair.predicted), all: "1" };
  return h("a", { href: viewAddress(context, "sentences", filters) }, `show ${pair.now}`);
}

// --- matrix ----------------------------------------------------------------------------------------------------------

function matrixPart(context: Context): HTMLElement {
  const { assistant } = context;
  const found = allPairs(context);
  const pairOf = new Map(found.map((pair) => [`${pair.expected} ${pair.predicted}`, pair]));
  const confused = [...new Set(found.flatMap((pair) => [pair.expected, pair.predicted]))].filter((one) => one >= 0).sort((a, b) => a - b);
  const everything = [...new Set([...assistant.intents.map((row) => row.name), ...confused])];
  const both: [number, number, number][] = found.map((pair) => [pair.expected, pair.predicted, pair.now + pair.base]);
  const holder = h("div");
  const cut = h("div");
  const listed = h("div", { class: "cell-sentences", "aria-live": "polite" });
  const equal = h("div");
  const { query } = context.route;
  let side = SIDES.find((one) => assistant.compared && one === query.get("side")) ?? "now";
  let all = confused.length === 0 || query.get("matrix") === "all";

  const draw = (): void => {
    const order = confusedTogether(all ? everything : confused, both);
    fill(cut, order.length > LARGEST_MATRIX && h("p", { class: "note" }, `The first ${LARGEST_MATRIX} of ${count(order.length, "intent")}, those that are confused most.`));
    const cells: Cells = {
      order: order.slice(0, LARGEST_MATRIX),
      name: (one) => label(assistant, one),
      now: (expected, predicted) => pairOf.get(`${expected} ${predicted}`)?.now ?? 0,
      base: (expected, predicted) => pairOf.get(`${expected} ${predicted}`)?.base ?? 0,
      compared: assistant.compared,
    };
    fill(holder, new Matrix(cells, side, choose).element);
    fill(equal, asTable(cells, side));
  };
  const choose = (expected: number, predicted: number): void => {
    context.remember({ expected: label(assistant, expected), got: label(assistant, predicted) });
    fill(listed, cellSentences(context, expected, predicted));
  };
  const switches = h(
    "div",
    { class: "switches" },
    assistant.compared &&
      sideSwitch<Side>("Which side", SIDES, side, (chosen) => {
        side = chosen;
        context.remember({ side: side === "now" ? "" : side });
        draw();
      }),
    sideSwitch("Which intents", ["confused only", `all ${everything.length}`], all ? `all ${everything.length}` : "confused only", (chosen) => {
      all = chosen !== "confused only";
      context.remember({ matrix: all ? "all" : "" });
      draw();
    }),
  );
  draw();
  const cell = [query.get("expected"), query.get("got")].map((name) => (name === null ? -1 : assistant.labels.indexOf(name)));
  if (cell[0]! >= 0 && cell[1]! >= 0) fill(listed, cellSentences(context, cell[0]!, cell[1]!));
  return h("section", { "aria-labelledby": "matrix-title" }, h("h2", { id: "matrix-title" }, "Confusion matrix"), switches, cut, holder, listed, equal);
}

function cellSentences(context: Context, expected: number, predicted: number): HTMLElement {
  const { assistant } = context;
  const { sentences, training } = assistant;
  const within = sentences.text.map((_, number) => number).filter((number) => sentences.expected[number] === expected && sentences.predicted[number] === predicted);
  const near = (number: number): HTMLElement =>
    h(
      "ul",
      {},
      ...(sentences.neighbours[number] ?? []).map(([one, similarity]) =>
        h("li", {}, `like (${similarity.toFixed(2)}) `, code(label(assistant, training.intent[one] ?? -1)), ": ", h("q", {}, said(training.text[one] ?? "")), " ", place(assistant, { file: training.file[one] ?? -1, line: training.line[one] ?? 0 })),
      ),
    );
  return h(
    "div",
    {},
    h("h3", {}, "expected ", code(label(assistant, expected)), ", got ", code(label(assistant, predicted)), `: ${count(within.length, "sentence")}`),
    sentenceList(context, within.slice(0, 100), near),
    within.length > 100 && h("p", { class: "note" }, `… and ${within.length - 100} more, in the view of sentences`),
  );
}

/** The same as the canvas, for who does not see it; made when it is asked for. */
function asTable(cells: Cells, side: Side): HTMLElement {
  const details = h("details", {}, h("summary", {}, "The matrix as a table"));
  details.addEventListener(
    "toggle",
    () => {
      const { order, name } = cells;
      const shown = order.slice(0, LARGEST_TABLE);
      const value = (expected: number, predicted: number): string => {
        const [now, base] = [cells.now(expected, predicted), cells.base(expected, predicted)];
        const told = side === "now" ? now : side === "base" ? base : now - base;
        return told === 0 ? "·" : side === "difference" ? signed(told, 0) : String(told);
      };
      details.append(
        h(
          "div",
          { class: "scroll", tabindex: 0, role: "group", "aria-label": "the matrix as a table" },
          h(
            "table",
            { class: "plain-matrix" },
            h("caption", {}, `Rows: expected, columns: got, ${side}${order.length > shown.length ? `; the first ${shown.length} of ${order.length} intents` : ""}`),
            h("thead", {}, h("tr", {}, h("td"), ...shown.map((one) => h("th", { scope: "col" }, code(name(one)))))),
            h("tbody", {}, ...shown.map((row) => h("tr", {}, h("th", { scope: "row" }, code(name(row))), ...shown.map((column) => h("td", { class: "number" }, row === column ? "–" : value(row, column)))))),
          ),
        ),
      );
    },
    { once: true },
  );
  return details;
}
