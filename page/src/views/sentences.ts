// Sentences: every judged one in a table that stays fast, with filters that stand in the address.

import { caseAddress, viewAddress, type Context } from "../context.ts";
import { label } from "../data.ts";
import { fill, h } from "../dom.ts";
import { addressed, filtersOf, matching, type Filters } from "../filters.ts";
import { changeWords, sentenceDialog, sentencePlace, shownOutcome, withEntities } from "../sentence.ts";
import { code, count, said } from "../text.ts";
import { thresholdPart } from "../threshold.ts";
import { VirtualTable } from "../virtual.ts";
import { choice, field, missing, nothing } from "../widgets.ts";

const OUTCOMES = ["right", "wrong", "not understood", "misclassified", "entities wrong"];
const REPEATED = ["flaky", "regressed", "worse", "unclear", "not answered"]; // offered where there are any
const CHANGES = ["newly wrong", "newly right", "new and wrong", "edited"];

export function sentencesView(context: Context): HTMLElement {
  const { assistant, route } = context;
  const filters = filtersOf(route.query);
  const told = h("p", { class: "told", "aria-live": "polite" });
  const table = new VirtualTable("Judged sentences", ["sentence", "expected", "got", "confidence", "outcome", ...(assistant.compared ? ["change"] : []), "where"], (number) => row(context, number));
  table.element.classList.toggle("with-sides", assistant.compared);
  const empty = h("div");

  const draw = (): void => {
    const found = matching(assistant, filters, context.onlyChanged);
    fill(told, summary(context, found.length));
    fill(empty, found.length === 0 && nothing(context, context.onlyChanged ? "No sentence that changed is like this." : "No sentence is like this."));
    table.element.hidden = found.length === 0;
    table.show(found);
  };
  const set = (changes: Partial<Filters>): void => {
    Object.assign(filters, changes);
    context.remember(addressed(filters));
    draw();
  };
  const section = h("section", { "aria-labelledby": "sentences-title" }, h("h1", { id: "sentences-title" }, "Sentences"), form(context, filters, set), told, table.element, empty, thresholdPart(context));
  requestAnimationFrame(draw); // rows are measured where they stand
  section.addEventListener("case", (event) => openCase(context, section, (event as CustomEvent<string>).detail));
  if (route.case) requestAnimationFrame(() => openCase(context, section, route.case));
  return section;
}

/** Show a sentence in a dialog, or say that it is not here; without a key close what is open. */
function openCase(context: Context, section: HTMLElement, key: string): void {
  for (const open of section.querySelectorAll<HTMLElement>("dialog, .callout")) open.remove();
  if (!key) return;
  const number = context.assistant.sentences.key.indexOf(key);
  if (number < 0) {
    section.prepend(missing(context, "sentence"));
    return;
  }
  const closed = (): void => {
    if (location.hash.includes("sentence-")) context.remember({}); // the view with its filters
  };
  const dialog = sentenceDialog(context, number, closed);
  section.append(dialog);
  dialog.showModal();
}

function summary(context: Context, found: number): string {
  const { sentences } = context.assistant;
  const listed = sentences.text.length;
  const missing = sentences.total > listed ? ` (of ${sentences.total.toLocaleString("en")} judged; the others did not fit into this file)` : "";
  return `${found.toLocaleString("en")} of ${count(listed, "sentence")}${missing}${context.onlyChanged ? ", only what changed" : ""}`;
}

function row(context: Context, number: number): HTMLElement[] {
  const { assistant } = context;
  const { sentences } = assistant;
  const entities = sentences.entities[number];
  const text = sentences.text[number] ?? "";
  const address = caseAddress(context, sentences.key[number] ?? "", context.route.query);
  const side = changeWords(assistant, number);
  return [
    h("th", { scope: "row" }, h("a", { href: address }, entities ? withEntities(text, entities.found) : said(text))),
    h("td", { class: "intent" }, code(label(assistant, sentences.expected[number] ?? -1))),
    h("td", { class: "intent got" }, code(label(assistant, sentences.predicted[number] ?? -1))),
    h("td", { class: "sure" }, (sentences.confidence[number] ?? 0).toFixed(2)),
    h("td", { class: "result" }, ...shownOutcome(assistant, number), entities?.right === false && h("span", { class: "flag" }, "entities wrong")),
    ...(assistant.compared ? [h("td", { class: "side", title: side || null }, side)] : []),
    h("td", { class: "where" }, sentencePlace(assistant, number, { short: true })),
  ];
}

function form(context: Context, filters: Filters, set: (changes: Partial<Filters>) => void): HTMLElement {
  const { assistant } = context;
  const { sentences } = assistant;
  const names = (numbers: number[]): [string, string][] => [
    ["", "all"],
    ...[...new Set(numbers)]
      .filter((one) => one >= 0)
      .map((one) => label(assistant, one))
      .sort((a, b) => a.localeCompare(b, "en"))
      .map((name): [string, string] => [name, name]),
  ];
  const files = [...new Set(sentences.file)].map((one) => assistant.files[one]?.path ?? "").sort();
  const repeated = new Set<string>(Object.values(sentences.repeated));
  const outcomes = [...OUTCOMES, ...REPEATED.filter((one) => repeated.has(one))];
  const same = (words: string[]): [string, string][] => [["", "all"], ...words.map((word): [string, string] => [word, word])];
  const search = h("input", { type: "search", value: filters.text, placeholder: "words in the sentence" });
  search.addEventListener("input", () => set({ text: search.value }));
  const bound = (name: "from" | "to", otherwise: number): HTMLInputElement => {
    const input = h("input", { type: "number", min: 0, max: 1, step: 0.05, value: filters[name] });
    input.addEventListener("input", () => set({ [name]: Number.isFinite(input.valueAsNumber) ? input.valueAsNumber : otherwise }));
    return input;
  };
  const element = h(
    "form",
    { class: "filters", role: "search", "aria-label": "Filter sentences" },
    field("search", search),
    field("expected", choice(names(sentences.expected), filters.intent, (intent) => set({ intent }))),
    field("got", choice(names(sentences.predicted), filters.got, (got) => set({ got }))),
    field("outcome", choice(same(outcomes), filters.outcome, (chosen) => set({ outcome: chosen }))),
    assistant.compared && field("change", choice(same(CHANGES), filters.change, (change) => set({ change }))),
    files.length > 1 && field("file", choice(same(files), filters.file, (file) => set({ file }))),
    field("confidence from", bound("from", 0)),
    field("to", bound("to", 1)),
    field("order", choice([["", "as in the files"], ["least sure", "least sure first"], ["most sure", "most sure first"]], filters.order, (order) => set({ order }))),
    h("a", { class: "clear", href: viewAddress(context, "sentences") }, "Clear filters"),
  );
  element.addEventListener("submit", (event) => event.preventDefault());
  return element;
}
