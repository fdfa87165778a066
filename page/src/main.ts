// Starts the page: unpacks the data, draws the navigation, and shows the view that the address names.

import type { Context } from "./context.ts";
import { unpack, type Assistant } from "./data.ts";
import { fill, h } from "./dom.ts";
import { format, parse, VIEWS, type View } from "./route.ts";
import { said } from "./text.ts";
import { conversationsView } from "./views/conversations.ts";
import { dataView } from "./views/data.ts";
import { intentsView } from "./views/intents.ts";
import { sentencesView } from "./views/sentences.ts";

const DRAW: Record<Exclude<View, "overview">, (context: Context) => HTMLElement> = {
  intents: intentsView,
  sentences: sentencesView,
  conversations: conversationsView,
  data: dataView,
};

const byId = (id: string): HTMLElement | null => document.getElementById(id);

class Page {
  private onlyChanged = true;
  private shownView = "";
  private drawn = ""; // what view with which filters is there
  private readonly title = document.title;

  constructor(private readonly assistants: Assistant[]) {}

  show(): void {
    const route = parse(location.hash);
    const several = byId("all") !== null; // those that could not be measured stand there alone
    if (route.query.has("all")) this.onlyChanged = false;
    const assistant = several ? this.assistants.find((one) => one.slug === route.assistant) : this.assistants[0];
    if (!assistant) return this.showAll();
    const onlyChanged = this.onlyChanged && assistant.compared;
    const state = (): string => JSON.stringify([assistant.slug, route.view, sortedWithoutAll(route.query), onlyChanged]);
    if (this.drawn === state() && route.view === "sentences") return this.openCase(route.case);
    this.drawn = state();
    if (assistant.compared && !this.onlyChanged) route.query.set("all", "1");
    const context: Context = {
      assistant,
      route,
      onlyChanged,
      several,
      remember: (changes) => {
        for (const [name, value] of Object.entries(changes)) {
          if (value) route.query.set(name, value);
          else route.query.delete(name);
        }
        this.drawn = state();
        history.replaceState(null, "", format({ ...route, case: "" }));
      },
      showAll: () => this.changeScope(false),
    };
    this.drawHeader(context);
    document.body.classList.toggle("only-changed", context.onlyChanged);
    if (byId("all")) byId("all")!.hidden = true;
    for (const one of this.assistants) byId(one.slug)!.hidden = one !== assistant || route.view !== "overview";
    const view = byId("view")!;
    fill(view, route.view !== "overview" && DRAW[route.view](context));
    view.hidden = route.view === "overview";
    document.title = `${assistant.name}: ${route.view}`;
    this.toTop(`${assistant.slug}/${route.view}`, route.case !== "");
  }

  /** Open a sentence over the table that is there already, which keeps its place; without a key close it. */
  private openCase(key: string): void {
    byId("view")!.firstElementChild!.dispatchEvent(new CustomEvent("case", { detail: key }));
  }

  /** The overview of several assistants. */
  private showAll(): void {
    this.drawn = "";
    fill(byId("top")!);
    byId("all")!.hidden = false;
    byId("view")!.hidden = true;
    for (const one of this.assistants) byId(one.slug)!.hidden = true;
    document.title = this.title;
    this.toTop("all", false);
  }

  /** Another view begins at its top, for the eye and for the next Tab; the first one stays where the browser is. */
  private toTop(view: string, atCase: boolean): void {
    if (this.shownView && this.shownView !== view && !atCase) {
      scrollTo(0, 0);
      byId("main")!.focus({ preventScroll: true });
    }
    this.shownView = view;
  }

  private drawHeader(context: Context): void {
    const { assistant, route, several } = context;
    const slug = several ? assistant.slug : "";
    const tabs = VIEWS.filter((view) => hasContent(assistant, view)).map((view) =>
      h("a", { href: format({ assistant: slug, view }) || "#", "aria-current": view === route.view && "page" }, view),
    );
    const scope = h("input", { type: "checkbox", id: "only-changed" });
    scope.checked = this.onlyChanged;
    scope.addEventListener("change", () => this.changeScope(scope.checked));
    fill(
      byId("top")!,
      several && h("a", { class: "back", href: "#" }, "All assistants"),
      several && h("span", { class: "name" }, said(assistant.name)),
      h("nav", { "aria-label": "Views" }, ...tabs),
      assistant.compared && h("label", { class: "scope" }, scope, " only what changed"),
    );
  }

  private changeScope(onlyChanged: boolean): void {
    this.onlyChanged = onlyChanged;
    const { query, ...route } = parse(location.hash);
    if (onlyChanged) query.delete("all");
    else query.set("all", "1");
    history.replaceState(null, "", format({ ...route, query }));
    this.show();
    byId("only-changed")?.focus();
  }
}

function sortedWithoutAll(query: URLSearchParams): string {
  const copy = new URLSearchParams(query);
  copy.delete("all");
  copy.sort();
  return copy.toString();
}

function hasContent(assistant: Assistant, view: View): boolean {
  switch (view) {
    case "intents":
      return assistant.intents.length > 0;
    case "sentences":
      return assistant.sentences.total > 0;
    case "conversations":
      return assistant.conversations.length > 0;
    default:
      return true;
  }
}

async function start(): Promise<void> {
  try {
    const page = new Page(await unpack(byId("data") as HTMLTemplateElement));
    document.documentElement.classList.add("js");
    addEventListener("hashchange", () => page.show());
    page.show();
    document.documentElement.dataset["ready"] = "";
  } catch (error) {
    // The first screen stays as it is without a script.
    document.documentElement.classList.remove("js");
    byId("main")!.prepend(h("p", { class: "callout", role: "status" }, `The tables could not be drawn: ${String(error)}`));
  }
}

// The first screen is there already; let the browser paint it before the data are unpacked.
requestAnimationFrame(() => setTimeout(() => void start()));
