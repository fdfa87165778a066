"""What a run computes once: the comparison with its base, and nothing for a cache that nobody asks."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from turncheck import api, conclude
from turncheck.comparison.compare import compare
from turncheck.engines.conversation import Parse, PredictedIntent
from turncheck.evaluations.answers import COMPUTE_LOCALLY
from turncheck.evaluations.nlu import measure
from turncheck.evaluations.nlu.splits import FoldRun
from turncheck.evaluations.written_answers import write_answer
from turncheck.process.cache import RunCache
from turncheck.report.model import EngineInfo
from turncheck.run import run

DOMAIN = "intents: [greet]\nresponses:\n  utter_greet: [{text: hi}]\n"
RULES = "rules:\n- rule: greet\n  steps: [{intent: greet}, {action: utter_greet}]\n"


def test_a_change_without_failures_is_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = functools.partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True)
    git(["git", "init", "-q", "-b", "main"])
    (tmp_path / "domain.yml").write_text(DOMAIN)
    (tmp_path / "config.yml").write_text("language: en\npolicies: [{name: RulePolicy}]\n")
    for rules in (RULES, RULES + "- rule: again\n  steps: [{action: utter_greet}]\n"):
        (tmp_path / "rules.yml").write_text(rules)
        git(["git", "add", "-A"])
        git(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "state"])
    compared = Mock(wraps=compare)
    monkeypatch.setattr(conclude, "compare", compared)
    monkeypatch.setattr(run, "compare", compared)

    outcome = api.run(tmp_path, base="HEAD~1", cache=False)

    assert outcome.comparison.baseline.status == "present"
    assert compared.call_count == 1


def test_an_answer_is_written_for_the_run_itself_only_if_it_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = FoldRun(0, (Parse("hi", PredictedIntent("greet", 0.5)),), EngineInfo(name="embedded", version="1"), ())
    write = Mock(wraps=write_answer)
    monkeypatch.setattr(measure, "write_answer", write)
    kept = measure.KeptAnswers(COMPUTE_LOCALLY, {0: ["hi"]}, RunCache(), "key")

    kept.keep("fold:0", answer)
    write.assert_not_called()
    assert kept.known("fold:0") == answer
    write.assert_called_once_with(answer)
