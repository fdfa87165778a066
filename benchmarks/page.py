"""The page with a large assistant, in Chromium: how large it is, how soon it shows, how fast it answers.

150 intents, 5,500 sentences and 500 conversations against a base, and 100,000 sentences. Needs Chromium and what
`make test` installs. Prints a table.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
for folder in (ROOT, ROOT / "tests" / "unit", ROOT / "tests" / "contract"):
    sys.path.insert(0, str(folder))

import msgspec  # noqa: E402
from chromium import chromium  # noqa: E402 - of the tests, found by the paths above
from report_builder import case, example, report, story, training  # noqa: E402
from tools.build_page import install, node  # noqa: E402

from turncheck.comparison.compare import compare  # noqa: E402
from turncheck.comparison.model import Present  # noqa: E402
from turncheck.messages.finding import Location  # noqa: E402
from turncheck.render.assistants import Run  # noqa: E402
from turncheck.render.links import Links  # noqa: E402
from turncheck.render.page.page import render_page  # noqa: E402
from turncheck.render.wording.gates import judge  # noqa: E402
from turncheck.report.model import CaseMessage, TurnEvent, TurnTrace  # noqa: E402

if TYPE_CHECKING:
    from turncheck.report.model import CaseResult, NluPrediction, Report

SENTENCES = (
    "please can you tell me how much is left on my account when does the shop open order another large pizza cancel",
    "change address invoice friend tomorrow morning delivery card blocked number appointment doctor refund late again",
)
VOCABULARY = " ".join(SENTENCES).split()


def assistant(sentences: int, *, changed: bool) -> Report:
    """A made-up assistant; one in eleven sentences is wrong, and with ``changed`` one in thirty has another result."""
    dice = random.Random(1)
    intents = [f"{VOCABULARY[number % len(VOCABULARY)]}_{number}" for number in range(150)]
    known = [(_said(dice), intents[number % 150]) for number in range(3000)]
    examples: list[NluPrediction] = []
    for number in range(sentences):
        right = intents[number % 150]
        other = intents[(number % 150 + dice.choice((1, 2, 3))) % 150]
        wrong = (number % 11 == 0) != (changed and number % 30 == 0)
        near = [(dice.randrange(3000), 0.8), (dice.randrange(3000), 0.7), (dice.randrange(3000), 0.6)] if wrong else []
        examples.append(
            example(
                f"{_said(dice)} {number}",
                right,
                other if wrong else None,
                line=number + 3,
                confidence=dice.random(),
                near=near,
                entities=[(0, 5, "thing")] if number % 3 == 0 else [],
            )
        )
    stories = [
        story(f"story {number}", *_steps(dice, number, changed=changed), line=20 * number + 1) for number in range(400)
    ]
    cases = [_talk(dice, number, changed=changed) for number in range(100)]
    commit = ("2" if changed else "1") * 40
    return report(examples=examples, sentences=training(*known), stories=stories, cases=cases, commit=commit)


def _talk(dice: random.Random, number: int, *, changed: bool) -> CaseResult:
    """An end-to-end case of six messages, with what happened after each."""
    told = case(f"case {number}", *_steps(dice, number, changed=changed), line=20 * number + 1)
    messages = []
    for line in range(6):
        slots = {name: dice.choice(VOCABULARY) for name in VOCABULARY[:4]}
        names = [f"utter_{dice.choice(VOCABULARY)}" for _ in range(2)]
        events = [TurnEvent(kind="action", name=name, policy="TEDPolicy", confidence=dice.random()) for name in names]
        events += [TurnEvent(kind="bot", name=name, value=_said(dice)) for name in names]
        trace = TurnTrace(events=(*events, TurnEvent(kind="slot", name=VOCABULARY[0], value="x")), slots=slots)
        messages.append(CaseMessage(text=_said(dice), location=Location("tests/e2e.yml", line + 1), trace=trace))
    return msgspec.structs.replace(told, messages=tuple(messages))


def _said(dice: random.Random) -> str:
    return " ".join(dice.choices(VOCABULARY, k=dice.randint(4, 11)))


def _steps(dice: random.Random, number: int, *, changed: bool) -> list[str]:
    steps = [f"utter_{dice.choice(VOCABULARY)}" for _ in range(12)]
    return [*steps[:-1], f"{steps[-1]}!utter_other"] if (number % 20 == 0) != (changed and number % 50 == 0) else steps


def main() -> None:
    """Make both pages, measure them, print the table."""
    install()
    print("| page | made in | size | first paint | ready | a filter (median) | scrolling, slowest of 60 frames |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for sentences in (5_500, 100_000):
            base, head = assistant(sentences, changed=False), assistant(sentences, changed=True)
            comparison = compare(head, Present(base, "artifact"))
            verdict = judge(head, comparison, head.settings)
            begin = time.perf_counter()
            page = render_page([Run(head, comparison, verdict, Links())], {})
            made = time.perf_counter() - begin
            path = Path(folder) / f"{sentences}.html"
            path.write_bytes(page.encoded)
            done = node(str(ROOT / "benchmarks" / "page.mjs"), str(path), CHROMIUM=chromium())
            if done.returncode:
                raise SystemExit(done.stderr)
            size = len(page.encoded) / 2**20
            print(
                f"| {sentences:,} sentences, 500 conversations | {made:.1f} s | {size:.1f} MB | {done.stdout.strip()} |"
            )


if __name__ == "__main__":
    main()
