"""A step of a pipeline is trained again where something changed that it learns from, and only there."""

from __future__ import annotations

import dataclasses
import io
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import sparse

from turncheck.engines.embedded import model_archive
from turncheck.engines.embedded.nlu import steps
from turncheck.engines.embedded.nlu import trainer as kept_steps
from turncheck.engines.embedded.nlu.batch import Batch, Component, Lessons, Tokens, Training
from turncheck.engines.embedded.nlu.linear import LabelSplit
from turncheck.engines.embedded.nlu.plan import Step
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.engines.embedded.training_key import digest_of
from turncheck.messages.finding import NOWHERE
from turncheck.process.cache import Cache, RunCache
from turncheck.project.model import Component as Described
from turncheck.project.model import Project
from turncheck.project.nlu_data import EntityAnnotation, Example
from turncheck.project.reader import read_project

CONFIG = """\
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: RegexFeaturizer
- name: LexicalSyntacticFeaturizer
- name: CountVectorsFeaturizer
- name: LogisticRegressionClassifier
- name: CRFEntityExtractor
  max_iterations: 5
- name: EntitySynonymMapper
- name: ResponseSelector
- name: FallbackClassifier
  threshold: 0.3
"""
NLU = """\
nlu:
- intent: order
  examples: |
    - a [pie](dish) please
    - two [soups](dish) for me
    - bring me [pie](dish)
- intent: bye
  examples: |
    - see you
    - goodbye then
- intent: faq/hours
  examples: |
    - when do you open
- intent: faq/place
  examples: |
    - where are you
- regex: dish
  examples: |
    - soups?
- synonym: pie
  examples: |
    - tart
"""
ALL = {"LogisticRegressionClassifier", "CRFEntityExtractor", "ResponseSelectorStandIn"}
OF_CHARACTERS = "Featurizer\n  analyzer: char_wb\n- name: Log"
READERS = {"LogisticRegressionClassifier", "CRFEntityExtractor"}
EDITS = {
    "nothing": ("nlu.yml", "nlu:\n", "nlu:\n", set()),
    "a comment": ("nlu.yml", "nlu:\n", "# ours\nnlu:\n", set()),
    "a synonym": ("nlu.yml", "    - tart\n", "    - tart\n    - quiche\n", set()),
    "what an annotation stands for": ("nlu.yml", "[soups](dish)", '[soups]{"entity": "dish", "value": "soup"}', set()),
    "the fallback's threshold": ("config.yml", "threshold: 0.3", "threshold: 0.7", set()),
    "a step that does not learn": ("config.yml", "- name: EntitySynonymMapper\n", "", set()),
    "a regex": ("nlu.yml", "soups?", "pies?", READERS),
    "a sentence": ("nlu.yml", "goodbye then", "goodbye", READERS),
    "a sentence with a response": ("nlu.yml", "where are you", "where is it", ALL),
    "an intent": ("nlu.yml", "intent: bye", "intent: leave", READERS),
    "a response's key": ("nlu.yml", "faq/place", "faq/address", ALL),
    "an entity": ("nlu.yml", "[soups](dish)", "[soups](food)", READERS),
    "a featurizer": ("config.yml", "Featurizer\n- name: Log", OF_CHARACTERS, {"LogisticRegressionClassifier"}),
    "a parameter": ("config.yml", "max_iterations: 5", "max_iterations: 6", {"CRFEntityExtractor"}),
    "the tokenizer": ("config.yml", "Tokenizer\n", "Tokenizer\n  token_pattern: '[a-z]'\n", ALL),
}
"""One edit each: of which file, which text, what becomes of it; and the steps that learn from it."""
TEXTS = ["a tart and a pie please", "see you", "two soups", "when are you open", ""]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps that learnt, in order."""
    done: list[str] = []

    def noting(step: Step, training: Lessons) -> Component | None:
        if step.kind in kept_steps.LEARNS:
            done.append(step.kind)
        return steps.train_step(step, training)

    monkeypatch.setattr(kept_steps, "train_step", noting)
    return done


def bot(folder: Path, name: str = "", old: str = "", new: str = "") -> Project:
    folder.mkdir()
    (folder / "data").mkdir()
    for path, text in (("config.yml", CONFIG), ("nlu.yml", NLU)):
        assert path != name or old in text
        place = folder / "data" / path if path == "nlu.yml" else folder / path
        place.write_text(text.replace(old, new, 1) if path == name else text)
    return read_project(folder)


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
def test_a_step_is_trained_again_only_where_what_it_learns_from_changed(
    edit: str, tmp_path: Path, trained: list[str]
) -> None:
    name, old, new, expected = EDITS[edit]
    kept = Cache(tmp_path / "cache")
    EmbeddedNluTrainer(cache=kept).fit(bot(tmp_path / "before"))
    assert set(trained) == ALL
    trained.clear()
    edited = bot(tmp_path / "after", name, old, new)

    with_cache = EmbeddedNluTrainer(cache=kept).fit(edited)

    assert set(trained) == expected
    assert with_cache.parse(TEXTS) == EmbeddedNluTrainer().fit(edited).parse(TEXTS)
    assert kept.found.get("trained component", 0) == len(ALL - expected)


def test_what_a_step_has_to_say_is_said_each_time(tmp_path: Path, golden: Golden) -> None:
    """Without retrieval intents the selector is left out, with a note, and nothing is said to replace it."""
    project = bot(tmp_path / "bot")
    examples = tuple(one for one in project.nlu.examples if not one.retrieval_label)
    none = dataclasses.replace(project, nlu=replace(project.nlu, examples=examples))
    trainer = EmbeddedNluTrainer(cache=Cache(tmp_path / "cache"))

    infos = [trainer.fit(none).info for _ in range(2)]
    notes = [info.notes for info in infos]

    assert "ResponseSelector" not in {one.component for one in infos[0].substitutions}
    assert "ResponseSelector" in {one.component for one in trainer.fit(project).info.substitutions}
    assert notes[0] == notes[1] == EmbeddedNluTrainer().fit(none).info.notes
    golden(*notes[0], only="ResponseSelector")


@cache
def learning(*, seed: int = 0, split: LabelSplit | None = None) -> Training:
    examples = (
        Example("two soups", "order", (EntityAnnotation(4, 9, "dish", "soups", "first", "a"),)),
        Example("bye", "bye"),
    )
    tokens = [Tokens(("two", "soups"), ((0, 3), (4, 9)), ("two", "soup"), ("N", "N")), Tokens(("bye",), ((0, 3),))]
    batch = Batch.of([one.text for one in examples], tokens)
    batch.sentence_features = [sparse.csr_matrix(np.eye(2)), np.ones((2, 3))]
    batch.patterns = [({"dish": False}, {"dish": True}), ({"dish": False},)]
    batch.dense_token_features = [np.zeros((2, 2)), np.zeros((1, 2))]
    return Training(examples, batch, seed, split, project=Project(Path(), ""))


def step(kind: str, name: str = "", **parameters: Any) -> Step:
    return Step(kind, Described(name or kind, {}, NOWHERE), parameters)


def with_example(training: Training, **changes: Any) -> Training:
    return replace(training, examples=(dataclasses.replace(training.examples[0], **changes), *training.examples[1:]))


def with_entity(training: Training, **changes: Any) -> Training:
    return with_example(training, entities=(replace(training.examples[0].entities[0], **changes),))


def with_tokens(training: Training, **changes: Any) -> Training:
    first, *others = training.batch.tokens
    return replace(training, batch=replace(training.batch, tokens=[replace(first, **changes), *others]))


def key_of(kind: str, training: Training) -> str | None:
    return kept_steps.step_key(RunCache(), step(kind), kept_steps.learnt_by(step(kind), training))


@pytest.mark.parametrize("kind", sorted(kept_steps.LEARNS - {"ResponseSelectorStandIn"}))
def test_any_change_of_sentences_annotations_or_words_is_another_key(kind: str) -> None:
    base = learning()
    others = [
        *(with_example(base, text="two soups!"), with_example(base, intent="other"), with_example(base, entities=())),
        *(with_entity(base, start=3), with_entity(base, end=8), with_entity(base, entity="x")),
        *(with_entity(base, role=None), with_entity(base, group=None)),
        *(with_tokens(base, words=("two", "soup")), with_tokens(base, spans=((0, 3), (4, 8)))),
        *(with_tokens(base, lemmas=None), with_tokens(base, tags=None)),
        *(learning(seed=1), learning(split=LabelSplit("+"))),
        replace(base, examples=base.examples[::-1]),
    ]
    keys = [key_of(kind, one) for one in (base, *others)]

    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert key_of(kind, with_entity(base, value="broth")) == keys[0]


def test_the_key_of_a_selector_is_that_of_its_sentences() -> None:
    kind = "ResponseSelectorStandIn"
    base = with_example(learning(), intent="faq/soups")
    key = key_of(kind, base)

    assert key is not None
    assert key == key_of(kind, with_entity(base, entity="x"))
    assert key == key_of(kind, replace(base, examples=(base.examples[0], Example("ciao", "bye"))))
    others = [
        *(with_example(base, text="two soups!"), with_example(base, intent="faq/other")),
        *(with_example(base, intent="other"), replace(base, seed=1)),
        replace(base, examples=(base.examples[0], Example("bye", "faq/bye"))),
    ]
    assert len({key, *(key_of(kind, one) for one in others)}) == 1 + len(others)


def test_features_are_a_part_of_the_key_of_steps_that_read_them() -> None:
    base = learning()
    sparse_one, dense = base.batch.sentence_features
    others = {
        "sentence": replace(base.batch, sentence_features=[sparse_one * 2, dense]),
        "dense": replace(base.batch, sentence_features=[sparse_one, dense * 2]),
        "fewer": replace(base.batch, sentence_features=[sparse_one]),
        "order": replace(base.batch, sentence_features=[dense, sparse_one]),
        "patterns": replace(base.batch, patterns=[({"dish": True}, {"dish": True}), ({"dish": False},)]),
        "no patterns": replace(base.batch, patterns=None),
        "tokens": replace(base.batch, dense_token_features=[np.ones((2, 2)), np.zeros((1, 2))]),
    }
    of_sentences = {"sentence", "dense", "fewer", "order"}
    read = {
        "LogisticRegressionClassifier": of_sentences,
        "SklearnIntentClassifier": of_sentences,
        "CRFEntityExtractor": others.keys() - of_sentences,
        **{kind: set() for kind in ("DietStandIn", "IntentStandIn", "EntityStandIn", "ResponseSelectorStandIn")},
    }
    assert read.keys() == kept_steps.LEARNS
    for kind, expected in read.items():
        keys = {name: key_of(kind, replace(base, batch=batch)) for name, batch in others.items()}
        assert {name for name, key in keys.items() if key != key_of(kind, base)} == expected, kind


def test_kind_name_and_parameters_are_a_part_of_the_key() -> None:
    several = [step("DietStandIn"), step("DietStandIn", "other"), step("IntentStandIn"), step("DietStandIn", epochs=1)]

    assert len({kept_steps.step_key(RunCache(), one, learning()) for one in several}) == len(several)


def test_what_is_kept_of_a_step_is_all_that_it_is_given() -> None:
    """Whoever adds something to what steps learn from has to say whether it is in the key of those that are kept."""
    in_key = {"examples", "batch", "seed", "label_split"}
    not_kept_with = {"vectors"}
    outcome = {"notes"}
    assert set(Lessons.__struct_fields__) == in_key | not_kept_with | outcome
    assert set(Batch.__struct_fields__) == {
        *("texts", "tokens", "sentence_features", "dense_token_features", "patterns"),
        *("intents", "rankings", "entities", "responses", "team_confidences"),
    }


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), min_size=1, max_size=3), st.integers(0, 5))
def test_arrays_have_one_digest_only_if_they_are_the_same(rows: list[list[int]], place: int) -> None:
    array = np.array(rows, dtype=float)
    other = array.copy()
    other.flat[place % array.size] += 1

    for made in (np.asarray, sparse.csr_matrix):
        assert digest_of(made(array)) == digest_of(made(array.copy()))
        assert digest_of(made(array)) != digest_of(made(other))
    assert digest_of(array) != digest_of(array.T) or array.shape == array.T.shape
    assert digest_of(array) != digest_of(array.astype(np.float32))


def narrower(members: dict[str, bytes]) -> bytes:
    """The members of a classifier, packed again for one feature fewer."""
    arrays = dict(np.load(io.BytesIO(members["weights.npz"])))
    weights = io.BytesIO()
    np.savez(weights, **{**arrays, "weights": arrays["weights"][:-1]})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in {**members, "weights.npz": weights.getvalue()}.items():
            head = tarfile.TarInfo(name)
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
    return packed.getvalue()


def test_an_entry_for_other_features_is_damaged(tmp_path: Path, trained: list[str]) -> None:
    kept = Cache(tmp_path / "cache")
    project = bot(tmp_path / "bot")
    EmbeddedNluTrainer(cache=kept).fit(project)
    narrowed = 0
    for entry in (tmp_path / "cache").glob("*/*.entry"):
        members = model_archive._members(entry.read_bytes().partition(b"\n")[2])
        if "weights.npz" in members:
            kept.put(entry.stem, "trained component", narrower(members))
            narrowed += 1
    assert narrowed
    trained.clear()

    again = EmbeddedNluTrainer(cache=kept).fit(project)

    assert len(trained) == narrowed
    assert set(trained) == {"LogisticRegressionClassifier", "ResponseSelectorStandIn"}
    assert len(kept.damaged) == narrowed
    assert again.parse(TEXTS) == EmbeddedNluTrainer().fit(project).parse(TEXTS)
