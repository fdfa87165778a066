// Which sentences are shown: filters that stand in the address, and how they choose.

import type { Assistant } from "./data.ts";
import { changeWords, hasChanged, isRight, isUnclear, outcomeOf } from "./sentence.ts";

export interface Filters {
  intent: string;
  got: string;
  outcome: string;
  change: string;
  file: string;
  from: number;
  to: number;
  text: string;
  order: string;
}

export function filtersOf(query: URLSearchParams): Filters {
  const number = (name: string, otherwise: number): number => {
    const value = Number.parseFloat(query.get(name) ?? "");
    return Number.isFinite(value) ? value : otherwise;
  };
  const word = (name: string): string => query.get(name) ?? "";
  return {
    intent: word("intent"),
    got: word("got"),
    outcome: word("outcome"),
    change: word("change"),
    file: word("file"),
    from: number("from", 0),
    to: number("to", 1),
    text: word("text"),
    order: word("order"),
  };
}

/** The filters as the address has them; one that lets everything through is empty. */
export function addressed(filters: Filters): Record<string, string> {
  const words = Object.entries(filters).map(([name, value]): [string, string] => {
    const all = (name === "from" && value === 0) || (name === "to" && value === 1);
    return [name, all ? "" : String(value)];
  });
  return Object.fromEntries(words);
}

const lowered = new WeakMap<Assistant, string[]>();

/** The sentences that the filters let through, in their order. */
export function matching(assistant: Assistant, filters: Filters, onlyChanged: boolean): number[] {
  const { sentences } = assistant;
  const intent = labelNumber(assistant, filters.intent);
  const got = labelNumber(assistant, filters.got);
  const file = filters.file ? assistant.files.findIndex((one) => one.path === filters.file) : null;
  const wanted = filters.text.toLowerCase();
  const texts = lowered.get(assistant) ?? sentences.text.map((text) => text.toLowerCase());
  lowered.set(assistant, texts);
  const found: number[] = [];
  for (let number = 0; number < sentences.text.length; number++) {
    if (intent !== null && sentences.expected[number] !== intent) continue;
    if (got !== null && sentences.predicted[number] !== got) continue;
    if (file !== null && sentences.file[number] !== file) continue;
    const confidence = sentences.confidence[number] ?? 0;
    if ((filters.from > 0 && confidence < filters.from) || (filters.to < 1 && confidence > filters.to)) continue;
    if (onlyChanged && !hasChanged(assistant, number)) continue;
    if (filters.outcome && !hasOutcome(assistant, number, filters.outcome)) continue;
    if (filters.change && !changeWords(assistant, number).includes(filters.change)) continue;
    if (wanted && !texts[number]?.includes(wanted)) continue;
    found.push(number);
  }
  return ordered(assistant, found, filters.order);
}

function hasOutcome(assistant: Assistant, number: number, wanted: string): boolean {
  if (wanted === "entities wrong") return assistant.sentences.entities[number]?.right === false;
  if (wanted === "misclassified") return assistant.sentences.expected[number] !== -1 && !isRight(assistant, number) && !isUnclear(assistant, number);
  return outcomeOf(assistant, number) === wanted || assistant.sentences.repeated[number] === wanted;
}

function labelNumber(assistant: Assistant, name: string): number | null {
  if (!name) return null;
  const number = assistant.labels.indexOf(name);
  return number === -1 ? -2 : number; // an intent that is not there has no sentences
}

function ordered(assistant: Assistant, found: number[], order: string): number[] {
  const { confidence } = assistant.sentences;
  const sure = (number: number): number => confidence[number] ?? 0;
  if (order === "least sure") return found.sort((a, b) => sure(a) - sure(b));
  if (order === "most sure") return found.sort((a, b) => sure(b) - sure(a));
  return found;
}
