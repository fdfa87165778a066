// Showing what people wrote, letter by letter: what cannot be seen becomes an escape, and directions stay inside.

import { h, type Child } from "./dom.ts";

// Control, format and private characters, halves of pairs, what fonts leave blank (fillers, the empty Braille pattern),
// and blanks that are not the space bar's.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;
const JOINERS = /[\u200c\u200d\p{Variation_Selector}]/u; // scripts and emoji are wrong without them
const NOT_ASCII = /[^\n\x20-\x7e]/gu;

/** A text in one direction of its own, invisible characters as escapes; of `exact` ones the joiners too. */
export function said(text: string, { exact = false, kind = "said" } = {}): HTMLElement {
  return h("bdi", { class: kind }, ...pieces(text, exact));
}

/** A name of the project. */
export function code(text: string): HTMLElement {
  return h("code", {}, h("bdi", {}, ...pieces(text, false)));
}

/** A text with escapes for what cannot be seen, where there is no room for elements: an option, a title. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, escaped);
}

/** The parts of a text: strings, and as elements the escapes of those characters that are to be `escapes`. */
export function pieces(text: string, exact: boolean, escapes = INVISIBLE): Child[] {
  const parts: Child[] = [];
  let end = 0;
  for (const match of text.matchAll(escapes)) {
    const character = match[0];
    if (character === "\n" && !exact) continue; // pre-wrap shows it
    if (!exact && JOINERS.test(character)) continue;
    parts.push(text.slice(end, match.index), h("span", { class: "escape" }, escaped(character)));
    if (character === "\n") parts.push("\n");
    end = match.index + character.length;
  }
  parts.push(text.slice(end));
  return parts;
}

function escaped(character: string): string {
  const short: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
  const point = character.codePointAt(0) ?? 0;
  return short[character] ?? (point > 0xffff ? `\\u{${point.toString(16)}}` : `\\u${point.toString(16).padStart(4, "0")}`);
}

/** Two texts, with what differs between their common beginning and end marked in each. */
export function difference(expected: string, actual: string): [HTMLElement, HTMLElement] {
  const one = [...expected];
  const other = [...actual];
  const shorter = Math.min(one.length, other.length);
  let first = 0;
  while (first < shorter && one[first] === other[first]) first++;
  let last = 0;
  while (last < shorter - first && one[one.length - 1 - last] === other[other.length - 1 - last]) last++;
  // Letters that look the same, composed or not, narrow or wide, differ in their escapes alone.
  const middle = expected.normalize("NFKC") === actual.normalize("NFKC") ? NOT_ASCII : INVISIBLE;
  return [marked(one, first, last, middle), marked(other, first, last, middle)];
}

function marked(characters: string[], first: number, last: number, within: RegExp): HTMLElement {
  const part = (from: number, to: number, escapes = INVISIBLE): Child[] => pieces(characters.slice(from, to).join(""), true, escapes);
  const end = characters.length - last;
  // Where hardly anything is common the marks would only confuse.
  const alike = first + last >= characters.length / 3;
  const middle = alike && end > first ? [h("mark", {}, ...part(first, end, within))] : part(first, end, within);
  return h("bdi", { class: "said" }, ...part(0, first), ...middle, ...part(end, characters.length));
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** A score as the first screen shows it: below 1 never as 1.000, above 0 never as 0.000, halves to the even digit. */
export function figure(value: number | null): string {
  if (value === null) return "–";
  if (value > 0.999 && value < 1) return "0.999";
  if (value > 0 && value < 0.001) return "0.001";
  if ((value * 16) % 2 !== 1) return value.toFixed(3);
  const thousandths = Math.floor(value * 1000); // only odd sixteenths are halves
  return ((thousandths + (thousandths % 2)) / 1000).toFixed(3);
}

/** A share: less than all is never shown as 100 %, more than nothing never as 0 %. */
export function percent(share: number): string {
  const shown = share > 0 && share < 1 ? Math.min(99.9, Math.max(0.1, 100 * share)) : 100 * share;
  return `${shown.toFixed(1)} %`;
}

/** A difference with its sign; a minus is as wide as a plus. */
export function signed(value: number, digits = 3): string {
  const shown = Math.abs(value).toFixed(digits);
  return Number(shown) === 0 ? "±0" : `${value > 0 ? "+" : "−"}${shown}`;
}
