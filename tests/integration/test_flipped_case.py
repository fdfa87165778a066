"""A training sentence draws the sentence of an end-to-end case away: noise, unless the dialogue is wrong as well."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden
from in_process import turncheck
from test_flipped_sentence import COLLIDING, FILES, document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("_shared_cache")
CASES = """\
test_cases:
- test_case: evening
  steps:
  - user: good evening to you
  - utter: utter_hello
  - user: bye
  - utter: utter_bye
- test_case: hours
  steps:
  - user: when do you open
  - utter: utter_hours
"""
PROJECT = {
    **{name: text for name, text in FILES.items() if "test_stories" not in name},
    "tests/e2e_test_cases.yml": CASES,
}
NOISE = {"data/nlu.yml": ("    - when do you open\n", f"    - when do you open\n{COLLIDING}")}
RULE = {"data/rules.yml": ("{intent: greet}, {action: utter_hello}", "{intent: greet}, {action: utter_bye}")}
GATES = ("--fail-on", "errors", "new-failures", "test-failures")

Run = Any
"""What a run printed, its exit code, and the folder of its results."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project, and the results of its base."""
    folder = tmp_path_factory.mktemp("shop")
    write(folder, {})
    done = turncheck("run", "bot", "--baseline", "none", "--out", "base", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def write(folder: Path, changes: Mapping[str, tuple[str, str]]) -> None:
    for name, content in PROJECT.items():
        old, new = changes.get(name, ("", ""))
        assert old in content
        path = folder / "bot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.replace(old, new) if old else content, "utf-8")


def run(
    folder: Path, name: str, changes: Mapping[str, tuple[str, str]], *flags: str, base: str = "base/report.json"
) -> Run:
    write(folder, changes)
    return turncheck("run", "bot", "--baseline", base, "--out", name, *GATES, *flags, cwd=folder)


def without_confidence(text: str) -> str:
    """A text without the decimals that the arithmetic of a machine may change."""
    return re.sub(r"\(0\.\d\d\)", "(0.…)", text)


def case_of(folder: Path, name: str) -> dict[str, Any]:
    (found,) = (case for case in document(folder / name, "report.json")["e2e"]["cases"] if case["name"] == "evening")
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def noise(shop: Path) -> Run:
    return run(shop, "noise", NOISE)


def test_what_a_sentence_alone_does_is_a_class_of_its_own_and_fails_no_gate(shop: Path, noise: Run) -> None:
    case, section = case_of(shop, "noise"), document(shop / "noise", "report.json")["e2e"]
    assert noise.returncode == 0, noise.stdout
    assert (case["outcome"], case["passed"], case["as_before"]) == ("misunderstood", False, True)
    assert [section.get(name, 0) for name in ("passed", "failed", "misunderstood")] == [1, 0, 1]
    message = case["messages"][0]
    assert (message["text"], message["location"]["line"]) == ("good evening to you", 4)
    assert (message["before"]["intent"], message["understood"]["intent"]) == ("greet", "ask_hours")
    assert message["neighbours"][0]["text"] in COLLIDING

    judged = {metric["name"]: metric["judgement"] for metric in document(shop / "noise", "comparison.json")["metrics"]}
    assert judged["e2e.passed"] == judged["e2e.misunderstood"] == "noise"
    assert judged["e2e.failed"] == "same"


def test_every_output_names_the_sentence_what_it_was_and_what_it_is_understood_as(
    shop: Path, noise: Run, golden: Golden
) -> None:
    told = "'good evening to you': on the base greet, now ask_hours"
    assert re.search(re.escape(told) + r" \(0\.\d\d\) in end-to-end case evening\n", noise.stdout)
    assert ": new in ask_hours: 'good evening to you" in noise.stdout
    assert "1 end-to-end case newly misunderstood" in noise.stdout

    comment = (shop / "noise" / "comment.md").read_text("utf-8")
    golden(next(line for line in comment.splitlines() if line.startswith("### ")))
    golden(without_confidence(comment), only="now `ask_hours`")
    assert "new in `ask_hours`: `good evening to you" in comment
    assert "🔴" not in comment

    junit = (shop / "noise" / "junit.xml").read_text("utf-8")
    assert f"{told} (0." in junit
    assert '<skipped type="skipped" message="misunderstood: ' in junit


def test_it_fails_where_every_sentence_is_a_promise(shop: Path, noise: Run, golden: Golden) -> None:
    assert noise.returncode == 0
    done = turncheck(
        *("report", "compare", "base", "noise", "--fail-on", "new-failures", "--misunderstood", "fail"),
        cwd=shop,
    )
    assert done.returncode == 1
    golden(without_confidence(done.stdout), only="case evening")


def test_the_next_change_finds_it_misunderstood_on_the_base_too(shop: Path, noise: Run, golden: Golden) -> None:
    assert noise.returncode == 0
    done = run(shop, "next", NOISE, "--seed", "7", base="noise/report.json")
    assert done.returncode == 0, done.stdout
    assert case_of(shop, "next")["outcome"] == "misunderstood"
    golden(done.stdout, only="1 end-to-end case")


def test_a_dialogue_that_is_wrong_as_well_fails_and_says_both(shop: Path, golden: Golden) -> None:
    done = run(shop, "broken", {**NOISE, **RULE})
    case = case_of(shop, "broken")
    assert done.returncode == 1
    assert (case["outcome"], case["as_before"]) == ("failed", False)
    said = "'good evening to you' is understood as ask_hours; on the base as greet"
    again = "with its messages understood as on the base it fails too"
    assert said in done.stdout
    assert again in done.stdout
    junit = (shop / "broken" / "junit.xml").read_text("utf-8")
    assert said in junit
    assert again in junit
    comment = (shop / "broken" / "comment.md").read_text("utf-8")
    golden(comment, only="`good evening to you`")


def test_a_failure_with_nothing_misunderstood_shows_what_was_said_and_understood(shop: Path, golden: Golden) -> None:
    done = run(shop, "rule", RULE)
    assert done.returncode == 1
    assert case_of(shop, "rule")["outcome"] == "failed"
    golden(done.stdout, only="'good evening to you'")


@pytest.mark.parametrize(
    "edit",
    [("good evening to you", "good evening to you hours"), ("utter_bye", "utter_hours")],
    ids=["said", "expected"],
)
def test_a_case_that_is_edited_is_no_noise(shop: Path, edit: tuple[str, str]) -> None:
    done = run(shop, "edited", {**NOISE, "tests/e2e_test_cases.yml": edit})
    assert done.returncode == 1
    assert case_of(shop, "edited")["outcome"] == "failed"


def test_without_a_base_it_is_a_failure_that_shows_how_its_sentence_was_understood(shop: Path, golden: Golden) -> None:
    done = run(shop, "alone", NOISE, base="none")
    assert done.returncode == 1
    assert case_of(shop, "alone")["outcome"] == "failed"
    golden(done.stdout, only="'good evening to you'")


def test_what_cannot_be_judged_again_stays_a_failure_and_says_what_was_understood_differently(
    shop: Path, golden: Golden
) -> None:
    """Two reports that somebody made: no engine is there to judge anything."""
    run(shop, "alone", NOISE, base="none")
    done = turncheck("report", "compare", "base", "alone", "--out", "two", "--fail-on", "new-failures", cwd=shop)
    assert done.returncode == 1
    golden(done.stdout, only="'good evening to you'")
    golden(done.stdout, only="its messages")


def test_an_intent_that_is_gone_from_the_domain_cannot_be_understood_any_more(shop: Path) -> None:
    """The base's understanding is none that this state could ever have: nothing excuses the failure."""
    changes = {
        **NOISE,
        "domain.yml": ("[greet, ask_hours", "[hello, ask_hours"),
        "data/rules.yml": ("{intent: greet}", "{intent: hello}"),
        "tests/test_nlu.yml": ("intent: greet", "intent: hello"),
    }
    nlu = PROJECT["data/nlu.yml"].replace("intent: greet", "intent: hello").replace(*NOISE["data/nlu.yml"])
    done = run(shop, "renamed", {**changes, "data/nlu.yml": (PROJECT["data/nlu.yml"], nlu)})
    assert done.returncode == 1
    case = case_of(shop, "renamed")
    assert (case["outcome"], case.get("as_before")) == ("failed", None)
    assert json.dumps(case["messages"][0]["before"]["intent"]) == '"greet"'
