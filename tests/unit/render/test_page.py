"""The page: what it says without a script, what its data hold, and that it stays small, safe and the same."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from golden_texts import Golden
from hostile import HOSTILE
from msgspec.structs import replace
from pull_request import LINKS, base_report, head_report, pull_request
from report_builder import case, coverage, example, finding, report, story, suite, training

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present
from turncheck.conclude import NamedOutcome, Outcome, Outcomes
from turncheck.messages.finding import Location
from turncheck.render.assistants import Run
from turncheck.render.case_keys import distinct_keys, key_of_sentence, key_of_test
from turncheck.render.junit import render_junit
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment, render_summary
from turncheck.render.page.budget import LIMIT
from turncheck.render.page.page import render_page
from turncheck.render.wording.gates import judge
from turncheck.report.batch import BatchCase, BatchOrder, BatchSuite, numbers_of
from turncheck.report.measured import MeasuredTurn
from turncheck.report.model import (
    Attempt,
    CaseMessage,
    ExpectedParse,
    FailedRun,
    Misunderstanding,
    NearSentence,
    Repeats,
    Report,
    StoryParse,
    TurnEvent,
    TurnTrace,
)

MANUAL = {"missing-response": "A response is missing. Define it."}


def page_of(head: Report, base: Report | None = None, links: Links = LINKS, **how: Any) -> str:
    comparison = compare(head, Present(base, "artifact") if base else Missing("first run"))
    run = Run(head, comparison, judge(head, comparison, head.settings), links)
    return str(render_page([run], MANUAL, **how).content)


def data_of(page: str) -> dict[str, Any]:
    match = re.search(r'<template id="data">([A-Za-z0-9+/=]*)</template>', page)
    assert match is not None
    (assistant,) = json.loads(gzip.decompress(base64.b64decode(match[1])))["assistants"]
    return dict(assistant)


def text_of(page: str) -> str:
    """What a browser shows of it without a script."""
    body = re.sub(r"<(script|style|template)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


# --- without a script ------------------------------------------------------------------------------------------------


def test_without_a_script_it_says_what_the_summary_says() -> None:
    head, comparison, verdict = pull_request()
    page = text_of(str(render_page([Run(head, comparison, verdict, LINKS)], MANUAL).content))

    for told in ("Failed: bank", "real drop", "now collide", "check the balance", "bots/bank/tests/test_nlu.yml:4"):
        assert told in page
    summary = str(render_summary(head, comparison, verdict, LINKS).content).replace("\\", "").replace("\u200b", "")
    summary = html.unescape(re.sub(r"[*`]|<[^>]*>|\]\([^)]*\)", " ", summary))
    missing = {*re.findall(r"[a-z_]{4,}", summary)} - {*re.findall(r"[a-z_]{4,}", page)}
    assert missing <= {"turncheck"}, missing


def test_its_policy_allows_its_own_script_and_style_alone() -> None:
    page = page_of(head_report(), base_report())
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]

    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for name in ("script", "style"):
        (inner,) = re.findall(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_equal_documents_give_equal_bytes() -> None:
    assert page_of(head_report(), base_report()) == page_of(head_report(), base_report())


def test_a_case_of_the_first_screen_leads_to_its_details() -> None:
    page = page_of(head_report(), base_report())

    targets = {*re.findall(r'class="show" href="#([^"]*)"', page)}
    data = data_of(page)
    assert key_of_sentence("what is my balance", "check_balance") in targets
    assert key_of_test("story", "check the balance") in targets
    assert targets <= {*data["sentences"]["key"], *(one["key"] for one in data["conversations"])}


class _Tags(HTMLParser):
    """Which elements there are, with which attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[str, ...]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add((tag, *(name for name, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


@pytest.mark.parametrize(
    "text", [*HOSTILE, "</script>", "</template><script>alert(1)</script>", "]]>", "<!--", '" onx="']
)
def test_hostile_text_is_only_text(text: str) -> None:
    head = report(
        examples=[example(f"a {text}", f"i{text}", "b", near=[(0, 0.5)])],
        sentences=training((text, text)),
        stories=[story(text, f"x{text}!y{text}")],
        cases=[case(text, f"x{text}!y{text}")],
        name=text,
    )
    page = page_of(head)

    tags, calm = _Tags(), _Tags()
    tags.feed(page)
    calm.feed(page_of(report(examples=[example("a", "i", "b")], stories=[story("s", "x!y")], cases=[case("c", "x!y")])))
    assert tags.seen == calm.seen
    assert data_of(page)["sentences"]["text"] == [f"a {text}".encode("utf-8", "backslashreplace").decode()]


# --- its data --------------------------------------------------------------------------------------------------------


def test_the_data_hold_every_sentence_and_what_changed() -> None:
    data = data_of(page_of(head_report(), base_report()))
    sentences, labels = data["sentences"], data["labels"]

    assert sentences["total"] == len(sentences["text"]) == 48
    changes = {labels[row["name"]]: (row["change"], row["worth"]) for row in data["intents"]}
    assert changes["transfer_money"] == ("−0.230", "real drop")  # as the first screen has it
    number = sentences["text"].index("what is my balance")
    assert labels[sentences["predicted"][number]] == "transfer_money"
    assert sentences["side"][str(number)] == "worse"
    assert labels[sentences["base"][str(number)]] == "check_balance"
    near, similarity = sentences["neighbours"][str(number)][0]
    assert (data["training"]["text"][near], similarity) == ("how much can I move to my savings", 0.91)
    assert sentences["side"][str(sentences["text"].index("pay my rent now"))] == "better"
    assert "" not in sentences["side"].values()


def test_places_have_the_address_of_their_line() -> None:
    data = data_of(page_of(head_report(), base_report()))

    (file,) = [one for one in data["files"] if one["path"] == "bots/bank/tests/test_nlu.yml"]
    assert (
        file["line_address"] == f"https://github.com/acme/bots/blob/{'2' * 40}/bots/bank/tests/test_nlu.yml#L{{line}}"
    )
    assert data_of(page_of(head_report(), links=Links()))["files"][0]["line_address"] is None


def test_the_matrix_has_both_sides() -> None:
    data = data_of(page_of(head_report(), base_report()))
    name = data["labels"].index

    assert [name("check_balance"), name("transfer_money"), 9] in data["confusions"]
    assert data["base_confusions"] == [[name("transfer_money"), name("check_balance"), 1]]


def test_a_transcript_has_its_first_difference_and_how_it_fared_on_the_base() -> None:
    data = data_of(page_of(head_report(), base_report()))
    found = {one["name"]: one for one in data["conversations"]}

    broken = found["check the balance"]
    assert (broken["side"], broken["outcome"], broken["base"]["outcome"]) == ("worse", "failed", "passed")
    (wrong,) = [turn for turn in broken["turns"] if turn["outcome"] == "failed"]
    assert (wrong["expected"], wrong["actual"]) == ("utter_balance", "utter_ask_amount")
    assert ["policy", "MemoizationPolicy"] in wrong["details"]
    assert found["small talk"]["side"] == "better"
    assert [one["side"] for name, one in found.items() if "money" in name] == [""]


def test_what_draws_a_message_away_has_its_place_from_the_top_of_the_repository() -> None:
    near = NearSentence(text="hi", intent="greet", location=Location("data/nlu.yml", 4), similarity=0.7)
    wrong = Misunderstanding(
        text="high",
        location=Location("tests/test_stories.yml", 3, 5),
        expected=ExpectedParse(intent="height"),
        predicted=StoryParse(intent="greet", confidence=0.6),
        neighbours=(near,),
    )
    head = report(stories=[replace(story("tall", "utter_hi"), passed=False, as_written=True, misunderstood=(wrong,))])
    (told,) = data_of(page_of(head))["conversations"]
    assert told["remarks"] == ["'high' is like 'hi' (greet, bots/pizzeria/data/nlu.yml:4)"]


def test_what_is_left_out_of_the_first_screen_is_in_a_view() -> None:
    page = page_of(report(stories=[story(f"s {i}", "utter_a!utter_b", line=i + 1) for i in range(60)]))
    assert '… and 10 more in <a href="#conversations">Conversations</a>' in page
    assert "more in report.json" not in text_of(page)


def test_what_changed_has_its_transcript_of_the_base_and_what_did_not_has_none() -> None:
    base = report(
        stories=[story("old name", "a", "b!x"), story("calm", "a", line=20)],
        cases=[case("ask", "hello", "bye!see you", line=40)],
    )
    head = report(
        stories=[story("new name", "a", "b"), story("calm", "a", line=25), story("new", "a!x", line=30)],
        cases=[case("ask", "hello", "bye", line=40)],
    )

    found = {one["name"]: one["base"] for one in data_of(page_of(head, base))["conversations"]}

    turns = found["new name"]["turns"]
    assert [(turn["expected"], turn["actual"]) for turn in turns] == [("a", None), ("b", "x")]
    assert {turn["place"] for turn in turns} == {None}
    assert [turn["actual"] for turn in found["ask"]["turns"]] == [None, "see you"]
    assert [found["calm"]["turns"], found["new"]["turns"]] == [[], []]
    assert found["new"]["outcome"] == "not there"


def test_what_happened_in_a_turn_unfolds_and_leaves_first_of_what_passed(golden: Golden) -> None:
    trace = TurnTrace(
        events=(
            TurnEvent(kind="slot", name="city", value="Rome"),
            TurnEvent(kind="action", name="utter_ask", policy="RulePolicy", confidence=0.5),
            TurnEvent(kind="bot", name="utter_ask", value="When?"),
            TurnEvent(kind="active_loop"),
        ),
        left_out=2,
        slots={"city": "Rome", "many": [1, 2]},
        active_loop="trip_form",
    )
    message = CaseMessage(text="go to Rome", location=Location("tests/e2e_test_cases.yml", 2), trace=trace)
    told = msgspec.structs.replace(case("trip", "a!b"), messages=(message,), opening=TurnTrace(slots={"vip": True}))

    (shown,) = data_of(page_of(report(cases=[told])))["conversations"]

    assert [turn["details"] for turn in shown["turns"] if turn["who"] == "user"] == [
        [
            [
                "events",
                "slot city: Rome\naction utter_ask (RulePolicy, 0.50)\nbot utter_ask: When?\nno form\n… and 2 more",
            ],
            ["slots then", "city: Rome\nmany: [1, 2]"],
            ["active form", "trip_form"],
        ]
    ]
    assert (shown["turns"][0]["label"], shown["turns"][0]["details"]) == ("opening", [["slots then", "vip: true"]])
    noise = [TurnEvent(kind="bot", value=hashlib.sha256(str(number).encode()).hexdigest()) for number in range(3000)]
    busy = msgspec.structs.replace(message, trace=TurnTrace(events=tuple(noise)))
    head = report(cases=[told, msgspec.structs.replace(case("calm", "a"), messages=(busy,))])
    page = page_of(head, limit=len(page_of(head)) - 50_000)
    failed, passed = data_of(page)["conversations"]
    assert failed == shown
    assert [turn["details"] for turn in passed["turns"]] == [[], []]
    golden(text_of(page))


def test_a_case_that_failed_once_shows_that_run() -> None:
    failed = case("trip", "a!b")
    run = FailedRun(steps=failed.steps, messages=failed.messages, difference=failed.difference)
    flaky = replace(case("trip", "a"), repeats=Repeats(runs="PFPP", outcome="flaky"), failed_run=run)

    alone, shown = (data_of(page_of(report(cases=[one])))["conversations"][0] for one in (failed, flaky))

    assert shown["turns"] == alone["turns"]
    assert (shown["outcome"], shown["of_failed_run"], alone["of_failed_run"]) == ("passed", True, False)


def test_what_a_turn_took_is_among_its_details(golden: Golden) -> None:
    """What is not known is left out: it is never 0."""
    place = Location("tests/e2e_test_cases.yml", 2)
    turns = (
        MeasuredTurn(first_ms=80.0, ms=1234.5, tokens_in=812, tokens_out=0, cost=0.0003121, trace="0f" * 16),
        MeasuredTurn(first_ms=80.0, ms=80.0),
    )
    messages = tuple(CaseMessage(text="go", location=place, measured=turn) for turn in turns)

    (shown,) = data_of(page_of(report(cases=[replace(case("trip", "a!b"), messages=messages)])))["conversations"]

    golden(*(turn["details"] for turn in shown["turns"] if turn["who"] == "user"))


def test_repeats_and_findings_are_told() -> None:
    repeated = msgspec.structs.replace(case("shaky", "a!b"), attempts=Attempt(passed=1, of=2, runs=(False, True)))
    (told,) = data_of(page_of(report(cases=[repeated])))["conversations"]
    assert (told["attempts"], told["runs"]) == ([1, 2], [False, True])

    beside = msgspec.structs.replace(case("shaky", "a"), repeats=Repeats(runs="PFp", outcome="flaky", base="PPF"))
    (told,) = data_of(page_of(report(cases=[beside]), report(cases=[case("shaky", "a")])))["conversations"]
    assert (told["runs"], told["base"]["runs"]) == ([True, False, True], [True, True, False])
    assert (told["outcome"], told["repeated"]) == ("passed", "flaky")

    data = data_of(page_of(head_report(), base_report()))
    assert data["manual"] == MANUAL
    assert [one["new"] for one in data["findings"]] == [True]


@pytest.mark.parametrize(("runs", "outcome"), [("PPPP", "passed"), ("PFPP", "flaky"), ("FFFF", "failed")])
def test_a_test_that_is_unclear_here_was_on_the_base_what_its_runs_there_say(runs: str, outcome: str) -> None:
    unclear = Repeats(runs="PFPF", outcome="unclear", base=runs)
    head = report(cases=[replace(case("trip", "a!b"), repeats=unclear, outcome="unclear")])
    (told,) = data_of(page_of(head, report(cases=[case("trip", "a")])))["conversations"]
    assert (told["outcome"], told["base"]["outcome"]) == ("unclear", outcome)


def test_sentences_that_do_not_pass_each_time_have_their_runs() -> None:
    flaky = Repeats(runs="FPp", outcome="flaky")
    always = Repeats(runs="PP", outcome="passed")
    examples = [
        msgspec.structs.replace(example(text, "greet"), repeats=repeats)
        for text, repeats in (("hi", always), ("hey", flaky))
    ]
    assert data_of(page_of(report(examples=examples)))["sentences"]["runs"] == {"1": "FPP"}
    assert data_of(page_of(report(examples=examples)))["sentences"]["repeated"] == {"1": "flaky"}


def test_no_confidence_passes_a_threshold_by_rounding() -> None:
    head = report(examples=[example("a", "i", confidence=0.29996), example("b", "i", confidence=0.29)])

    assert data_of(page_of(head))["sentences"]["confidence"] == [0.2999, 0.29]


def test_keys_say_what_a_case_is_and_not_where() -> None:
    assert key_of_sentence("hello", "greet") == key_of_sentence("hello", "greet")
    assert key_of_sentence("hello", "greet") != key_of_sentence("hello", "goodbye")
    assert key_of_test("story", "x").startswith("story-")
    assert distinct_keys(["a", "b", "a", "a"]) == ["a", "b", "a-2", "a-3"]
    moved = [example("hello", "greet", line=99, path="tests/other.yml")]
    keys = [data_of(page_of(report(examples=one)))["sentences"]["key"] for one in ([example("hello", "greet")], moved)]
    assert keys[0] == keys[1]


# --- how large it gets -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_details_of_what_passed_leave_first_and_the_page_says_so() -> None:
    examples = [
        example(
            f"sentence {number} of {hashlib.sha256(str(number).encode()).hexdigest()}",
            "greet",
            "goodbye" if number % 50 == 0 else None,
        )
        for number in range(3000)
    ]
    stories = [
        story(f"story {number}", "utter_greet", "utter_bye!utter_x" if number == 5 else "utter_bye")
        for number in range(300)
    ]
    head = report(examples=examples, stories=stories)
    whole = page_of(head)
    assert "Left out" not in text_of(whole)
    limit = len(whole) - 60_000

    page = page_of(head, limit=limit)

    assert len(page.encode()) <= limit
    assert "transcripts" in text_of(page)
    data = data_of(page)
    assert data["sentences"]["total"] == 3000
    assert len(data["sentences"]["text"]) == 60  # the wrong ones
    assert len(next(one for one in data["conversations"] if one["name"] == "story 5")["turns"]) == 2
    assert LIMIT == 5 * 1024 * 1024


@pytest.mark.slow
def test_what_fails_comes_first_and_stays_longest() -> None:
    many = [story(f"story {n} {hashlib.sha256(str(n).encode()).hexdigest()}", "a") for n in range(3000)]
    parts = coverage("intents", **{f"intent_{n}": (str(n), n % 3 != 0) for n in range(3000)})
    notes = [finding("duplicate", f"note {n}", "info", line=n + 1) for n in range(3000)]
    notes.append(finding("missing-response", "the only error", line=9))
    head = report(stories=[*many, story("broken", "a!b")], findings=notes, covered=parts)

    page = page_of(head, limit=len(page_of(head)) // 3)
    data = data_of(page)

    assert len(data["conversations"]) < 3001
    assert data["conversations"][0]["name"] == "broken"
    assert data["findings"][0]["message"] == "the only error"
    (reached,) = data["coverage"]
    assert (reached["total"], reached["reached"]) == (3000, 2000)
    assert len(reached["items"]) < 3000
    assert not any(item["covered"] for item in reached["items"][:100])


def _without_pattern(seed: int, length: int) -> str:
    """Letters that nothing can pack."""
    parts = (hashlib.sha256(f"{seed} {part}".encode()).hexdigest() for part in range(length // 64 + 1))
    return "".join(parts)[:length]


@pytest.mark.slow
def test_whatever_is_large_the_page_stays_below_its_limit() -> None:
    limit = 1_000_000
    names = [
        example(f"s{number}", f"i{_without_pattern(number, 250)}", f"j{_without_pattern(-number, 250)}", line=number)
        for number in range(1, 3000)
    ]
    texts = [example(_without_pattern(number, 20_000), "greet", "bye", line=number) for number in range(1, 100)]
    near = [example(f"s{number}", "greet", "bye", line=number, near=[(number, 0.5)]) for number in range(3000)]
    trained = training(*((_without_pattern(number, 500), "greet") for number in range(3000)))
    for head in (report(examples=names), report(examples=texts), report(examples=near, sentences=trained)):
        page = page_of(head, limit=limit)

        assert len(page.encode()) <= limit
        data = data_of(page)
        assert data["left_out"]
        assert data["sentences"]["text"]
        assert all(data["labels"][number] for number in data["sentences"]["expected"])
        for listed in data["sentences"]["neighbours"].values():
            assert all(data["training"]["text"][number] for number, _ in listed)


# --- several assistants ----------------------------------------------------------------------------------------------


def test_several_reports_have_an_overview_the_worst_first() -> None:
    calm = report(examples=[example("hello", "greet")], stories=[story("s", "a")], name="Calm & quiet")
    comparison = compare(calm, Missing("first run"))
    runs = [Run(calm, comparison, judge(calm, comparison, calm.settings), LINKS), Run(*pull_request(), LINKS)]

    page = str(render_page(runs, MANUAL).content)

    rows = re.findall(r'<th scope="row"><a href="#([^"]*)">([^<]*)</a>', page)
    assert rows == [("at-bank", "bank"), ("at-calm-quiet", "Calm &amp; quiet")]
    assert f'href="#at-bank/{key_of_test("story", "check the balance")}"' in page
    assert page == str(render_page(runs[::-1], MANUAL).content)


def test_assistants_of_one_name_are_told_apart_by_their_folders() -> None:
    runs = []
    for root in ("shops/north", "shops/south"):
        one = report(examples=[example("hello", "greet")], name="shop", root=root)
        comparison = compare(one, Missing("first run"))
        runs.append(Run(one, comparison, judge(one, comparison, one.settings), LINKS))

    rows = re.findall(r'<th scope="row"><a href="#([^"]*)">([^<]*)</a>', str(render_page(runs, MANUAL).content))
    assert rows == [("at-shop-shops-north", "shop (shops/north)"), ("at-shop-shops-south", "shop (shops/south)")]


def test_assistants_of_one_name_and_no_folder_are_numbered() -> None:
    runs = []
    for wrong in (None, "bye"):
        one = report(examples=[example("hello", "greet", wrong)], name="shop", root="")
        comparison = compare(one, Missing("first run"))
        runs.append(Run(one, comparison, judge(one, comparison, one.settings), LINKS))

    rows = re.findall(r'<th scope="row"><a href="#([^"]*)">([^<]*)</a>', str(render_page(runs, MANUAL).content))
    assert [name for _, name in rows] == ["shop (1)", "shop (2)"]


def test_assistants_have_addresses_of_their_own_whatever_their_names_and_verdicts() -> None:
    def slugs(*failing: str) -> dict[str, str]:
        runs = []
        for name in ("a", "A!", "a 2", "a title", "ピザ", "寿司"):
            stories = [story("s", "a!b" if name in failing else "a")]
            one = report(examples=[example("hello", "greet")], stories=stories, name=name)
            comparison = compare(one, Missing("first run"))
            runs.append(Run(one, comparison, judge(one, comparison, one.settings), LINKS))
        page = str(render_page(runs, MANUAL).content)
        ids = re.findall(r' id="([^"]*)"', page)
        assert len(ids) == len({*ids})
        return {name: slug for slug, name in re.findall(r'<th scope="row"><a href="#([^"]*)">([^<]*)</a>', page)}

    assert len({*slugs().values()}) == 6
    assert slugs() == slugs("寿司", "a 2")


# --- links to it -----------------------------------------------------------------------------------------------------


def test_comment_summary_and_junit_lead_to_the_case_on_the_page() -> None:
    head, comparison, verdict = pull_request()
    links = replace(LINKS, html_url="https://ci.example/report.html")
    broken = f"https://ci.example/report.html#{key_of_test('story', 'check the balance')}"
    wrong = f"https://ci.example/report.html#{key_of_sentence('what is my balance', 'check_balance')}"

    for render in (render_comment, render_summary):
        text = str(render(head, comparison, verdict, links).content)
        assert f"[details]({broken})" in text
        assert f"[details]({wrong})" in text
        assert "[the page](https://ci.example/report.html)" in text
    assert f"details: {broken}" in render_junit(head, comparison, verdict, links).encoded.decode()
    assert "[details]" not in str(render_comment(head, comparison, verdict, LINKS).content)


def test_cases_of_one_name_have_links_of_their_own_everywhere() -> None:
    links = replace(LINKS, html_url="https://ci.example/report.html")
    stories = [
        story("twin", "a", line=2, path="tests/test_a.yml"),
        story("twin", "a", "b!c", line=2, path="tests/test_b.yml"),
    ]
    utterances = [suite("one", ("hello", True), ("hello", False), ("hello", False))]
    sentences = [example("hi", "greet", line=3), example("hi", "greet", "bye", line=9)]
    head = report(examples=sentences, stories=stories, suites=utterances)
    comparison = compare(head, Missing("first run"))
    verdict = judge(head, comparison, head.settings)
    twin, hello = key_of_test("story", "twin"), key_of_test("batch case", "hello")

    shown = {one["key"]: one["outcome"] for one in data_of(page_of(head))["conversations"]}
    assert shown == {
        twin: "passed",
        f"{twin}-2": "failed",
        hello: "passed",
        f"{hello}-2": "failed",
        f"{hello}-3": "failed",
    }

    junit = render_junit(head, comparison, verdict, links).encoded.decode()
    led = re.findall(r"details: https://ci.example/report.html#((?:story|batch)-[\w-]+)", junit)
    assert led == [f"{twin}-2", f"{hello}-2", f"{hello}-3"]
    assert "details: https://ci.example/report.html#sentences?intent=greet&amp;outcome=misclassified&amp;all=1" in junit
    for text in (page_of(head), str(render_comment(head, comparison, verdict, links).content)):
        for key in (f"{twin}-2", f"{hello}-2", f"{hello}-3", f"{key_of_sentence('hi', 'greet')}-2"):
            assert re.search(rf"#{key}\b(?!-)", text), key
        assert not re.search(rf"#{twin}(?![-\w])", text)


def test_what_is_wrong_with_a_sentence_or_a_finding_leads_to_the_case_too() -> None:
    wrong = [example("to Rome", "go", entities=[(3, 7, "city")], found=[], line=4)]
    right = [example("to Rome", "go", entities=[(3, 7, "city")], line=4)]
    page = page_of(report(examples=wrong), report(examples=right))

    entry = page[page.index("Entities newly wrong") :]
    assert f'href="#{key_of_sentence("to Rome", "go")}"' in entry[: entry.index("</section>")]


def test_a_batch_case_has_its_scores_order_and_bots() -> None:
    """Traits are all expected, intents are alternatives; each of the platform's engines has its own score."""
    common: dict[str, Any] = {"location": Location("a.json", 1, 1), "result": "fp", "passed": False}
    cases = (
        BatchCase(text="hurry", kind="trait", expected=("Urgent", "Angry"), matched=("Urgent",), **common),
        BatchCase(
            text="pay", kind="dialog", expected=("Pay", "Repay"), matched=("Send",), bots=("Bank", "Loans"),
            matched_bots=("Post",), order=BatchOrder(expected=("Day",), actual=("Sum", "Day"), assumed=False),
            scores={"Send (FM)": 120.5, "Pay (ML)": 0.25}, **common,
        ),
    )  # fmt: skip
    suite = BatchSuite(name="s", outcome="success", cases=cases, **numbers_of(cases))
    hurry, pay = data_of(page_of(report(suites=[suite])))["conversations"]
    assert [turns["turns"][1]["expected"] for turns in (hurry, pay)] == ["Urgent and Angry", "Pay or Repay"]
    assert pay["turns"][1]["details"] == [
        ["Send (FM)", "120.50"],
        ["Pay (ML)", "0.25"],
        ["order of entities", "Day"],
        ["order found", "Sum \N{RIGHTWARDS ARROW} Day"],
        ["bot", "Bank, Loans"],
        ["bot matched", "Post"],
    ]


def test_the_comment_of_several_leads_to_each_ones_part_of_the_page() -> None:
    head, comparison, _ = pull_request()
    calm = report(examples=[example("hello", "greet")], stories=[story("s", "a!b")], name="calm")
    compared = compare(calm, Missing("first run"))
    outcomes = [
        Outcome(one, Missing("none"), against, judge(one, against, one.settings), LINKS)
        for one, against in ((head, comparison), (calm, compared))
    ]
    several = Outcomes(tuple(NamedOutcome(one.report.project.name or "", one) for one in outcomes), (), "key", LINKS)
    (page,) = (one for one in several.files() if one.name == "report.html")
    rows = re.findall(r'<th scope="row"><a href="#([^"]*)">([^<]*)</a>', str(page.content))
    slugs = {name: slug for slug, name in rows}

    for text in several.texts(page_url="https://ci.example/page"):
        for name, test in (("bank", "check the balance"), ("calm", "s")):
            address = f"https://ci.example/page#{slugs[name]}/{key_of_test('story', test)}"
            assert f"[details]({address})" in str(text.content)
    assert not any("[details]" in str(text.content) for text in several.texts())
