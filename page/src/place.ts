// Where something is: path and line, linked to the commit where there is an address.

import type { Assistant, Place } from "./data.ts";
import { h, link } from "./dom.ts";
import { code, visible } from "./text.ts";

/** `short` shows the file's name alone, its path when pointed at; in the file `within` the line is enough. */
export function place(assistant: Assistant, where: Place, { short = false, within = -1 } = {}): HTMLElement {
  const file = assistant.files[where.file];
  if (!file) return h("span", {}, "–");
  const line = where.line ? `:${where.line}` : "";
  const address = where.line ? (file.line_address?.replace("{line}", String(where.line)) ?? null) : file.address;
  const name = short ? (file.path.split("/").at(-1) ?? "") : file.path;
  const shown = where.file === within && where.line ? `line ${where.line}` : `${name}${line}`;
  return h("span", { class: "place", title: shown === `${file.path}${line}` ? null : visible(`${file.path}${line}`) }, link(address, code(shown)));
}
