// Addresses behind `#`: a view with its filters, or a case by its key; before it, of several assistants, which one.
//   #sentences?intent=greet&outcome=wrong    #sentence-3fa9c1d2e07b    #at-bank/conversations    #at-bank/story-…

export const VIEWS = ["overview", "intents", "sentences", "conversations", "data"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  /** The slug of an assistant, or nothing for the only one and for the overview of all. */
  assistant: string;
  view: View;
  /** The key of a case, or nothing. */
  case: string;
  query: URLSearchParams;
}

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const parts = path.split("/").map(decoded);
  const assistant = parts[0]?.startsWith("at-") ? (parts.shift() ?? "") : "";
  const last = parts[0] ?? "";
  return { assistant, view: viewOf(last), case: isCase(last) ? last : "", query: new URLSearchParams(query) };
}

export function format(route: { assistant: string; view: View; case?: string; query?: URLSearchParams }): string {
  const last = route.case || (route.view === "overview" ? "" : route.view);
  const path = [route.assistant, last].filter(Boolean).join("/");
  const query = route.query?.toString();
  return `#${path}${query ? `?${query}` : ""}`;
}

function viewOf(name: string): View {
  if (name.startsWith("sentence-")) return "sentences";
  if (isCase(name)) return "conversations";
  return VIEWS.find((view) => view === name) ?? "overview";
}

function isCase(name: string): boolean {
  return /^(sentence|story|case|batch)-/.test(name);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone % in an address somebody typed
  }
}
