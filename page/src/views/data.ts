// Data: what validation found, what the tests reach, what was replaced and what was not run.

import type { Context } from "../context.ts";
import type { Coverage, Finding } from "../data.ts";
import { fill, h, type Child } from "../dom.ts";
import { place } from "../place.ts";
import { code, count, percent, said } from "../text.ts";
import { nothing, outcome, sideSwitch } from "../widgets.ts";

type Grouping = "by code" | "by file";

const WORST_FIRST = ["error", "warning", "info"];
const AT_FIRST = 200;

export function dataView(context: Context): HTMLElement {
  return h("section", { "aria-labelledby": "data-title" }, h("h1", { id: "data-title" }, "Data"), findingsPart(context), coveragePart(context), runPart(context));
}

// --- findings --------------------------------------------------------------------------------------------------------

function findingsPart(context: Context): HTMLElement {
  const { assistant } = context;
  const found = assistant.findings.filter((one) => !context.onlyChanged || one.new);
  const section = h("section", { "aria-labelledby": "findings-title" }, h("h2", { id: "findings-title" }, context.onlyChanged ? "New findings" : "Findings"));
  if (!found.length) {
    section.append(nothing(context, assistant.findings.length ? "Nothing new was found in the data." : "Nothing was found in the data."));
    return section;
  }
  const groups = h("div");
  const draw = (by: Grouping): void => fill(groups, ...grouped(context, found, by));
  const chosen: Grouping = context.route.query.get("by") === "file" ? "by file" : "by code";
  const choose = (by: Grouping): void => {
    context.remember({ by: by === "by file" ? "file" : "" });
    draw(by);
  };
  section.append(sideSwitch<Grouping>("Findings", ["by code", "by file"], chosen, choose), groups);
  draw(chosen);
  return section;
}

function grouped(context: Context, found: Finding[], by: Grouping): HTMLElement[] {
  const { assistant } = context;
  const groups = new Map<string, Finding[]>();
  for (const one of found) {
    const key = by === "by code" ? one.code : (assistant.files[one.place.file]?.path ?? "");
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const worst = (group: Finding[]): number => Math.min(...group.map((one) => WORST_FIRST.indexOf(one.severity)));
  return [...groups]
    .sort(([a, one], [b, other]) => worst(one) - worst(other) || other.length - one.length || a.localeCompare(b, "en"))
    .map(([key, group]) => groupPart(context, key, group, by === "by code"));
}

function groupPart(context: Context, key: string, group: Finding[], byCode: boolean): HTMLElement {
  const severity = WORST_FIRST.find((one) => group.some((finding) => finding.severity === one)) ?? "info";
  const manual = byCode ? context.assistant.manual[key] : undefined;
  return h(
    "details",
    { class: "group", open: severity === "error" },
    h("summary", {}, outcome(severity, severity === "info" ? "note" : severity), " ", code(key), " ", h("span", { class: "note" }, count(group.length, "finding"))),
    manual && h("p", { class: "manual" }, ...prose(manual)),
    ...firstOf(group, "more finding", (one) => finding(context, one, byCode)),
  );
}

/** A list whose first entries are shown, and a button that shows the others. */
function firstOf<Entry>(all: Entry[], what: string, written: (one: Entry) => HTMLElement): Child[] {
  const list = h("ul", { class: "entries" }, ...all.slice(0, AT_FIRST).map(written));
  if (all.length <= AT_FIRST) return [list];
  const button = h("button", { class: "more" }, `Show ${count(all.length - AT_FIRST, what)}`);
  button.addEventListener("click", () => {
    list.append(...all.slice(AT_FIRST).map(written));
    button.remove();
  });
  return [list, button];
}

/** Our own text, in which what is between backticks is code. */
function prose(text: string): Child[] {
  return text.split(/`([^`]+)`/).map((part, number) => (number % 2 ? code(part) : said(part)));
}

function finding(context: Context, one: Finding, byCode: boolean): HTMLElement {
  const { assistant } = context;
  return h(
    "li",
    {},
    ...(byCode ? [] : [outcome(one.severity, one.severity === "info" ? "note" : one.severity), " ", code(one.code), " "]),
    said(one.message),
    " ",
    place(assistant, one.place),
    one.new && assistant.compared && h("span", { class: "flag" }, "new"),
    one.others.length > 0 && h("ul", {}, ...one.others.map((other) => h("li", {}, "also ", place(assistant, other)))),
    !byCode && one.hint && h("p", { class: "hint" }, ...prose(one.hint)),
  );
}

// --- coverage --------------------------------------------------------------------------------------------------------

function coveragePart(context: Context): Child {
  const { assistant } = context;
  if (!assistant.coverage.length) return null;
  const rows = assistant.coverage.map((one) => (context.onlyChanged ? changedOf(one) : one)).filter(({ items }) => items.length);
  return h(
    "section",
    { "aria-labelledby": "coverage-title" },
    h("h2", { id: "coverage-title" }, context.onlyChanged ? "What changed, and whether a test reaches it" : "What the tests reach"),
    ...(rows.length ? rows.map((one) => coverage(context, one)) : [nothing(context, "Nothing that tests could reach changed.")]),
  );
}

function changedOf({ kind, items }: Coverage): Coverage {
  const changed = items.filter((one) => one.change);
  return { kind, items: changed, total: changed.length, reached: changed.filter((one) => one.covered).length };
}

function coverage(context: Context, { kind, items, total, reached }: Coverage): HTMLElement {
  const missed = items.filter((one) => !one.covered);
  const more = total - reached - missed.length; // these do not fit into the file
  const share = reached / total;
  const filled = h("span", { class: "bar-filled" });
  filled.style.width = `${100 * share}%`;
  const head: Child[] = [
    h("span", { class: "kind" }, kind),
    h("span", { class: "bar", "aria-hidden": "true" }, filled),
    h("span", { class: "share" }, `${reached} of ${total} (${percent(share)})`),
  ];
  if (reached === total) return h("p", { class: "coverage" }, ...head);
  return h(
    "details",
    { class: "coverage-missed" },
    h("summary", { class: "coverage" }, ...head),
    h("p", { class: "note" }, "No test reaches:"),
    ...firstOf(missed, "more part", (one) => h("li", {}, code(one.name), " ", place(context.assistant, one.place), one.change && h("span", { class: "flag" }, one.change === "added" ? "new" : "changed"))),
    more > 0 && h("p", { class: "note" }, `… and ${more.toLocaleString("en")} more in report.json`),
  );
}

// --- the run ---------------------------------------------------------------------------------------------------------

function runPart(context: Context): Child[] {
  const { replaced, not_run: notRun } = context.assistant;
  return [
    notRun.length > 0 &&
      h("section", {}, h("h2", {}, "Not run"), h("ul", { class: "entries" }, ...notRun.map((one) => h("li", {}, h("strong", {}, one.what), ": ", said(one.reason))))),
    replaced.length > 0 &&
      h(
        "section",
        {},
        h("h2", {}, "What the engine replaces"),
        h("ul", { class: "entries" }, ...replaced.map((one) => h("li", {}, code(one.component), ...(one.used ? [" is replaced by ", said(one.used)] : [" is left out"]), ": ", said(one.reason)))),
      ),
  ];
}
