"""What the embedded engine reads of ``config.yml``: the tables are held against what it really reads."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from github_markdown import elements, to_html
from msgspec import structs
from msgspec.structs import replace
from pull_request import LINKS
from report_builder import BASE_COMMIT, report, with_changes
from small_project import write_project

from turncheck.comparison.changed_parts import differences, run_alike
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.engines.embedded.configured import READ_BY_POLICY, READ_BY_STEP, configured_components
from turncheck.engines.embedded.engines import EmbeddedEngine
from turncheck.engines.embedded.nlu import plan, steps
from turncheck.engines.embedded.policies.trainer import OF_OLDER, train_ensemble
from turncheck.messages.finding import Location
from turncheck.project import rasa_components as catalogue
from turncheck.project.model import Component, Config
from turncheck.project.rasa_components import COMPONENTS
from turncheck.project.reader import read_project
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import ConfiguredComponent, EngineInfo, IgnoredParameter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from turncheck.report.model import Report

_NLU = """version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello there
    - good morning
    - hey, good evening
    - hello again
    - hi
    - hello you
- intent: order
  examples: |
    - a [big](size) pizza please
    - I want a [small](size) pizza
    - one [big](size) one for [7](number)
    - bring me a [small](size) one
    - pizza
    - another pizza
- intent: faq/hours
  examples: |
    - when do you open
    - when do you close
    - are you open now
- intent: faq/place
  examples: |
    - where are you
    - where is it
    - what is the address
- lookup: size
  examples: |
    - big
    - small
- regex: number
  examples: |
    - \\d+
"""
_FAQ = """version: "3.1"
intents: [greet, order, faq]
entities: [size, number]
responses:
  utter_greet: [{text: Hello}]
  utter_faq/hours: [{text: At nine}]
  utter_faq/place: [{text: Here}]
"""


class _Watched(dict[str, Any]):
    """Parameters that note which of them are read."""

    def __init__(self, values: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(values)
        self.read = read

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)


_PIPELINES = (
    ("WhitespaceTokenizer", "RegexFeaturizer", "CountVectorsFeaturizer", "LogisticRegressionClassifier"),
    ("WhitespaceTokenizer", "ConveRTFeaturizer", "SklearnIntentClassifier", "EntitySynonymMapper"),
    ("WhitespaceTokenizer", "DIETClassifier", "ResponseSelector", "FallbackClassifier"),
    ("WhitespaceTokenizer", "MitieIntentClassifier", "MitieEntityExtractor"),
    ("WhitespaceTokenizer", "ConveRTFeaturizer", "LogisticRegressionClassifier", "RegexEntityExtractor"),
    ("WhitespaceTokenizer", "RegexFeaturizer", "CRFEntityExtractor", "KeywordIntentClassifier"),
)
_NOT_TRAINED_HERE = {"JiebaTokenizer", "SpacyTokenizer", "SpacyFeaturizer", "SpacyEntityExtractor"}
"""What needs a language's dictionary or model, and Duckling a server."""


def test_steps_read_the_parameters_that_are_said_to_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[str, set[str]] = defaultdict(set)
    whole = catalogue.parameters_of
    monkeypatch.setattr(plan, "parameters_of", lambda one, known: _Watched(whole(one, known), read[one.name]))

    def filled(step: plan.Step) -> _Watched:
        return _Watched({**filled_in(step)}, read[step.component.name])

    filled_in = steps._stand_in_parameters
    monkeypatch.setattr(steps, "_stand_in_parameters", filled)
    kinds: dict[str, str] = {}
    for number, pipeline in enumerate(_PIPELINES):
        labels = "" if number else "  intent_tokenization_flag: true\n"
        first, *others = (f"- name: {name}\n" for name in pipeline)
        config = "".join(["language: en\npipeline:\n", first, labels, *others])
        files = {"config.yml": config, "data/nlu.yml": _NLU, "domain.yml": _FAQ}
        project = read_project(write_project(tmp_path / str(number), **files))
        nlu = EmbeddedEngine(project, seed=1).nlu
        assert nlu is not None
        nlu.parse(["hello", "a big pizza for 8"])
        made = plan.make_plan(project.config)
        kinds |= {step.component.name: step.kind for step in (made.tokenizer, *made.steps)}

    assert set(kinds.values()) | _NOT_TRAINED_HERE | {"DucklingEntityExtractor"} == READ_BY_STEP.keys()
    of_stand_ins = filled_in(plan.Step("DietStandIn", Component("", {}, Location("")), {})).keys()
    for name, kind in kinds.items():
        defaults = of_stand_ins if kind in {"IntentStandIn", "EntityStandIn"} else set()
        assert read[name] & COMPONENTS[name].defaults.keys() - defaults == READ_BY_STEP[kind], name


def test_whatever_is_read_is_a_parameter_of_rasa() -> None:
    known = set[str]().union(*(component.defaults for component in COMPONENTS.values()))
    assert set[str]().union(*READ_BY_STEP.values()) <= known


_ONLY_KEPT = {"tolerance", "ignore_intents_list"}
"""What is read with the others for every neural policy, and used by one of them."""


def test_every_policy_that_runs_is_in_the_table() -> None:
    assert OF_OLDER - {"EnsemblePolicy"} == READ_BY_POLICY.keys()


@pytest.mark.parametrize("rasa", [3, 1])
def test_policies_read_the_parameters_that_are_said_to_be_read(tmp_path: Path, rasa: int) -> None:
    older = ["MappingPolicy", "FormPolicy", "FallbackPolicy", "KerasPolicy", "EmbeddingPolicy", "SklearnPolicy"]
    older.append("TwoStageFallbackPolicy")
    names = ["MemoizationPolicy", "AugmentedMemoizationPolicy", "TEDPolicy"]
    names += ["RulePolicy", "UnexpecTEDIntentPolicy"] if rasa == 3 else older
    stories = 'version: "3.1"\nstories:\n- story: one\n  steps:\n  - intent: greet\n  - action: utter_greet\n'
    project = read_project(write_project(tmp_path, **{"data/stories.yml": stories}))
    project = dataclasses.replace(project, domain=replace(project.domain, rasa=rasa))
    read: dict[str, set[str]] = defaultdict(set)
    given = {"deny_suggestion_intent_name": "greet"}  # one policy needs it, no other reads it
    policies_read = tuple(Component(one, _Watched(given, read[one]), Location("config.yml")) for one in names)
    train_ensemble(dataclasses.replace(project, config=replace(project.config, policies=policies_read)))

    for name in names:
        kept = set() if name == "UnexpecTEDIntentPolicy" else _ONLY_KEPT
        assert read[name] - kept == READ_BY_POLICY[name], name


# --- what differs ----------------------------------------------------------------------------------------------------


def components(text: str, tmp_path: Path) -> tuple[ConfiguredComponent, ...]:
    project = read_project(write_project(tmp_path, **{"config.yml": f"language: en\n{text}"}))
    found = configured_components(project.config, rasa=project.domain.rasa)
    assert found is not None
    return found


_DIET = "pipeline:\n- name: WhitespaceTokenizer\n- name: DIETClassifier\n"
_TED = f"""{_DIET}policies:
- name: TEDPolicy
  featurizer:
  - name: MaxHistoryTrackerFeaturizer
    max_history: 5
    state_featurizer:
    - name: SingleStateFeaturizer
"""
_COUNTED = _DIET.replace("- name: D", "- name: CountVectorsFeaturizer\n  analyzer: char\n- name: D")


@pytest.mark.parametrize(
    ("before", "after", "said", "alike"),
    [
        (_DIET, _DIET, [], True),
        (f"{_DIET}  epochs: 9\n", f"{_DIET}  epochs: 1\n", ["changed DIETClassifier.epochs"], True),
        (f"{_DIET}  epochs: 9\n", f"{_DIET}  entity_recognition: false\n", ["removed DIETClassifier.epochs"], False),
        (f"{_DIET}  ranking_length: 9\n", f"{_DIET}  ranking_length: 8\n", [], False),
        (_DIET, f"{_DIET}- name: SpacyNLP\n  model: en_none\n", ["added SpacyNLP"], True),
        (f"{_DIET}- name: a.B\n", f"{_DIET}- name: a.B\n", [], True),
        (f"{_DIET}- name: a.B\n- name: a.B\n  k: 1\n", f"{_DIET}- name: a.B\n  k: 1\n", ["removed a.B"], True),
        (f"{_DIET}- name: a.B\n  k: 1\n", f"{_DIET}- name: a.B\n- name: a.B\n  k: 1\n", ["added a.B"], True),
        (
            f"{_DIET}- name: a.B\n  k: 1\n- name: a.B\n",
            f"{_DIET}- name: a.B\n  k: 2\n",
            ["changed a.B.k", "removed a.B"],
            True,
        ),
        (f"{_DIET}- name: a.BFeaturizer\n", f"{_DIET}- name: a.CFeaturizer\n", ["replaced a.CFeaturizer"], True),
        (
            f"{_DIET}- name: a.BFeaturizer\n",
            f"{_DIET}- name: a.BTokenizer\n",
            ["removed a.BFeaturizer", "added a.BTokenizer"],
            True,
        ),
        (
            f"{_DIET}- name: MitieNLP\n  model: m\n",
            f"{_DIET}- name: a.BExtractor\n",
            ["removed MitieNLP", "added a.BExtractor"],
            True,
        ),
        (
            _DIET.replace("- name: D", "- name: RegexFeaturizer\n- name: CountVectorsFeaturizer\n- name: D"),
            _DIET.replace("- name: D", "- name: CountVectorsFeaturizer\n- name: RegexFeaturizer\n- name: D"),
            ["moved CountVectorsFeaturizer"],
            True,
        ),
        (
            _COUNTED,
            _COUNTED.replace("DIETClassifier", "LogisticRegressionClassifier"),
            [],
            False,
        ),
        (
            _DIET.replace("White", "Mitie").replace("spaceTokenizer", "Tokenizer"),
            _DIET,
            ["replaced WhitespaceTokenizer"],
            True,
        ),
        (
            f"{_DIET}  epochs: 9\n",
            f"{_DIET.replace('DIET', 'rasa.nlu.classifiers.diet_classifier.DIET')}  epochs: 1\n",
            ["changed rasa.nlu.classifiers.diet_classifier.DIETClassifier.epochs"],
            True,
        ),
        (_TED, _TED.replace("MaxHistory", "rasa.core.featurizers.MaxHistory"), [], True),
        (_TED, _TED.replace("MaxHistory", "FullDialogue"), [], False),
        (_TED, _TED.replace("history: 5", "history: 6"), [], False),
        (_TED, _TED.replace("SingleState", "BinarySingleState"), ["changed TEDPolicy.featurizer"], True),
        (_TED, _TED.replace("MaxHistory", "mine.MaxHistory"), ["changed TEDPolicy.featurizer"], True),
        (_DIET, f"{_DIET}importers:\n- name: mine.Importer\n", ["added mine.Importer"], True),
        (_DIET, f"{_DIET}importers:\n- name: RasaFileImporter\n", [], True),
        (f"recipe: default.v1\n{_DIET}", f"recipe: graph.v1\n{_DIET}", ["added recipe: graph.v1"], True),
        (f"recipe: graph.v1\n{_DIET}", _DIET, ["removed recipe: graph.v1"], True),
        (_DIET, f"recipe: default.v1\nassistant_id: a\n{_DIET}", [], True),
    ],
)
def test_what_two_configurations_do_not_let_be_seen(
    before: str, after: str, said: list[str], alike: bool, tmp_path: Path
) -> None:
    one, other = components(before, tmp_path / "one"), components(after, tmp_path / "other")
    found = [f"{it.change} {it.component}{'.' if it.parameter else ''}{it.parameter}" for it in differences(one, other)]

    assert found == said
    assert run_alike(one, other) == alike


def test_a_long_value_is_told_apart_by_its_end(tmp_path: Path) -> None:
    lists = [f"{_DIET}  featurizers: [{', '.join(['abc'] * 200)}, {end}]\n" for end in "xy"]
    one, other = (components(text, tmp_path / text[-4]) for text in lists)

    assert [change.parameter for change in differences(one, other)] == ["featurizers"]
    assert all(len(component.ignored["featurizers"].value) < 400 for component in (one[1], other[1]))


def test_a_pipeline_that_cannot_run_is_left_to_whoever_trains_it() -> None:
    place = Location("config.yml", 3)
    assert configured_components(Config(pipeline=(Component("DIETClasifier", {}, place),)), rasa=3) is None


def test_a_forged_report_neither_acts_nor_takes_long() -> None:
    forged = "<img src=x>`|@everyone\n## no"

    def side(value: str, commit: str) -> Report:
        place = Location("config.yml", 3)
        component = ConfiguredComponent(
            section="pipeline",
            name=forged,
            location=place,
            runs=None,
            ignored={forged: IgnoredParameter(value=f"{forged}{value}", location=place)},
        )
        others = [replace_name(component, f"{value}{number}") for number in range(20_000)]
        engine = EngineInfo(name=forged, version="1", configured=(component, *others))
        return with_changes(report(commit=commit), engine=engine)

    head = side("2", "2" * 40)
    comparison = compare(head, Present(side("1", BASE_COMMIT), "git"))
    text = str(render_comment(head, comparison, judge(head, comparison, head.settings), LINKS).content)

    assert comparison.unseen_changes[0].parameter == forged
    assert len(comparison.unseen_changes) < 1000
    assert "img" not in elements(to_html(text))
    assert "\n## no" not in text


def replace_name(component: ConfiguredComponent, name: str) -> ConfiguredComponent:
    return structs.replace(component, name=name, ignored={})


def test_engines_that_run_everything_have_no_blind_spots() -> None:
    comparison = compare(report(), Present(report(commit=BASE_COMMIT), "git"))

    assert comparison.unseen_changes == ()


def test_a_recipe_that_is_not_run_is_named_among_what_is_replaced(tmp_path: Path) -> None:
    config = f"recipe: graph.v1\nlanguage: en\n{_DIET}"
    project = read_project(write_project(tmp_path, **{"config.yml": config, "data/nlu.yml": _NLU, "domain.yml": _FAQ}))

    (first, *_) = EmbeddedEngine(project, seed=1).info().substitutions

    assert (first.component, first.used) == ("recipe: graph.v1", "default.v1")


@pytest.mark.parametrize(("rasa", "has_unexpected"), [(2, False), (3, True)])
def test_policies_that_are_not_named_are_those_of_the_projects_rasa(rasa: int, has_unexpected: bool) -> None:
    found = configured_components(Config(pipeline=()), rasa=rasa)
    assert found is not None
    names = [one.name for one in found if one.section == "policies"]
    assert set(names) >= {"MemoizationPolicy", "RulePolicy", "TEDPolicy"}
    assert ("UnexpecTEDIntentPolicy" in names) == has_unexpected
