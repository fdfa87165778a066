"""Pages for the browser's tests: a pull request, several assistants, hostile texts in every place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
from hostile import HOSTILE
from pull_request import LINKS, pull_request
from report_builder import case, coverage, example, finding, report, story, training

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing
from turncheck.messages.finding import Location
from turncheck.render.assistants import Run
from turncheck.render.page.page import render_page
from turncheck.render.wording.gates import judge
from turncheck.report.model import CaseMessage, Repeats, Report, Skipped, Substitution, TurnEvent, TurnTrace, Understood

if TYPE_CHECKING:
    from pathlib import Path

MANUAL = {"missing-response": "A response is missing. Define it."}
TRICKS = [
    "</script><script>pwned=1</script>", "</template><img src=x onerror=pwned=1>", "<!--", "-->", "]]>", "<![CDATA[",
    "{{constructor.constructor('pwned=1')()}}", "${pwned=1}", "javascript:pwned=1",
    '" onmouseover="pwned=1', "' autofocus onfocus='pwned=1",
    "<svg onload=pwned=1>", "<iframe srcdoc='<script>parent.pwned=1</script>'>", "<base href=https://evil.example>",
    "<style>*{display:none}</style>", "<details open ontoggle=pwned=1>", "&lt;script&gt;",
    "\u202eevil\u202c", "a\u200bb\u2060c\ufeff",
    "\U000e0041\U000e0042", "x\u0300" * 30, "a" * 3000, "\u2066\u2069\u061c", "\u3164a\u2800",
    "</title><script>pwned=1</script>",
]  # fmt: skip


def write_examples(folder: Path) -> None:
    """Write the pages, and hostile.json with the texts of one of them."""
    calm = report(examples=[example("hello", "greet")], stories=[story("s", "a")], name="calm")
    pages = {
        "bank": [Run(*pull_request(), LINKS)],
        "several": [Run(*pull_request(), LINKS), _alone(calm)],
        "hostile": [_alone(_hostile())],
        "long": [_alone(_long())],
        "confused": [_alone(_confused())],
        "traced": [_alone(_traced())],
        "unsure": [_alone(_unsure(0.35))],
        "unsurer": [_alone(_unsure(0.325))],
        "alike": [_alone(_alike())],
        "varying": [_alone(_varying())],
        "found": [_alone(_found())],
        "named": [Run(*pull_request(), LINKS), *(_alone(_skipping()) for _ in range(2))],
    }
    for name, runs in pages.items():
        (folder / f"{name}.html").write_bytes(render_page(runs, MANUAL).encoded)
    (folder / "hostile.json").write_text(json.dumps([_sound(text) for text in _texts()]), "utf-8")


def _alone(one: Report) -> Run:
    comparison = compare(one, Missing("first run"))
    return Run(one, comparison, judge(one, comparison, one.settings), LINKS)


def _long() -> Report:
    """Many sentences, some longer than their column or of several lines, with entities that overlap."""
    text = "my car is a big red car with a long story that goes on and on and on and on and on"
    found = [(3, 6, "thing"), (3, 6, "vehicle"), (0, 6, "whole")]
    return report(
        examples=[
            *(
                example(f"{text} {n}", "greet", "bye", line=n, entities=[(3, 6, "thing")], found=found)
                for n in range(1, 400)
            ),
            *(example(f"one {n}\ntwo\nthree", "greet", line=n) for n in range(400, 1200)),
            example("surer than sure", "greet", line=1200, confidence=3.5),
        ],
        name="long",
    )


def _found() -> Report:
    """More findings of a kind than a list shows at first, and more parts that no test reaches."""
    return report(
        findings=[finding("missing-response", f"'utter_{n}' is missing", line=n) for n in range(1, 204)],
        stories=[story("s", "a")],
        covered=coverage("responses", **{f"utter_{n}": (str(n), n > 201) for n in range(1, 203)}),
        name="found",
    )


def _confused() -> Report:
    """A thousand intents, each taken for the next."""
    return report(examples=[example(f"s{n}", f"intent_{n}", f"intent_{n + 1}", line=n) for n in range(1, 1000)])


def _traced() -> Report:
    """A case that fails, with what happened in its turn."""
    trace = TurnTrace(
        events=(
            TurnEvent(kind="slot", name="city", value="Rome\u202e"),
            TurnEvent(kind="action", name="utter_ask", policy="RulePolicy", confidence=0.5),
        ),
        slots={"city": "Rome"},
        active_loop="trip_form",
    )
    message = CaseMessage(text="go to Rome", location=Location("tests/e2e_test_cases.yml", 2), trace=trace)
    return report(cases=[msgspec.structs.replace(case("trip", "a!b"), messages=(message,))])


def _unsure(threshold: float) -> Report:
    """Two sentences, one just above the fallback's threshold and one just below."""
    sure, unsure = (
        example("hello", "greet", confidence=threshold),
        example("hey", "greet", confidence=threshold - 0.001),
    )
    fallen = msgspec.structs.replace(unsure, predicted=msgspec.structs.replace(unsure.predicted, fallback=True))
    made = report(examples=[sure, fallen])
    assert made.nlu
    verdicts = Understood(right=1, wrong=0, not_understood=1, threshold=threshold)
    return msgspec.structs.replace(made, nlu=msgspec.structs.replace(made.nlu, understood=verdicts))


def _alike() -> Report:
    """Cases whose answers differ in what nobody sees."""
    steps = ("caff\u00e8!caffe\u0300", "ab!a\u3164b", "one two!one\u2800two", "ok \u2705!ok \u2705\ufe0f")
    return report(cases=[case(f"c{number}", step) for number, step in enumerate(steps)])


def _varying() -> Report:
    """Cases and sentences that were run several times; one case has checks with long names."""
    repeats = {
        "always": Repeats(runs="PP", outcome="passed"),
        "now and then": Repeats(runs="PF" + "p" * 18 + "f" * 4, outcome="flaky"),
        "no more": Repeats(runs="FFfff", outcome="regressed", base="PPPP"),
        "who knows": Repeats(runs="PFpf", outcome="unclear"),
        "never": Repeats(runs="FFff", outcome="failed"),
    }
    wrong = {"no more", "who knows", "never"}
    cases = []
    for name, one in repeats.items():
        made = case(name, "a!b" if name in wrong else "a")
        kinds = ("BOT_CONSUMED", "TEXT_CONTAINS_ANY")
        steps = (*made.steps, *(msgspec.structs.replace(made.steps[0], kind=kind) for kind in kinds))
        outcome = "unclear" if one.outcome == "unclear" else made.outcome
        cases.append(msgspec.structs.replace(made, steps=steps, outcome=outcome, repeats=one))
    sentences = [
        msgspec.structs.replace(example(text, "greet", "bye" if text in wrong else None, line=line), repeats=one)
        for line, (text, one) in enumerate(repeats.items(), 1)
    ]
    return report(examples=[*sentences, example("bye", "bye", line=9)], cases=cases, name="varying")


def _skipping() -> Report:
    """One whose verdict takes many words, without a folder of its own."""
    late = msgspec.structs.replace(case("late", "a"), outcome="skipped", passed=False, reason="no action server")
    return report(examples=[example("hello", "greet")], cases=[late], name="twin", root="")


def _texts() -> list[str]:
    return [*HOSTILE, *TRICKS]


def _sound(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _hostile() -> Report:
    texts = _texts()
    return report(
        examples=[
            *(example(text, f"i{text}", f"j{text}", near=[(number, 0.5)]) for number, text in enumerate(texts)),
            *(example(f"ab {text}", "i", "j", entities=[(0, 2, text)]) for text in texts),
        ],
        sentences=training(*((text, text) for text in texts)),
        stories=[story(text, f"x{text}", f"y{text}!z{text}") for text in texts if "!" not in text],
        cases=[case(text, f"y{text}!z{text}") for text in texts if "!" not in text],
        findings=[finding("missing-response", text, path=f"a{text}.yml") for text in texts],
        covered=coverage("responses", **dict.fromkeys(texts, ("a", False))),
        skipped=[Skipped(evaluation="batch", reason=text) for text in texts],
        substitutions=[Substitution(component=text, used=text, reason=text) for text in texts],
        name=texts[1],
    )
