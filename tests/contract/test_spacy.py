"""spaCy's components with a real spaCy and a model made here, installed as a package."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
from turncheck.engines.embedded.nlu import spacy_model
from turncheck.engines.embedded.nlu.persistence import read_nlu, write_nlu
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.finding import Location
from turncheck.project.model import Component, Config, Project
from turncheck.project.nlu_data import Example, NluData

VECTORS = {"hello": (1.0, 0.0, 0.0), "hi": (0.9, 0.1, 0.0), "card": (0.0, 1.0, 0.0), "lost": (0.0, 0.9, 0.3)}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A tiny English model with word vectors and a rule for names, as an importable package ``tiny_model``."""
    import spacy  # takes a second, which a process with none of these tests need not wait

    language: Any = spacy.blank("en")
    for word, vector in VECTORS.items():
        language.vocab.set_vector(word, np.array(vector, dtype="float32"))
    ruler = language.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "GPE", "pattern": "Rome"}])
    package = tmp_path / "site" / "tiny_model"
    package.mkdir(parents=True)
    language.to_disk(package / "en_model-1.0.0")
    meta = {**language.meta, "name": "model", "version": "1.0.0"}
    (package / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    (package / "__init__.py").write_text(
        "from spacy.util import load_model_from_init_py\n"
        "def load(**overrides):\n    return load_model_from_init_py(__file__, **overrides)\n",
        encoding="utf-8",
    )
    info = tmp_path / "site" / "tiny_model-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny_model\nVersion: 1.0.0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield "tiny_model"
    spacy_model._language.cache_clear()
    spacy_model._document.cache_clear()
    sys.modules.pop("tiny_model", None)


def project(model: str) -> Project:
    here = Location("config.yml", 3)
    pipeline = (
        Component("SpacyNLP", {"model": model}, here),
        Component("SpacyTokenizer", {}, here),
        Component("SpacyFeaturizer", {}, here),
        Component("SklearnIntentClassifier", {"C": [1]}, here),
        Component("SpacyEntityExtractor", {"dimensions": ["GPE"]}, here),
    )
    greetings = ("hello", "hi", "hello hi", "hi hello you", "oh hello")
    troubles = ("card lost", "lost card", "my card", "I lost it", "lost")
    examples = (*(Example(text, "greet") for text in greetings), *(Example(text, "lost") for text in troubles))
    return Project(Path("bot"), "bot", nlu=NluData(examples), config=Config(pipeline=pipeline))


def test_an_installed_model_is_used_and_nothing_is_replaced(model: str) -> None:
    engine = EmbeddedNluTrainer().fit(project(model))
    assert engine.info.substitutions == ()
    hello, lost = engine.parse(["Hi, there!", "my CARD in Rome"])
    assert (hello.intent.name, lost.intent.name) == ("greet", "lost")
    assert hello.tokens == ((0, 2), (2, 3), (4, 9), (9, 10))
    (city,) = lost.entities
    assert (city.entity, city.value, city.start, city.extractor) == ("GPE", "Rome", 11, "SpacyEntityExtractor")


def test_a_model_that_is_read_back_uses_it_too(model: str) -> None:
    engine = EmbeddedNluTrainer().fit(project(model))
    writer = MemberWriter()
    write_nlu(writer, engine)
    again = read_nlu(MemberReader(writer.whole()))
    assert again.parse(["hi", "card in Rome"]) == engine.parse(["hi", "card in Rome"])


def test_a_model_that_is_not_installed_is_replaced_and_listed() -> None:
    engine = EmbeddedNluTrainer().fit(project("en_absent_model"))
    listed = {one.component: one.used for one in engine.info.substitutions}
    assert set(listed) == {"SpacyNLP", "SpacyTokenizer", "SpacyFeaturizer", "SpacyEntityExtractor"}
    assert engine.parse(["hello"])[0].intent.name == "greet"
