// Conversations: stories, end-to-end cases and batch cases as transcripts, with the first difference marked.

import { caseAddress, type Context } from "../context.ts";
import type { Conversation, Turn } from "../data.ts";
import { fill, h, type Child } from "../dom.ts";
import { place } from "../place.ts";
import { code, count, difference, said } from "../text.ts";
import { choice, field, missing, nothing, outcome, strip, tally } from "../widgets.ts";

const KINDS: Record<Conversation["kind"], string> = { story: "story", case: "end-to-end case", batch: "batch case" };
const AT_FIRST = 200;
const MOST_RUNS = 60;
const OPEN_IF = 5; // so few are read one after the other anyway

export function conversationsView(context: Context): HTMLElement {
  const { assistant, route } = context;
  const query = route.query;
  const told = h("p", { class: "told", "aria-live": "polite" });
  const list = h("div", { class: "conversations" });
  let wanted = route.case; // is shown whatever is filtered, until somebody filters

  const draw = (most = AT_FIRST): void => {
    const all = assistant.conversations.filter((one) => one.key === wanted || matches(one, query, context.onlyChanged));
    // The wanted one stands among those in sight.
    const shown = all.slice(0, Math.max(most, all.findIndex((one) => one.key === wanted) + 1));
    const added = all.some((one) => one.key === wanted && !matches(one, query, context.onlyChanged));
    fill(told, `${all.length.toLocaleString("en")} of ${count(assistant.conversations.length, "conversation")}${context.onlyChanged ? ", only what changed, is unclear or fails more often" : ""}${added ? ", and the one that the address names" : ""}`);
    fill(
      list,
      ...shown.map((one) => item(context, one, one.key === wanted || all.length <= OPEN_IF || one.outcome === "unclear" || failsMoreOften(one))),
      all.length === 0 && nothing(context, context.onlyChanged ? "No conversation changed sides, is unclear or fails more often." : "No conversation is like this."),
      all.length > shown.length && h("button", { class: "more", onclick: () => draw(all.length) }, `Show ${count(all.length - shown.length, "more conversation")}`),
    );
  };
  const set = (name: string, value: string): void => {
    context.remember({ [name]: value });
    wanted = "";
    draw();
  };
  draw();
  addEventListener("beforeprint", () => {
    for (const details of list.querySelectorAll(".conversation")) details.dispatchEvent(new Event("paper"));
  });
  const section = h("section", { "aria-labelledby": "conversations-title" }, h("h1", { id: "conversations-title" }, "Conversations"), form(context, query, set), told, list);
  if (wanted) requestAnimationFrame(() => goTo(context, section, wanted));
  return section;
}

function goTo(context: Context, section: HTMLElement, key: string): void {
  const found = section.querySelector<HTMLDetailsElement>(`details[data-key="${CSS.escape(key)}"]`);
  if (!found) {
    section.prepend(missing(context, "conversation"));
    return;
  }
  found.querySelector("summary")?.focus({ preventScroll: true });
  found.scrollIntoView({ block: "start" });
}

// Whether a larger part of its runs fails than on the base, whatever it counts as.
function failsMoreOften(one: Conversation): boolean {
  const share = (runs: boolean[]): number => runs.filter((passed) => !passed).length / runs.length;
  const there = one.base?.runs ?? [];
  return one.runs.length > 0 && there.length > 0 && share(one.runs) > share(there);
}

function matches(one: Conversation, query: URLSearchParams, onlyChanged: boolean): boolean {
  const text = (query.get("text") ?? "").toLowerCase();
  return (
    (!onlyChanged || one.side !== "" || one.outcome === "unclear" || failsMoreOften(one)) &&
    (!query.get("kind") || one.kind === query.get("kind")) &&
    (!query.get("outcome") || [one.outcome, one.repeated].includes(query.get("outcome") ?? "")) &&
    (!text || [one.name, ...one.turns.map((turn) => turn.expected)].some((part) => part.toLowerCase().includes(text)))
  );
}

function form(context: Context, query: URLSearchParams, set: (name: string, value: string) => void): HTMLElement {
  const listed = context.assistant.conversations;
  const kinds = [...new Set(listed.map((one) => one.kind))].map((kind): [string, string] => [kind, KINDS[kind]]);
  const outcomes = [...new Set(listed.flatMap((one) => (one.repeated ? [one.outcome, one.repeated] : [one.outcome])))].sort().map((word): [string, string] => [word, word]);
  const search = h("input", { type: "search", value: query.get("text") ?? "", placeholder: "name or words" });
  search.addEventListener("input", () => set("text", search.value));
  const element = h(
    "form",
    { class: "filters", role: "search", "aria-label": "Filter conversations" },
    field("search", search),
    kinds.length > 1 && field("kind", choice([["", "all"], ...kinds], query.get("kind") ?? "", (kind) => set("kind", kind))),
    field("outcome", choice([["", "all"], ...outcomes], query.get("outcome") ?? "", (chosen) => set("outcome", chosen))),
  );
  element.addEventListener("submit", (event) => event.preventDefault());
  return element;
}

// --- one conversation ------------------------------------------------------------------------------------------------

function item(context: Context, one: Conversation, open: boolean): HTMLElement {
  const side = one.side && testSide(one);
  const details = h(
    "details",
    { class: "conversation", "data-key": one.key },
    h(
      "summary",
      {},
      outcome(one.repeated || one.outcome),
      one.attempts && tally(one.attempts),
      " ",
      h("strong", {}, said(one.name)),
      " ",
      h("span", { class: "note" }, KINDS[one.kind]),
      side && h("span", { class: "flag" }, side),
    ),
  );
  const unfold = (): void => {
    if (details.children.length === 1) details.append(transcript(context, one));
  };
  details.addEventListener("toggle", unfold, { once: true });
  // Paper does not unfold: what fails is there.
  if (one.outcome !== "passed") details.addEventListener("paper", unfold);
  if (open) details.open = true;
  return details;
}

/** How a test changed sides, in words. */
function testSide({ side, outcome: now }: Conversation): string {
  const word = now === "misunderstood" ? "misunderstood" : "failing";
  return { worse: `newly ${word}`, new: `new and ${word}`, better: "newly passing", edited: "edited", "": "" }[side];
}

function transcript(context: Context, one: Conversation): HTMLElement {
  const { assistant } = context;
  return h(
    "div",
    { class: "transcript" },
    h("p", { class: "note" }, place(assistant, one.place), " · ", h("a", { href: caseAddress(context, one.key) }, "link to this"), baseWords(one)),
    one.attempts && strip(one.attempts, one.runs.slice(0, MOST_RUNS)),
    one.base && one.base.runs.length > 0 && strip([one.base.runs.filter(Boolean).length, one.base.runs.length], one.base.runs.slice(-MOST_RUNS), " on the base"),
    one.reason && h("p", {}, said(one.reason)),
    one.remarks.length > 0 && h("ul", { class: "entries" }, ...one.remarks.map((remark) => h("li", {}, said(remark)))),
    one.of_failed_run && h("p", { class: "side-title" }, "the first run that failed"),
    one.turns.length > 0 ? beside(turns(context, one, one.turns), baseTurns(context, one)) : h("p", { class: "note" }, "The transcript did not fit into this file; report.json has it."),
    one.events.length > 0 && h("details", { class: "events" }, h("summary", {}, one.kind === "case" ? "How its actions were run" : "Slots and forms on the way"), h("ul", { class: "entries" }, ...one.events.map((event) => h("li", {}, code(event))))),
  );
}

function turns(context: Context, { place: where }: Conversation, listed: Turn[]): HTMLElement {
  const first = listed.findIndex((turn) => turn.actual !== null);
  return h("ol", { class: "turns" }, ...listed.map((turn, number) => line(context, turn, number === first, where.file)));
}

/** How a test that changed went on the base; nothing where it went there as it does now, policies and slots aside. */
function baseTurns(context: Context, one: Conversation): HTMLElement | null {
  const { base, turns: now } = one;
  if (!base || base.turns.length === 0) return null;
  const words = (listed: Turn[]): string => JSON.stringify(listed.map((turn) => ({ ...turn, place: null, heard_before: "", details: [] })));
  return words(base.turns) === words(now) ? null : turns(context, one, base.turns);
}

/** Two transcripts in columns, each with its heading; on a narrow screen one below the other. */
function beside(now: HTMLElement, base: HTMLElement | null): HTMLElement {
  if (!base) return now;
  const side = (title: string, listed: HTMLElement): HTMLElement => h("div", { class: "side", role: "group", "aria-label": `transcript: ${title}` }, h("p", { class: "side-title" }, title), listed);
  return h("div", { class: "beside" }, side("base", base), side("now", now));
}

function baseWords({ base, outcome: now, repeated }: Conversation): Child {
  if (!base) return null;
  if (base.outcome === "not there") return " · new in this change";
  const got = base.actual ? [", got ", code(base.actual)] : [];
  return h("span", {}, base.outcome === (repeated || now) && !base.actual ? " · on the base the same: " : " · on the base: ", outcome(base.outcome), ...got);
}

const SPEAKERS = { user: "user", bot: "bot", check: "" };

function line(context: Context, turn: Turn, first: boolean, file: number): HTMLElement {
  const kind = `turn ${turn.who}${turn.outcome ? ` ${turn.outcome}` : ""}${first ? " first" : ""}`;
  const speaker = SPEAKERS[turn.who] || turn.label;
  return h(
    "li",
    { class: kind },
    h("span", { class: "speaker" }, parts(speaker)),
    h(
      "div",
      { class: "words" },
      first && h("p", { class: "first-difference" }, "first difference"),
      turn.actual === null ? said(turn.expected) : both(turn.expected, turn.actual),
      heard(turn),
      turn.who !== "user" && turn.outcome && turn.outcome !== "passed" && turn.actual === null && h("span", {}, " ", outcome(turn.outcome)),
      turn.details.length > 0 && h("details", {}, h("summary", {}, turn.who === "user" || turn.label === "opening" ? "what happened then" : "details"), h("dl", {}, ...turn.details.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, said(value))]))),
    ),
    turn.place ? place(context.assistant, turn.place, { within: file }) : null,
  );
}

/** A name in parts, between which a line may end: after an underscore, not within a word. */
function parts(name: string): Child[] {
  return name.split(/(?<=_)/).flatMap((part, number) => (number ? [h("wbr"), part] : [part]));
}

function both(expected: string, actual: string): HTMLElement {
  const [wanted, got] = difference(expected, actual || "nothing");
  return h(
    "dl",
    { class: "both" },
    h("dt", {}, "expected"),
    h("dd", { class: "expected" }, wanted),
    h("dt", {}, "got"),
    h("dd", { class: "got" }, got),
  );
}

function heard(turn: Turn): Child {
  if (!turn.heard) return null;
  const before = turn.heard_before && turn.heard_before !== turn.heard;
  return h("p", { class: before ? "heard otherwise" : "heard" }, "understood as ", code(turn.heard), before && [" ; on the base as "].join(""), before && code(turn.heard_before));
}
