"""The stand-in of a Kore.ai assistant: what it understands, what it says that it cannot know, and how it is judged."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from timing import Timing

from turncheck.cli import run_command_line
from turncheck.engines.conversation import Parse, PredictedIntent
from turncheck.engines.embedded.nlu.batch import NO_INTENT
from turncheck.evaluations.batch.suites import SuiteRun, evaluate_suites
from turncheck.evaluations.nlu.judging import cross_validate
from turncheck.evaluations.nlu.scores import before_fallback
from turncheck.platforms.kore.model import bot_of
from turncheck.platforms.kore.stand_in import KoreNluTrainer, StandIn, TraitFinder
from turncheck.process.screen import Console
from turncheck.project.batch.known import known_names
from turncheck.project.batch.model import KINDS, ExpectedEntity, Suite, SuiteCase
from turncheck.project.model import Project
from turncheck.project.reader import read_project
from turncheck.render.results import render_results
from turncheck.report.codec import decode
from turncheck.report.model import Batch, ProjectInfo
from turncheck.run.report_of import report_of

ORACLE = Path(__file__).parents[2] / "oracle" / "kore" / "exports"
LIBRARY = read_project(ORACLE / "city_library")


def understood(project: Project, *texts: str) -> list[Parse]:
    return KoreNluTrainer().fit(project).parse(texts)


def write(folder: Path, data: dict[str, Any]) -> Path:
    (folder / "botDefinition.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def definition(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((ORACLE / name / "botDefinition.json").read_text(encoding="utf-8"))
    return data


def test_dialogs_questions_and_small_talk_are_matched() -> None:
    said = ("please renew Moby Dick", "PRICE of a library card?", "many thanks", "someone stole my card")
    intents = [parse.intent.name for parse in understood(LIBRARY, *said)]
    assert intents == ["Renew Loan", "What does a card cost?", "thanks", "Report Lost Card"]


def test_what_is_about_something_else_matches_nothing_and_is_ranked_all_the_same() -> None:
    (parse,) = understood(LIBRARY, "qwxz jjpf")
    assert parse.intent == NO_INTENT
    assert parse.ranking
    assert before_fallback(parse) == (parse.ranking[0], parse.ranking, True)
    assert understood(LIBRARY, "", "  ")[0] == Parse("", NO_INTENT, tokens=((0, 0),))


def test_a_ranking_falls_from_the_intent_that_was_chosen() -> None:
    texts = [example.text for example in LIBRARY.nlu.examples]
    parses = understood(LIBRARY, *texts)
    assert len(parses) == len(texts) > 20
    assert all(parse.ranking for parse in parses)
    for parse in parses:
        confidences = [one.confidence for one in parse.ranking]
        assert confidences == sorted(confidences, reverse=True)
        assert len({one.name for one in parse.ranking}) == len(parse.ranking)


def test_the_answers_do_not_depend_on_the_batch() -> None:
    texts = [example.text for example in LIBRARY.nlu.examples[:8]]
    engine = KoreNluTrainer(seed=1).fit(LIBRARY)
    assert engine.parse(texts) == [engine.parse([text])[0] for text in texts]


def test_lists_and_patterns_find_entities_with_their_values() -> None:
    parse, longer = understood(LIBRARY, "keep it at the DOCKS, card 123456", "the harbour branch at the docks")
    assert [(one.entity, one.value, one.extra["found_by"]) for one in parse.entities] == [
        ("Branch", "harbour", "list"),
        ("CardNo", "123456", "regular expression"),
    ]
    assert [(one.start, one.end) for one in longer.entities if one.entity == "Branch"] == [(4, 18), (26, 31)]


def test_annotations_are_learnt() -> None:
    (parse,) = understood(read_project(ORACLE / "harbour_pitfalls"), "send a pilot to berth 4")
    assert [(one.entity, one.value, one.extractor) for one in parse.entities] == [("Berth", "berth 4", "NER")]


def test_several_traits_may_hold_and_each_is_found_by_most_of_its_words() -> None:
    none, one, both = understood(
        LIBRARY, "renew my book", "renew my book right now", "this is outrageous, do it right now"
    )
    assert [[trait.name for trait in parse.traits] for parse in (none, one, both)] == [
        [],
        ["Urgent"],
        ["Angry", "Urgent"],
    ]
    assert TraitFinder.train((), ["a"]).find("a") == ()


def test_a_pattern_that_is_not_pythons_finds_nothing(tmp_path: Path) -> None:
    data = definition("city_library")
    card = next(one for one in data["dialogComponents"] if one.get("regexPattern"))
    for pattern in (r"/(?<year>\d{4})/", "/(/", "/a{99999999999999999999}/"):
        card["regexPattern"] = pattern
        understood(read_project(write(tmp_path, data)), "my card 123456 was stolen")


def test_a_pattern_that_never_ends_is_cut_short_and_one_that_cannot_be_read_is_not_evaluated(
    tmp_path: Path, timing: Timing
) -> None:
    data = definition("city_library")
    card = next(one for one in data["dialogComponents"] if one.get("regexPattern"))
    card["regexPattern"] = "/(a|aa)+$/"
    with timing.at_most(8):
        (parse,) = understood(read_project(write(tmp_path, data)), "a" * 60 + "!")
        assert parse.entities == ()
    card["regexPattern"] = "/(/"
    unknown = StandIn(read_project(write(tmp_path, data)), seed=0).capabilities.unknown_entities
    assert "CardNo" in unknown


def test_a_bot_may_have_one_dialog_or_none(tmp_path: Path) -> None:
    data = definition("city_library")
    data["sentences"] = data["sentences"][:6]
    assert understood(read_project(write(tmp_path, data)), "renew it")[0].intent.name == "Renew Loan"
    data["sentences"] = []
    assert understood(read_project(write(tmp_path, data)), "many thanks")[0].intent.name == "thanks"
    data["knowledgeTasks"] = data["smallTalk"] = []
    assert understood(read_project(write(tmp_path, data)), "many thanks")[0] == Parse(
        "many thanks", NO_INTENT, tokens=((0, 4), (5, 11))
    )


def test_what_stands_in_and_what_is_left_out_is_said(golden: Golden) -> None:
    info = KoreNluTrainer().fit(LIBRARY).info
    golden(*(one.component for one in info.substitutions))
    assert info.notes == ("Not judged: 6 sentences in 'de'; --language de judges them.",)
    simple = KoreNluTrainer().fit(read_project(ORACLE / "tea_shop")).info
    golden(*(one.component for one in simple.substitutions))


# --- judged -------------------------------------------------------------------------------------------------------


def test_annotations_that_the_platform_alone_finds_are_not_judged(golden: Golden) -> None:
    engines = StandIn(LIBRARY, seed=0)
    unknown = engines.capabilities.unknown_entities
    assert unknown.keys() == {"DueDate"}
    golden(unknown["DueDate"])
    nlu = cross_validate(LIBRARY, engines.nlu_trainer, folds=3, seed=0, unknown_entities=unknown).section
    expected = {entity.entity for one in nlu.predictions for entity in one.expected.entities}
    assert expected == {"Title", "Branch", "CardNo"}
    golden(*nlu.remarks)
    assert not any("Responses" in remark for remark in nlu.remarks)


def test_annotations_of_free_text_are_learnt_in_every_fold(tmp_path: Path) -> None:
    ships = ("Aurora", "Heron", "Swan", "Gannet", "Cormorant", "Albatros", "Tern", "Osprey", "Kestrel", "Plover")
    data = definition("harbour_pitfalls")
    (ship,) = (one["_id"] for one in data["dialogComponents"] if one["name"] == "Ship")
    task = data["sentences"][0]["taskId"]
    begin = len("book a pilot for the ")
    data["sentences"] += [
        {
            "_id": f"{number:024x}",
            "taskId": task,
            "sentence": f"book a pilot for the {name} now",
            "type": "DialogIntent",
            "language": "en",
            "entities": [{"startIndex": begin, "endIndex": begin + len(name), "entityId": ship}],
        }
        for number, name in enumerate(ships)
    ]
    project = read_project(write(tmp_path, data))
    engines = StandIn(project, seed=0)
    unknown = engines.capabilities.unknown_entities
    assert set(unknown) == {"Draught"}
    measured = cross_validate(project, engines.nlu_trainer, folds=3, seed=0, unknown_entities=unknown)
    assert [one.component for one in measured.engine.substitutions][-1] == "Recognition of Draught"
    found = [entity.entity for one in measured.section.predictions for entity in one.predicted.entities]
    assert found.count("Ship") >= len(ships) // 2


def test_any_number_of_workers_gives_the_same(tmp_path: Path) -> None:
    reports = []
    for workers in ("1", "2"):
        out = tmp_path / workers
        arguments = ["run", str(ORACLE / "tea_shop"), "--workers", workers, "--out", str(out), "--baseline", "none"]
        assert run_command_line(arguments) == 0
        reports.append(replace_timings(decode((out / "report.json").read_bytes())))
    assert reports[0] == reports[1]


def replace_timings(report: Any) -> Any:
    from msgspec import structs

    return structs.replace(report, timings={}, source=structs.replace(report.source, measured=None))


def judged(project: Project, *cases: SuiteCase) -> Batch:
    suite = Suite("suite", "tests/suite.json", cases)
    run = SuiteRun(known=known_names(project))
    return evaluate_suites(StandIn(project, seed=0), [suite], run, Console(quiet=True))


def case(text: str, *intents: str, trait: bool = False, **entities: str) -> SuiteCase:
    expected = tuple(ExpectedEntity(name, (value,)) for name, value in entities.items())
    return SuiteCase(text, intents, is_trait=trait, entities=expected)


def printed(batch: Batch) -> str:
    return render_results(report_of(ProjectInfo(name="x"), 0, batch=batch))


def test_a_suite_is_judged_by_the_kinds_of_the_assistant() -> None:
    batch = judged(
        LIBRARY,
        case("renew Moby Dick", "renew_loan"),
        case("reserve Dune for me", "Buch vormerken"),  # what the dialog is called in German
        case("how much is the membership", "What does a card cost?"),
        case("many thanks", "thank ~you"),  # another pattern of the same small talk
        case("it is urgent", "Urgent", trait=True),
    )
    (suite,) = batch.suites
    assert [(one.kind, one.result) for one in suite.cases] == [
        ("dialog", "tp"),
        ("dialog", "tp"),
        ("faq", "tp"),
        ("small_talk", "tp"),
        ("trait", "tp"),
    ]
    assert suite.kinds["dialog"].total == 3  # dialogs without sentences are left out
    assert batch.coverage is not None


def test_cross_validation_says_how_much_of_each_kind_it_covers(tmp_path: Path) -> None:
    data = definition("city_library")
    project = read_project(write(tmp_path, data))
    bot = bot_of(project)
    assert bot is not None
    coverage = cross_validate(project, KoreNluTrainer(), folds=2).section.coverage
    assert coverage is not None
    judged = {kind: (one.covered, one.total) for kind, one in coverage.kinds.items()}
    totals = {kind: sum(one.kind == kind and one.in_total for one in bot.intents) for kind in KINDS}
    totals |= {"entity": len(bot.entities)}
    assert {kind: total for kind, (_, total) in judged.items()} == totals
    assert judged["trait"][0] == 0 < judged["dialog"][0]
    pooled = ("dialog", "faq", "small_talk")
    assert coverage.pooled == sum(judged[kind][0] for kind in pooled) / sum(totals[kind] for kind in pooled)
    assert coverage.mean == pytest.approx(sum(one / total for one, total in judged.values()) / 5)
    assert len(coverage.uncovered) == sum(totals[kind] - judged[kind][0] for kind in KINDS)


@pytest.mark.follows(
    page="kore-batch", sentence="The summary of a run shows how much of each kind of intent the suites cover."
)
def test_coverage_of_suites_has_both_totals_of_the_platform(golden: Golden) -> None:
    batch = judged(
        LIBRARY,
        case("renew Moby Dick", "renew_loan", Title="Moby Dick", DueDate="2025-01-01"),  # a date cannot be evaluated
        case("how much is the membership", "What does a card cost?"),
        case("it is urgent", "Urgent", trait=True),
    )
    coverage = batch.coverage
    assert coverage is not None
    covered = {kind: (one.covered, one.total) for kind, one in coverage.kinds.items()}
    assert covered == {"dialog": (1, 3), "faq": (1, 3), "small_talk": (0, 5), "trait": (1, 3), "entity": (2, 4)}
    assert coverage.pooled == 2 / 11
    assert coverage.mean == pytest.approx((1 / 3 + 1 / 3 + 0 + 1 / 3 + 1 / 2) / 5)
    assert coverage.without == ()
    assert "Title" not in coverage.uncovered
    table = printed(batch).partition("Covered, by kind\n")[2]
    golden(*table.partition("\n\n")[0].splitlines())


def test_what_cannot_be_known_is_not_evaluated_and_never_wrong(golden: Golden) -> None:
    batch = judged(
        LIBRARY,
        case("hello there", "~emohello"),
        case("plan a party", "Plan Event"),
        case("which one do you mean", "Which one?"),
        case("can I keep my book until Friday", "Renew Loan", DueDate="Friday"),
        case("renew Moby Dick", "Renew Loan", "Plan Event"),
    )
    cases = batch.suites[0].cases
    assert [one.result for one in cases] == ["not-evaluated"] * 3 + ["tp", "tp"]
    golden(cases[0].reason)
    assert cases[3].entities == ()
    golden(cases[3].reason)
    assert cases[3].passed


# --- the commands -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_says_nothing_of_rasa_and_shows_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    data = definition("harbour_pitfalls")
    project = tmp_path / "bot"
    project.mkdir()
    write(project, data)
    out = tmp_path / "out"
    run_command_line(["run", str(project), "--out", str(out), "--baseline", "none", "--strict", "--strength", "all"])
    shown = capsys.readouterr()
    files = {path.name: path.read_text(encoding="utf-8") for path in out.rglob("*") if path.is_file()}
    assert not (out / "rasa").exists()
    for name, text in {"out": shown.out, "err": shown.err, **files}.items():
        assert "NEVER-SHOW" not in text, name
        # The report's own keys are the same for any assistant.
        assert "rasa" not in re.sub(r'"rasa_\w+"', "", text.lower()), name
    report = decode((out / "report.json").read_bytes())
    assert (report.project.kind, report.project.name) == ("kore", "Harbour Pilot")
    skipped = [one for one in report.skipped if one.evaluation in {"core", "e2e", "strength"}]
    assert [one.evaluation for one in skipped] == ["core", "e2e", "strength"]
    golden(*(one.reason for one in skipped))


def test_sentences_are_parsed_from_an_export(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["parse", "--project", str(ORACLE / "city_library" / "botDefinition.json"), "-q", "--format", "jsonl"]
    assert run_command_line([*arguments, "renew my book right now"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["intent"]["name"] == "Renew Loan"
    assert [trait["name"] for trait in answer["traits"]] == ["Urgent"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["train", "nlu"], "has no model here"),
        (["test", "nlu", "--engine", "rasa", "--rasa-url", "http://127.0.0.1:9"], "runs Rasa projects"),
        (["test", "nlu", "--model", "x.tar.gz"], "--model"),
        (["shell"], "run on the platform alone"),
        (["test", "core"], "run on the platform alone"),
        (["test", "strength"], "`turncheck test robustness`"),
        (["test", "strength"], "`turncheck suggest` suggests cases of a batch suite"),
        (["test", "nlu", "-c", "config.yml"], "--config"),
        (["data", "validate", "stories"], "no stories"),
    ],
)
def test_what_does_not_go_with_such_an_assistant_says_why(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line([*arguments, "--project", str(ORACLE / "tea_shop")]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.slow
def test_a_thousand_utterances_are_judged_in_seconds(tmp_path: Path, timing: Timing) -> None:
    data = definition("tea_shop")
    words = ("please", "now", "today", "thanks", "quickly", "for my mother", "at home", "again", "if you can", "soon")
    first = data["sentences"]
    data["sentences"] = [
        {**one, "sentence": f"{one['sentence']} {word} {other}"}
        for word in words
        for other in words[:5]
        for one in first
    ][:1000]
    project = read_project(write(tmp_path, data))
    import_module("sklearn.svm")  # which takes longer than all else
    with timing.at_most(5):
        engine = KoreNluTrainer().fit(project)
        engine.parse([example.text for example in project.nlu.examples])


def test_a_confidence_is_never_that_of_another_engine() -> None:
    (parse,) = understood(LIBRARY, "thanks")
    assert parse.ranking[0] == PredictedIntent("thanks", 1.0)


def test_an_export_answers_for_its_own_bot_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("input,intent,botName\nmany thanks,thanks,City Library\nmany thanks,thanks,Tea Shop\n", "utf-8")
    arguments = ["test", "batch", str(path), "--project", str(ORACLE / "city_library")]
    assert run_command_line([*arguments, "--json", str(tmp_path / "r.json")]) == 1
    batch = decode((tmp_path / "r.json").read_bytes()).batch
    assert batch is not None
    assert [(case.result, case.matched_bots) for case in batch.cases] == [
        ("tp", ("City Library",)),
        ("fp", ("City Library",)),
    ]
