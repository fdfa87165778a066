// One judged sentence: its outcome, its entities shown in it, and all details in a dialog.

import { caseAddress, viewAddress, type Context } from "./context.ts";
import { label, type Assistant, type Entity } from "./data.ts";
import { h, type Child } from "./dom.ts";
import { place } from "./place.ts";
import { code, said } from "./text.ts";
import { outcome, sideWords, strip, tally } from "./widgets.ts";

const MOST_RUNS = 60;

export type Outcome = "right" | "wrong" | "not understood" | "not judged" | "unclear";

/** What came of a sentence's intent, after the fallback. */
export function outcomeOf(assistant: Assistant, number: number): Outcome {
  const { sentences } = assistant;
  if (sentences.expected[number] === -1) return "not judged";
  if (isUnclear(assistant, number)) return "unclear";
  if (sentences.fallback[number]) return "not understood";
  return isRight(assistant, number) ? "right" : "wrong";
}

/** Whether the intent is right, before the fallback. */
export function isRight({ sentences }: Assistant, number: number): boolean {
  return sentences.expected[number] === sentences.predicted[number];
}

/** Whether its runs do not say how it fares. */
export function isUnclear({ sentences }: Assistant, number: number): boolean {
  return sentences.repeated[number] === "unclear";
}

/** Its outcome as it is shown: what its runs say and how many pass, if it was run several times. */
export function shownOutcome(assistant: Assistant, number: number): Child[] {
  const repeated = assistant.sentences.repeated[number];
  const runs = runsOf(assistant, number);
  const word = repeated && repeated !== "failed" ? repeated : outcomeOf(assistant, number);
  return [outcome(word, word === "not understood" ? unsure(assistant, number) : word), tally([runs.filter(Boolean).length, runs.length])];
}

/** Of a sentence that the fallback answers: that its intent is right nevertheless, and why that does not help. */
function unsure(assistant: Assistant, number: number): string {
  if (!isRight(assistant, number)) return "not understood";
  const now = assistant.threshold?.now ?? null;
  return now !== null && (assistant.sentences.confidence[number] ?? 0) < now ? `right, below ${now.toFixed(2)}` : "right, too unsure";
}

function runsOf({ sentences }: Assistant, number: number): boolean[] {
  return [...(sentences.runs[number] ?? "")].map((run) => run === "P");
}

/** Whether anything of the sentence changed sides against the base. */
export function hasChanged({ sentences }: Assistant, number: number): boolean {
  return Boolean(sentences.side[number] || sentences.entities[number]?.side || sentences.responses[number]?.side);
}

/** In words, what of the sentence changed sides. */
export function changeWords({ sentences }: Assistant, number: number): string {
  const parts = [
    sideWords(sentences.side[number] ?? ""),
    sentences.entities[number]?.side && `entities ${sideWords(sentences.entities[number].side)}`,
    sentences.responses[number]?.side && `response ${sideWords(sentences.responses[number].side)}`,
  ];
  return parts.filter(Boolean).join(", ");
}

export function sentencePlace(assistant: Assistant, number: number, how = {}): HTMLElement {
  const { sentences } = assistant;
  return place(assistant, { file: sentences.file[number] ?? -1, line: sentences.line[number] ?? 0 }, how);
}

/** A plain list of sentences, each a link to its details. */
export function sentenceList(context: Context, numbers: number[], below: (number: number) => Node | null = () => null): HTMLElement {
  const { assistant } = context;
  return h(
    "ul",
    { class: "entries" },
    ...numbers.map((number) =>
      h(
        "li",
        {},
        h("a", { href: caseAddress(context, assistant.sentences.key[number] ?? "") }, said(assistant.sentences.text[number] ?? "")),
        ` (${(assistant.sentences.confidence[number] ?? 0).toFixed(2)}) `,
        sentencePlace(assistant, number),
        below(number),
      ),
    ),
  );
}

/** The sentence with its entities marked; of those that overlap the first is, the others follow the sentence. */
export function withEntities(text: string, entities: Entity[]): HTMLElement {
  const characters = [...text]; // borders count code points
  const parts: Child[] = [];
  const others: Child[] = [];
  let end = 0;
  for (const entity of [...entities].sort((a, b) => a.start - b.start)) {
    const shown = marked(characters, entity);
    if (entity.start < end || entity.end > characters.length || entity.end <= entity.start) {
      others.push(others.length ? " " : " · also ", shown);
      continue;
    }
    parts.push(said(characters.slice(end, entity.start).join(""), { kind: "plain" }), shown);
    end = entity.end;
  }
  parts.push(said(characters.slice(end).join(""), { kind: "plain" }));
  return h("span", { class: "with-entities" }, ...parts, ...others);
}

function marked(characters: string[], { start, end, label: name, value }: Entity): HTMLElement {
  const stands = value ? ` = ${value}` : "";
  const told = h("span", { class: "entity-label" }, said(name, { kind: "plain" }), said(stands, { kind: "plain" }));
  return h("span", { class: "entity" }, said(characters.slice(start, end).join("")), told);
}

/** All that is known of a sentence, in a dialog; closing it calls `closed`. */
export function sentenceDialog(context: Context, number: number, closed: () => void): HTMLDialogElement {
  const { assistant } = context;
  const { sentences } = assistant;
  const text = sentences.text[number] ?? "";
  const rows: [string, Child | Child[]][] = [
    ["expected", code(label(assistant, sentences.expected[number] ?? -1))],
    ["got", [code(label(assistant, sentences.predicted[number] ?? -1)), ` (${(sentences.confidence[number] ?? 0).toFixed(2)})`]],
    ["outcome", [...shownOutcome(assistant, number), sentences.fallback[number] ? ": too unsure, so the fallback follows" : ""]],
  ];
  const side = changeWords(assistant, number);
  const base = sentences.base[number];
  if (assistant.compared) {
    rows.push(["against the base", [side || "did not change sides", base === undefined ? "" : [", was "], base !== undefined && code(label(assistant, base))].flat()]);
  }
  const runs = runsOf(assistant, number);
  if (runs.length > 0) rows.push(["its runs", strip([runs.filter(Boolean).length, runs.length], runs.slice(0, MOST_RUNS))]);
  rows.push(["where", sentencePlace(assistant, number)]);
  const close = h("button", { class: "close", "aria-label": "Close" }, "✕");
  const dialog = h(
    "dialog",
    { class: "details", "aria-labelledby": "sentence-title" },
    close,
    h("h2", { id: "sentence-title" }, said(text)),
    h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, ...[value].flat())])),
    entitiesPart(assistant, number),
    responsePart(assistant, number),
    neighboursPart(assistant, number),
    rankingPart(assistant, number),
    h("p", { class: "note" }, h("a", { href: caseAddress(context, sentences.key[number] ?? "") }, "Link to this sentence"), " · ", h("a", { href: viewAddress(context, "sentences", { intent: label(assistant, sentences.expected[number] ?? -1), all: "1" }) }, "All sentences of the intent")),
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed();
  });
  return dialog;
}

function entitiesPart(assistant: Assistant, number: number): Child {
  const found = assistant.sentences.entities[number];
  if (!found) return null;
  const text = assistant.sentences.text[number] ?? "";
  const by = [...new Set(found.found.map((one) => one.by).filter(Boolean))].join(", ");
  return h(
    "section",
    {},
    h("h3", {}, "Entities ", outcome(found.right ? "right" : "wrong")),
    h("dl", {}, h("dt", {}, "expected"), h("dd", {}, withEntities(text, found.expected)), h("dt", {}, "found"), h("dd", {}, withEntities(text, found.found), by && ` by ${by}`)),
  );
}

function responsePart(assistant: Assistant, number: number): Child {
  const found = assistant.sentences.responses[number];
  return found && h("section", {}, h("h3", {}, "Response ", outcome(found.expected === found.selected ? "right" : "wrong")), h("dl", {}, h("dt", {}, "expected"), h("dd", {}, code(found.expected)), h("dt", {}, "selected"), h("dd", {}, code(found.selected || "none"))));
}

function neighboursPart(assistant: Assistant, number: number): Child {
  const near = assistant.sentences.neighbours[number];
  const { training } = assistant;
  if (!near?.length) return null;
  return h(
    "section",
    {},
    h("h3", {}, "Nearest training sentences"),
    h(
      "ol",
      { class: "entries" },
      ...near.map(([one, similarity]) =>
        h("li", {}, said(training.text[one] ?? ""), " ", code(label(assistant, training.intent[one] ?? -1)), ` (${similarity.toFixed(2)}) `, place(assistant, { file: training.file[one] ?? -1, line: training.line[one] ?? 0 })),
      ),
    ),
  );
}

function rankingPart(assistant: Assistant, number: number): Child {
  const ranking = assistant.sentences.ranking[number];
  if (!ranking?.length) return null;
  const bar = (share: number): HTMLElement => {
    const filled = h("span", { class: "bar-filled" });
    filled.style.width = `${100 * share}%`;
    return h("span", { class: "bar", "aria-hidden": "true" }, filled);
  };
  return h(
    "section",
    {},
    h("h3", {}, "Most likely intents"),
    h("ul", { class: "ranking" }, ...ranking.map(([one, confidence]) => h("li", {}, code(label(assistant, one)), bar(confidence), h("span", {}, confidence.toFixed(2))))),
  );
}
