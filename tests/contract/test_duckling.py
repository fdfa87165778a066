"""DucklingEntityExtractor against a server that speaks Duckling's protocol: ``POST /parse``, a form in, a list out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from duckling_server import AMOUNT, duckling
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.engines.embedded.engines import engine_of
from turncheck.engines.embedded.nlu.batch import REFERENCE_TIME, DucklingAccess
from turncheck.engines.embedded.nlu.duckling import EXTRACTOR
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.model import Component, Config, Project
from turncheck.project.nlu_data import Example, NluData
from turncheck.settings.options import Settings


def project(**parameters: Any) -> Project:
    components = (
        Component("WhitespaceTokenizer", {}, Location("config.yml", 3)),
        Component("DucklingEntityExtractor", parameters, Location("config.yml", 4)),
    )
    nlu = NluData((Example("pay 20 euro from 3 to 5", "pay"),))
    return Project(Path("bot"), "bot", nlu=nlu, config=Config(pipeline=components))


def test_what_the_server_finds_is_taken_over() -> None:
    with duckling() as server:
        engine = EmbeddedNluTrainer().fit(project(url=server.url + "/", locale="en_GB", timezone="Europe/Berlin"))
        (parse,) = engine.parse(["pay 20 euro from 3 to 5"])
        form = server.forms[-1]
    assert engine.extractors == ("DucklingEntityExtractor",)
    amount, time = parse.entities
    assert (amount.entity, amount.value, amount.start, amount.end, amount.confidence) == (
        "amount-of-money", 20, 4, 11, 1.0,
    )  # fmt: skip
    assert amount.extra == {"text": "20 euro", "additional_info": AMOUNT["value"]}
    assert time.value == {"to": "2025-01-01T18:00:00.000Z", "from": "2025-01-01T15:00:00.000Z"}
    assert form == {
        "text": "pay 20 euro from 3 to 5",
        "locale": "en_GB",
        "tz": "Europe/Berlin",
        "dims": "null",
        "reftime": str(REFERENCE_TIME),
    }


def test_only_the_dimensions_asked_for_are_kept() -> None:
    with duckling() as server:
        engine = EmbeddedNluTrainer().fit(project(url=server.url, dimensions=["time"]))
        (parse,) = engine.parse(["pay 20 euro from 3 to 5"])
        assert server.forms[-1]["dims"] == '["time"]'
    assert [entity.entity for entity in parse.entities] == ["time"]


@pytest.mark.parametrize("named", ["the pipeline's", "none", "not allowed"])
def test_the_variable_of_rasa_names_the_server(named: str) -> None:
    with duckling() as server:
        urls = {"the pipeline's": "http://127.0.0.1:9", "not allowed": "http://duckling.example"}
        bot = project(**({"url": urls[named]} if named in urls else {}))
        environment = {"RASA_DUCKLING_HTTP_URL": server.url}
        engine = engine_of(Settings(), bot, environment, hosts=())
        nlu = engine.nlu
        assert nlu is not None
        assert nlu.parse(["pay 20 euro"])[0].entities
        without = engine_of(Settings(), bot, {"RASA_DUCKLING_HTTP_URL": ""}, hosts=()).nlu
        assert without is not None
        assert not without.parse(["pay 20 euro"])[0].entities


def test_sentences_are_shown_with_what_the_server_of_the_variable_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = "pipeline:\n- name: WhitespaceTokenizer\n- name: DucklingEntityExtractor\n"
    (tmp_path / "config.yml").write_text(pipeline, encoding="utf-8")
    (tmp_path / "data").mkdir()
    sentences = 'version: "3.1"\nnlu:\n- intent: pay\n  examples: |\n    - pay 20 euro\n'
    (tmp_path / "data" / "nlu.yml").write_text(sentences, encoding="utf-8")
    (tmp_path / "domain.yml").write_text('version: "3.1"\nintents: [pay]\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with duckling() as server:
        monkeypatch.setenv("RASA_DUCKLING_HTTP_URL", server.url)
        assert run_command_line(["parse", "--no-cache", "--format", "jsonl", "pay 20 euro"]) == 0
    assert "amount-of-money" in capsys.readouterr().out


def test_a_server_that_is_not_there_is_skipped_and_said() -> None:
    with duckling() as server:
        gone = server.url
    engine = EmbeddedNluTrainer().fit(project(url=gone))
    (substitution,) = engine.info.substitutions
    assert (substitution.component, substitution.used) == ("DucklingEntityExtractor", None)
    assert gone in substitution.reason
    assert "not reachable" in substitution.reason
    assert engine.parse(["pay 20 euro"])[0].entities == ()


@pytest.mark.parametrize(
    "answer", [(500, b"[]"), (302, b""), (200, b"<html>"), (200, b'[{"dim": "time"}]'), (200, b'{"a": 1}')]
)
def test_a_server_that_is_no_duckling_is_skipped_and_said(answer: tuple[int, bytes]) -> None:
    with duckling() as server:
        server.answer = answer
        engine = EmbeddedNluTrainer().fit(project(url=server.url))
    assert engine.info.substitutions[0].used is None


def test_a_server_that_stops_answering_is_an_error_not_a_silent_loss() -> None:
    with duckling() as server:
        engine = EmbeddedNluTrainer().fit(project(url=server.url))
        server.answer = (500, b"")
        with pytest.raises(UserError, match="stopped answering"):
            engine.parse(["pay 20 euro"])


def test_a_host_that_the_pipeline_names_must_be_allowed(golden: Golden) -> None:
    access = DucklingAccess(allowed_hosts=("duckling.test",))
    engine = EmbeddedNluTrainer(duckling=access).fit(project(url="http://169.254.169.254/latest"))
    golden(engine.info.substitutions[0].reason)
    with duckling() as server:
        assert EmbeddedNluTrainer(duckling=access).fit(project(url=server.url)).info.substitutions == ()


def test_an_address_given_by_the_caller_counts_before_the_pipelines() -> None:
    with duckling() as server:
        trainer = EmbeddedNluTrainer(duckling=DucklingAccess(url=server.url, allowed_hosts=()))
        assert trainer.fit(project(url="http://nowhere.invalid")).info.substitutions == ()
        assert server.forms


@pytest.mark.parametrize("url", [None, "", "duckling:8000", "ftp://x", "http://[broken"])
def test_no_address_or_a_bad_one_is_said(url: str | None) -> None:
    engine = EmbeddedNluTrainer().fit(project(url=url))
    assert engine.info.substitutions[0].used is None


def test_relative_dates_count_from_the_day_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    def asked(*arguments: str) -> set[str]:
        server.forms.clear()
        assert run_command_line([*arguments, "--project", str(tmp_path)]) == 0
        return {form["reftime"] for form in server.forms}

    noon = str(1_769_860_800_000)  # of 2026-01-31, UTC
    with duckling() as server:
        config = f"language: en\npipeline:\n- name: WhitespaceTokenizer\n- name: {EXTRACTOR}\n  url: {server.url}\n"
        (tmp_path / "config.yml").write_text(config)
        (tmp_path / "nlu.yml").write_text("version: '3.1'\nnlu:\n- intent: pay\n  examples: |\n    - pay\n    - buy\n")
        data = ("--nlu", str(tmp_path / "nlu.yml"))
        assert asked("parse", *data, "x", "--today", "2026-01-31") == {noon}
        assert asked("parse", *data, "x") == {str(REFERENCE_TIME)}
        assert asked("train", "nlu", *data, "--out", str(tmp_path / "models")) == {str(REFERENCE_TIME)}
        assert asked("parse", "--model", str(tmp_path / "models"), "x", "--today", "2026-01-31") == {noon}
    assert run_command_line(["parse", "--today", "tomorrow", "x"]) == 2
    golden(capsys.readouterr().err)
