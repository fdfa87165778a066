"""Whole commands against a bot over HTTP: a run with its base, a bot that dies, many conversations at once."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from fake_bot import EXAMPLE, REST, Call, FakeBot, Reply, bot_of, conversations, echo, hold, serving
from golden_texts import Golden
from in_process import turncheck

import turncheck as turncheck_api
from turncheck.comparison.metrics import metrics_of
from turncheck.evaluations.turns import figures_of_turns
from turncheck.report.codec import decode
from turncheck.settings.declared import default_of

if TYPE_CHECKING:
    from pathlib import Path

    from timing import Timing

INTENTS = f"{REST}  intent: $.nlu.intent\n  confidence: $.nlu.score\n"


def understanding(call: Call) -> Reply:
    """Answer well, and name the first word of the message as its intent."""
    said = json.loads(echo(call).content)
    return Reply({**said, "nlu": {"intent": call.body["message"].split()[0], "score": 0.75}})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a bot and its tests, committed, with nothing of Rasa's or Kore.ai's."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "turncheck.yml").write_text(f"engine: http\nrepeats: off\n{INTENTS}")
    (tmp_path / "tests" / "e2e_test_cases.yml").write_text(EXAMPLE)
    (tmp_path / ".gitignore").write_text("results/\n")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "A bot and its tests")
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def run(project: Path, url: str, *flags: str) -> Any:
    return turncheck("run", "--bot-url", url, "--out", "results", "--quiet", *flags, cwd=project)


def document(project: Path, name: str = "report") -> Any:
    return json.loads((project / "results" / f"{name}.json").read_text())


def test_a_folder_with_a_bot_and_tests_is_a_project(project: Path) -> None:
    with serving(FakeBot(understanding)) as fake:
        done = run(project, fake.url, "--baseline", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    report = document(project)
    assert report["project"]["kind"] == "http"
    assert report["engine"] == {**report["engine"], "name": "http", "version": "rest"}
    assert report["validation"]["findings"] == []
    assert report["e2e"]["passed"] == 3
    assert fake.url not in (project / "results" / "report.json").read_text()
    assert "replies: $.messages[*].text" in report["settings"]["bot"]


def test_test_nlu_judges_the_sentences_that_a_run_judges(project: Path) -> None:
    with serving(FakeBot(understanding)) as fake:
        flags = ("test", "nlu", "--engine", "http", "--bot-url", fake.url, "--no-plot", "--json", "nlu.json")
        none = turncheck(*flags, cwd=project)
        assert none.returncode == 2
        assert "there are no NLU examples at 'tests'" in none.stderr
        intents = {"order": ("order tea", "two teas"), "pay": ("pay it", "pay all")}
        blocks = [f"- intent: {name}\n  examples: |\n    - {a}\n    - {b}\n" for name, (a, b) in intents.items()]
        sentences = f'version: "3.1"\nnlu:\n{"".join(blocks)}'
        (project / "tests" / "test_nlu.yml").write_text(sentences)
        done = turncheck(*flags, cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((project / "nlu.json").read_text())["nlu"]["intents"]["accuracy"] == 0.75


def test_test_e2e_repeats_as_a_run_does_or_as_often_as_it_is_told(project: Path) -> None:
    def cases(*flags: str) -> list[dict[str, Any]]:
        with serving(FakeBot(understanding)) as fake:
            words = ("test", "e2e", "--engine", "http", "--bot-url", fake.url, "--json", "e2e.json", *flags)
            assert turncheck(*words, cwd=project).returncode == 0
        found: list[dict[str, Any]] = json.loads((project / "e2e.json").read_text())["e2e"]["cases"]
        return found

    assert not any("repeats" in case for case in cases())  # as the file says
    (project / "turncheck.yml").write_text(f"engine: http\n{INTENTS}")
    assert all(len(case["repeats"]["runs"]) > 1 for case in cases())
    assert [case["attempts"]["of"] for case in cases("--repeat", "2")] == [2, 2, 2]


def test_the_base_is_asked_where_it_runs(project: Path) -> None:
    git(project, "switch", "--quiet", "--create", "change")
    cases = project / "tests" / "e2e_test_cases.yml"
    cases.write_text(cases.read_text() + "- test_case: new\n  steps:\n  - user: new\n  - bot: You said new\n")
    git(project, "commit", "--quiet", "--all", "--message", "One more")
    worse = FakeBot(lambda call: Reply({"session": call.body["session"], "messages": [{"text": "no"}]}))
    with serving(FakeBot(understanding)) as base, serving(worse) as head:
        flags = ("--base", "main", "--fail-on", "new-failures")
        alone = run(project, head.url, *flags)
        both = run(project, head.url, "--bot-url-base", base.url, *flags)
    assert "without --bot-url-base" in alone.stdout
    assert both.returncode == 1, both.stdout + both.stderr
    assert len(base.calls) == 3
    assert document(project, "baseline")["e2e"]["passed"] == 3
    assert document(project)["e2e"]["passed"] == 0
    assert "3 end-to-end cases" in both.stdout or "new-failures" in both.stdout


def test_on_a_branch_whose_base_is_not_known_entries_count_and_that_is_said(project: Path, golden: Golden) -> None:
    git(project, "switch", "--quiet", "--create", "change")
    until = (datetime.now(UTC).date() + timedelta(days=9)).isoformat()
    entry = f"- {{case: one, because: slow, owner: ana, until: {until}, expect: flaky}}\n"
    (project / "turncheck.quarantine.yml").write_text(entry)
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--message", "In quarantine")
    with serving(FakeBot(understanding)) as fake, serving(FakeBot(understanding)) as there:
        alone = run(project, fake.url, "--base", "main")
        beside = run(project, fake.url, "--base", "main", "--bot-url-base", there.url)
    golden(alone.stdout, only="turncheck.quarantine.yml count")
    assert "count here" not in beside.stdout


def test_a_change_of_how_the_bot_is_asked_is_said(project: Path) -> None:
    git(project, "switch", "--quiet", "--create", "change")
    file = project / "turncheck.yml"
    file.write_text(file.read_text().replace("$.messages[*].text", "$.messages[0].text"))
    git(project, "commit", "--quiet", "--all", "--message", "Another path")
    with serving(FakeBot(understanding)) as base, serving(FakeBot(understanding)) as head:
        done = run(project, head.url, "--bot-url-base", base.url, "--base", "main")
    assert done.returncode == 0, done.stdout + done.stderr
    changed = {change["name"]: change for change in document(project, "comparison")["settings_changed"]}
    assert "$.messages[*].text" in changed["bot.replies"]["base"]
    assert "$.messages[0].text" in changed["bot.replies"]["value"]


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("$.messages[*].text", "$.messages[0].text", "bot.replies"),
        ("engine: http", "engine: http\nfail-on: errors", "fail-on"),
        ("repeats: off", "repeats: auto", "repeats"),
    ],
)
def test_what_a_change_alters_is_said_without_a_report_of_the_base(
    before: str, after: str, name: str, project: Path
) -> None:
    """Nobody says where the base runs, but git has its file."""
    git(project, "switch", "--quiet", "--create", "change")
    file = project / "turncheck.yml"
    file.write_text(file.read_text().replace(before, after))
    git(project, "commit", "--quiet", "--all", "--message", "Another rule")
    with serving(FakeBot(understanding)) as head:
        done = run(project, head.url, "--base", "main")
    assert [change["name"] for change in document(project, "comparison")["settings_changed"]] == [name]
    assert name in done.stdout
    assert name in (project / "results" / "comment.md").read_text()


IN_THE_PATH = """\
engine: http
bot:
  request: {method: GET, path: "/chat/{session}?m={text}"}
  replies: $.messages[*].text
  intent: $.intent
"""


def test_what_is_not_utf_8_is_never_sent(tmp_path: Path) -> None:
    (tmp_path / "turncheck.yml").write_text(IN_THE_PATH)
    with serving(FakeBot(lambda _: Reply({"messages": [{"text": "Hi"}]}))) as fake:
        where = ("--engine", "http", "--project", tmp_path, "--bot-url", fake.url)
        for words, expected in (
            (("shell", *where), "line 2 of standard input is not UTF-8"),
            (("parse", *where), "line 2 of standard input is not UTF-8"),
            (("parse", *where, "h\udcff"), "a sentence on the command line is not UTF-8"),
            (("shell", *where, "--fixture", "a=\udcff"), "--fixture is not UTF-8"),
        ):
            done = turncheck(*words, stdin="hello\nh\udcff\n")
            assert (done.returncode, expected in done.stderr) == (2, True), done.stderr
        engine = conversations(fake.url, bot_of(tmp_path, IN_THE_PATH))
        engine.conversation().say("h\ud800")
    assert [call.path.partition("=")[2] for call in fake.calls] == ["hello", "h%EF%BF%BD"]


def test_the_opening_of_a_conversation_is_tried_again_in_its_next_turn(tmp_path: Path) -> None:
    opened = IN_THE_PATH + "  session: {open: {path: /new, id: $.id}}\n"
    (tmp_path / "turncheck.yml").write_text(opened)

    def answer(call: Call) -> Reply:
        if call.path == "/new":
            return Reply(b"<html>") if len(fake.calls) == 1 else Reply({"id": "s7"})
        return Reply({"messages": [{"text": call.path}]})

    fake = FakeBot(answer)
    with serving(fake):
        where = ("--engine", "http", "--project", tmp_path, "--bot-url", fake.url)
        done = turncheck("shell", *where, stdin="one\ntwo\n")
    assert done.returncode == 2
    assert done.stdout.startswith("  (error: the bot at")
    assert done.stdout.endswith("\nyou> one\nbot> /chat/s7?m=one\nyou> two\nbot> /chat/s7?m=two\n")


@pytest.mark.parametrize("repeats", ["off", "auto"])
@pytest.mark.parametrize("turn", range(3))
def test_a_bot_that_dies_opens_no_gate(turn: int, repeats: str, project: Path) -> None:
    def answer(call: Call) -> Reply:
        if len(fake.calls) == turn + 1:
            fake.stop()
            return Reply(how="cut")
        return understanding(call)

    fake = FakeBot(answer)
    with serving(fake):
        done = run(project, fake.url, "--baseline", "none", "--bot-parallel", "1", "--repeats", repeats)
    assert done.returncode != 0
    report = document(project)
    assert report["e2e"]["passed"] == (turn if repeats == "off" else 0)
    why = "answered before, and now refuses the connection" if turn else "cannot be reached (connection refused)"
    assert why in report["stopped"]


def test_a_bot_that_is_not_there_opens_no_gate(project: Path) -> None:
    with serving(FakeBot()) as fake:
        pass
    done = run(project, fake.url, "--baseline", "none")
    assert done.returncode != 0
    assert "cannot be reached" in done.stdout + done.stderr


SILENT = """\
test_cases:
- test_case: silent
  steps:
  - user: psst
    assertions:
    - bot_did_not_utter: {text_matches: error}
"""


@pytest.mark.parametrize("command", ["run", "test e2e"])
@pytest.mark.parametrize("more", ["", "- test_case: loud\n  steps:\n  - user: hello\n  - bot: You said hello\n"])
def test_a_bot_that_never_says_a_word_passes_nothing(command: str, more: str, project: Path) -> None:
    def answer(call: Call) -> Reply:
        messages = [] if call.body["message"] == "psst" else [{"text": "You said hello"}]
        return Reply({"session": call.body["session"], "messages": messages})

    (project / "tests" / "e2e_test_cases.yml").write_text(SILENT + more)
    base = ["--baseline", "none"] if command == "run" else []
    with serving(FakeBot(answer)) as fake:
        done = turncheck(*command.split(), *base, "--engine", "http", "--bot-url", fake.url, cwd=project)
    assert done.returncode == (0 if more else 2), done.stdout + done.stderr
    assert ("no reply in any of 1 turn: the assistant said nothing" in done.stdout + done.stderr) != bool(more)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), "needs the address of the bot"),
        (("--bot-url", "ftp://x"), "'ftp://x' of --bot-url is not an address"),
        (("--bot-url", "http://x/?key=1"), "has a query or a fragment"),
        (("--bot-url", "http://x", "--bot-url-base", "x"), "'x' of --bot-url-base is not an address"),
        (("--bot-url", "http://x", "--engine", "embedded"), "--bot-url is for the engine 'http'"),
        (("--engine", "embedded"), "over HTTP\nUse the engine 'http': --engine http --bot-url URL."),
        (("--bot-url", "http://x", "--repeats", "firts: 5"), "worth, turns, time. Did you mean 'first'?\n"),
        (("--bot-url", "http://x", "--repeats", "first: 5, most: 2"), "`first` (5) is more than `most` (2)\n"),
        (("--bot-url", "http://x", "--domain", "domain.yml"), "the path 'domain.yml' of --domain does not exist"),
    ],
)
def test_what_does_not_fit_together_is_refused(flags: tuple[str, ...], expected: str, project: Path) -> None:
    done = turncheck("run", "--baseline", "none", *flags, cwd=project)
    assert done.returncode == 2
    assert expected in done.stderr


def test_without_a_shape_it_says_what_to_write(tmp_path: Path) -> None:
    done = turncheck("run", "--engine", "http", "--bot-url", "http://127.0.0.1:9", cwd=tmp_path)
    assert done.returncode == 2
    assert "`bot:` in turncheck.yml" in done.stderr


def test_sentences_and_suites_are_understood_by_the_bot(project: Path) -> None:
    (project / "tests" / "test_nlu.yml").write_text(
        'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - greet you\n    - hello you\n'
        "- intent: order\n  examples: |\n    - order a [pizza](dish)\n"
    )
    (project / "tests" / "suite.csv").write_text(
        "input,intent,entityName,entityValue\ngreet me,greet,,\nbad,order,dish,x\n"
    )
    with serving(FakeBot(understanding)) as fake:
        done = run(project, fake.url, "--baseline", "none")
    assert done.returncode == 1, done.stdout + done.stderr
    report = document(project)
    wrong = [one["text"] for one in report["nlu"]["predictions"] if not one["correct"]]
    assert wrong == ["hello you"]
    assert {one["predicted"]["confidence"] for one in report["nlu"]["predictions"]} == {0.75}
    assert [case["result"] for suite in report["batch"]["suites"] for case in suite["cases"]] == ["tp", "fp"]
    sessions = [call.body["session"] for call in fake.calls]
    assert len(set(sessions)) == len(sessions) == 3 + 3 + 2
    assert report["nlu"]["entities"] == {}
    assert any(
        "The entity dish is not evaluated: the bot's answers do not" in said for said in report["nlu"]["remarks"]
    )


def test_sentences_and_utterances_are_turns_that_are_measured(project: Path) -> None:
    """Of one that is asked several times, only the first run counts: those that fail are asked more often."""
    settings = (project / "turncheck.yml").read_text().replace("repeats: off\n", "")
    (project / "turncheck.yml").write_text(f"{settings}  usage: {{input: $.tokens}}\n")
    (project / "tests" / "test_nlu.yml").write_text(
        'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - greet you\n    - hello you\n'
    )
    (project / "tests" / "suite.csv").write_text("input,intent\ngreet me,greet\n")
    asked: dict[str, int] = {}

    def answer(call: Call) -> Reply:
        text = call.body["message"]
        asked[text] = asked.get(text, 0) + 1
        return Reply({**json.loads(understanding(call).content), "tokens": 100 if asked[text] == 1 else 1})

    with serving(FakeBot(answer)) as fake:
        run(project, fake.url, "--baseline", "none", "--evaluations", "nlu", "batch")
    report = document(project)
    utterances = [case for suite in report["batch"]["suites"] for case in suite["cases"]]
    measured = [test["measured"] for test in (*report["nlu"]["predictions"], *utterances)]
    assert asked["hello you"] > 1
    assert [turn["tokens_in"] for turn in measured] == [100, 100, 100]
    assert all(turn["ms"] >= 0 and len(turn["trace"]) == 32 for turn in measured)
    decoded = decode((project / "results" / "report.json").read_bytes())
    assert dict(figures_of_turns(decoded))["tokens.in"] == metrics_of(decoded)["tokens.in"].value == 100


WITH_ENTITIES = """\
version: "3.1"
nlu:
- intent: order
  examples: |
    - order a [pizza](dish) for [two]{"entity": "people", "value": "2"}
    - order a [salad](dish)
    - order [soup](dish)
"""
CONVO = """\
ordering

#me
order a pizza

#bot
You said order a pizza
ENTITIES dish
ENTITY_VALUES pizza
"""


def ordering(call: Call) -> Reply:
    """Find the dishes, but for salad, and the number of people, without saying where."""
    words = call.body["message"].split()
    found = [{"entity": "dish", "value": word} for word in words if word in {"pizza", "soup"}]
    found += [{"entity": "people", "value": 2, "start": 18, "end": 21}] if "two" in words else []
    said = json.loads(understanding(call).content)
    return Reply({**said, "nlu": {**said["nlu"], "entities": found}})


def test_entities_are_judged_where_the_answers_have_them(project: Path) -> None:
    (project / "turncheck.yml").write_text(f"engine: http\nrepeats: off\n{INTENTS}  entities: $.nlu.entities\n")
    (project / "tests" / "test_nlu.yml").write_text(WITH_ENTITIES)
    suite = "input,intent,entityName,entityValue\norder pizza,order,dish,pizza\norder salad,order,dish,salad\n"
    (project / "tests" / "suite.csv").write_text(suite)
    (project / "tests" / "order.convo.txt").write_text(CONVO)
    (project / "tests" / "wrong.convo.txt").write_text(CONVO.replace("ENTITY_VALUES pizza", "ENTITY_VALUES soup"))
    with serving(FakeBot(ordering)) as fake:
        done = run(project, fake.url, "--baseline", "none")
    assert done.returncode == 1, done.stdout + done.stderr
    report = document(project)
    scores = report["nlu"]["entities"]["http"]["report"]
    assert {name: (scores[name]["precision"], round(scores[name]["recall"], 2)) for name in ("dish", "people")} == {
        "dish": (1.0, 0.67),
        "people": (1.0, 1.0),
    }
    cases = [case for suite in report["batch"]["suites"] for case in suite["cases"]]
    assert [[entity["passed"] for entity in case["entities"]] for case in cases] == [[True], [False]]
    outcomes = {case["location"]["path"]: case["outcome"] for case in report["e2e"]["cases"]}
    assert outcomes == {
        "tests/e2e_test_cases.yml": "passed",
        "tests/order.convo.txt": "passed",
        "tests/wrong.convo.txt": "failed",
    }


def test_a_path_that_never_matches_is_said(project: Path, golden: Golden) -> None:
    file = project / "turncheck.yml"
    file.write_text(file.read_text().replace("$.nlu.intent", "$.nlu.intend"))
    with serving(FakeBot(understanding)) as fake:
        done = run(project, fake.url, "--baseline", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    (note,) = document(project)["engine"]["notes"]
    golden(note)
    for name in ("comment.md", "summary.md"):
        assert "`intent: $.nlu.intend`" in (project / "results" / name).read_text()
    assert "`intent: $.nlu.intend`" in done.stdout


def test_parse_says_so_too(project: Path, golden: Golden) -> None:
    file = project / "turncheck.yml"
    file.write_text(file.read_text().replace("$.nlu.intent", "$.nlu.intend").replace("  confidence: $.nlu.score\n", ""))
    with serving(FakeBot(understanding)) as fake:
        done = turncheck("parse", "--project", project, "--bot-url", fake.url, "--engine", "http", "greet")
    assert done.returncode == 0, done.stderr
    golden(done.stdout, done.stderr)


@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_a_sentence_without_an_answer_is_not_parsed(form: str, project: Path, golden: Golden) -> None:
    fake = FakeBot(lambda call: Reply(b"<html>") if call.body["message"] == "bad" else understanding(call))
    with serving(fake):
        where = ("--project", project, "--bot-url", fake.url, "--engine", "http", "--format", form)
        done = turncheck("parse", *where, "bad", "greet")
    assert done.returncode == 2
    golden(done.stdout)


def test_what_the_engine_lacks_is_not_a_run(project: Path, golden: Golden) -> None:
    """In the middle of repeats the bot has enough, fails and cuts the connection: no run is lost, and none counted."""
    troubles = {
        3: Reply({}, 429, (("Retry-After", "0"),)),
        5: Reply({}, 503),
        6: Reply(how="cut"),  # the same conversation: that run is an error, and nothing else
        9: Reply({}, 429, (("Retry-After", "0"),)),
        11: Reply(b"<html>"),
    }
    fake = FakeBot(lambda call: troubles.get(len(fake.calls)) or understanding(call))
    with serving(fake):
        done = run(project, fake.url, "--baseline", "none", "--bot-parallel", "1", "--repeats", "first: 4, most: 4")
    assert done.returncode == 0, done.stdout + done.stderr
    cases = document(project)["e2e"]["cases"]
    assert [(case["outcome"], case["repeats"]["runs"]) for case in cases] == [("passed", "PPPP")] * 3
    assert sum(case["repeats"]["errors"] for case in cases) == 2
    (note,) = [note for note in document(project)["engine"]["notes"] if "no usable answer" in note]
    golden(note)
    assert len(fake.calls) == 3 * 4 + len(troubles)


def test_what_each_shard_notes_is_said_with_its_number(project: Path) -> None:
    file = project / "turncheck.yml"
    file.write_text(file.read_text().replace("$.nlu.intent", "$.nlu.intend"))
    (project / "tests" / "e2e_test_cases.yml").write_text(MANY)
    with serving(FakeBot(understanding)) as fake:
        for number in (1, 2):
            run(project, fake.url, "--baseline", "none", "--shard", f"{number}/2", "--out", f"shard-{number}")
    merged = turncheck("report", "merge", "shard-1", "shard-2", "--baseline", "none", "--quiet", cwd=project)
    assert merged.returncode == 0, merged.stdout + merged.stderr
    notes = document(project)["engine"]["notes"]
    assert [note.partition(": ")[0] for note in notes] == ["Shard 1/2", "Shard 2/2"]


def test_one_can_talk_to_it(project: Path) -> None:
    many = MANY.replace("test_cases:\n", "")
    cases = project / "tests" / "e2e_test_cases.yml"
    cases.write_text(cases.read_text() + many)
    bot = ("--project", project)  # whose file names the engine
    with serving(FakeBot(lambda call: replace(understanding(call), seconds=0.02))) as fake:
        parsed = turncheck("parse", *bot, "--bot-url", fake.url, "greet you", "--format", "jsonl")
        case = turncheck("test", "e2e", *bot, "--engine", "http", "--bot-url", fake.url, "--bot-parallel", "12")
        python = turncheck_api.parse(["order it"], project, engine="http", bot_url=fake.url)
    assert parsed.returncode == 0, parsed.stderr
    assert json.loads(parsed.stdout)["intent"]["name"] == "greet"
    assert case.returncode == 0, case.stdout + case.stderr
    assert 6 < fake.most_at_once <= 12
    assert [one.intent.name for one in python] == ["order"]


MANY = "test_cases:\n" + "".join(
    f"- test_case: c{number}\n  steps:\n  - user: a\n  - bot: You said a\n  - user: b\n  - bot: You said b\n"
    for number in range(100)
)


def test_no_more_conversations_are_held_at_once_than_asked_for(tmp_path: Path) -> None:
    with serving(FakeBot(echo)) as fake:
        section = hold(tmp_path, fake, MANY, at_once=8)
    assert section.passed == 100
    assert 1 < fake.most_at_once <= 8


def test_a_hundred_conversations_take_as_long_as_the_bot(tmp_path: Path, timing: Timing) -> None:
    """200 answers that take the bot half a second each, eight at once: at most a tenth more than it needs itself."""
    seconds, at_once = (0.5 if timing.asserted else 0.001), default_of("bot-parallel")

    def slow(call: Call) -> Reply:
        return Reply(json.loads(echo(call).content), seconds=seconds)

    with serving(FakeBot(slow)) as fake, timing.at_most(1.1 * 200 * seconds / at_once, time.perf_counter):
        section = hold(tmp_path, fake, MANY, at_once=at_once, timeout=30)
    assert section.passed == 100
