"""From a pipeline to what runs: names, parameters, stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden

from turncheck.engines.embedded.nlu.plan import make_plan
from turncheck.engines.embedded.nlu.spacy_model import make_tokenizer
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.model import Component, Config
from turncheck.project.rasa_components import COMPONENTS


def config(*components: str | tuple[str, dict[str, Any]]) -> Config:
    named = [(one, {}) if isinstance(one, str) else one for one in components]
    return Config(
        pipeline=tuple(
            Component(name, parameters, Location("config.yml", 3 + line))
            for line, (name, parameters) in enumerate(named)
        )
    )


def kinds(*components: str | tuple[str, dict[str, Any]]) -> list[str]:
    return [step.kind for step in make_plan(config(*components)).steps]


def test_every_component_of_rasa_runs_is_replaced_or_is_listed() -> None:
    for name, known in COMPONENTS.items():
        pipeline = config(name) if name.endswith("Tokenizer") else config("WhitespaceTokenizer", name, *_READERS)
        plan = make_plan(pipeline, rasa=known.last)
        run = {step.component.name for step in (plan.tokenizer, *plan.steps)}
        listed = {substitution.component for substitution in plan.substitutions}
        assert name in run | listed | {"LexicalSyntacticFeaturizer", "RegexMessageHandler"}, name


_READERS = ("LogisticRegressionClassifier", "CRFEntityExtractor")


def test_a_stand_in_is_listed_with_what_is_used_and_why() -> None:
    (substitution,) = make_plan(config("WhitespaceTokenizer", "DIETClassifier")).substitutions
    assert substitution.component == "DIETClassifier"
    assert "CRF" in (substitution.used or "")
    assert "neural network" in substitution.reason


def test_an_unknown_name_is_an_error_with_its_place_that_lists_near_names(golden: Golden) -> None:
    with pytest.raises(UserError, match="'WhitespaceTokeniser'") as error:
        make_plan(config("DIETClassifier", "WhitespaceTokeniser"))
    golden(error.value)
    assert str(error.value.location) == "config.yml:4"
    assert "WhitespaceTokenizer" in (error.value.hint or "")


def test_a_parameter_that_rasa_does_not_know_has_no_effect() -> None:
    plan = make_plan(config(("CountVectorsFeaturizer", {"analyser": "char"}), "LogisticRegressionClassifier"))
    assert plan.steps[0].parameters["analyzer"] == "word"
    assert "analyser" not in plan.steps[0].parameters


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("FallbackClassifier", "threshold", "high"),
        ("FallbackClassifier", "threshold", None),
        ("CountVectorsFeaturizer", "min_ngram", "1"),
        ("LogisticRegressionClassifier", "ranking_length", None),
        ("DIETClassifier", "epochs", "many"),
        ("DIETClassifier", "split_entities_by_comma", "yes"),
        ("CRFEntityExtractor", "split_entities_by_comma", None),
    ],
)
def test_a_value_that_rasa_cannot_train_or_answer_with_is_an_error(name: str, parameter: str, value: object) -> None:
    with pytest.raises(UserError, match=f"'{parameter}' of {name} must be"):
        make_plan(config("WhitespaceTokenizer", (name, {parameter: value})))


@pytest.mark.parametrize(
    ("name", "parameter", "value", "taken_as"),
    [
        ("RegexFeaturizer", "case_sensitive", "no", True),
        ("RegexEntityExtractor", "use_lookup_tables", "", False),
        ("KeywordIntentClassifier", "case_sensitive", None, False),
        ("CountVectorsFeaturizer", "lowercase", 0, False),
        ("DIETClassifier", "entity_recognition", "yes", True),
        ("FallbackClassifier", "threshold", True, True),
        ("CRFEntityExtractor", "max_iterations", "many", 50),
    ],
)
def test_a_value_that_rasa_does_not_check_is_taken_as_rasa_takes_it(
    name: str, parameter: str, value: object, taken_as: object
) -> None:
    plan = make_plan(config("WhitespaceTokenizer", (name, {parameter: value}), *_READERS))
    assert plan.steps[0].parameters[parameter] == taken_as


def test_parameters_that_rasa_itself_gave_up_do_no_harm() -> None:
    assert kinds(("WhitespaceTokenizer", {"case_sensitive": False}), ("RegexFeaturizer", {"alias": "x"})) == []


def test_a_class_of_the_project_is_left_out_and_listed() -> None:
    plan = make_plan(config("WhitespaceTokenizer", "sentiment.analysis.SentimentAnalyzer"))
    assert plan.steps == ()
    (substitution,) = plan.substitutions
    assert (substitution.component, substitution.used) == ("sentiment.analysis.SentimentAnalyzer", None)
    assert "--allow-custom-code" in substitution.reason


@pytest.mark.parametrize("name", ["bert.parts.OwnTokenizer", "words.Cutter"])
def test_where_only_a_class_of_the_project_finds_words_chinese_is_split_by_characters(name: str) -> None:
    plan = make_plan(config(name, "DIETClassifier"))
    (own,) = [one for one in plan.substitutions if one.component == name]
    assert (own.used is not None) == name.endswith("Tokenizer")
    assert len(make_tokenizer(plan.tokenizer, Path()).tokenize("今天 天气").spans) == 4


def test_beside_a_tokenizer_of_rasa_one_of_the_project_is_left_out() -> None:
    plan = make_plan(config("WhitespaceTokenizer", "bert.parts.OwnTokenizer"))
    assert [(one.component, one.used) for one in plan.substitutions] == [("bert.parts.OwnTokenizer", None)]


def test_the_full_path_of_a_class_of_rasa_names_that_class() -> None:
    path = "rasa.nlu.classifiers.keyword_intent_classifier.KeywordIntentClassifier"
    assert kinds("WhitespaceTokenizer", path) == ["KeywordIntentClassifier"]


def test_featurizers_that_nobody_reads_are_not_trained() -> None:
    assert kinds("WhitespaceTokenizer", "RegexFeaturizer", "CountVectorsFeaturizer", "DIETClassifier") == [
        "DietStandIn"
    ]
    assert kinds("RegexFeaturizer", "CountVectorsFeaturizer", "CRFEntityExtractor") == [
        "RegexFeaturizer",
        "CRFEntityExtractor",
    ]
    assert kinds("CountVectorsFeaturizer", "LogisticRegressionClassifier", "CountVectorsFeaturizer") == [
        "CountVectorsFeaturizer",
        "LogisticRegressionClassifier",
    ]


def test_two_tokenizers_are_an_error(golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        make_plan(config("WhitespaceTokenizer", "SpacyTokenizer"))
    golden(refused.value)


def test_without_a_pipeline_rasas_default_is_taken_and_said() -> None:
    plan = make_plan(Config())
    assert [step.kind for step in plan.steps] == [
        "DietStandIn",
        "EntitySynonymMapper",
        "ResponseSelectorStandIn",
        "FallbackClassifier",
    ]
    assert any("default pipeline" in note for note in plan.notes)


@pytest.mark.parametrize("features", [[["low"], ["shape"], ["low"]], ["low"], "low"])
def test_windows_of_features_are_checked(features: object) -> None:
    with pytest.raises(UserError):
        make_plan(config("WhitespaceTokenizer", ("LexicalSyntacticFeaturizer", {"features": features})))
