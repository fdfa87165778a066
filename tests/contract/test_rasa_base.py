"""``--rasa-command``, with answers that vary: the base is trained and started from its own commit, if it is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from unittest.mock import patch

import pytest
from fake_rasa import FakeRasa, serving
from golden_texts import Golden
from in_process import turncheck
from test_rasa_run import COMMAND

from turncheck.report.codec import decode
from turncheck.report.model import EndToEnd, Repeats

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
INTENTS = ("greet", "order", "cancel")
FILES = {
    "domain.yml": f"intents: [{', '.join(INTENTS)}]\nresponses:\n"
    + "".join(f"  utter_{name}: [{{text: (utter_{name})}}]\n" for name in (*INTENTS, "act", "wrong")),
    "config.yml": "recipe: default.v1\nlanguage: en\npipeline:\n- name: KeywordIntentClassifier\n"
    "policies:\n- name: RulePolicy\n",
    "data/rules.yml": "rules:\n"
    + "".join(f"- rule: {name}\n  steps:\n  - intent: {name}\n  - action: utter_{name}\n" for name in INTENTS),
    "helper.sh": "true",
    "data/nlu.yml": "nlu:\n" + "".join(f"- intent: {name}\n  examples: |\n    - {name} it\n" for name in INTENTS),
    "tests/e2e_test_cases.yml": "test_cases:\n"
    + "".join(
        f"- test_case: {name}\n  steps: [{{user: {name} please}}, {{utter: utter_{name}}}]\n" for name in INTENTS
    ),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository, and beside it the report of its only commit: twenty runs of each case."""
    folder = tmp_path_factory.mktemp("base")
    bot = folder / "bot"
    write(bot, FILES)
    subprocess.run([*GIT, "init", "-q", str(bot)], check=True)
    commit(bot)
    measure_base(bot)
    return folder


@pytest.fixture
def bot(base: Path, tmp_path: Path) -> Path:
    shutil.copytree(base, tmp_path, dirs_exist_ok=True)
    return tmp_path / "bot"


def measure_base(bot: Path, *flags: str) -> None:
    assert run(bot, "--repeats", "first: 20, most: 20", "--baseline", "none", *flags, out="base") == 0
    (bot.parent / "calls.jsonl").unlink()


def write(bot: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = bot / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def dead(*names: str) -> dict[str, str]:
    """A domain with which the assistant answers these intents wrongly."""
    return {"domain.yml": FILES["domain.yml"] + "".join(f"# dead: {name}\n" for name in names)}


def commit(bot: Path) -> None:
    for words in (("add", "."), ("commit", "-qm", "one", "--allow-empty")):
        subprocess.run([*GIT, "-C", str(bot), *words], check=True)


def run(bot: Path, *flags: str, out: str = "out", drifted: str = "") -> int:
    """Run the cases; ``drifted``: what the model answers wrongly by now, whoever asks it."""
    begin = ("run", bot, "--engine", "rasa", "--rasa-command", COMMAND, "--evaluations", "e2e", "--no-cache")
    with patch.dict(os.environ, {"CALLS": str(bot.parent / "calls.jsonl"), "DEAD": drifted}):
        done = turncheck(*begin, "--fail-on", "new-failures", *flags, "--out", bot.parent / out)
    return done.returncode


def beside_base(bot: Path, *flags: str, drifted: str = "") -> int:
    return run(bot, "--repeats", "first: 2, most: 8", "--baseline", str(bot.parent / "base"), *flags, drifted=drifted)


def started(bot: Path) -> list[str]:
    """What Rasa was called for, in order."""
    return [json.loads(line)["arguments"][0] for line in (bot.parent / "calls.jsonl").read_text().splitlines()]


def cases(bot: Path) -> EndToEnd:
    section = decode((bot.parent / "out/report.json").read_bytes()).e2e
    assert section is not None
    return section


def repeats(bot: Path, name: str) -> Repeats:
    found = next(case.repeats for case in cases(bot).cases if case.name == name)
    assert isinstance(found, Repeats)
    return found


BOTH = ["train", "run", "train", "run"]


def test_a_dead_case_is_run_in_turn_with_the_base_and_has_regressed(bot: Path) -> None:
    write(bot, dead("greet"))
    commit(bot)

    assert beside_base(bot) == 1

    found = repeats(bot, "greet")
    assert (found.outcome, found.base) == ("regressed", "P" * 20 + "p" * (len(found.runs) - 2))
    for other in (repeats(bot, "order"), repeats(bot, "cancel")):
        assert (other.outcome, other.failed) == ("passed", 0)
        again = len(other.runs) - 2
        assert other.base == "P" * 20 + "p" * again, "all are run again as long as all together may fail more often"
        assert 0 < again <= len(found.runs) - 2
    assert started(bot) == BOTH
    assert cases(bot).remarks == ()


def test_a_case_that_never_passes_fails_although_it_never_passes_in_turn_on_the_base_either(bot: Path) -> None:
    """It is no regression, but a change could have seen to it on both sides; the base's report has that it passes."""
    commit(bot)

    assert beside_base(bot, drifted="greet") == 1

    drifted = repeats(bot, "greet")
    assert (drifted.outcome, drifted.passed, len(drifted.runs)) == ("failed", 0, 8), "it is run until `most`"
    assert drifted.base == "P" * 20 + "f" * 6
    assert {repeats(bot, name).outcome for name in ("order", "cancel")} == {"passed"}
    assert started(bot) == BOTH


def test_a_case_that_runs_custom_actions_is_judged_by_the_report(bot: Path) -> None:
    """The base would call the action server of this change: what fails there would fail on both sides."""
    act = "- test_case: act\n  steps: [{user: act action_x}, {utter: utter_act}]\n"
    write(bot, {"tests/e2e_test_cases.yml": FILES["tests/e2e_test_cases.yml"] + act})
    commit(bot)
    with serving(FakeRasa()) as server:
        flags = ("--action-endpoint", f"{server.url}/webhook")
        measure_base(bot, *flags)
        write(bot, dead("order"))
        commit(bot)

        assert beside_base(bot, *flags, drifted="act") == 1

    assert (repeats(bot, "act").outcome, repeats(bot, "act").base) == ("regressed", "P" * 20)
    assert repeats(bot, "order").base.count("p") > 0, "others are run in turn"


@pytest.mark.parametrize(
    "shared", ["actions.py", "endpoints.yml", "start.sh", "a link", "a link to data", "a mode", " \xe9.py"]
)
def test_what_the_change_breaks_for_both_sides_is_no_excuse(bot: Path, shared: str, golden: Golden) -> None:
    """What both would be run with decides as on a base that cannot be had: by its report."""
    if shared == "a link":
        (bot / "models").symlink_to("elsewhere")
    elif shared == "a link to data":
        (bot / "helper.sh").unlink()
        (bot / "helper.sh").symlink_to("data/nlu.yml")
    elif shared == "a mode":
        (bot / "helper.sh").chmod(0o755)
    else:
        write(bot, {shared: "# another\n"})
    write(bot, dead("order"))
    commit(bot)

    assert beside_base(bot, drifted="greet") == 1

    assert {(repeats(bot, name).outcome, repeats(bot, name).base) for name in ("greet", "order")} == {
        ("regressed", "P" * 20)
    }
    assert started(bot) == ["train", "run"]
    golden(*cases(bot).remarks)


def test_a_change_of_data_tests_and_settings_leaves_the_base_to_be_asked(bot: Path) -> None:
    gone = {
        "tests/test_nlu.yml": FILES["data/nlu.yml"],
        "tests/more/test_cases.yml": "test_cases: [{test_case: a, steps: [{user: greet a}, {utter: utter_greet}]}]\n",
        "tests/test_more.yml": "stories: [{story: a, steps: [{intent: greet}, {action: utter_greet}]}]\n",
    }
    write(bot, gone)
    commit(bot)
    measure_base(bot)
    for name in gone:
        (bot / name).unlink()
    more = "- test_case: more\n  steps: [{user: greet more}, {utter: utter_greet}]\n"
    write(
        bot,
        {
            "tests/x.utterances.txt": "X\nhello\n",
            "data/more.yml": "nlu: [{intent: greet, examples: '- greet me'}]\n",
            "turncheck.yml": "seed: 7\n",
        },
    )
    write(bot, {"tests/e2e_test_cases.yml": FILES["tests/e2e_test_cases.yml"] + more})
    (bot / "data/nlu.yml").rename(bot / "data/sentences.yml")
    (bot / "turncheck.quarantine.yml").write_text("[]\n")
    commit(bot)

    beside_base(bot, drifted="greet")

    assert (repeats(bot, "greet").outcome, set(repeats(bot, "greet").base[20:])) == ("failed", {"f"}), "no regression"
    assert started(bot) == BOTH


def test_nothing_of_the_base_is_trained_without_a_suspicious_case(bot: Path) -> None:
    commit(bot)
    assert beside_base(bot) == 0
    assert started(bot) == ["train", "run"]


def test_a_case_that_the_base_does_not_have_is_not_worth_its_training(bot: Path) -> None:
    more = "- test_case: more\n  steps: [{user: greet more}, {utter: utter_order}]\n"
    write(bot, {"tests/e2e_test_cases.yml": FILES["tests/e2e_test_cases.yml"] + more})
    commit(bot)

    assert beside_base(bot) == 1

    assert (repeats(bot, "more").outcome, repeats(bot, "more").base) == ("failed", "")
    assert started(bot) == ["train", "run"]


def test_a_model_that_is_named_says_nothing_of_the_base(bot: Path) -> None:
    (bot.parent / "mine.tar.gz").write_text("")
    beside_base(bot, "--model", str(bot.parent / "mine.tar.gz"), drifted="greet")
    assert repeats(bot, "greet").outcome == "regressed", "by the report alone"
    assert started(bot) == ["run"]


def test_a_base_that_cannot_be_trained_leaves_its_report(bot: Path, golden: Golden) -> None:
    write(bot, {"domain.yml": FILES["domain.yml"] + "# untrainable\n"})
    commit(bot)
    write(bot, dead("greet", "order"))
    commit(bot)
    base = json.loads((bot.parent / "base/report.json").read_text())
    base["source"]["commit"] = head(bot, "HEAD~1")
    (bot.parent / "base/report.json").write_text(json.dumps(base))

    assert beside_base(bot) == 1

    assert {(repeats(bot, name).outcome, repeats(bot, name).base) for name in ("greet", "order")} == {
        ("regressed", "P" * 20)
    }
    assert started(bot) == ["train", "run", "train"], "what fails is not tried again"
    golden(*cases(bot).remarks)


def test_a_base_whose_commit_is_not_at_hand_leaves_its_report(bot: Path, golden: Golden) -> None:
    (bot.parent / "bare").mkdir()
    write(bot.parent / "bare", FILES | dead("greet"))

    assert beside_base(bot.parent / "bare") == 1

    assert repeats(bot, "greet").outcome == "regressed"
    assert started(bot) == ["train", "run"]
    golden(*cases(bot).remarks)


def head(bot: Path, name: str) -> str:
    return subprocess.check_output([*GIT, "-C", str(bot), "rev-parse", name], text=True).strip()


# --- where the base runs ---------------------------------------------------------------------------------------------


def beside_server(bot: Path, *flags: str, here: FakeRasa, there: FakeRasa) -> int:
    begin = ("run", bot, "--engine", "rasa", "--rasa-url", here.url, "--rasa-url-base", there.url, "--no-cache")
    more = ("--evaluations", "e2e", "--repeats", "first: 2", "--fail-on", "new-failures", "--out", bot.parent / "out")
    return turncheck(*begin, *more, *flags).returncode


@pytest.mark.parametrize("baseline", ["report", "measured"])
def test_a_base_that_runs_elsewhere_is_asked_in_turn(bot: Path, baseline: str) -> None:
    commit(bot)
    flags = ("--baseline", str(bot.parent / "base")) if baseline == "report" else ("--base", "HEAD~1")
    with serving(FakeRasa(dead=frozenset({"greet"}))) as here, serving(FakeRasa()) as there:
        assert beside_server(bot, *flags, here=here, there=there) == 1
    found = repeats(bot, "greet")
    history = 20 if baseline == "report" else 2
    assert (found.outcome, found.base) == ("regressed", "P" * history + "p" * (len(found.runs) - 2))


def test_the_address_of_the_base_goes_with_that_of_this_side(bot: Path, golden: Golden) -> None:
    begin = ("run", bot, "--engine", "rasa", "--rasa-command", "rasa", "--baseline", "none")
    done = turncheck(*begin, "--rasa-url-base", "http://127.0.0.1:1", "--out", bot.parent / "out")
    assert done.returncode == 2
    golden(done.stderr)
    begin = ("run", bot, "--engine", "rasa", "--rasa-url", "http://127.0.0.1:1", "--baseline", "none")
    done = turncheck(*begin, "--rasa-url-base", "127.0.0.1:1", "--out", bot.parent / "out")
    assert done.returncode == 2
    golden(done.stderr)
