// What a view is given: its assistant, what the address says, and how to change the address.

import type { Assistant } from "./data.ts";
import { format, type Route, type View } from "./route.ts";

export interface Context {
  assistant: Assistant;
  route: Route;
  /** Whether only what changed against the base is shown. */
  onlyChanged: boolean;
  /** Several assistants share the page, so addresses name one. */
  several: boolean;
  /** Write these into `route.query` and the address, without a new entry in the history; what is empty leaves it. */
  remember(changes: Record<string, string>): void;
  /** Show everything, also what did not change. */
  showAll(): void;
}

/** The address of a view with these filters. */
export function viewAddress(context: Context, view: View, filters: Record<string, string> = {}): string {
  return format({ assistant: slug(context), view, query: new URLSearchParams(filters) });
}

/** The address of a case; with `query` behind it the filters of the view that it is opened from. */
export function caseAddress(context: Context, key: string, query = new URLSearchParams()): string {
  return format({ assistant: slug(context), view: "sentences", case: key, query });
}

function slug(context: Context): string {
  return context.several ? context.assistant.slug : "";
}
