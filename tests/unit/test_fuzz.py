"""A short run of the fuzzer: mutated projects give findings, never a traceback. ``make fuzz`` is the long one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from small_project import checked, places
from tools.fuzz import fuzz, mutate, projects


def test_mutated_projects_give_findings_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr("tools.fuzz.FAILURES", tmp_path_factory.mktemp("fuzz"))
    result = fuzz(seed=1, count=200, seconds=60)
    assert result["failures"] == []
    assert result["done"] > 0


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
