// Small parts that several views show.

import type { Context } from "./context.ts";
import { h, type Child } from "./dom.ts";
import { visible } from "./text.ts";

/** A difference with a sign, a class for its colour, and words: never the colour alone. */
export function change(difference: string, judgement: string, words: string): HTMLElement {
  const shape = { better: "▲", worse: "▼" }[judgement] ?? "";
  const kind = shape ? judgement : "same";
  return h(
    "span",
    { class: `change ${kind}` },
    difference,
    shape && h("span", { "aria-hidden": "true" }, ` ${shape}`),
    words && h("span", { class: "told" }, ` ${words}`),
  );
}

const SIGNS: Record<string, string> = {
  passed: "✓", right: "✓", failed: "✕", wrong: "✕", error: "✕", warning: "!", misunderstood: "!", info: "i",
  skipped: "–", "not understood": "?", unclear: "?", flaky: "~", worse: "▼", regressed: "✕", "not answered": "✕",
};

/** An outcome: a sign and its word. */
export function outcome(word: string, told = word): HTMLElement {
  return h("span", { class: `outcome ${word.replaceAll(" ", "-")}` }, h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[word] ?? "·"), " ", told);
}

const SIDES: Record<string, string> = {
  worse: "newly wrong", better: "newly right", new: "new and wrong", edited: "edited",
};

/** How a sentence changed sides, in words; nothing where it did not. */
export function sideWords(side: string): string {
  return SIDES[side] ?? "";
}

/** Say that a list is empty, and offer all where only what changed is shown. */
export function nothing(context: Context, words: string): HTMLElement {
  const all = context.onlyChanged && h("button", { class: "more", onclick: () => context.showAll() }, "Show all");
  return h("p", { class: "nothing" }, words, " ", all);
}

/** Say that what an address names is not here. */
export function missing({ assistant }: Context, what: string): HTMLElement {
  const where = assistant.left_out.length ? "is not on this page, which does not have all details; report.json has" : "is not in this report";
  return h("p", { class: "callout", role: "status" }, `The ${what} that the address names ${where}.`);
}

/** A choice of one of a few words. */
export function sideSwitch<Word extends string>(name: string, words: Word[], chosen: Word, choose: (word: Word) => void): HTMLElement {
  const group = h("div", { class: "switch", role: "group", "aria-label": name });
  const buttons = words.map((word) => {
    const button = h("button", { "aria-pressed": String(word === chosen) }, word);
    button.addEventListener("click", () => {
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
      choose(word);
    });
    return button;
  });
  group.append(...buttons);
  return group;
}

/** A form field with its label. */
export function field(name: string, input: HTMLElement): HTMLElement {
  return h("label", { class: "field" }, h("span", {}, name), input);
}

/** A list to choose from; the first choice is all. */
export function choice(options: [value: string, words: string][], chosen: string, choose: (value: string) => void): HTMLSelectElement {
  const select = h("select", {}, ...options.map(([value, words]) => h("option", { value, selected: value === chosen }, visible(words))));
  select.addEventListener("change", () => choose(select.value));
  return select;
}

/** What unfolds; its content is made when it does. */
export function folded(summary: Child[], content: () => Child[], attributes: Record<string, string> = {}): HTMLDetailsElement {
  const details = h("details", attributes, h("summary", {}, ...summary));
  details.addEventListener("toggle", () => details.append(...content().filter((one): one is Node => one instanceof Node)), { once: true });
  return details;
}

/** How many of its runs passed, unless all did: `19/24`. */
export function tally([passed, of]: [number, number]): Child {
  return passed < of && h("span", { class: "tally", title: `${passed} of ${of} runs pass` }, ` ${passed}/${of}`);
}

/** How it fared when it was repeated, run by run; an older report has the numbers alone. */
export function strip([passed, of]: [number, number], runs: boolean[], where = ""): HTMLElement {
  const cells = runs.map((good) => h("span", { class: good ? "run passed" : "run failed" }, good ? "✓" : "✕"));
  return h("p", { class: "strip" }, h("span", { "aria-hidden": "true" }, ...cells), ` passed ${passed} of ${of} times${where}`);
}
