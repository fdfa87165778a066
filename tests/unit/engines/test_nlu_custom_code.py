from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.engines.embedded.model_archive import MemberWriter
from turncheck.engines.embedded.nlu.persistence import write_nlu
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.model import Component, Config, Project
from turncheck.project.nlu_data import Example, NluData

CODE = '''
class Shouting:
    """Takes what is written in capitals for a complaint, and marks the first word."""

    @staticmethod
    def get_default_config():
        return {"intent": "shout", "share": 1.0}

    @classmethod
    def create(cls, config, model_storage, resource, execution_context):
        component = cls()
        component.config = config
        return component

    def train(self, training_data):
        self.known = {message.get("text") for message in training_data.intent_examples}

    def process(self, messages):
        for message in messages:
            if message.get("text").isupper() and message.get("text") not in self.known:
                message.set("intent", {"name": self.config["intent"], "confidence": 0.9}, add_to_output=True)
                first = message.get("text_tokens")[0]
                entity = {"start": first.start, "end": first.end, "entity": "word", "value": first.text, "mood": "bad"}
                message.set("entities", message.get("entities") + [entity])
        return messages


class Broken(Shouting):
    def process(self, messages):
        raise RuntimeError("out of order")


class NoProcess:
    pass
'''


@pytest.fixture(autouse=True)
def forget_the_module() -> Iterator[None]:
    yield
    sys.modules.pop("shouting", None)


def project(root: Path, name: str) -> Project:
    (root / "shouting.py").write_text(CODE, encoding="utf-8")
    here = Location("config.yml", 4)
    pipeline = (Component("WhitespaceTokenizer", {}, here), Component(name, {"share": 0.5}, here))
    return Project(root, "bot", nlu=NluData((Example("HELLO", "greet"),)), config=Config(pipeline=pipeline))


def test_code_of_the_project_runs_only_where_it_is_allowed(tmp_path: Path) -> None:
    bot = project(tmp_path, "shouting.Shouting")
    refused = EmbeddedNluTrainer().fit(bot)
    assert "shouting" not in sys.modules
    assert refused.info.substitutions[0].component == "shouting.Shouting"
    engine = EmbeddedNluTrainer(allow_custom_code=True).fit(bot)
    assert engine.info.substitutions == ()
    loud, trained, quiet = engine.parse(["WHERE IS IT", "HELLO", "where is it"])
    assert (loud.intent.name, loud.intent.confidence) == ("shout", 0.9)
    (entity,) = loud.entities
    assert (entity.entity, entity.value, entity.extractor, entity.extra) == (
        "word",
        "WHERE",
        "Shouting",
        {"mood": "bad"},
    )
    assert trained.intent.name is None
    assert quiet.intent.name is None
    assert str(tmp_path.resolve()) not in sys.path


@pytest.mark.parametrize("name", ["shouting.Absent", "shouting.NoProcess", "absent.Module", "rasa_extra.nlu.Thing"])
def test_what_cannot_be_imported_is_listed_with_the_reason(name: str, tmp_path: Path, golden: Golden) -> None:
    engine = EmbeddedNluTrainer(allow_custom_code=True).fit(project(tmp_path, name))
    (substitution,) = engine.info.substitutions
    assert substitution.component == name
    golden(substitution.reason)


def test_a_fault_of_foreign_code_names_it(tmp_path: Path) -> None:
    engine = EmbeddedNluTrainer(allow_custom_code=True).fit(project(tmp_path, "shouting.Broken"))
    with pytest.raises(UserError, match=r"shouting\.Broken failed: RuntimeError: out of order"):
        engine.parse(["hello"])


def test_code_is_never_put_into_a_model(tmp_path: Path, golden: Golden) -> None:
    engine = EmbeddedNluTrainer(allow_custom_code=True).fit(project(tmp_path, "shouting.Shouting"))
    with pytest.raises(UserError) as refused:
        write_nlu(MemberWriter(), engine)
    golden(refused.value)


def test_each_project_has_its_own_module_of_a_name(tmp_path: Path) -> None:
    for answer in ("now", "before"):
        (tmp_path / answer).mkdir()
        bot = project(tmp_path / answer, "shouting.Shouting")
        code = CODE.replace('{"intent": "shout"', f'{{"intent": "{answer}"')
        (tmp_path / answer / "shouting.py").write_text(code, encoding="utf-8")
        (loud,) = EmbeddedNluTrainer(allow_custom_code=True).fit(bot).parse(["WHERE"])
        assert loud.intent.name == answer


@pytest.mark.parametrize("code", ["raise RuntimeError('broken')", "raise SystemExit(3)"])
def test_a_module_that_fails_while_it_is_imported_is_named(tmp_path: Path, code: str) -> None:
    bot = project(tmp_path, "shouting.Shouting")
    (tmp_path / "shouting.py").write_text(code, encoding="utf-8")
    with pytest.raises(UserError, match=r"shouting\.Shouting failed"):
        EmbeddedNluTrainer(allow_custom_code=True).fit(bot)
