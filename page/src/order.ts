// The order of rows in the matrix: intents that are confused with each other lie side by side.

/**
 * Order `labels` so that confused ones are neighbours.
 *
 * Pairs are taken by how often they are confused; each joins two chains at the ends that are nearest to the pair, as
 * beads on a string. Chains follow each other by their most confused pair, labels without confusions come last.
 */
export function confusedTogether(labels: number[], confusions: [number, number, number][]): number[] {
  const wanted = new Set(labels);
  const both = new Map<string, { one: number; other: number; times: number }>();
  for (const [expected, predicted, times] of confusions) {
    if (!wanted.has(expected) || !wanted.has(predicted)) continue;
    const [one, other] = expected < predicted ? [expected, predicted] : [predicted, expected];
    const pair = both.get(`${one} ${other}`) ?? { one, other, times: 0 };
    pair.times += times;
    both.set(`${one} ${other}`, pair);
  }
  const pairs = [...both.values()].sort((a, b) => b.times - a.times || a.one - b.one || a.other - b.other);
  const chainOf = new Map<number, number[]>(labels.map((label) => [label, [label]]));
  for (const { one, other } of pairs) join(chainOf, one, other);
  const ordered = new Set<number[]>();
  for (const { one } of pairs) ordered.add(chainOf.get(one)!);
  for (const label of labels) ordered.add(chainOf.get(label)!);
  return [...ordered].flat();
}

function join(chainOf: Map<number, number[]>, one: number, other: number): void {
  const left = chainOf.get(one)!;
  const right = chainOf.get(other)!;
  if (left === right) return;
  if (left.indexOf(one) < left.length / 2 && left.length > 1) left.reverse(); // `one` towards the end
  if (right.indexOf(other) >= right.length / 2 && right.length > 1) right.reverse(); // `other` towards the beginning
  left.push(...right);
  for (const label of right) chainOf.set(label, left);
}
