"""``turncheck calibrate``: the stand-in held against a Rasa server, or against what Rasa judged before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_rasa import FakeRasa, serving
from golden_texts import Golden
from test_rasa_run import COMMAND, FILES

from turncheck.cli import run_command_line
from turncheck.report.codec import decode

PIPELINE = "WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n- name: DIETClassifier\n- name: FallbackClassifier"
WORDS = ("tea", "bread", "soup", "rice", "cake", "milk", "fish", "eggs", "salt", "corn", "beans", "juice")


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    folder = tmp_path / "bot"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("KeywordIntentClassifier", PIPELINE))
    greetings, orders = ("".join(f"    - {intent} {word}\n" for word in WORDS) for intent in ("greet", "order"))
    head = 'version: "3.1"\nnlu:\n'
    (folder / "tests/test_nlu.yml").write_text(
        f"{head}- intent: greet\n  examples: |\n{greetings}- intent: order\n  examples: |\n{orders}"
    )
    return folder


def calibrated(bot: Path, *more: str) -> tuple[int, Any]:
    code = run_command_line(["calibrate", "--project", str(bot), *more])
    path = bot / ".turncheck/calibration.json"
    return code, json.loads(path.read_text()) if path.exists() else None


def ran(bot: Path) -> tuple[Any, str]:
    out = bot.parent / "results"
    run_command_line(["run", str(bot), "--out", str(out), "--baseline", "none"])
    return decode((out / "report.json").read_bytes()), (out / "comment.md").read_text()


def test_a_server_is_compared_and_later_runs_say_so(
    bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    golden(ran(bot)[1], only="`baseline")
    with serving(FakeRasa()) as rasa:
        code, written = calibrated(bot, "--rasa-url", rasa.url)
    assert code == 0
    assert written["engine"] == "rasa 3.6.21"
    assert written["agreements"]["sentences"] == {"both": 24, "ours": 24, "theirs": 24}
    assert written["agreements"]["stories"]["both"] == 3
    assert written["confidences"]["fallbacks"] == 0
    assert "100 % of sentences, 100 % of stories" in capsys.readouterr().out
    report, comment = ran(bot)
    assert report.trust.problem == ""
    assert report.trust.agreements.sentences.both == 24
    assert "100 % of sentences, 100 % of stories (" in comment
    assert report.nlu.understood.same_fallbacks.not_understood == 0
    assert "(0.0 %)" in comment


def test_what_was_judged_before_is_compared_the_same(bot: Path) -> None:
    out = bot.parent / "theirs"
    with serving(FakeRasa()) as rasa:
        live = calibrated(bot, "--rasa-url", rasa.url)
        named = ["--engine", "rasa", "--rasa-url", rasa.url, "--out", str(out)]
        tested = ["test", "nlu", "--project", str(bot), "-u", str(bot / "tests/test_nlu.yml"), *named]
        assert run_command_line([*tested, "--successes", "--no-plot"]) == 0
    code, imported = calibrated(bot, "--results", str(out))
    assert (code, live[0]) == (0, 0)
    assert imported["agreements"]["sentences"] == live[1]["agreements"]["sentences"]
    assert imported["agreements"]["intents"] == live[1]["agreements"]["intents"]
    assert imported["confidences"]["theirs"] == live[1]["confidences"]["theirs"]


def test_results_without_the_right_sentences_are_not_compared(
    bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    out = bot.parent / "theirs"
    with serving(FakeRasa()) as rasa:
        named = ["--engine", "rasa", "--rasa-url", rasa.url, "--out", str(out), "--no-plot"]
        run_command_line(["test", "nlu", "--project", str(bot), "-u", str(bot / "tests/test_nlu.yml"), *named])
    code, written = calibrated(bot, "--results", str(out))
    assert (code, written) == (2, None)
    golden(capsys.readouterr().err, only="--successes")


def test_a_fallback_follows_as_often_as_in_the_team_s_model(bot: Path) -> None:
    before, _ = ran(bot)
    assert before.nlu.understood.not_understood == 0
    path = bot / ".turncheck/calibration.json"
    with serving(FakeRasa()) as rasa:
        _, written = calibrated(bot, "--rasa-url", rasa.url)
    written["confidences"] = {"ours": [0.0, 1.0], "theirs": [0.0, 0.29], "fallbacks": 0.5}
    path.write_text(json.dumps(written))
    after, _ = ran(bot)
    assert after.nlu.understood.not_understood == 24
    sure = [one.predicted.confidence for one in before.nlu.predictions]
    possible = {sum(other < one for other in sure) for one in sure} | {24}  # equal confidences fall together
    assert after.nlu.understood.same_fallbacks.not_understood == min(
        possible, key=lambda number: (abs(number - 12), number)
    )
    assert after.nlu.intents.accuracy == before.nlu.intents.accuracy


def test_at_another_threshold_as_many_fallbacks_as_before_mean_nothing(bot: Path) -> None:
    with serving(FakeRasa()) as rasa:
        _, written = calibrated(bot, "--rasa-url", rasa.url)
    assert written["confidences"]["thresholds"] == [0.3, 0.1]
    config = bot / "config.yml"
    config.write_text(
        config.read_text().replace("name: FallbackClassifier", "name: FallbackClassifier\n  threshold: 0.9")
    )
    report, comment = ran(bot)
    assert report.nlu.understood.threshold == pytest.approx(0.9)
    assert report.nlu.understood.same_fallbacks is None
    assert (report.trust.outdated, report.trust.changed) == (False, "")
    assert "fallbacks" not in comment


def test_results_of_folds_are_compared_with_folds_although_there_are_test_sentences(
    bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    out = bot.parent / "theirs"
    tested = ["test", "nlu", "--project", str(bot), "--cross-validation", "--folds", "2", "--out", str(out)]
    assert run_command_line([*tested, "--successes", "--no-plot"]) == 0
    judged = sum(len(json.loads(path.read_text())) for path in out.glob("intent_*s.json"))  # errors and successes
    assert judged == 6
    capsys.readouterr()
    code, written = calibrated(bot, "--results", str(out), "--folds", "2")
    assert code == 0
    assert written["agreements"]["sentences"] == {"both": judged, "ours": judged, "theirs": judged}
    golden(capsys.readouterr().out, only="cross-validated")


def test_without_test_sentences_both_are_trained_in_the_same_folds(
    bot: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (bot / "tests/test_nlu.yml").unlink()
    monkeypatch.setenv("CALLS", str(bot.parent / "calls.jsonl"))
    code, written = calibrated(bot, "--rasa-command", COMMAND, "--folds", "3")
    assert code == 0
    assert written["agreements"]["sentences"]["ours"] == 6
    calls = [json.loads(line)["arguments"] for line in (bot.parent / "calls.jsonl").read_text().splitlines()]
    assert [words[:2] for words in calls if words[0] == "train"].count(["train", "nlu"]) == 3
    assert "cross-validated" not in capsys.readouterr().out


def test_a_model_of_other_components_is_said_and_its_confidences_are_not_mapped(bot: Path, golden: Golden) -> None:
    path = bot / ".turncheck/calibration.json"
    with serving(FakeRasa()) as rasa:
        _, written = calibrated(bot, "--rasa-url", rasa.url)
    written["confidences"] = {"ours": [0.0, 1.0], "theirs": [0.0, 0.1], "fallbacks": 1.0}
    path.write_text(json.dumps(written))
    assert ran(bot)[0].nlu.understood.not_understood == 24
    config = bot / "config.yml"
    config.write_text(config.read_text().replace("DIETClassifier", "LogisticRegressionClassifier"))
    report, comment = ran(bot)
    assert report.nlu.understood.not_understood < 24
    assert report.nlu.understood.same_fallbacks is None
    golden(report.trust.changed)
    assert "before pipeline" in comment
    assert report.trust.changed in comment


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": "turncheck/calibration/v7"}'])
def test_a_broken_file_is_said_in_the_comment(bot: Path, content: str, golden: Golden) -> None:
    path = bot / ".turncheck/calibration.json"
    path.parent.mkdir()
    path.write_text(content)
    report, comment = ran(bot)
    assert report.trust.problem
    golden(comment, only="`baseline")


def test_a_model_must_be_named(bot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrated(bot) == (2, None)
    assert "--rasa-url" in capsys.readouterr().err


def test_a_server_that_is_not_there_leaves_nothing(bot: Path) -> None:
    assert calibrated(bot, "--rasa-url", "http://127.0.0.1:9") == (2, None)
