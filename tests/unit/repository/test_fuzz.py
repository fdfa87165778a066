"""A short run of the fuzzer: mutated projects give findings, never a traceback. ``make fuzz`` is the long one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from small_project import checked, places
from tools.fuzz import KINDS, fuzz
from tools.fuzzing import settings
from tools.fuzzing.mutations import mutate
from tools.fuzzing.project_files import projects
from tools.fuzzing.trial import PLANTED, Trial, as_json


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS))
def test_spoiled_inputs_give_words_and_no_traceback_and_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    monkeypatch.setattr("tools.fuzz.FAILURES", tmp_path_factory.mktemp("fuzz"))
    result = fuzz(kind, seed=1, count=100, seconds=60)
    assert result["failures"] == []
    assert result["done"] > 0


def test_a_traceback_and_a_secret_are_failures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tools.fuzz.FAILURES", tmp_path)
    for run, told in (
        (lambda: f"the token is {PLANTED}.token", "a secret is shown"),
        (lambda: str(1 / 0), "ZeroDivision"),
    ):
        trial = Trial(run, as_json(seed=1))
        monkeypatch.setattr("tools.fuzzing.settings.trials", lambda *_, trial=trial: [trial])
        assert told in fuzz("settings", seed=3, count=1, seconds=60)["failures"][0]
        assert json.loads((tmp_path / "settings-3-0" / "input.json").read_text()) == {"seed": 1}


def test_an_input_depends_on_its_seed_alone() -> None:
    first, second = ([settings.values(chance) for _ in range(50)] for chance in (random.Random(5), random.Random(5)))
    assert first == second


def test_mutation_changes_files_and_repeats_with_its_seed() -> None:
    content = next(iter(projects()[0].values()))
    first = [mutate(content, [content], random.Random(seed)) for seed in range(20)]
    assert first == [mutate(content, [content], random.Random(seed)) for seed in range(20)]
    assert any(mutated != content for mutated in first)


def test_a_retrieval_intent_without_a_sentence_is_named_at_its_example(tmp_path: Path) -> None:
    nlu, domain = "data/nlu.yml", "domain.yml"
    emptied = (nlu, "    - when do you open\n    - what are the opening hours\n", "    -\n")
    validated = checked(tmp_path, emptied, (domain, "- faq\n", ""), (domain, "actions:\n", "actions:\n- utter_faq\n"))
    assert places(validated, "intent-without-examples") == ["data/nlu.yml:18:5"]
    assert places(validated, "domain-merge-duplicate")
