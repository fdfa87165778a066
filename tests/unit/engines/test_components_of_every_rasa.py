"""Every pipeline component and template that any version of Rasa shipped is run, and answers the same after loading and
from a cache."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden
from hypothesis import example, given, settings
from hypothesis import strategies as st

from turncheck.cli import run_command_line
from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
from turncheck.engines.embedded.nlu.persistence import read_nlu, write_nlu
from turncheck.engines.embedded.nlu.plan import make_plan
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.process.cache import Cache, RunCache
from turncheck.project.rasa_components import COMPONENTS
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.project.model import Project

NLU = """
## intent:greet
- hi
- hello there
- good morning
- hey you
- greetings

## intent:inform
- I live in [Rome](city)
- from [Paris](city)
- [Berlin](city) please
- in [London](city)
- [Oslo](city) it is
"""
SPACY = ("SpacyNLP", "SpacyTokenizer")
MITIE = ("MitieNLP", "MitieTokenizer")
COUNTS = ("WhitespaceTokenizer", "CountVectorsFeaturizer")
OLD_SPACY = ("nlp_spacy", "tokenizer_spacy")
OLD_MITIE = ("nlp_mitie", "tokenizer_mitie")
OLD_COUNTS = ("tokenizer_whitespace", "intent_featurizer_count_vectors")
DATA_OF = {0: "nlu.md", 1: "nlu.md", 2: "nlu.yml", 3: "nlu.yml"}

OF_RASA_0 = [
    OLD_SPACY,
    OLD_MITIE,
    ("tokenizer_whitespace", "intent_classifier_keyword"),
    (*OLD_SPACY, "intent_featurizer_spacy", "intent_classifier_sklearn"),
    (*OLD_SPACY, "intent_featurizer_spacy", "intent_featurizer_ngrams", "intent_classifier_sklearn"),
    (*OLD_MITIE, "intent_featurizer_mitie", "intent_classifier_sklearn"),
    (*OLD_MITIE, "ner_mitie", "intent_classifier_mitie"),
    (*OLD_SPACY, "ner_spacy", "ner_duckling", "ner_duckling_http"),
    ("tokenizer_whitespace", "intent_entity_featurizer_regex", "ner_crf", "ner_synonyms"),
    (*OLD_COUNTS, "intent_classifier_tensorflow_embedding"),
    ("intent_featurizer_count_vectors", "intent_classifier_tensorflow_embedding"),
    (*OLD_COUNTS, "intent_classifier_sklearn"),
]
OF_RASA_1 = [
    (*SPACY, "SpacyFeaturizer", "NGramFeaturizer", "SklearnIntentClassifier"),
    ("ConveRTTokenizer", "ConveRTFeaturizer", "EmbeddingIntentClassifier"),
    (*COUNTS, "EmbeddingIntentClassifier", "DucklingHTTPExtractor"),
    ("rasa.nlu.tokenizers.whitespace_tokenizer.WhitespaceTokenizer", "CountVectorsFeaturizer", "DIETClassifier"),
    (*COUNTS, "rasa.nlu.classifiers.embedding_intent_classifier.EmbeddingIntentClassifier"),
]
OF_RASA_2 = [
    ("HFTransformersNLP", "LanguageModelTokenizer", "LanguageModelFeaturizer", "DIETClassifier"),
    ("ConveRTTokenizer", "ConveRTFeaturizer", "DIETClassifier", "FallbackClassifier"),
]
OF_RASA_3 = [
    (*COUNTS, "RegexFeaturizer", "LexicalSyntacticFeaturizer", "DIETClassifier", "FallbackClassifier"),
    (*COUNTS, "LogisticRegressionClassifier", "RegexEntityExtractor", "EntitySynonymMapper", "ResponseSelector"),
    ("RegexMessageHandler", *COUNTS, "LogisticRegressionClassifier"),
    (*SPACY, "SpacyFeaturizer", "SklearnIntentClassifier", "SpacyEntityExtractor", "DucklingEntityExtractor"),
    (*MITIE, "MitieFeaturizer", "MitieIntentClassifier", "MitieEntityExtractor"),
    ("WhitespaceTokenizer", "ConveRTFeaturizer", "LanguageModelFeaturizer", "DIETClassifier", "CRFEntityExtractor"),
    ("WhitespaceTokenizer", "KeywordIntentClassifier"),
]
TEMPLATES = [
    *((0, name) for name in ("tensorflow_embedding", "spacy_sklearn", "mitie", "mitie_sklearn", "keyword")),
    *((1, f"{kind}_embeddings{of}") for kind, of in (("supervised", ""), ("pretrained", "_spacy"))),
    *((1, name) for name in ("pretrained_embeddings_convert", "spacy_sklearn", "tensorflow_embedding", "keyword")),
]
PIPELINES = [
    *((0, one) for one in OF_RASA_0),
    *((1, one) for one in OF_RASA_1),
    *((2, one) for one in OF_RASA_2),
    *((3, one) for one in OF_RASA_3),
    *TEMPLATES,
]


TEXTS = ["hello", "I live in Oslo", "/greet", "good morning from Paris", "please", ""]


def named(pipeline: object) -> str:
    if isinstance(pipeline, tuple):
        return "+".join(name.rpartition(".")[2] for name in pipeline)
    return str(pipeline)


def in_yaml(markdown: str) -> str:
    lines = ['version: "3.1"', "nlu:"]
    for block in markdown.strip().split("## intent:")[1:]:
        name, *sentences = block.strip().splitlines()
        lines += [f"- intent: {name}", "  examples: |", *(f"    {sentence}" for sentence in sentences)]
    return "\n".join(lines) + "\n"


def as_mapping(step: str | dict[str, object]) -> dict[str, object]:
    return {"name": step} if isinstance(step, str) else step


def project_of(folder: Path, major: int, pipeline: tuple[str | dict[str, object], ...] | str) -> Project:
    steps = pipeline if isinstance(pipeline, str) else [as_mapping(step) for step in pipeline]
    config: dict[str, object] = {"language": "en", "pipeline": steps}
    domain: dict[str, object] = {"intents": ["greet", "inform"], "entities": ["city"]}
    if major == 3:
        config |= {"recipe": "default.v1", "assistant_id": "bot"}
        domain["version"] = "3.1"
    elif major == 2:
        domain["version"] = "2.0"
    else:
        if major == 1:
            config["policies"] = [{"name": "MemoizationPolicy"}]
        domain["templates"] = {"utter_hi": [{"text": "hi"}]}
    content = NLU if major < 2 else in_yaml(NLU).replace("3.1", f"{major}.0")
    data = folder / "data" / DATA_OF[major]
    data.parent.mkdir(parents=True)
    data.write_text(content, encoding="utf-8")
    (folder / "config.yml").write_text(json.dumps(config), encoding="utf-8")
    (folder / "domain.yml").write_text(json.dumps(domain), encoding="utf-8")
    if major == 0:
        (folder / "policies.yml").write_text("policies: [{name: MemoizationPolicy}]\n", encoding="utf-8")
    return read_project(folder)


@pytest.mark.parametrize(("major", "pipeline"), PIPELINES, ids=named)
def test_every_pipeline_is_run_and_answers_the_same_after_loading(
    major: int, pipeline: tuple[str, ...] | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_of(tmp_path, major, pipeline)
    assert project.major == major
    trained = EmbeddedNluTrainer(seed=1).fit(project)
    writer = MemberWriter()
    write_nlu(writer, trained)
    assert read_nlu(MemberReader(writer.whole())).parse(TEXTS) == trained.parse(TEXTS)
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["data", "validate"]) == EXIT_OK


@pytest.mark.parametrize(
    ("major", "pipeline", "gone"),
    [
        (1, ("ConveRTTokenizer", "ConveRTFeaturizer", "DIETClassifier"), "ConveRTTokenizer"),
        (2, ("HFTransformersNLP", "WhitespaceTokenizer", "DIETClassifier"), "HFTransformersNLP"),
        (2, ("LanguageModelTokenizer", "LanguageModelFeaturizer", "DIETClassifier"), "LanguageModelTokenizer"),
        (1, (*SPACY, "SpacyFeaturizer", "NGramFeaturizer", "SklearnIntentClassifier"), "NGramFeaturizer"),
    ],
)
def test_what_stands_in_is_said_and_rasa_3_still_refuses_it(
    major: int, pipeline: tuple[str, ...], gone: str, tmp_path: Path, golden: Golden
) -> None:
    project = project_of(tmp_path, major, pipeline)
    plan = make_plan(project.config, rasa=major)
    assert gone in {one.component for one in plan.substitutions}
    with pytest.raises(UserError, match=f"{gone}") as refused:
        make_plan(project.config)
    golden(refused.value)


# A step that is cached learns what it learns without a cache. One cache serves all examples and all versions, so that a
# key that two of them share by mistake shows.

SHARED = RunCache()
BY_ROLE = {
    role: sorted(name for name, known in COMPONENTS.items() if known.role == role)
    for role in ("tokenizer", "featurizer", "classifier", "extractor", "mapper", "selector")
}
PARAMETERS: dict[str, list[dict[str, object]]] = {
    "CountVectorsFeaturizer": [{}, {"analyzer": "char_wb", "max_ngram": 3}, {"lowercase": False}],
    "RegexFeaturizer": [{}, {"case_sensitive": False}],
    "SklearnIntentClassifier": [{}, {"C": [1, 10]}],
    "KeywordIntentClassifier": [{}, {"case_sensitive": False}],
    "CRFEntityExtractor": [{"max_iterations": 5}, {"max_iterations": 5, "BILOU_flag": False}],
    "LogisticRegressionClassifier": [{}, {"max_iter": 20}],
    "DIETClassifier": [{}, {"entity_recognition": False}, {"ranking_length": 1}],
    "FallbackClassifier": [{}, {"threshold": 0.6}],
}


@st.composite
def chains(draw: st.DrawFn) -> tuple[dict[str, object], ...]:
    """A tokenizer or none, featurizers, and what reads their features, in this order, each with some parameters."""
    names = [
        *draw(st.lists(st.sampled_from(BY_ROLE["tokenizer"]), max_size=1)),
        *draw(st.lists(st.sampled_from(BY_ROLE["featurizer"]), max_size=3)),
        *draw(st.lists(st.sampled_from(BY_ROLE["classifier"]), min_size=1, max_size=2, unique=True)),
        *draw(st.lists(st.sampled_from([*BY_ROLE["extractor"], *BY_ROLE["mapper"]]), max_size=2, unique=True)),
        *draw(st.lists(st.sampled_from(BY_ROLE["selector"]), max_size=1)),
    ]
    return tuple({"name": name, **draw(st.sampled_from(PARAMETERS.get(name, [{}])))} for name in names)


def fitted(project: Project, cache: Cache | None) -> EmbeddedNluEngine | str:
    """What was trained, or why it is refused."""
    try:
        return EmbeddedNluTrainer(seed=1, cache=cache).fit(project)
    except UserError as error:
        return str(error)


def ensure_cached_is_as_without(project: Project, cache: Cache) -> None:
    without = fitted(project, None)
    for _ in ("the first time", "from the cache"):
        cached = fitted(project, cache)
        if isinstance(without, str) or isinstance(cached, str):
            assert cached == without
            continue
        assert cached.info == without.info
        assert cached.extractors == without.extractors
        assert cached.parse(TEXTS) == without.parse(TEXTS)


@pytest.mark.parametrize(("major", "pipeline"), PIPELINES, ids=named)
def test_every_pipeline_learns_with_a_cache_what_it_learns_without(
    major: int, pipeline: tuple[str, ...] | str, tmp_path: Path
) -> None:
    ensure_cached_is_as_without(project_of(tmp_path, major, pipeline), RunCache())


def chain(*names: str, **parameters: object) -> tuple[dict[str, object], ...]:
    """The components of these names; the parameters are those of the one before the last."""
    return tuple({"name": name, **(parameters if name == names[-2] else {})} for name in names)


@settings(max_examples=12)  # each is trained three times
@given(st.integers(0, 3), chains())
# The same classifier or extractor after other features: what it learnt from those must not be taken.
@example(3, chain("WhitespaceTokenizer", "CountVectorsFeaturizer", "LogisticRegressionClassifier"))
@example(3, chain("WhitespaceTokenizer", "CountVectorsFeaturizer", "LogisticRegressionClassifier", analyzer="char_wb"))
@example(3, chain("SpacyTokenizer", "SpacyFeaturizer", "LogisticRegressionClassifier"))
@example(2, chain("WhitespaceTokenizer", "RegexFeaturizer", "CRFEntityExtractor"))
@example(2, chain("WhitespaceTokenizer", "RegexFeaturizer", "CRFEntityExtractor", case_sensitive=False))
@example(0, ({"name": "WhitespaceTokenizer"}, {"name": "CountVectorsFeaturizer"}, {"name": "SklearnIntentClassifier"}))
@example(1, ({"name": "WhitespaceTokenizer"}, {"name": "CountVectorsFeaturizer"}, {"name": "SklearnIntentClassifier"}))
@example(
    0,
    (
        *({"name": "SpacyTokenizer"}, {"name": "SpacyFeaturizer"}, {"name": "CountVectorsFeaturizer"}),
        {"name": "SklearnIntentClassifier"},
    ),
)
@example(
    3,
    (
        *({"name": "SpacyTokenizer"}, {"name": "SpacyFeaturizer"}, {"name": "CountVectorsFeaturizer"}),
        {"name": "SklearnIntentClassifier"},
    ),
)
def test_any_chain_learns_with_a_cache_what_it_learns_without_in_each_version(
    tmp_path_factory: pytest.TempPathFactory, major: int, chain: tuple[dict[str, object], ...]
) -> None:
    project = project_of(tmp_path_factory.mktemp("bot"), major, chain)
    assert project.major == major
    ensure_cached_is_as_without(project, SHARED)


@pytest.mark.parametrize("major", [0, 1])
def test_a_run_measures_the_same_whatever_is_cached(
    major: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project_of(tmp_path, major, ("WhitespaceTokenizer", "CountVectorsFeaturizer", "SklearnIntentClassifier"))
    monkeypatch.chdir(tmp_path)
    measured = []
    for number, flags in enumerate(([], [], ["--no-cache"], ["--no-cache", "--baseline", "none"])):
        out = f"results{number}"
        assert run_command_line(["run", *flags, "--evaluations", "validate,nlu", "--out", out]) == EXIT_OK
        measured.append(json.loads((tmp_path / out / "report.json").read_bytes())["nlu"])
    assert measured[0]["intents"]["f1"] > 0
    assert measured == measured[:1] * 4
