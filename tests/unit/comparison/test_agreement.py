"""How far two reports agree, the map of confidences, and which change has no verdict for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from golden_texts import Golden

from turncheck import __version__
from turncheck.comparison.compare import compare
from turncheck.comparison.engines import agreements_of, compared_sentences, confidence_map
from turncheck.comparison.model import Present
from turncheck.evaluations.nlu.predictions import Judgement, with_fallbacks
from turncheck.gates.verdict import judge_gates
from turncheck.messages.errors import UserError
from turncheck.messages.finding import NOWHERE, Location
from turncheck.project.calibration import CALIBRATION_FILE, digest_of, read_calibration, trust_in
from turncheck.project.model import Component, Config, Project
from turncheck.project.nlu_data import Example, NluData
from turncheck.render.trust import trust_entry
from turncheck.render.wording.gates import gate_result
from turncheck.report.codec import json_of
from turncheck.report.model import (
    EngineInfo,
    EntitySpan,
    ExpectedParse,
    GateSettings,
    IntentScores,
    Nlu,
    NluPrediction,
    PredictedParse,
    ProjectInfo,
    Report,
    Substitution,
    Tool,
    Understood,
)
from turncheck.report.trust import Agreement, Agreements, Calibration, ConfidenceMap, Trust

TOOL = Tool(name="turncheck", version="0")
STAND_IN = EngineInfo(
    name="embedded", version="0", substitutions=(Substitution(component="DIETClassifier", used="SVM", reason="no net"),)
)


def sentence(
    text: str, intent: str | None, confidence: float = 0.5, *spans: tuple[str, int, int], expected: str = "a"
) -> NluPrediction:
    found = tuple(EntitySpan(start=start, end=end, entity=name, value=name) for name, start, end in spans)
    return NluPrediction(
        text=text,
        location=Location("t.yml", 1),
        correct=intent == expected,
        expected=ExpectedParse(intent=expected),
        predicted=PredictedParse(intent=intent, confidence=confidence, entities=found),
    )


def report(*sentences: NluPrediction, accuracy: float = 0.5, trust: Trust | None = None) -> Report:
    scores = IntentScores(report={}, accuracy=accuracy, precision=accuracy, recall=accuracy, f1=accuracy)
    nlu = Nlu(mode="held-out", folds=None, examples=len(sentences), intents=scores, predictions=sentences)
    return Report(
        tool=TOOL,
        project=ProjectInfo(name="bot"),
        seed=0,
        engine=STAND_IN,
        nlu=nlu,
        trust=trust,
        timings={"n": accuracy},
    )


def at(threshold: float | None) -> Nlu | None:
    ambiguity = None if threshold is None else 0.1
    found = Understood(right=0, wrong=0, not_understood=0, threshold=threshold, ambiguity_threshold=ambiguity, curve=())
    nlu = report().nlu
    return nlu and msgspec.structs.replace(nlu, understood=found)


def test_what_both_say_is_counted_by_intent_and_by_entity() -> None:
    ours = report(
        sentence("one", "a", 0.9, ("city", 0, 3), ("day", 4, 6)),
        sentence("two", "a"),
        sentence("ours alone", "a"),
        sentence("twice", "b"),
        sentence("twice", "a"),
    )
    theirs = report(
        sentence("twice", "b"),
        sentence("two", "b", 0.4, ("city", 0, 3)),
        sentence("one", "a", 0.7, ("city", 0, 3), ("day", 4, 5)),
        sentence("theirs alone", "c"),
    )
    found = agreements_of(ours, theirs)
    assert len(compared_sentences(ours, theirs)) == 3
    assert found.sentences == Agreement(both=2, ours=3, theirs=3)
    assert found.intents == {"a": Agreement(both=1, ours=2, theirs=1), "b": Agreement(both=1, ours=1, theirs=2)}
    assert found.entity_types == {
        "city": Agreement(both=1, ours=1, theirs=2),
        "day": Agreement(both=0, ours=1, theirs=1),
    }
    assert found.entities == Agreement(both=1, ours=2, theirs=3)
    assert found.entities.share == pytest.approx(0.4)
    assert found.stories is None


def test_a_mapped_threshold_falls_back_as_often_as_the_team_s_model() -> None:
    pairs = [
        (sentence(str(row), "a", row / 100), sentence(str(row), "a", min(1.0, 0.5 + row / 200))) for row in range(100)
    ]
    found = confidence_map(pairs, at(0.7))
    assert found is not None
    assert found.fallbacks == pytest.approx(0.4)
    assert (found.thresholds, found.mode) == ((0.7, 0.1), "held-out")
    assert found.fallbacks_at((0.7, 0.1), in_folds=False) == found.fallbacks
    assert found.fallbacks_at((0.6, 0.1), in_folds=False) is None
    assert found.fallbacks_at((0.7, 0.2), in_folds=False) is None
    assert found.fallbacks_at((0.7, 0.1), in_folds=True) is None
    older = msgspec.structs.replace(found, thresholds=None, mode=None)
    assert older.fallbacks_at((0.6, 0.3), in_folds=True) == found.fallbacks
    mapped = [found.of(mine.predicted.confidence) for mine, _ in pairs]
    assert mapped == sorted(mapped)
    assert sum(one < 0.7 for one in mapped) == pytest.approx(40, abs=2)
    assert found.of(0.0) == pytest.approx(0.5)
    assert found.of(1.0) == pytest.approx(0.995)
    assert confidence_map(pairs[:19], at(0.7)) is None
    without = confidence_map(pairs, at(None))
    assert without is not None
    assert (without.fallbacks, without.thresholds) == (None, None)


def test_a_map_of_one_confidence_alone_is_a_map() -> None:
    pairs = [(sentence(str(row), "a", 1.0), sentence(str(row), "a", 0.8)) for row in range(30)]
    found = confidence_map(pairs, at(0.3))
    assert found is not None
    assert {found.of(one) for one in (0.0, 0.5, 1.0)} == {0.8}


def test_the_figures_with_as_many_fallbacks() -> None:
    judged = [Judgement(correct=row > 3, confidence=row / 10, margin=None, fallback=False) for row in range(10)]
    point = with_fallbacks(judged, 0.2)
    assert point is not None
    assert (point.right, point.wrong, point.not_understood) == (6, 2, 2)
    assert point.threshold == pytest.approx(0.2)
    same = [Judgement(correct=True, confidence=0.5, margin=None, fallback=False)] * 10
    all_or_none = with_fallbacks(same, 0.4)
    assert all_or_none is not None
    assert all_or_none.not_understood == 0


# --- which change has no verdict ------------------------------------------------------------------------------------


def trusted(both: int, **more: Any) -> Trust:
    return Trust(
        path=CALIBRATION_FILE,
        date="2026-11-12",
        engine="rasa 3.6.21",
        agreements=Agreements(sentences=Agreement(both=both, ours=100, theirs=100), **more),
    )


def deltas(base: Trust | None, head: Trust | None) -> tuple[str, Any]:
    before = report(*(sentence(str(row), "a") for row in range(40)), accuracy=1.0, trust=base)
    after = report(*(sentence(str(row), "b" if row < 30 else "a") for row in range(40)), accuracy=0.25, trust=head)
    compared = compare(after, Present(report=before, way="file"))
    delta = compared.metric("nlu.intents.accuracy")
    assert delta is not None
    gates = judge_gates(after, compared, GateSettings(max_regression=("nlu.intents.accuracy: 0.01",)))
    regression = next(gate for gate in gates if gate.metric is not None)
    return delta.judgement, gate_result(regression, after, compared)


@pytest.mark.parametrize(
    ("base", "head", "judgement", "outcome"),
    [
        (None, None, "worse", "failed"),
        (trusted(91), trusted(91), "worse", "failed"),
        (trusted(40), trusted(40), "not judged", "not judged"),
        (None, trusted(40), "not judged", "not judged"),
        (trusted(91), trusted(40), "worse", "failed"),  # a change must not take the gate away by its own file
    ],
)
def test_a_change_where_the_two_do_not_agree_has_no_verdict(
    base: Trust | None, head: Trust | None, judgement: str, outcome: str, golden: Golden
) -> None:
    judged, gate = deltas(base, head)
    assert (judged, gate.outcome) == (judgement, outcome)
    if outcome == "not judged":
        golden(gate.reason)


def test_a_changed_calibration_is_a_changed_setting_and_a_changed_pipeline_is_none(golden: Golden) -> None:
    def changes(base: Trust | None, head: Trust | None) -> dict[str, tuple[str, str]]:
        compared = compare(report(trust=head), Present(report=report(trust=base), way="file"))
        return {one.name: (one.base, one.value) for one in compared.settings_changed}

    replaced = msgspec.structs.replace
    known = trusted(91)
    assert changes(known, known) == {}
    assert changes(known, replaced(known, outdated=True)) == {}
    assert changes(None, known) == {"calibration": ("none", "2026-11-12 (91%)")}
    assert changes(known, None) == {"calibration": ("2026-11-12 (91%)", "none")}
    unfitted = replaced(known, changed="other vectors")
    assert changes(known, unfitted)["calibration"][1].startswith("2026-11-12 (91%; ")
    assert changes(known, trusted(40)) == {"calibration": ("2026-11-12 (91%)", "2026-11-12 (40%)")}
    mapped = replaced(known, confidences=MAP)
    assert changes(known, mapped).keys() == {"calibration"}
    golden(*changes(known, mapped)["calibration"])
    assert changes(mapped, mapped) == {}


def test_an_intent_that_was_compared_often_speaks_for_itself() -> None:
    low, few = Agreement(both=2, ours=10, theirs=10), Agreement(both=0, ours=2, theirs=1)
    trust = trusted(91, intents={"low": low, "few": few}, entities=few, entity_types={"city": low})
    assert trust.agreement_on("nlu.intents[low].f1") == low
    assert trust.agreement_on("nlu.intents[few].f1") == trust.agreements.sentences
    assert trust.agreement_on("nlu.intents.f1") == trust.agreements.sentences
    assert trust.agreement_on("nlu.entities.DIETClassifier[city].f1") == low
    assert trust.agreement_on("nlu.entities.DIETClassifier.spans.f1") == few
    assert trust.agreement_on("core.accuracy") is None
    assert trust.agreement_on("validation.errors") is None


# --- the line --------------------------------------------------------------------------------------------------------


def line(trust: Trust | None) -> str:
    entry = trust_entry(report(sentence("one", "a"), trust=trust))
    return "" if entry is None else "".join(getattr(part, "text", "") for part in entry.line)


def test_the_line_says_how_far_and_when(golden: Golden) -> None:
    trust = trusted(91, entities=Agreement(both=78, ours=100, theirs=100))
    golden(line(trust))
    golden(line(None))
    golden(line(msgspec.structs.replace(trust, outdated=True)))
    golden(line(Trust(path=CALIBRATION_FILE, problem=f"{CALIBRATION_FILE} is not JSON")))


# --- the file --------------------------------------------------------------------------------------------------------

DIET = Config(pipeline=(Component("DIETClassifier", {}, NOWHERE),))


def project(folder: Path, config: Config = DIET) -> Project:
    return Project(folder, "bot", nlu=NluData((Example("hello there", "a", ()),)), config=config)


def write(folder: Path, content: bytes) -> None:
    (folder / CALIBRATION_FILE).parent.mkdir(exist_ok=True)
    (folder / CALIBRATION_FILE).write_bytes(content)


def calibration(*intents: str, **more: Any) -> Calibration:
    named = {name: Agreement(both=9, ours=10, theirs=10) for name in intents}
    found = Agreements(sentences=Agreement(both=9, ours=10, theirs=10), intents=named)
    return Calibration(
        version=more.pop("version", __version__),
        date="2026-11-12",
        engine="rasa 3.6.21",
        pipeline=digest_of(DIET),
        agreements=found,
        **more,
    )


ENDLESS: Final = Agreement(both=10**12, ours=10**12, theirs=10**12)
NONSENSE: Final = Agreement(both=5, ours=4, theirs=9)


def overall(both: int) -> Agreements:
    return Agreements(sentences=Agreement(both=both, ours=10, theirs=10))


def test_it_is_read_and_used(tmp_path: Path) -> None:
    confidences = ConfidenceMap(ours=(0.1, 0.9), theirs=(0.5, 1.0))
    write(tmp_path, json_of(calibration("a", confidences=confidences)))
    trust, found = trust_in(project(tmp_path))
    assert trust is not None
    assert (trust.problem, trust.outdated, found) == ("", False, confidences)


def test_where_the_pipeline_has_changed_it_is_outdated_and_a_threshold_is_none_of_it(tmp_path: Path) -> None:
    write(tmp_path, json_of(calibration("a")))
    other = Config(pipeline=(Component("DIETClassifier", {"epochs": 5}, NOWHERE),))
    trust, _ = trust_in(project(tmp_path, other))
    assert trust is not None
    assert trust.outdated
    one, two = (
        digest_of(Config(pipeline=(Component("FallbackClassifier", {"threshold": value}, NOWHERE),)))
        for value in (0.3, 0.7)
    )
    assert one == two


MAP: Final = ConfidenceMap(ours=(0.1, 0.9), theirs=(0.5, 1.0))


@pytest.mark.parametrize(
    ("written", "vectors", "changed"),
    [
        ({}, "", ""),
        ({}, "abc", ""),  # an older file does not say what the stand-in was
        ({"components": ("DIETClassifier",), "vectors": ""}, "", ""),
        ({"components": ("DIETClassifier",), "vectors": "abc"}, "abc", ""),
        ({"version": "0.0.9"}, "", "it was that of turncheck 0.0.9"),
        ({"version": "9" * 500}, "", f"it was that of turncheck {'9' * 20}"),
        ({"components": ("KeywordIntentClassifier",)}, "", "the pipeline had other components"),
        ({"components": ()}, "", "the pipeline had other components"),
        ({"vectors": "abc"}, "", "it had sentence vectors"),
        ({"vectors": ""}, "abc", "it had no sentence vectors"),
        ({"vectors": "abc"}, "def", "it had other sentence vectors"),
    ],
)
def test_confidences_of_another_stand_in_are_not_mapped(
    tmp_path: Path, written: dict[str, Any], vectors: str, changed: str
) -> None:
    write(tmp_path, json_of(calibration("a", confidences=MAP, **written)))
    trust, found = trust_in(project(tmp_path), vectors)
    assert trust is not None
    assert (trust.problem, trust.changed, found) == ("", changed, None if changed else MAP)
    assert trust.confidences == found
    assert trust.agreements.sentences == Agreement(both=9, ours=10, theirs=10)
    assert (f"when compared, {changed}. Compare again: turncheck calibrate." in line(trust)) == bool(changed)


def test_without_confidences_nothing_is_said_of_them(tmp_path: Path) -> None:
    write(tmp_path, json_of(calibration("a", version="0.0.9")))
    trust, _ = trust_in(project(tmp_path))
    assert trust is not None
    assert trust.changed == ""


def test_another_assistant_s_is_not_used(tmp_path: Path) -> None:
    write(tmp_path, json_of(calibration("x", "y", "a", confidences=ConfidenceMap(ours=(0.5,), theirs=(0.5,)))))
    trust, found = trust_in(project(tmp_path))
    assert trust is not None
    assert found is None
    assert "another assistant" in trust.problem


@pytest.mark.parametrize(
    ("assistant", "is_this"),
    [
        (("a",), True),
        (("a", "gone"), True),
        (("a", "gone", "gone too"), False),
        (("other",), False),
        ((), False),
    ],
)
def test_an_assistant_is_recognised_by_its_intents(tmp_path: Path, assistant: tuple[str, ...], is_this: bool) -> None:
    write(tmp_path, json_of(calibration("a", assistant=assistant)))
    trust, _ = trust_in(project(tmp_path))
    assert trust is not None
    assert ("another assistant" not in trust.problem) == is_this


def test_a_few_common_intents_do_not_make_it_the_same(tmp_path: Path) -> None:
    """A small assistant's intents may all be in a large one."""
    names = tuple(f"i{number}" for number in range(9))
    write(tmp_path, json_of(calibration("a", assistant=("a", *names), confidences=MAP)))
    trust, found = trust_in(project(tmp_path))
    assert trust is not None
    assert "another assistant" in trust.problem
    assert found is None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[]", "schema"),
        (b'{"schema": "turncheck/calibration/v9"}', "turncheck/calibration/v9"),
        (b'{"schema": "turncheck/calibration/v1"}', "is not a calibration"),
        (json_of(calibration("a", confidences=ConfidenceMap(ours=(0.9, 0.1), theirs=(0.1, 0.2)))), "ascending"),
        (json_of(calibration("a", confidences=ConfidenceMap(ours=(), theirs=()))), "ascending"),
        (
            json_of(calibration("a", confidences=ConfidenceMap(ours=(0.5,), theirs=(0.5,), fallbacks=7))),
            "fallbacks, 7,",
        ),
        (
            json_of(msgspec.structs.replace(calibration(), agreements=overall(both=99))),
            "numbers of 'sentences' cannot be: both 99",
        ),
        (
            json_of(msgspec.structs.replace(calibration(), agreements=Agreements(sentences=ENDLESS))),
            "numbers of 'sentences' cannot be",
        ),
        (
            json_of(msgspec.structs.replace(calibration(), agreements=overall(both=-3))),
            "numbers of 'sentences' cannot be: both -3",
        ),
        (
            json_of(msgspec.structs.replace(calibration(), agreements=Agreements(intents={"a": NONSENSE}))),
            "of intent 'a' cannot be",
        ),
        (
            json_of(msgspec.structs.replace(calibration(), agreements=Agreements(entity_types={"a": NONSENSE}))),
            "of entity 'a' cannot be",
        ),
        *(
            (json_of(msgspec.structs.replace(calibration("a"), date=written)), f"date is '{written}'")
            for written in ("yesterday", "", "20261112", "2026-W46-4", "2026-02-30", "2026-11-12T10:00")
        ),
        (b" " * (4 * 2**20 + 1), "larger than 4 MiB"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_a_broken_one_is_named_and_not_used(tmp_path: Path, content: bytes, says: str, golden: Golden) -> None:
    write(tmp_path, content)
    with pytest.raises(UserError, match=says) as caught:
        read_calibration(tmp_path)
    golden(caught.value.hint)
    trust, found = trust_in(project(tmp_path))
    assert trust is not None
    assert says in trust.problem
    assert found is None


def test_without_one_nothing_is_known(tmp_path: Path) -> None:
    assert trust_in(project(tmp_path)) == (None, None)
