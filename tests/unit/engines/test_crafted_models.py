"""What somebody else put into a model or a cache entry: used only if it can be used."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from turncheck.cli import run_command_line
from turncheck.dialogue.events import ActionExecuted, UserUttered
from turncheck.dialogue.tracker import Tracker
from turncheck.engines.embedded.model_archive import (
    MemberReader,
    MemberWriter,
    keep,
    read_kept,
    read_model,
    write_model,
)
from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
from turncheck.engines.embedded.nlu.persistence import read_nlu
from turncheck.engines.embedded.policies.trainer import read_ensemble
from turncheck.process.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.dialogue.domain import DialogueDomain

EXAMPLE = Path(__file__).parents[3] / "examples" / "pizzeria"
PIPELINES = {
    "stand-in": "- name: WhitespaceTokenizer\n"
    "- name: LexicalSyntacticFeaturizer\n- name: DIETClassifier\n- name: EntitySynonymMapper\n",
    "of Rasa": "- name: WhitespaceTokenizer\n- name: RegexFeaturizer\n- name: CountVectorsFeaturizer\n"
    "- name: LogisticRegressionClassifier\n- name: CRFEntityExtractor\n- name: KeywordIntentClassifier\n"
    "- name: FallbackClassifier\n",
}
POLICIES = "- name: AugmentedMemoizationPolicy\n- name: TEDPolicy\n- name: UnexpecTEDIntentPolicy\n- name: RulePolicy\n"

Place = tuple[str | int, ...]
Trained = tuple[Path, Mapping[str, bytes]]
"""A project, and the members of its model."""
DEEP: Any = json.loads("[" * 300 + "]" * 300)
VALUES: tuple[Any, ...] = (None, -1, 10**400, float("nan"), "text", [], {}, [None], DEEP)
PLACES: Mapping[str, tuple[tuple[str, Place], ...]] = {
    "stand-in": (
        ("nlu/engine", ()),
        ("nlu/engine", ("info",)),
        ("nlu/engine", ("steps", 0)),
        ("nlu/engine", ("steps", 0, "name")),
        ("nlu/engine", ("trained",)),
        ("nlu/domain", ()),
        ("nlu/domain", ("session",)),
        ("nlu/0/parts", ("intents",)),
        ("nlu/0/intents/names", ()),
        ("nlu/0/intents/names", (0,)),
        ("nlu/0/intents/calibration", ("shares", 0)),
        ("nlu/0/intents/calibration", ("factor",)),
        ("nlu/0/entities/confidences", ("entity", 0)),
        ("nlu/0/entities/bias", ()),
        ("nlu/tokenizer", ()),
        ("core/ensemble", ()),
        ("core/ensemble", ("components", 0)),
        ("core/ensemble", ("domain", "slots", 0)),
        ("core/policy_0", ()),
        ("core/policy_0", ("lookup",)),
        ("core/policy_1", ("model", "weights", 0)),
        ("core/policy_1", ("model", "labels", 0)),
        ("core/policy_3", ("rules",)),
    ),
    "of Rasa": (
        ("nlu/1/vocabulary", (0,)),
        ("nlu/2/names", ("names",)),
        ("nlu/2/names", ("names", 0)),
        ("nlu/2/names", ("one_vs_rest",)),
        ("nlu/3/taggers", (0,)),
        ("nlu/engine", ("steps", 3, "parameters", "features", 0)),
        ("nlu/engine", ("steps", 5, "parameters", "threshold")),
    ),
}
ARRAYS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("half", lambda array: array[: len(array) // 2]),
    ("twice", lambda array: np.concatenate([array, array])),
    ("one dimension more", lambda array: array[..., None]),
    ("text", lambda array: np.full(array.shape, "x")),
    ("not numbers", lambda array: np.full(array.shape, np.nan)),
    ("infinite", lambda array: np.full(array.shape, np.inf)),
    ("complex", lambda array: array.astype(complex)),
    ("a single number", lambda _: np.array(3.0)),
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trained]:
    """Return the project of a pipeline with the members of its model."""
    made: dict[str, Trained] = {}

    def of(pipeline: str) -> Trained:
        if pipeline not in made:
            project = tmp_path_factory.mktemp("bot") / "project"
            shutil.copytree(EXAMPLE, project)
            config = f"recipe: default.v1\nlanguage: en\npipeline:\n{PIPELINES[pipeline]}policies:\n{POLICIES}"
            (project / "config.yml").write_text(config)
            models = project / "models"
            assert run_command_line(["train", "--project", str(project), "--out", str(models), "-q"]) == 0
            (model,) = models.iterdir()
            made[pipeline] = project, read_model(model).reader.members
        return made[pipeline]

    return of


def with_json(members: Mapping[str, bytes], name: str, place: Place, value: Any) -> dict[str, bytes]:
    tree = json.loads(members[f"{name}.json"])
    *way, last = ("whole", *place)
    root: Any = {"whole": tree}
    target: Any = root
    for key in way:
        target = target[key]
    target[last] = value
    return {**members, f"{name}.json": json.dumps(root["whole"]).encode()}


def crafted(members: Mapping[str, bytes], pipeline: str) -> list[tuple[str, dict[str, bytes]]]:
    made = [
        (f"{name} {place}: {str(value)[:20]}", with_json(members, name, place, value))
        for name, place in PLACES[pipeline]
        for value in VALUES
    ]
    for name in (name for name in members if name.endswith(".npz")):
        with np.load(io.BytesIO(members[name])) as arrays:
            for key in arrays:
                for words, change in ARRAYS:
                    packed = io.BytesIO()
                    np.savez(packed, **{**arrays, key: change(arrays[key])})
                    made.append((f"{name} {key}: {words}", {**members, name: packed.getvalue()}))
    for name in members:
        made += [
            (f"{name}: {words}", {**members, name: content})
            for words, content in (("empty", b""), ("cut", members[name][:-7]))
        ]
        made.append((f"{name}: missing", {other: content for other, content in members.items() if other != name}))
    return made


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_what_is_read_can_be_used(trained: Callable[[str], Trained], pipeline: str) -> None:
    """Every caller takes any error in reading for a damaged file; in use there is none any more."""
    _, members = trained(pipeline)
    refused = 0
    for words, changed in crafted(members, pipeline):
        read = read_ensemble if words.startswith("core/") else read_nlu
        try:
            found = read(MemberReader(changed))
        except Exception:  # noqa: BLE001 - whoever made it may have put anything there
            refused += 1
            continue
        try:
            if isinstance(found, EmbeddedNluEngine):
                found.parse(["two pizza margherita please", "", "?"])
            else:
                found.next(tracker(found.domain))
        except Exception as error:  # noqa: BLE001 - of any kind
            pytest.fail(f"{words}: {type(error).__name__}: {error}")
    assert refused > 60


def tracker(domain: DialogueDomain) -> Tracker:
    """Return a dialogue of one message."""
    greeted = UserUttered("hello", intent={"name": "greet", "confidence": 1.0})
    return Tracker.of(domain, [ActionExecuted("action_session_start"), ActionExecuted("action_listen"), greeted])


@pytest.mark.parametrize(
    "change",
    [
        ("nlu/engine", ("steps", 0, "parameters", "ranking_length"), "x"),
        ("nlu/0/intents/calibration", ("factor",), {}),
        ("nlu/0/entities/confidences", ("entity",), None),
        ("nlu/tokenizer", ("token_pattern",), 5),
    ],
)
def test_a_crafted_model_is_named(
    trained: Callable[[str], Trained],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, Place, Any],
) -> None:
    project, members = trained("stand-in")
    model = tmp_path / "crafted.tar.gz"
    writer = MemberWriter(with_json(members, *change))
    write_model(model, writer, fingerprint="of nothing", parts=("nlu", "core"))

    assert run_command_line(["parse", "--project", str(project), "-m", str(model), "hello"]) == 2
    said = capsys.readouterr().err
    assert f"the model {model} " in said
    assert "Traceback" not in said


def test_a_crafted_entry_is_removed(trained: Callable[[str], Trained], tmp_path: Path) -> None:
    _, members = trained("stand-in")
    cache = Cache(tmp_path)
    changed = with_json(members, "core/policy_0", ("lookup",), None)
    keep(cache, "ab12", "set of trained policies", lambda writer: writer.members.update(changed))

    assert read_kept(cache, "ab12", "set of trained policies", read_ensemble) is None
    assert len(cache.damaged) == 1
    assert not cache.damaged[0].exists()
