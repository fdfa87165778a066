"""The export of a Kore.ai assistant: what is read of it, where it is, and what is wrong with it."""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from timing import Timing

from turncheck.cli import run_command_line
from turncheck.messages.errors import UserError
from turncheck.platforms.kore import reader
from turncheck.platforms.kore.catalogue import CHECKS
from turncheck.platforms.kore.faults import SEVERITIES
from turncheck.platforms.kore.model import bot_of
from turncheck.project.reader import read_project
from turncheck.validation.pipeline import validate

ORACLE = Path(__file__).parents[2] / "oracle" / "kore" / "exports"
EXPECTED: dict[str, Any] = json.loads((ORACLE / "expected.json").read_text(encoding="utf-8"))


def definition(name: str = "tea_shop") -> dict[str, Any]:
    data: dict[str, Any] = json.loads((ORACLE / name / "botDefinition.json").read_text(encoding="utf-8"))
    return data


def write(folder: Path, data: Any, name: str = "botDefinition.json") -> Path:
    (folder / name).write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return folder


def zipped(content: bytes, name: str = "botDefinition.json") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("config.json", '{"name": "x"}')
        made.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("name", EXPECTED)
def test_an_export_is_read_as_recorded(name: str) -> None:
    expected = EXPECTED[name]
    project = read_project(ORACLE / name)
    bot = bot_of(project)
    assert bot is not None
    assert (project.name, list(bot.languages), bot.default) == (
        expected["name"],
        expected["languages"],
        expected["default"],
    )
    intents = [
        {"name": one.name, "kind": one.kind, "hidden": one.hidden, "examples": one.examples}
        | ({"parent": one.parent} if one.parent else {})
        for one in bot.intents
    ]
    assert intents == expected["intents"]
    assert len(bot.utterances) == expected["utterances"]
    assert [{"input": one.text, "intent": one.intent} for one in bot.utterances] == expected["suite_from_data"]
    spans = [
        {
            "text": one.text,
            "intent": one.intent,
            "entities": [{"entity": entity.entity, "value": entity.value} for entity in one.entities],
        }
        for one in bot.utterances
        if one.entities
    ]
    assert spans == expected["spans"]
    assert [{"name": one.name, "type": one.type} for one in bot.entities] == expected["entities"]
    for one in bot.utterances:
        assert [one.text[entity.start : entity.end] for entity in one.entities] == [e.value for e in one.entities]


@pytest.mark.parametrize("name", EXPECTED)
def test_exactly_the_recorded_faults_are_found(name: str) -> None:
    found = list(validate(read_project(ORACLE / name)).findings)
    assert Counter(one.code for one in found) == Counter(one["code"] for one in EXPECTED[name]["findings"])
    for wanted in EXPECTED[name]["findings"]:
        match = next(one for one in found if one.code == wanted["code"] and wanted["subject"] in one.message)
        found.remove(match)
        assert match.location.path == "botDefinition.json"
        assert match.location.line is not None
        assert match.location.line > 1


def test_what_the_reader_finds_has_the_severity_that_the_manual_gives_it() -> None:
    rows = {check.code: check.severity for check in CHECKS}
    assert {code: rows[code] for code in SEVERITIES} == dict(SEVERITIES)


def test_a_sentence_stands_where_its_text_begins() -> None:
    path = ORACLE / "tea_shop" / "botDefinition.json"
    lines = path.read_text(encoding="utf-8").splitlines()
    examples = read_project(path.parent).nlu.examples
    assert len(examples) > 20
    for example in examples:
        place = example.location
        assert place.line is not None
        assert place.column is not None
        assert lines[place.line - 1][place.column - 1 :].startswith(example.text)


@pytest.mark.parametrize("name", ["harbour_pitfalls", "city_library"])
@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_no_secret_of_an_export_is_shown(
    name: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, definition(name))  # in one line, so that a quoted line would be the whole file
    run_command_line(["data", "validate", "--project", str(tmp_path), "--format", form, "-v", "--strict"])
    shown = capsys.readouterr()
    assert "NEVER-SHOW" not in shown.out + shown.err
    assert len(shown.out) < 150_000


def test_another_language_is_read_where_it_is_asked_for() -> None:
    bot = bot_of(read_project(ORACLE / "city_library", language="de"))
    assert bot is not None
    assert {name: len(found) for name, found in bot.others.items()} == {"en": 18}
    assert {one.intent for one in bot.utterances} == {"Renew Loan", "Reserve Book", "Report Lost Card"}
    renew = bot.named()["ausleihe verlängern"]
    assert (renew.name, renew.examples) == ("Renew Loan", 3)
    with pytest.raises(UserError, match="no language 'xx'"):
        read_project(ORACLE / "city_library", language="xx")


def test_names_agree_whatever_their_case_and_blanks() -> None:
    bot = bot_of(read_project(ORACLE / "harbour_pitfalls"))
    assert bot is not None
    assert bot.named()["order guide"].name == "Book Pilot"  # what the dialog was called before


# --- the files ----------------------------------------------------------------------------------------------------


def test_a_file_or_a_zip_may_be_named_instead_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path, definition())
    (tmp_path / "bot.zip").write_bytes(zipped((tmp_path / "botDefinition.json").read_bytes(), "Tea/botDefinition.json"))
    (tmp_path / "botDefinition.json").rename(tmp_path / "tea.json")
    for name, place in (("tea.json", "tea.json"), ("bot.zip", "bot.zip/Tea/botDefinition.json")):
        project = read_project(tmp_path, data=[tmp_path / name])
        assert project.native is not None
        assert len(project.nlu.examples) == 24
        assert project.nlu.examples[0].location.path == place
        assert run_command_line(["data", "validate", "--project", str(tmp_path / name)]) == 0


@pytest.mark.parametrize("key", ["botDefinition", "appDefinition", "app", "bot"])
def test_one_that_is_wrapped_is_unwrapped_and_places_stay(key: str, tmp_path: Path) -> None:
    write(tmp_path, {key: definition()}, "appDefinition.json")
    project = read_project(tmp_path)
    assert project.native is not None
    text = (tmp_path / "appDefinition.json").read_text(encoding="utf-8")
    example = project.nlu.examples[7]
    assert text[(example.location.column or 0) - 1 :].startswith(example.text)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"intents": [], "voiceId": "Joanna"}', "Amazon Lex"),
        ("[]", "its top level is not an object"),
        ('{"dialogs": [], "dialogComponents": null}', "the list 'dialogComponents' is missing"),
        ("", "is empty"),
        ('{"dialogs": [', "is not JSON"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_no_export_says_what_it_is_and_ends_with_2(
    content: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, content)
    for arguments in (["data", "validate", "--project"], ["run"], ["test", "nlu", "--project"], ["parse", "--project"]):
        assert run_command_line([*arguments, str(tmp_path)]) == 2
        shown = capsys.readouterr().err
        assert told in shown
        assert "[kore-not-an-export]" in shown


@pytest.mark.slow
def test_a_zip_is_read_within_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bot.zip"
    bomb = zipped(b'{"dialogs": [], "dialogComponents": [' + b" " * 40_000_000 + b"]}")
    assert len(bomb) < 100_000
    for content, told in ((bomb, "unpacks to more than"), (zipped(b"{}")[:-40], ""), (zipped(b"{}", "other.json"), "")):
        path.write_bytes(content)
        assert run_command_line(["data", "validate", "--project", str(path)]) == 2
        if told:
            with pytest.raises(UserError, match=told):
                read_project(tmp_path, data=[path])
    monkeypatch.setattr(reader, "MAX_MEMBERS", 1)
    with pytest.raises(reader.ArchiveError, match="more than 1 entries"):
        reader.read_export(zipped(b"{}"), 100)


def test_a_flag_for_rasa_is_refused(tmp_path: Path, golden: Golden) -> None:
    write(tmp_path, definition())
    (tmp_path / "config.yml").write_text("language: en\n", encoding="utf-8")
    assert read_project(tmp_path).native is not None
    with pytest.raises(UserError, match="--config") as refused:
        read_project(tmp_path, config=tmp_path / "config.yml")
    golden(refused.value)


def test_a_rasa_project_with_a_file_of_that_name_stays_one(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("language: en\n", encoding="utf-8")
    write(tmp_path, {"intents": [], "voiceId": "Joanna"})
    assert read_project(tmp_path).native is None


def test_sentences_that_repeat_are_found_in_every_language(tmp_path: Path) -> None:
    data = definition("city_library")
    german = next(one for one in data["sentences"] if one["language"] == "de")
    data["sentences"] += [{**german, "sentence": german["sentence"].upper()}, {**german, "language": "en"}]
    found = [one for one in validate(read_project(write(tmp_path, data))).findings if "sentence" in one.code]
    assert [one.code for one in found] == ["kore-duplicate-sentence"]


def test_questions_of_every_language_are_checked(tmp_path: Path, golden: Golden) -> None:
    data = definition("city_library")
    questions: list[dict[str, Any]] = [{"question": "Was kostet es?", "alternateQuestions": [{"question": "Preis"}]}]
    questions += [{"question": "Was ist teuer?", "alternateQuestions": [{"question": "preis "}]}]
    questions += [{"question": "Alt?", "faqStatus": False}]
    data["knowledgeTasks"].append({"language": "xx", "faqs": {"faqs": questions}})
    found = validate(read_project(write(tmp_path, data))).findings
    new = sorted((one.code, one.message) for one in found if "reis" in one.message or "Alt?" in one.message)
    assert [code for code, _ in new] == ["kore-faq-disabled", "kore-phrase-in-two-faqs"]
    golden(*(message for _, message in new))


def test_a_language_is_refused_where_the_project_is_of_rasa(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError, match="--language") as refused:
        read_project(tmp_path, language="en")
    golden(refused.value)


# --- what may be missing or of another type -----------------------------------------------------------------------


@pytest.mark.slow
def test_any_part_may_be_missing_null_or_of_another_type(tmp_path: Path) -> None:
    whole = definition("city_library")
    for key in whole:
        values: tuple[Any, ...] = (None, {}, [], 7, "x", [None, 3, "x", [], {}])
        for value in values:
            if key in {"dialogs", "dialogComponents"} and not isinstance(value, list):
                continue
            project = read_project(write(tmp_path, {**whole, key: value}))
            assert project.native is not None
            validate(project, strict=True)
    read_project(write(tmp_path, {"dialogs": [], "dialogComponents": []}))


def test_a_slash_is_a_part_of_an_intents_name(tmp_path: Path) -> None:
    data = definition()
    data["dialogs"][0]["localeData"]["en"]["name"] = "Yes/No"
    example = read_project(write(tmp_path, data)).nlu.examples[0]
    assert (example.intent, example.base_intent, example.retrieval_label) == ("Yes/No", "Yes/No", None)


def test_utterances_that_were_not_exported_are_missed(tmp_path: Path) -> None:
    data = definition()
    data["sentences"] = []
    data["exportOptions"]["nlpData"] = []
    codes = {one.code for one in validate(read_project(write(tmp_path, data))).findings}
    assert codes == {"kore-utterances-not-exported", "kore-intent-without-utterances"}


def test_advice_is_given_where_it_is_asked_for(tmp_path: Path) -> None:
    data = definition()
    data["dialogs"][0]["localeData"]["en"]["name"] = "Order | Tea"
    data["sentences"] = [one for one in data["sentences"] if "open" not in one["sentence"]]
    for number, sentence in enumerate(("please could you send me a box now", "please could you now send me a box")):
        data["sentences"].append({**data["sentences"][9 * number], "sentence": sentence, "entities": []})
    project = read_project(write(tmp_path, data))
    assert not validate(project).findings
    codes = {one.code for one in validate(project, strict=True).findings}
    assert codes == {"kore-name-unusual", "kore-few-utterances", "kore-nearly-the-same"}


def test_names_and_phrases_that_appear_twice_are_found(tmp_path: Path, golden: Golden) -> None:
    data = definition("city_library")
    questions = data["knowledgeTasks"][0]["faqs"]["faqs"]
    questions[1]["alternateQuestions"][0]["question"] = "PRICE of a library card"
    questions[2]["question"] = "reserve_book"
    data["smallTalk"][0]["groups"][1]["nodes"][1]["parentId"] = "smn-gone"
    found = {one.code: one for one in validate(read_project(write(tmp_path, data))).findings}
    assert "'What does a card cost?'" in found["kore-phrase-in-two-faqs"].message
    golden(found["kore-same-name"].message)
    assert "Which one?" in found["kore-unresolved-parent"].message


@pytest.mark.slow
def test_a_large_export_is_read_in_two_seconds(tmp_path: Path, timing: Timing) -> None:
    data = definition()
    first = data["sentences"][0]
    data["sentences"] = [{**first, "sentence": f"I want two bags of tea {number}"} for number in range(30_000)]
    text = json.dumps(data, indent=4)
    assert len(text) > 20_000_000
    write(tmp_path, text)
    with timing.at_most(2):
        project = read_project(tmp_path)
    assert len(project.nlu.examples) == 30_000
