"""The key of a training: another one for anything that a training could see, the same where nothing of that changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from turncheck.engines.embedded.training_key import NoDigestError, digest_of, nlu_inputs, policy_inputs, training_key
from turncheck.messages.finding import Location
from turncheck.messages.value_classes import field_names
from turncheck.process.cache import Cache, RunCache
from turncheck.project.model import Component, Config, Project, Slot
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData, Synonym
from turncheck.project.reader import read_project

PLACE = Location("x.yml", 1, 1)
HERE = RunCache()
EXAMPLES = Path(__file__).parents[3] / "examples"

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


@pytest.mark.slow
@given(st.lists(examples), st.lists(examples))
def test_other_sentences_are_another_training(one: list[Example], other: list[Example]) -> None:
    keys = [
        training_key(HERE, "nlu", nlu_inputs(Project(Path(), "bot", nlu=NluData(tuple(data)))), seed=1)
        for data in (one, other)
    ]

    assert None not in keys
    assert (keys[0] == keys[1]) == (one == other)


def pizzeria() -> Project:
    return read_project(EXAMPLES / "pizzeria")


def edited(project: Project) -> dict[str, Project]:
    """The project after one edit each, of everything that language understanding is trained on."""
    nlu, config = project.nlu, project.config
    first = nlu.examples[0]
    component = (config.pipeline or ())[-1]
    others = {
        "text": replace(nlu, examples=(dataclasses.replace(first, text=first.text + "!"), *nlu.examples[1:])),
        "intent": replace(nlu, examples=(dataclasses.replace(first, intent="other"), *nlu.examples[1:])),
        "order": replace(nlu, examples=nlu.examples[::-1]),
        "twice": replace(nlu, examples=(first, *nlu.examples)),
        "removed": replace(nlu, examples=nlu.examples[1:]),
        "synonym": replace(nlu, synonyms=(*nlu.synonyms, Synonym("a", "b", PLACE))),
    }
    parameters = {**component.parameters, "threshold": 0.123}
    pipeline = (*(config.pipeline or ())[:-1], dataclasses.replace(component, parameters=parameters))
    return {
        **{name: dataclasses.replace(project, nlu=data) for name, data in others.items()},
        "parameter": dataclasses.replace(project, config=replace(config, pipeline=pipeline)),
        "language": dataclasses.replace(project, config=replace(config, language="xx")),
    }


def edited_domain(project: Project) -> dict[str, Project]:
    """The project after one edit each of its domain."""
    domain = project.domain
    name, first = next(iter(domain.responses.items()))
    variations = (replace(first.variations[0], content={"text": "Something else"}), *first.variations[1:])
    responses = {**domain.responses, name: replace(first, variations=variations)}
    return {
        "slot": dataclasses.replace(
            project, domain=replace(domain, slots={**domain.slots, "new": Slot("new", "text", PLACE)})
        ),
        "text": dataclasses.replace(project, domain=replace(domain, responses=responses)),
        "no responses": dataclasses.replace(project, domain=replace(domain, responses={})),
        "intent": dataclasses.replace(project, domain=replace(domain, intents={})),
    }


def policy_key(project: Project) -> str | None:
    inputs, domain = policy_inputs(project)
    return training_key(HERE, "policies", inputs, domain=domain)


def test_any_edit_of_what_is_trained_on_changes_the_key() -> None:
    project = pizzeria()
    keys = {name: training_key(HERE, "nlu", nlu_inputs(one), seed=1) for name, one in edited(project).items()}
    keys["none"] = training_key(HERE, "nlu", nlu_inputs(project), seed=1)
    keys["seed"] = training_key(HERE, "nlu", nlu_inputs(project), seed=2)
    keys["kind"] = training_key(HERE, "folds", nlu_inputs(project), seed=1)

    assert None not in keys.values()
    assert len(set(keys.values())) == len(keys)


def test_a_story_is_nothing_to_language_understanding_and_all_to_the_policies() -> None:
    project = pizzeria()
    shorter = dataclasses.replace(project, stories=project.stories[1:])

    assert training_key(HERE, "nlu", nlu_inputs(shorter)) == training_key(HERE, "nlu", nlu_inputs(project))
    assert policy_key(shorter) != policy_key(project)


def test_nothing_is_learnt_from_the_texts_of_responses_and_policies_know_no_sentence() -> None:
    project = pizzeria()
    nlu, policies = training_key(HERE, "nlu", nlu_inputs(project)), policy_key(project)
    keys = {name: policy_key(one) for name, one in edited_domain(project).items()}

    assert {training_key(HERE, "nlu", nlu_inputs(one)) for one in edited_domain(project).values()} == {nlu}
    assert {name for name, key in keys.items() if key == policies} == {"text"}
    assert {policy_key(one) for one in edited(project).values()} == {policies}


def test_a_retrieval_intent_is_something_to_the_policies() -> None:
    project = pizzeria()
    asked = Example("Are you open?", "faq/hours")
    other = dataclasses.replace(project, nlu=replace(project.nlu, examples=(*project.nlu.examples, asked)))

    assert policy_key(other) != policy_key(project)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all plain values below, but for lines and columns."""
    if isinstance(value, Location):
        return [(*path, "path")]
    if (names := field_names(type(value), compared=True)) is not None:
        return [way for name in names for way in leaves(getattr(value, name), (*path, name))]
    if isinstance(value, Mapping):
        return [way for key, item in value.items() for way in leaves(item, (*path, key))]
    if isinstance(value, (tuple, list)):
        return [way for index, item in enumerate(value) for way in leaves(item, (*path, index))]
    return [path]


def changed(value: Any, path: tuple[Any, ...]) -> Any:
    """The same value with another one at the end of this way."""
    if not path:
        return "something" if value is None else (not value if isinstance(value, bool) else f"{value}?")
    first, *rest = path
    if field_names(type(value)) is not None:
        how = replace if isinstance(value, msgspec.Struct) else dataclasses.replace
        return how(value, **{first: changed(getattr(value, first), tuple(rest))})
    if isinstance(value, Mapping):
        return {key: changed(item, tuple(rest)) if key == first else item for key, item in value.items()}
    return tuple(changed(item, tuple(rest)) if index == first else item for index, item in enumerate(value))


@pytest.mark.slow
@pytest.mark.parametrize("example", ["pizzeria", "clinic"])
@given(data=st.data())
def test_any_change_of_anything_that_is_learnt_from_changes_the_key(example: str, data: st.DataObject) -> None:
    for part in ("nlu", "policies"):
        way = data.draw(st.sampled_from(ways(example, part)))

        assert training_key(HERE, "policies", changed(inputs_of(example, part), way)) != key_of(example, part)


@cache
def whole(example: str) -> Project:
    return read_project(EXAMPLES / example)


@cache
def inputs_of(example: str, part: str) -> Project:
    return nlu_inputs(whole(example)) if part == "nlu" else policy_inputs(whole(example))[0]


@cache
def ways(example: str, part: str) -> list[tuple[Any, ...]]:
    return [one for one in leaves(inputs_of(example, part)) if one[0] != "root"]


@cache
def key_of(example: str, part: str) -> str | None:
    return training_key(HERE, "policies", inputs_of(example, part))


def test_lines_that_move_change_nothing_and_two_steps_do_not_become_one() -> None:
    moved = [(Location("a.yml", 1, 1), Location("a.yml", 7, 1)), (Location("a.yml", 2, 3), Location("a.yml", 9, 9))]
    others = [(Location("a.yml", 1, 1), Location("a.yml", 1, 1)), (Location("a.yml", 1, 1), Location("b.yml", 1, 1))]

    assert len({digest_of(one, places={}) for one in moved}) == 1
    assert len({digest_of(one, places={}) for one in (*moved, *others)}) == 3
    assert len({digest_of(one) for one in (*moved, *others)}) == 4


def test_the_same_files_elsewhere_are_the_same_training(tmp_path: Path) -> None:
    project = pizzeria()

    assert training_key(HERE, "nlu", nlu_inputs(dataclasses.replace(project, root=tmp_path))) == training_key(
        HERE, "nlu", nlu_inputs(project)
    )


@pytest.mark.parametrize("name", ["SpacyNLP", "DucklingEntityExtractor", "JiebaTokenizer", "components.Own"])
def test_what_reads_files_or_asks_servers_is_never_kept(name: str) -> None:
    project = Project(Path(), "bot", config=Config(pipeline=(Component(name, {}, PLACE),)))

    assert training_key(HERE, "nlu", nlu_inputs(project)) is None


def test_a_value_that_nobody_knows_has_no_digest() -> None:
    with pytest.raises(NoDigestError):
        digest_of(("known", object()))


def test_another_version_of_anything_is_another_training(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Cache(Path())
    before = training_key(kept, "nlu", nlu_inputs(pizzeria()))
    monkeypatch.setattr("turncheck.process.cache.surroundings", lambda: {"numpy": "99"})

    assert training_key(kept, "nlu", nlu_inputs(pizzeria())) != before
