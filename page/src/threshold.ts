// What a fallback threshold does to the verdicts: a curve of coverage and precision, and a slider.

import type { Context } from "./context.ts";
import { fill, h, svg } from "./dom.ts";
import { isRight, isUnclear, sentenceList } from "./sentence.ts";
import { count, percent } from "./text.ts";

interface Verdicts {
  right: number;
  wrong: number;
  asks: number;
}

const STEPS = 50;
const WIDTH = 640;
const HEIGHT = 220;
const LEFT = 44;
const RIGHT = 18;
const BOTTOM = 28;
const MOST_LISTED = 50;

export function thresholdPart(context: Context): HTMLElement | null {
  const { assistant } = context;
  const { sentences, threshold } = assistant;
  if (!threshold || sentences.text.length < sentences.total) return null; // not all sentences are here to count
  const judged = sentences.text.map((_, number) => number).filter((number) => sentences.expected[number] !== -1 && !isUnclear(assistant, number));
  if (!judged.length) return null;

  const answers = (number: number, at: number): boolean => {
    const margin = sentences.margin[number] ?? -1;
    return (sentences.confidence[number] ?? 0) >= at && (threshold.ambiguity === null || margin === -1 || margin >= threshold.ambiguity);
  };
  const verdicts = (answered: (number: number) => boolean): Verdicts => {
    const sum = { right: 0, wrong: 0, asks: 0 };
    for (const number of judged) sum[!answered(number) ? "asks" : isRight(assistant, number) ? "right" : "wrong"]++;
    return sum;
  };
  const today = (number: number): boolean => !sentences.fallback[number];
  const now = verdicts(today);
  const curve = Array.from({ length: STEPS + 1 }, (_, step) => ({ at: step / STEPS, ...verdicts((number) => answers(number, step / STEPS)) }));

  // The slider can stand where the threshold is, or the suggested one.
  const exact = [threshold.now, threshold.suggested].every((one) => one === null || Number(one.toFixed(2)) === one);
  const [step, digits] = exact ? [0.01, 2] : [0.001, 3];
  const chosen = context.route.query.get("at") ?? "";
  const slider = h("input", { type: "range", min: 0, max: 1, step, value: chosen || (threshold.now ?? threshold.suggested ?? 0), id: "threshold" });
  const told = h("p", { class: "told-cell", "aria-live": "polite" });
  const listed = h("div");
  const needle = svg("line", { class: "needle", y1: 8, y2: HEIGHT - BOTTOM });
  const draw = (): void => {
    const at = Number(slider.value);
    const then = verdicts((number) => answers(number, at));
    const place = String(x(at));
    needle.setAttribute("x1", place);
    needle.setAttribute("x2", place);
    slider.setAttribute("aria-valuetext", `${at.toFixed(digits)}: ${words(then)}`);
    const versus = threshold.now === null ? "without a fallback, as now" : `today (${threshold.now.toFixed(digits)})`;
    fill(told, h("strong", {}, `At ${at.toFixed(digits)}: `), words(then), h("span", { class: "note" }, ` · ${versus}: ${words(now)}`));
    const other = judged.filter((number) => answers(number, at) !== today(number));
    fill(
      listed,
      other.length > 0 &&
        h(
          "details",
          {},
          h("summary", {}, `${count(other.length, "sentence")} with another verdict than today`),
          sentenceList(context, other.slice(0, MOST_LISTED), (number) => h("span", { class: "note" }, ` ${verdict(isRight(assistant, number), today(number))} → ${verdict(isRight(assistant, number), answers(number, at))}`)),
          other.length > MOST_LISTED && h("p", { class: "note" }, `… and ${count(other.length - MOST_LISTED, "more sentence")}`),
        ),
    );
  };
  slider.addEventListener("input", draw);
  slider.addEventListener("change", () => context.remember({ at: slider.value }));
  draw();
  return h(
    "details",
    { class: "threshold", open: chosen !== "" },
    h("summary", {}, "Fallback threshold: what would another one do?"),
    h("p", { class: "note" }, "Sentences below the threshold are answered by the fallback, which asks again.", threshold.suggested !== null && ` Most right minus wrong answers: at ${threshold.suggested.toFixed(digits)}.`),
    drawing(curve, judged.length, needle),
    h("label", { class: "slider" }, h("span", {}, "threshold"), slider),
    told,
    listed,
  );
}

function verdict(right: boolean, answered: boolean): string {
  return answered ? (right ? "right" : "wrong") : "not understood";
}

function words({ right, wrong, asks }: Verdicts): string {
  const answered = right + wrong;
  const precision = answered ? `, ${percent(right / answered)} of the answers right` : "";
  const [rights, wrongs, others] = [right, wrong, asks].map((number) => number.toLocaleString("en"));
  return `${rights} right, ${wrongs} wrong, ${others} not understood${precision}`;
}

function x(at: number): number {
  return LEFT + at * (WIDTH - LEFT - RIGHT);
}

function y(share: number): number {
  return 8 + (1 - share) * (HEIGHT - BOTTOM - 8);
}

function drawing(curve: ({ at: number } & Verdicts)[], all: number, needle: SVGElement): HTMLElement {
  const path = (points: [number, number][]): string => points.map(([at, share], place) => `${place ? "L" : "M"}${x(at).toFixed(1)} ${y(share).toFixed(1)}`).join("");
  const coverage = curve.map(({ at, right, wrong }): [number, number] => [at, (right + wrong) / all]);
  const precision = curve.filter(({ right, wrong }) => right + wrong > 0).map(({ at, right, wrong }): [number, number] => [at, right / (right + wrong)]);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Coverage and precision over the fallback threshold; the text below says the numbers at the slider." },
    ...ticks.flatMap((tick) => [
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }),
      svg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, `${100 * tick} %`),
      svg("text", { x: x(tick), y: HEIGHT - 8, "text-anchor": "middle" }, tick.toFixed(2)),
    ]),
    svg("path", { class: "coverage", d: path(coverage) }),
    svg("path", { class: "precision", d: path(precision) }),
    needle,
  );
  const legend = h("p", { class: "legend" }, h("span", { class: "coverage-key" }, "━ coverage (sentences answered)"), " ", h("span", { class: "precision-key" }, "╍ precision (answers right)"));
  const frame = h("div", { class: "curve" }, legend);
  frame.append(picture);
  return frame;
}
