"""The key of a training: another one for anything that a training could see, the same where nothing of that changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.engines.embedded.training_key import NoDigestError, digest_of, nlu_inputs, policy_inputs, training_key
from turncheck.messages.location import Location
from turncheck.project.model import Component, Config, Project, Slot
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData, Synonym
from turncheck.project.reader import read_project

PLACE = Location("x.yml", 1, 1)
EXAMPLES = Path(__file__).parents[2] / "examples"

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner) | st.frozensets(st.text())
    ),
    max_leaves=8,
)
examples = st.builds(
    Example,
    st.text(),
    st.none() | st.text(),
    st.lists(st.builds(EntityAnnotation, st.integers(0, 9), st.integers(0, 9), st.text(), st.text())).map(tuple),
)


def shape(value: Any) -> str:
    """A text that tells values apart as closely as Python writes them."""
    if isinstance(value, frozenset):
        return f"set({sorted(map(shape, value))})"
    return repr(value)


@given(plain, plain)
def test_two_values_have_one_digest_only_if_they_are_the_same(one: Any, other: Any) -> None:
    assert (digest_of(one) == digest_of(other)) == (shape(one) == shape(other))


@given(st.lists(examples), st.lists(examples))
def test_other_sentences_are_another_training(one: list[Example], other: list[Example]) -> None:
    keys = [
        training_key("nlu", nlu_inputs(Project(Path(), "bot", nlu=NluData(tuple(data)))), seed=1)
        for data in (one, other)
    ]

    assert None not in keys
    assert (keys[0] == keys[1]) == (one == other)


def pizzeria() -> Project:
    return read_project(EXAMPLES / "pizzeria")


def edited(project: Project) -> dict[str, Project]:
    """The project after one edit each, of everything that language understanding is trained on."""
    nlu, domain, config = project.nlu, project.domain, project.config
    first = nlu.examples[0]
    component = (config.pipeline or ())[-1]
    others = {
        "text": replace(nlu, examples=(replace(first, text=first.text + "!"), *nlu.examples[1:])),
        "intent": replace(nlu, examples=(replace(first, intent="other"), *nlu.examples[1:])),
        "order": replace(nlu, examples=nlu.examples[::-1]),
        "twice": replace(nlu, examples=(first, *nlu.examples)),
        "removed": replace(nlu, examples=nlu.examples[1:]),
        "synonym": replace(nlu, synonyms=(*nlu.synonyms, Synonym("a", "b", PLACE))),
    }
    parameters = {**component.parameters, "threshold": 0.123}
    pipeline = (*(config.pipeline or ())[:-1], replace(component, parameters=parameters))
    return {
        **{name: replace(project, nlu=data) for name, data in others.items()},
        "parameter": replace(project, config=replace(config, pipeline=pipeline)),
        "language": replace(project, config=replace(config, language="xx")),
        "slot": replace(project, domain=replace(domain, slots={**domain.slots, "new": Slot("new", "text", PLACE)})),
        "response": replace(project, domain=replace(domain, responses={})),
    }


def test_any_edit_of_what_is_trained_on_changes_the_key() -> None:
    project = pizzeria()
    keys = {name: training_key("nlu", nlu_inputs(one), seed=1) for name, one in edited(project).items()}
    keys["none"] = training_key("nlu", nlu_inputs(project), seed=1)
    keys["seed"] = training_key("nlu", nlu_inputs(project), seed=2)
    keys["kind"] = training_key("folds", nlu_inputs(project), seed=1)

    assert None not in keys.values()
    assert len(set(keys.values())) == len(keys)


def test_a_story_is_nothing_to_language_understanding_and_all_to_the_policies() -> None:
    project = pizzeria()
    shorter = replace(project, stories=project.stories[1:])

    assert training_key("nlu", nlu_inputs(shorter)) == training_key("nlu", nlu_inputs(project))
    assert training_key("policies", policy_inputs(shorter)) != training_key("policies", policy_inputs(project))


def test_the_same_files_elsewhere_are_the_same_training(tmp_path: Path) -> None:
    project = pizzeria()

    assert training_key("nlu", nlu_inputs(replace(project, root=tmp_path))) == training_key("nlu", nlu_inputs(project))


@pytest.mark.parametrize("name", ["SpacyNLP", "DucklingEntityExtractor", "JiebaTokenizer", "components.Own"])
def test_what_reads_files_or_asks_servers_is_never_kept(name: str) -> None:
    project = Project(Path(), "bot", config=Config(pipeline=(Component(name, {}, PLACE),)))

    assert training_key("nlu", nlu_inputs(project)) is None


def test_a_value_that_nobody_knows_has_no_digest() -> None:
    with pytest.raises(NoDigestError):
        digest_of(("known", object()))


def test_another_version_of_anything_is_another_training(monkeypatch: pytest.MonkeyPatch) -> None:
    before = training_key("nlu", nlu_inputs(pizzeria()))
    monkeypatch.setattr("turncheck.engines.embedded.training_key.surroundings", lambda: {"numpy": "99"})

    assert training_key("nlu", nlu_inputs(pizzeria())) != before
