// What the page's data hold: the same types as src/turncheck/render/page/model.py, where they are explained.

export type Side = "" | "worse" | "better" | "new" | "edited";

export interface SourceFile {
  path: string;
  address: string | null;
  line_address: string | null;
  base_address: string | null;
}

export interface Place {
  file: number;
  line: number;
}

export interface Intent {
  name: number;
  support: number | null;
  precision: number | null;
  recall: number | null;
  f1: number | null;
  base_f1: number | null;
  change: string;
  worth: string;
  judgement: "" | "better" | "worse" | "noise" | "same" | "not judged";
  shared: boolean;
  new: string;
}

export interface Entity {
  start: number;
  end: number;
  label: string;
  value: string;
  by: string;
}

export interface Entities {
  expected: Entity[];
  found: Entity[];
  right: boolean;
  side: Side;
}

export interface Selection {
  expected: string;
  selected: string;
  side: Side;
}

/** Columns of equal length; what few sentences have is listed by their index. */
export interface Sentences {
  total: number;
  key: string[];
  text: string[];
  expected: number[];
  predicted: number[];
  confidence: number[];
  margin: number[];
  fallback: number[];
  file: number[];
  line: number[];
  side: Record<number, Side>;
  base: Record<number, number>;
  entities: Record<number, Entities>;
  responses: Record<number, Selection>;
  neighbours: Record<number, [number, number][]>;
  ranking: Record<number, [number, number][]>;
  runs: Record<number, string>;
  repeated: Record<number, "flaky" | "failed" | "regressed" | "worse" | "unclear" | "not answered">;
}

export interface Turn {
  who: "user" | "bot" | "check";
  expected: string;
  actual: string | null;
  outcome: "passed" | "failed" | "skipped" | "error" | "";
  label: string;
  heard: string;
  heard_before: string;
  place: Place | null;
  details: [string, string][];
}

export interface Conversation {
  key: string;
  kind: "story" | "case" | "batch";
  name: string;
  place: Place;
  outcome: string;
  side: Side;
  misunderstood: boolean;
  base: { outcome: string; actual: string; turns: Turn[]; runs: boolean[] } | null;
  reason: string;
  attempts: [number, number] | null;
  runs: boolean[];
  repeated: "" | "flaky" | "regressed" | "worse";
  turns: Turn[];
  of_failed_run: boolean;
  events: string[];
  remarks: string[];
}

export interface Finding {
  code: string;
  severity: "error" | "warning" | "info";
  message: string;
  hint: string;
  place: Place;
  others: Place[];
  new: boolean;
}

export interface CoverageItem {
  name: string;
  place: Place;
  covered: boolean;
  change: "" | "added" | "changed";
}

export interface Coverage {
  kind: string;
  items: CoverageItem[];
  total: number;
  reached: number;
}

export interface Assistant {
  slug: string;
  name: string;
  compared: boolean;
  files: SourceFile[];
  labels: string[];
  intents: Intent[];
  confusions: [number, number, number][];
  base_confusions: [number, number, number][];
  training: { text: string[]; intent: number[]; file: number[]; line: number[] };
  sentences: Sentences;
  threshold: { now: number | null; ambiguity: number | null; suggested: number | null } | null;
  conversations: Conversation[];
  findings: Finding[];
  manual: Record<string, string>;
  coverage: Coverage[];
  replaced: { component: string; used: string | null; reason: string }[];
  not_run: { what: string; reason: string }[];
  left_out: string[];
}

/** Unpack the data that the page carries: gzip in base64 in a template, which no browser reads as anything. */
export async function unpack(template: HTMLTemplateElement): Promise<Assistant[]> {
  const packed = atob(template.content.textContent ?? "");
  const bytes = new Uint8Array(packed.length);
  for (let place = 0; place < packed.length; place++) bytes[place] = packed.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = (await new Response(stream).json()) as { assistants: Assistant[] };
  return data.assistants;
}

/** The name of an intent; none is a dash. */
export function label(assistant: Assistant, number: number): string {
  return assistant.labels[number] ?? "–";
}
