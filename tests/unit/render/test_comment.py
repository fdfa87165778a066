"""The pull-request comment: what it says, how it stays within GitHub's limits, what it lets nobody do."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import msgspec
import pytest
from github_markdown import ACTIVE, elements, links, text_outside_code, to_html
from golden_texts import Golden
from hostile import HOSTILE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from pull_request import LINKS, base_report, head_report, pull_request
from report_builder import (
    BASE_COMMIT,
    HEAD_COMMIT,
    case,
    coverage,
    example,
    finding,
    report,
    story,
    training,
    with_changes,
)

from turncheck.comparison.changes import FindingChange, SettingChange
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present, Unreadable
from turncheck.conclude import Outcome
from turncheck.messages.finding import Location
from turncheck.render.content import DEGRADATION, ORDER
from turncheck.render.document import build_document
from turncheck.render.links import Links
from turncheck.render.markdown import (
    COMMENT_LIMIT,
    SUMMARY_LIMIT,
    Size,
    draw,
    environment,
    render_comment,
    render_summary,
    utf8_bytes,
    utf16_units,
)
from turncheck.render.wording.gates import judge
from turncheck.report.codec import encode
from turncheck.report.model import GateSettings, Report, Skipped, Substitution

GOLDEN = Path(__file__).parents[1] / "golden"


def comment_of(head: Report, base: Report | None, links: Links = LINKS) -> str:
    comparison = compare(head, Present(base, "artifact", run_id="55") if base else Missing("nothing ran here yet"))
    return str(render_comment(head, comparison, judge(head, comparison, head.settings), links).content)


def test_every_section_is_drawn_and_can_give_way() -> None:
    assert {*ORDER, "metrics", "worse", "unseen", "deleted", "settings", "asked", "suppressions"} == set(DEGRADATION)


def test_every_document_says_when_it_was_measured() -> None:
    """Also where there is no batch suite, and none where a report does not say it."""
    one = report(stories=[story("they greet")])
    for measured, shown in (("2026-01-05T17:43:43Z", True), ("2026-01-05T17:43:00Z", True), (None, False)):
        made = msgspec.structs.replace(one, source=msgspec.structs.replace(one.source, measured=measured))
        against = compare(made, Missing("none"))
        outcome = Outcome(made, Missing("none"), against, judge(made, against, made.settings), LINKS)
        written = {file.name: file.encoded.decode() for file in outcome.renderings()}
        for name in ("comment.md", "summary.md", "report.html", "junit.xml"):
            assert ("2026-01-05 17:43 UTC" in written[name]) is shown, name


@pytest.mark.slow
def test_the_order_of_hashes_shows_nowhere() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pull_request import *;"
        "from turncheck.render.console import render_console; from turncheck.render.junit import render_junit;"
        "from turncheck.render.markdown import render_comment, render_summary;"
        "drawn = [render(*pull_request(), LINKS) for render in"
        " (render_comment, render_summary, render_junit, render_console)];"
        "print({one.name: one.encoded for one in drawn})"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parents[1])],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout.decode()
        for seed in ("1", "2")
    ]

    one, other = (ast.literal_eval(output) for output in outputs)
    assert len(one) == 4
    assert one == other


# --- what it says ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["comment", "summary"])
def test_the_documents_are_the_golden_ones(name: str) -> None:
    """Write the new ones with: python tests/unit/accept_golden.py"""
    render = {"comment": render_comment, "summary": render_summary}[name]

    assert render(*pull_request(), LINKS).content == (GOLDEN / f"{name}.md").read_text()


def test_the_same_reports_give_the_same_bytes() -> None:
    once, again = (render_comment(*pull_request(), LINKS) for _ in range(2))

    assert once == again


def test_the_verdict_comes_first_then_the_table_then_what_changed_then_details_then_gates() -> None:
    text = comment_of(head_report(), base_report())

    order = [
        "Failed: bank",
        "| Intents, F1 |",
        "New errors in the data",
        "began to collide",
        "Newly failing",
        "<details>",
        "#### Gates",
        "Not run",
        "<sub>",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_change_of_the_gate_settings_stands_above_everything_else(golden: Golden) -> None:
    lines = comment_of(head_report(), base_report()).splitlines()

    assert re.fullmatch("<!-- turncheck:report id=bots-bank-[0-9a-f]{8} -->", lines[0])
    golden(lines[1])


@pytest.mark.parametrize(
    ("key", "shown"),
    [("one", "one"), ("a/b c", "a-b-c-[0-9a-f]{8}"), ("x-->y", "x-y-[0-9a-f]{8}"), ("", "bots-bank-[0-9a-f]{8}")],
)
def test_the_hidden_first_line_bears_the_key(key: str, shown: str) -> None:
    head, comparison, verdict = pull_request()

    text = str(render_comment(head, comparison, verdict, LINKS, key=key).content)

    assert re.fullmatch(f"<!-- turncheck:report id={shown} -->", text.splitlines()[0])


def test_cases_link_to_their_line_at_the_head_and_what_is_gone_to_the_base() -> None:
    comparison = compare(head_report(), Present(base_report(), "artifact", run_id="55"))
    verdict = judge(head_report(), comparison, head_report().settings)
    targets = links(to_html(str(render_summary(head_report(), comparison, verdict, LINKS).content)))

    head, base = (f"https://github.com/acme/bots/blob/{digit * 40}/bots/bank" for digit in "21")
    assert f"{head}/tests/test_stories.yml#L3" in targets
    assert f"{head}/tests/test_nlu.yml#L4" in targets
    assert f"{base}/domain.yml#L41" in targets


def test_outside_github_places_are_plain_text() -> None:
    text = comment_of(head_report(), base_report(), Links())

    assert links(to_html(text)) == []
    assert "`bots/bank/tests/test_nlu.yml:4`" in text


@pytest.mark.parametrize(
    ("baseline", "words"),
    [
        (Missing("no run on this branch yet"), "**No baseline:** no run on this branch yet"),
        (Unreadable("the artifact is no report"), "**The baseline could not be read:** the artifact is no report"),
    ],
)
def test_missing_and_unreadable_baselines_are_told_apart_in_words(baseline: Any, words: str) -> None:
    head = base_report()
    comparison = compare(head, baseline)

    text = str(render_comment(head, comparison, judge(head, comparison, head.settings), LINKS).content)

    assert words in text
    assert "| | now |" in text
    assert "±0" not in text


def test_the_baseline_is_named_with_commit_run_and_how_it_was_found(golden: Golden) -> None:
    text = comment_of(head_report(), base_report())

    assert "commit `11111111`" in text
    golden(text, only="[run")


def sides(wrong_before: range, wrong_now: range) -> tuple[Report, Report]:
    intents = [f"intent_{number}" for number in range(10)]

    def side(wrong: range, commit: str) -> Report:
        sentences = [
            example(f"sentence {i}", intents[i % 10], intents[(i + 1) % 10] if i in wrong else None, line=i + 1)
            for i in range(1000)
        ]
        return report(examples=sentences, commit=commit)

    return side(wrong_before, BASE_COMMIT), side(wrong_now, "2" * 40)


def test_twelve_of_a_thousand_in_each_direction_are_noise() -> None:
    base, head = sides(range(12), range(500, 512))

    text = comment_of(head, base)

    assert "| Intents, F1 | 0.988 | 0.988 | ±0 within noise |" in text
    assert "| Intents, accuracy | 0.988 | 0.988 | ±0 within noise |" in text
    assert "real" not in text


@pytest.mark.slow
def test_forty_wrong_and_five_right_are_real(golden: Golden) -> None:
    base, head = sides(range(5), range(500, 540))

    text = comment_of(head, base)

    assert "| Intents, F1 | 0.995 | 0.960 | −0.035 🔴 real drop |" in text
    assert "| Intents, accuracy | 0.995 | 0.960 | −0.035 🔴 real drop |" in text
    golden(text, only="misclassified")
    assert "Newly right (5)" in text


def test_different_sentences_on_both_sides_are_said_and_compared_on_the_shared_ones(golden: Golden) -> None:
    base = report(examples=[example(f"s{i}", "a" if i % 2 else "b", line=i + 1) for i in range(20)], commit=BASE_COMMIT)
    head = report(
        examples=[example(f"s{i}", "a" if i % 2 else "b", line=i + 1) for i in range(2, 20)]
        + [example(f"entirely other {i}", "a", "b", line=40 + i) for i in range(4)]
    )

    text = comment_of(head, base)

    assert "| Intents, accuracy (shared sentences) | 1.000 | 1.000 | same |" in text
    golden(text, only="Intents")
    assert "Intents, accuracy 1.000 → 0.818." in text


def test_where_no_sentence_is_the_same_nothing_is_said_to_be_better_or_worse(golden: Golden) -> None:
    base = report(examples=[example("one thing", "a"), example("two", "a")], commit=BASE_COMMIT)
    head = report(examples=[example("something entirely other", "b"), example("and more", "b")])

    text = comment_of(head, base)

    golden(text, only="sentence")
    assert "| Intents, F1 | 1.000 | 1.000 | ±0 |" in text


STORIES = [story(f"story {i}", f"utter_{i}", line=i) for i in range(1, 11)]


def test_stories_that_are_gone_are_no_drop_but_said_and_named(golden: Golden) -> None:
    text = comment_of(report(stories=STORIES[:3]), report(stories=STORIES, commit=BASE_COMMIT))

    assert "| Stories passed | 10/10 | 3/3 | same; 7 gone |" in text
    assert "7 stories gone" in headline_of(text)
    assert text.count("in the setting `accept-gone`") == 1, "it is not repeated above those that are folded"
    golden(text.partition("(7)\n\n")[2].partition("`story 5`")[0])


def test_a_new_failing_story_is_counted_as_new_not_as_one_that_broke() -> None:
    head = report(stories=[*STORIES, story("new one", "utter_a!utter_b", line=20)])

    text = comment_of(head, report(stories=STORIES, commit=BASE_COMMIT))

    assert "| Stories passed | 10/10 | 10/11 | same; 1 new (1 fails) |" in text
    assert "1 new story fails" in headline_of(text)
    assert "newly" not in headline_of(text)


def test_a_story_that_broke_among_new_and_gone_ones_is_worse_by_one() -> None:
    broken = story("story 1", "utter_1!utter_b", line=1)
    head = report(stories=[broken, *STORIES[1:8], story("new one", "utter_a", line=20)])

    text = comment_of(head, report(stories=STORIES, commit=BASE_COMMIT))

    assert "| Stories passed | 10/10 | 8/9 | 🔴 worse; 1 broke, 1 new, 2 gone |" in text


def test_an_edited_story_that_broke_is_listed_once(golden: Golden) -> None:
    edited = [story("story 1", "utter_1", "utter_x!utter_y", line=1), story("story 2", "utter_2", "utter_x", line=2)]

    text = comment_of(report(stories=[*edited, *STORIES[2:]]), report(stories=STORIES, commit=BASE_COMMIT))

    assert "story `story 1` (edited): expected `utter_x`, got `utter_y`" in text
    assert text.count("`story 1`") == 1
    golden(text, only="(1)</summary>")
    golden(text, only="`story 2`")


def test_stories_that_are_all_others_are_not_judged() -> None:
    text = comment_of(report(stories=STORIES[:5]), report(stories=STORIES[5:], commit=BASE_COMMIT))

    assert "| Stories passed | 5/5 | 5/5 | 5 new, 5 gone |" in text


def headline_of(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("**"))


def test_testing_on_training_sentences_is_said_in_the_headline(golden: Golden) -> None:
    head = base_report()
    assert head.nlu is not None
    head = msgspec.structs.replace(head, nlu=msgspec.structs.replace(head.nlu, on_training_sentences=12))

    headline = next(line for line in comment_of(head, None).splitlines() if line.startswith("**"))

    golden(headline)


def test_without_a_baseline_everything_in_the_data_is_listed_and_with_one_what_is_known_is_folded(
    golden: Golden,
) -> None:
    known, new = finding("old-thing", "known for long", "warning"), finding("new-thing", "just added", "warning")
    base = report(examples=[example("a", "x"), example("b", "y")], findings=[known], commit=BASE_COMMIT)
    head = report(examples=[example("a", "x"), example("b", "y")], findings=[known, new])

    alone, against = comment_of(head, None), comment_of(head, base)

    golden(alone, only="Warnings")
    golden(against, only="finding")
    assert "old-thing" not in against
    assert against.count("⚠️ `new-thing`") == 1
    golden(against, only="warnings")


def test_what_to_do_about_a_finding_stands_below_it() -> None:
    told = replace(finding("new-thing", "just added", "warning"), hint="Take it *out*.")

    text = comment_of(report(findings=[told]), report(findings=[], commit=BASE_COMMIT))

    entry = next(line for line in text.splitlines() if "`new-thing`" in line)
    assert entry.endswith("<br>Take it \\*out\\*.")


def test_what_stands_above_is_not_told_again_below_its_gate() -> None:
    """What failed a gate and is folded away, since the base has it too, is named there."""
    old, new = finding("old-error", "known for long", line=3), finding("new-error", "just added", line=9)
    head = report(findings=[old, new], settings=GateSettings(fail_on=("errors",)))

    text = comment_of(head, report(findings=[old], commit=BASE_COMMIT))

    gates = text.partition("#### Gates")[2]
    reason = "2 errors in the data, 1 of them on the base too: old-error: known for long"
    assert f"❌ `errors` **failed**: {reason} · " in gates
    assert "new-error" not in gates


def test_what_to_do_is_said_once() -> None:
    found = [replace(finding("bare", f"number {n}", "warning", line=n), hint="Annotate it.") for n in range(1, 4)]

    assert comment_of(report(findings=found), report(findings=[], commit=BASE_COMMIT)).count("Annotate it") == 1


# --- how it fits -----------------------------------------------------------------------------------------------------


def large(number: int) -> tuple[Report, Report]:
    base = report(
        examples=[
            example(f"sentence number {i} about {'x' * 60}", f"intent_{i % 400}", line=i + 1) for i in range(number)
        ],
        stories=[story(f"story {i}", "utter_a", line=i) for i in range(number // 4)],
        cases=[case(f"case {i}", "utter_a", line=i) for i in range(number // 4)],
        findings=[finding("code", f"message {i}", "warning", line=i + 1) for i in range(number // 4)],
        sentences=training(("x", "intent_1")),
        commit=BASE_COMMIT,
    )
    head = report(
        examples=[
            example(f"sentence number {i} about {'x' * 60}", f"intent_{i % 400}", f"intent_{(i + 1) % 400}", line=i + 1)
            for i in range(number)
        ],
        stories=[story(f"story {i}", "utter_a!utter_b", line=i) for i in range(number // 4)],
        cases=[case(f"case {i}", "utter_a!utter_b", line=i) for i in range(number // 4)],
        findings=[finding("code", f"other message {i}", "error", line=i + 1) for i in range(number // 4)],
        sentences=training(("x", "intent_1")),
    )
    return base, head


def well_formed(text: str) -> None:
    html = to_html(text)
    counts = elements(html)
    assert counts["details"] == counts["summary"] == html.count("</details>")
    assert text.count("<details>") == text.count("</details>")
    for table in re.findall(r"(?s)<table>.*?</table>", html):
        cells = {len(re.findall(r"<t[dh]", line)) for line in re.findall(r"(?s)<tr>.*?</tr>", table)}
        assert len(cells) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [40, 4000])
@pytest.mark.parametrize(("lines", "limit"), [(UNSET, 8_000), (0, 8_000), (19, 8_000), (20, 16_000), (100_000, 16_000)])
def test_a_comment_never_exceeds_the_limit_and_says_what_it_leaves_out(
    lines: int | UnsetType, limit: int, number: int
) -> None:
    base, head = large(number)
    comparison = replace(compare(head, Present(base, "git")), changed_lines=lines)
    verdict = judge(head, comparison, head.settings)
    text = str(render_comment(head, comparison, verdict, LINKS).content)

    assert len(text.encode()) <= limit < COMMENT_LIMIT < 65_536
    well_formed(text)
    left_out = re.findall(r"(?:… and )?([\d,]+) (?:more|are)?,? ?in the \[results\]", text)
    assert left_out
    assert f"Newly failing tests ({number // 2})" in text
    assert text.rstrip().endswith("</sub>")
    assert "#### Gates" in text
    for part in re.split(r"\n(?=#### |<details>)", text):
        assert part.startswith("#### Gates") or len(re.findall(r"^- ", part, re.MULTILINE)) <= 10


def test_what_is_asked_is_no_rule(golden: Golden) -> None:
    """A model or a prompt is what is under test; of a long prompt, the place that changed is shown."""
    base, head = large(2)
    comparison = compare(head, Present(base, "git"))
    prompt = "You are a travel agent. " * 20
    changed = (
        SettingChange(name="bot.request.body.model", base="travel-1", value="travel-2"),
        SettingChange(name="bot.request.body.prompt", base=f"{prompt}Be brief.", value=f"{prompt}Be `kind`."),
    )
    comparison = replace(comparison, settings_changed=changed)
    text = str(render_comment(head, comparison, judge(head, comparison, head.settings), LINKS).content)
    golden(text[:400])
    rules = (
        SettingChange(name="bot.request.body.model", base="travel-1", value="", change="removed"),
        SettingChange(name="bot.request.body.top_p", base="", value="0.5", change="added"),
        SettingChange(name="bot.request.path", base=f"/{prompt}one", value=f"/{prompt}two"),
        SettingChange(name="bot.replies", base="$.text", value="", change="removed"),
    )
    comparison = replace(comparison, settings_changed=rules)
    text = str(render_comment(head, comparison, judge(head, comparison, head.settings), LINKS).content)
    golden(text[:700])


@pytest.mark.slow
def test_what_alters_the_judgement_is_listed_whole_and_cut_last() -> None:
    """However much a change breaks, it cannot hide what it does to the rules that it is judged by."""
    base, head = large(400)
    comparison = compare(head, Present(base, "git"))
    changed = tuple(SettingChange(name=f"setting-{number}", base="1", value="0") for number in range(12))
    hidden = tuple(
        FindingChange(code="code", severity="error", message=f"hidden {number}", location=Location("a.yml", number + 1))
        for number in range(12)
    )
    edited = tuple(
        replace(case, edits=("edited",), name=f"edited {number}")
        for number, case in enumerate(comparison.stories.worse[:12])
    )
    comparison = replace(
        comparison,
        settings_changed=changed,
        new_suppressions=hidden,
        stories=replace(comparison.stories, edited=tuple(replace(one, passed=True) for one in edited)),
    )
    verdict = judge(head, comparison, head.settings)
    text = str(render_comment(head, comparison, verdict, LINKS).content)

    assert len(text.encode()) <= 8_000
    for name in (*(one.name for one in changed), *(one.name for one in edited)):
        assert f"`{name}`" in text
    assert all(one.message in text for one in hidden)
    assert text.index("Edited or renamed (12)") < text.index("New errors")
    well_formed(text)


def test_if_nothing_changed_a_comment_says_that_in_a_few_lines(golden: Golden) -> None:
    """Whatever is wrong with the assistant: it was so before."""
    _, head = large(40)
    head = with_changes(head, settings=GateSettings(fail_on=("new-errors", "new-failures")))
    base = with_changes(head, source=replace(head.source, commit=BASE_COMMIT))
    text = comment_of(head, base)

    golden(text)
    assert len(text.encode()) < 2_500
    for name in ("confused", "Confused", "How it was measured", "Newly"):
        assert name not in text


@pytest.mark.parametrize(
    ("names", "entries"),
    [
        ([{"version": "3.0"}] * 6, 1),
        ([{"version": "2.0"}, {"version": "3.0"}], 2),
        ([{"intent": f"faq/{key}"} for key in "abcdef"], 1),
        ([{"intent": f"{intent}/a"} for intent in "abcdef"], 6),
        ([{"slot": name} for name in "abcdef"], 6),
    ],
)
def test_findings_with_one_cause_are_one_entry(names: list[dict[str, Any]], entries: int, golden: Golden) -> None:
    found = [
        finding("a-code", f"It is wrong with {name}.", "warning", path=f"data/{number}.yml", **name)
        for number, name in enumerate(names)
    ]
    head = report(findings=found, stories=[story("s", "utter_a")])
    text = comment_of(head, report(commit=BASE_COMMIT, stories=[story("s", "utter_a")]))
    assert len(re.findall(r"^- ⚠️ `a-code`", text, re.MULTILINE)) == entries
    golden(text, only=f"({len(names)})")


@pytest.mark.parametrize("number", [4, 30])
def test_what_names_each_other_is_one_entry(number: int, golden: Golden) -> None:
    places = [Location("data/rules.yml", line) for line in range(1, number + 1)]
    rules = [
        replace(
            finding("rule-contradiction", f"Rule 'r{place.line}' contradicts the others.", line=place.line or 0),
            location=place,
            others=tuple(other for other in places if other is not place),
        )
        for place in places
    ]
    apart = finding("rule-contradiction", "Rule 'x' contradicts 'y'.", path="data/other.yml")
    head = report(findings=[*rules, replace(apart, others=(Location("data/more.yml", 1),))])
    text = comment_of(head, report(commit=BASE_COMMIT))
    assert len(re.findall(r"^- ❌ `rule-contradiction`", text, re.MULTILINE)) == 2
    assert (f"and {number - 4} more" in text) == (number > 6)
    golden(next(line for line in text.splitlines() if line.startswith("- ❌ `rule-contradiction`")))
    assert len(text.encode()) < 4_000


@pytest.mark.slow
def test_what_tests_reach_gives_way_before_a_comment_on_a_change_is_long(golden: Golden) -> None:
    base, head = (
        report(
            stories=[story("day", "utter_hi")],
            covered=coverage("intents", **{f"intent_{number:02}": (digest, True) for number in range(60)}),
            commit=commit,
        )
        for digest, commit in (("old", BASE_COMMIT), ("new", HEAD_COMMIT))
    )

    comment = comment_of(head, base)

    golden(comment, only="reached")
    assert "changed intent `intent_07`" in comment
    assert len(comment.encode()) <= 8_000


def test_a_summary_never_exceeds_one_mebibyte() -> None:
    base, head = large(4_000)
    comparison = compare(head, Present(base, "git"))

    content = render_summary(head, comparison, judge(head, comparison, head.settings), LINKS).encoded

    assert 1_000_000 < len(content) <= SUMMARY_LIMIT < 1024 * 1024
    well_formed(content.decode())


@pytest.mark.slow
def test_details_give_way_before_what_changed_and_that_before_the_gates() -> None:
    base, head = large(400)
    comparison = compare(head, Present(base, "git"))
    verdict = judge(head, comparison, head.settings)
    names = [section.name for section in build_document(head, comparison, verdict, LINKS, unfolded=8).sections]

    text = comment_of(head, base)

    assert {"confusions", "wrong", "failing"} <= set(names)
    assert re.search(r"Intents confused more often than on the base \(400 pairs\), in the \[results\]", text)
    assert "\n- 100 stories and 100 end-to-end cases: expected `utter_a`, got `utter_b`\n" in text


@pytest.mark.slow
def test_many_failed_gates_do_not_take_the_place_of_what_changed_sides(golden: Golden) -> None:
    wrong = [example(f"sentence {i}", f"i{i % 300}", f"i{(i + 1) % 300}", line=i + 1) for i in range(900)]
    right = [example(one.text, str(one.expected.intent), line=i + 1) for i, one in enumerate(wrong)]
    rules = GateSettings(thresholds=tuple(f"nlu.intents[i{i}].f1 >= 0.9" for i in range(300)))
    base = report(examples=right, commit=BASE_COMMIT, settings=rules)
    head = report(examples=wrong, settings=rules)

    text = comment_of(head, base)

    assert text.count("❌ `threshold: ") == 16
    golden(text, only="288")
    assert text.count("\n- `sentence ") == 10


# --- hostile reports -------------------------------------------------------------------------------------------------

RENDERED = {"comment": render_comment, "summary": render_summary}
WHOLE = {
    "comment": Size("comment.md.j2", COMMENT_LIMIT, utf16_units, unfolded=8),
    "summary": Size("summary.md.j2", SUMMARY_LIMIT, utf8_bytes, unfolded=50),
}
"""Documents with all their details: a longer text would displace others, and with them what they are written in."""


def hostile_pair(text: str) -> tuple[Report, Report]:
    """Reports in which everything that a project can name is named like ``text``."""

    def side(*, wrong: bool, commit: str) -> Report:
        other = f"{text}!" if wrong else None
        return report(
            examples=[
                example(text, text or "a", other),
                example(f"{text} {text}", f"{text}2", other),
                example("x", "y"),
            ],
            sentences=training((text, text), ("x", "y")),
            stories=[
                story(text, f"utter{text.replace('!', '')}" + (f"!{text}x" if wrong else ""), path=text or "p"),
                *([] if wrong else [story(f"{text} gone", "only", "here", path=text or "p")]),
            ],
            cases=[case(text, "a!b" if wrong else "a", path=text or "p")],
            findings=[
                replace(finding(text, text, "error" if wrong else "warning", path=text or "p"), hint=f"{text} {text}")
            ],
            name=text,
            root=text,
            commit=commit,
            skipped=[Skipped(evaluation="batch", reason=text)],
            substitutions=[Substitution(component=text, used=text, reason=text)],
        )

    return side(wrong=False, commit=text), side(wrong=True, commit="2" * 40)


@cache
def tame_elements() -> dict[str, Counter[str]]:
    """The elements of each document of a report without anything hostile."""
    base, head = hostile_pair("x")
    comparison = compare(head, Present(base, "artifact", commit="x", run_id="x", passed_over="x", warnings=("x",)))
    verdict = judge(head, comparison, head.settings)
    return {name: elements(to_html(draw(head, comparison, verdict, LINKS, size=size))) for name, size in WHOLE.items()}


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Rasa itself gives the label no_entity a meaning: no entity of that name is scored.
@given(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40).filter(lambda text: text != "no_entity")))
def test_nothing_of_a_hostile_report_acts(text: str) -> None:
    base, head = hostile_pair(text)
    comparison = compare(head, Present(base, "artifact", commit=text, run_id=text, passed_over=text, warnings=(text,)))
    verdict = judge(head, comparison, head.settings)
    tame = tame_elements()
    for name, size in WHOLE.items():
        html = to_html(draw(head, comparison, verdict, LINKS, size=size))
        for shown in (html, to_html(str(RENDERED[name](head, comparison, verdict, LINKS).content))):
            assert not ACTIVE.search(text_outside_code(shown))
            assert all(target.startswith("https://github.com/acme/bots/") for target in links(shown))
        ours, theirs = elements(html), tame[name]
        for kind in (
            "img",
            "table",
            "td",
            "th",
            "tr",
            "details",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "pre",
            "input",
        ):
            assert ours[kind] == theirs[kind], kind


@pytest.mark.slow
def test_strings_of_a_megabyte_are_cut() -> None:
    base, head = hostile_pair("|`@a<b>" * 150_000)

    text = comment_of(head, base)

    assert len(text) < COMMENT_LIMIT
    well_formed(text)


def test_a_forged_marker_in_a_sentence_does_not_begin_a_line() -> None:
    base, head = hostile_pair("<!-- turncheck:report id=other -->")

    text = comment_of(head, base)

    assert len(re.findall(r"(?m)^<!-- turncheck", text)) == 1


def test_templates_cannot_print_what_did_not_come_through_the_sink(golden: Golden) -> None:
    with pytest.raises(TypeError) as refused:
        environment().from_string("{{ value }}").render(value="<b>")
    golden(refused.value)
    with pytest.raises(jinja2.UndefinedError):
        environment().from_string("{{ missing.thing }}").render()


def test_reports_of_the_builder_are_reports() -> None:
    assert encode(head_report())


def test_where_a_fault_kept_tests_from_running_nobody_knows_what_they_reach() -> None:
    fault = Skipped(evaluation="core", reason="the domain cannot be read", fault=True)
    head = msgspec.structs.replace(head_report(), skipped=(fault,))

    assert "reached by" in comment_of(head_report(), base_report())
    assert "reached by" not in comment_of(head, base_report())
