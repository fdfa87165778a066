"""The comment of several assistants: within the host's limit, the worst keep their fold, nothing acts in it."""

from __future__ import annotations

import re
from functools import partial

import pytest
from github_markdown import elements, links, to_html
from golden_texts import Golden
from msgspec import structs
from msgspec.structs import replace
from pull_request import LINKS, pull_request
from report_builder import BASE_COMMIT, case, example, finding, report

from turncheck.ci.bitbucket.host import to_bitbucket
from turncheck.comparison.changes import FindingChange
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.messages.finding import Location
from turncheck.render.assistants import Assistants, FailedAssistant, Run, key_of
from turncheck.render.main_metrics import main_metrics
from turncheck.render.markdown import render_overview_comment, render_overview_summary
from turncheck.render.wording.gates import judge
from turncheck.render.wording.verdict import Reservation
from turncheck.report.model import Report


def runs(number: int, failing: int = 1) -> tuple[Run, ...]:
    made = []
    for at in range(number):
        report, comparison, verdict = pull_request(f"bots/{at:02}", f"bot {at:02}")
        judged = structs.replace(verdict, outcome="failed" if at >= number - failing else "passed")
        made.append(Run(report, comparison, judged, LINKS))
    return tuple(made)


def folds(text: str) -> list[str]:
    return [line.partition("<code>")[2].partition("</code>")[0] for line in text.splitlines() if "<code>bots/" in line]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [4_000, 15_000, 60_000])
def test_the_limit_is_kept_and_the_worst_are_shown(limit: int) -> None:
    text = str(render_overview_comment(Assistants("bots/*", runs(30)), LINKS, limit=limit).content)
    assert len(text.encode("utf-16-le")) // 2 <= limit
    shown = folds(text)
    assert shown == sorted(shown, key=lambda name: (name != "bots/29", name)), "the worst first"
    assert bool(shown) == (limit > 4_000)
    if len(shown) < 30:
        assert f" {30 - len(shown)} more assistants " in text


def test_a_few_are_all_shown_at_length() -> None:
    text = str(render_overview_summary(Assistants("bots/*", runs(3)), LINKS).content)
    assert folds(text) == ["bots/02", "bots/00", "bots/01"]
    title = "This change alters the rules that these assistants are judged by, suppresses errors, or edits tests:"
    altered = "`fail-on`, `thresholds`, `max-regression`"
    above = "".join(f"> - `bots/{number}`: {altered}\n" for number in ("02", "00", "01"))
    assert text.startswith(f"> ⚠️ **{title}**\n{above}\n## ❌ 1 of 3 assistants failed\n")


@pytest.mark.slow
def test_rules_of_many_assistants_are_above_the_title_within_the_limit() -> None:
    text = str(render_overview_comment(Assistants("bots/*", runs(30)), LINKS, limit=15_000).content)
    above = text.partition("### ")[0]

    assert above.count("> - `bots/") == 10
    assert "> - … and 20 more assistants\n" in above


@pytest.mark.parametrize(("lines", "most"), [(6, 8_000), (10, 16_000)])
def test_assistants_share_the_limit_of_one_comment_and_those_that_fail_come_first(lines: int, most: int) -> None:
    each = [replace(run, comparison=structs.replace(run.comparison, changed_lines=lines)) for run in runs(3)]
    text = str(render_overview_comment(Assistants("bots/*", tuple(each)), LINKS).content)

    assert len(text.encode()) <= most
    shown = folds(text)
    assert shown == ["bots/02", "bots/00", "bots/01"][: len(shown)]
    assert shown
    assert len(shown) == 3 or f"{3 - len(shown)} more assistant" in text
    assert all(f"> - `bots/{number}`: " in text.partition("### ")[0] for number in ("00", "01", "02"))


@pytest.mark.parametrize(("roots", "short"), [(("", "bots/a"), True), (("bots", "bots/a"), True), (("a", "b"), False)])
def test_lines_of_an_assistant_within_another_are_counted_once(roots: tuple[str, str], short: bool) -> None:
    """Of the outer one, lines below it are lines of its own."""
    each = []
    for root in roots:
        measured, comparison, verdict = pull_request(root, root or "top")
        each.append(Run(measured, structs.replace(comparison, changed_lines=12), verdict, LINKS))
    text = str(render_overview_comment(Assistants("*", tuple(each * 4)), LINKS).content)
    assert (len(text.encode()) <= 8_000) == short


def test_edited_tests_are_above_the_title() -> None:
    (run,) = runs(1)
    edited = structs.replace(run.comparison.stories.better[0], edits=("edited",))
    stories = structs.replace(run.comparison.stories, edited=(edited,))
    quiet = structs.replace(run.comparison, settings_changed=(), stories=stories)
    text = str(render_overview_comment(Assistants("*", (replace(run, comparison=quiet),)), LINKS).content)
    assert "> - `bots/00`: 1 test edited\n" in text


def test_errors_that_an_assistant_suppresses_are_above_the_title() -> None:
    run, other = runs(2, failing=0)
    finding = FindingChange(code="a-code", severity="error", message="It is wrong.", location=Location("domain.yml", 1))
    quiet = structs.replace(run.comparison, settings_changed=(), new_suppressions=(finding,))
    same = structs.replace(other.comparison, settings_changed=())
    both = (replace(run, comparison=quiet), replace(other, comparison=same))
    above = str(render_overview_comment(Assistants("bots/*", both), LINKS).content).partition("### ")[0]

    assert "> - `bots/00`: 1 error newly suppressed\n" in above
    assert "bots/01" not in above


def test_hostile_names_and_reasons_are_only_letters() -> None:
    hostile = "<img src=x>`|@everyone <!-- turncheck:report id=x -->\n## no"
    (run,) = runs(1)
    report = structs.replace(run.report, project=structs.replace(run.report.project, name=hostile, root=hostile))
    assistants = Assistants("bots/*", (replace(run, report=report),), (FailedAssistant(hostile, hostile),))
    text = str(render_overview_comment(assistants, LINKS).content)
    assert text.startswith("<!-- turncheck:report id=bots-1dc64abd -->\n")
    assert len(re.findall("^<!--", text, re.MULTILINE)) == 1
    html = to_html(text)
    assert "img" not in elements(html)
    assert all(address.startswith("https://github.com/acme/bots") for address in links(html))
    assert "\n## no" not in text


def test_the_key_stays_while_assistants_come_and_go() -> None:
    assert key_of(["bots/a", "bots/b"]) == key_of(["bots/a", "bots/b", "bots/c"]) == "bots/*"
    assert key_of(["a", "bots/b"]) == "*"
    assert key_of(["teams/x/bots/a", "teams/y/bots/a"]) == "teams/*"


def test_what_it_says_of_all(golden: Golden) -> None:
    assert Assistants("*", runs(1, failing=0)).in_words == "1 assistant passed"
    assert Assistants("*", runs(3, failing=2)).in_words == "2 of 3 assistants failed"
    both = Assistants("*", runs(3, failing=2), (FailedAssistant("x", "y"),))
    golden(both.in_words)
    assert not both.passed


@pytest.mark.parametrize(
    ("reservations", "title"),
    [
        (("", "", ""), "✅ 3 assistants passed"),
        (("old failures only", "", ""), "✅ 3 assistants passed"),
        (("less is judged", "", ""), "⚠️ 3 assistants passed, 1 with a reservation: less is judged"),
        (("less is judged", "", "intents collide"), "⚠️ 3 assistants passed, 2 with reservations"),
    ],
)
def test_a_reservation_about_one_of_them_is_in_the_title(reservations: tuple[Reservation, ...], title: str) -> None:
    made = zip(runs(3, failing=0), reservations, strict=True)
    several = tuple(replace(run, verdict=structs.replace(run.verdict, reservation=one)) for run, one in made)
    text = str(render_overview_comment(Assistants("bots/*", several), LINKS, limit=30_000).content)

    assert f"### {title}" in text.splitlines()


def test_a_host_without_html_has_the_names_as_code() -> None:
    text = to_bitbucket(str(render_overview_comment(Assistants("bots/*", runs(2)), LINKS, limit=30_000).content))
    assert "**❌ `bots/01`**" in text
    assert "<details" not in text
    assert "<code>" not in text


def test_the_table_names_places_from_the_top_and_the_figures_that_changed() -> None:
    first, *others = runs(2)
    report = structs.replace(first.report, project=structs.replace(first.report.project, root="bots/00"))
    path = next(story.location.path for story in report.core.stories) if report.core else ""
    verdict = structs.replace(first.verdict, summary=f"it broke ({path}:3:1)")
    run = replace(first, report=report, verdict=verdict)

    text = str(render_overview_comment(Assistants("bots/*", (run, *others)), LINKS).content)
    row = next(line for line in text.splitlines() if line.startswith("|") and "`bots/00`" in line).replace("\\", "")

    assert f"it broke (bots/00/{path}:3:1)" in row
    changed = [one for one in main_metrics(report, run.comparison) if one.mark in {"better", "worse", "real drop"}]
    assert changed
    assert all(one.title in row for one in changed[:4])
    assert run.summary("00") == f"it broke (00/{path}:3:1)", "as it is opened from the folder with the assistants"


def judged(head: Report, base: Report) -> Run:
    comparison = compare(head, Present(base, "artifact", run_id="55"))
    return Run(head, comparison, judge(head, comparison, head.settings), LINKS)


def test_what_the_base_has_too_is_counted_in_the_comment_and_listed_in_the_summary() -> None:
    known = finding("old-thing", "known for long", "warning")
    old = [example(f"sentence {number}", "x", "y", line=number + 1) for number in range(300)]
    measured = partial(report, examples=[*old, example("a", "x"), example("b", "y")], findings=[known])
    several = tuple(
        judged(measured(name=name, root=f"bots/{name}"), measured(name=name, commit=BASE_COMMIT))
        for name in ("one", "two")
    )

    comment = str(render_overview_comment(Assistants("bots/*", several), LINKS).content)
    summary = str(render_overview_summary(Assistants("bots/*", several), LINKS).content)

    counted = "On the base too, and not listed here: 300 misclassified sentences, 1 finding in the data."
    assert comment.count(counted) == 2
    assert not re.search("sentence [0-9]|old-thing", comment)
    assert len(comment.encode()) < 8_000
    assert "sentence 7" in summary
    assert "old-thing" in summary


def test_the_table_shows_tests_that_differ_rather_than_figures_that_are_the_same(golden: Golden) -> None:
    sentences, cases = [example("a", "x"), example("b", "y")], [case(f"c{i}", "utter_a") for i in range(3)]
    base = report(examples=sentences, cases=cases, commit=BASE_COMMIT)
    others = [case("c0", "utter_a!utter_b"), *cases[1:], case("new", "utter_a")]
    head = report(examples=sentences, cases=others, findings=[finding("x", "new", "warning")])

    text = str(render_overview_comment(Assistants("bots/*", (judged(head, base),)), LINKS).content)
    row = next(line for line in text.splitlines() if "`bots/pizzeria`" in line)

    golden(row)
