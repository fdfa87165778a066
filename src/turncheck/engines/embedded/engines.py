"""The embedded engine of one Rasa project, each part trained once, when it is first needed."""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from turncheck import __version__
from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.base import DIALOGUE_PARTS, NLU_PARTS, Capabilities, Engine, Models, Part, why_no_dialogue
from turncheck.engines.embedded.models import (
    LoadedModel,
    cached_ensemble,
    cached_nlu,
    fetch_model,
    fitting_model,
    load_model,
    named_model,
)
from turncheck.evaluations.kinds import KINDS
from turncheck.platforms import base as platforms
from turncheck.process.output_files import temporary_folder
from turncheck.project.calibration import trust_in
from turncheck.project.config import has_policies_beside_flows, understands_intents
from turncheck.project.rasa_components import unknown_classifier
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import ConfiguredComponent, EngineInfo, Substitution

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from turncheck.engines.conversation import ActionServer
    from turncheck.engines.embedded.conversation import EmbeddedConversations
    from turncheck.engines.embedded.nlu.engine import EmbeddedNlu, EmbeddedTrainer
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
    from turncheck.engines.embedded.policies.trainer import Ensemble
    from turncheck.engines.embedded.workshop import EmbeddedWorkshop, TrainedProject
    from turncheck.process.cache import Cache
    from turncheck.process.environment import FileVariables
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.trust import ConfidenceMap, Trust
    from turncheck.settings.options import Settings


NLG_NOTE: Final = "The endpoint 'nlg' is not called: the domain's responses are used."


@dataclass(eq=False)
class EmbeddedEngine(Engine):
    """The embedded engine of one Rasa project. scikit-learn is only imported if something is actually trained.

    ``hosts`` is what ``config.yml`` may name besides loopback (a Duckling server); ``None``: any. ``models``: where a
    trained model may come from; ``None``: it is trained in any case. ``environment`` is what a storage of models needs.
    ``today``: the day for relative dates.
    """

    project: Project
    seed: int
    hosts: tuple[str, ...] | None = None
    allow_custom_code: bool = False
    vectors: bool | str = False
    models: Models | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    today: str = "2025-01-01"
    _model: LoadedModel | None = field(default=None, init=False)
    _cache: Cache | None = field(default=None, init=False)
    _recalled: Mapping[Part, EngineInfo] = field(default_factory=dict, init=False)

    @property
    def capabilities(self) -> Capabilities:
        """It does not run flows, only what is beside them; dialogues are learnt from stories, if there is no model."""
        calm = self.project.calm and (
            f"{self.project.calm}: the embedded engine does not run CALM assistants"
            " (to run its conversations: `engine: rasa` with `--rasa-url`)"
        )
        none = None if self.models is not None else calm
        no_nlu = None if understands_intents(self.project) else none
        no_dialogue = None if has_policies_beside_flows(self.project) else none
        unjudged = no_dialogue or self._unjudged
        return Capabilities(
            no_nlu=no_nlu or self._unclassified,
            no_dialogue=unjudged or (None if self.models is not None else why_no_dialogue(self.project)),
            no_conversation=none or unjudged or self._unclassified,
            trained_by_config=True,
            accepts_parses=True,
            stands_in=True,
            no_mutants=calm or None,
        )

    @cached_property
    def _unjudged(self) -> str | None:
        """Why dialogues say nothing here: a policy is left out that may decide everything."""
        if not self.project.config.policies:
            return None
        from turncheck.engines.embedded.policies.trainer import unjudged_policy

        policy = unjudged_policy(self.project.config, self.project.domain.rasa)
        if policy is None:
            return None
        return (
            f"the policy '{policy.name}' ({policy.location}) is code of the project, which is not run here, and it"
            " extends no policy of Rasa's that could stand in for it (--engine rasa runs it)"
        )

    @cached_property
    def _unclassified(self) -> str | None:
        """Why intents say nothing here: what may classify them is code of the project, and is left out."""
        if self.models is not None or self.allow_custom_code:
            return None
        own = unknown_classifier(self.project.config)
        if own is None:
            return None
        return (
            f"nothing in the pipeline classifies intents but code of the project, '{own.name}' ({own.location}), which"
            " runs only with --allow-custom-code (or --engine rasa)"
        )

    def needs(self, evaluation: Evaluation, *, in_folds: bool = False) -> frozenset[str]:
        """It trains on the project's files: those that an evaluation needs must exist and be complete."""
        if self.project.calm is not None and not understands_intents(self.project):
            return frozenset()  # it is not trained at all
        if self.models is not None and self.models.named is not None:
            return frozenset()  # as little
        needed = NLU_PARTS if KINDS[evaluation].nlu_only else DIALOGUE_PARTS | {"pipeline"}
        return needed if in_folds else needed | {"sentences"}

    def use_model(self, parts: Sequence[Part], screen: Console) -> bool:
        """Take the named model, else the newest that fits the project's files; say so if there is none.

        Raises:
            UserError: the named model does not exist, cannot be read, or lacks the first part.
        """
        self._model = self._found(parts, screen)
        if self._model is None:
            screen.note("No model fits the project's files: training in memory.")
            return False
        self._model.require(parts[0])
        self._make(parts)
        return True

    def train_parts(self, parts: Sequence[Part], screen: Console) -> None:
        """Train them in memory."""
        with screen.step("train", "Training"):
            self._make(parts)

    def _make(self, parts: Sequence[Part]) -> None:
        """Load or train them now: the substitutions are those of the existing parts."""
        for part in parts:
            _ = self.nlu if part == "nlu" else self.ensemble

    def _found(self, parts: Sequence[Part], screen: Console) -> LoadedModel | None:
        if self.models is None:
            return None
        named = self.models.named
        if self.models.storage is not None:
            name = None if named is None else named.as_posix()
            with temporary_folder("model") as folder, screen.step("fetch", "Fetching the model"):
                return load_model(fetch_model(self.models.storage, name, self.environment, Path(folder)))
        if named is not None:
            return load_model(named_model(named))
        needed = [part for part in parts if part != "nlu" or parts == ("nlu",) or self.project.nlu.examples]
        fitting = fitting_model(
            self.models.folder,
            self.project,
            needed,
            allow_custom_code=self.allow_custom_code,
            vectors=self.vectors,
        )
        if fitting is not None and not fitting.is_of_project:
            files = ", ".join(fitting.model.named)
            screen.note(
                f"Using the newest model, {fitting.path}, which was trained on {files}, not on the project's files as"
                " they are now. To use these, train again, or name another model with --model."
            )
        elif fitting is not None:
            screen.detail(f"Using the model {fitting.path}")
        return fitting

    def before_folds(self, folds: int, *, whole: bool = False) -> str | None:  # noqa: ARG002 - as the base has it
        """Its trainings are short; a named model is not used in them."""
        is_named = self.models is not None and self.models.named is not None
        return "--cross-validation trains its own engines: --model is not used." if is_named else None

    @cached_property
    def nlu_trainer(self) -> EmbeddedTrainer:
        """What trains the engines of folds."""
        return self._pipeline_trainer

    @cached_property
    def _pipeline_trainer(self) -> EmbeddedNluTrainer:
        from turncheck.engines.embedded.nlu.batch import DucklingAccess
        from turncheck.engines.embedded.nlu.duckling import URL_VARIABLE, noon_of
        from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors
        from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer

        return EmbeddedNluTrainer(
            seed=self.seed,
            allow_custom_code=self.allow_custom_code,
            duckling=DucklingAccess(
                url=self.environment.get(URL_VARIABLE) or None,
                allowed_hosts=self.hosts,
                reference_time=noon_of(self.today),
            ),
            vectors=chosen_vectors(self.vectors, self.project.nlu),
            team_confidences=self.team_confidences,
            cache=None if self.allow_custom_code else self._cache,
        )

    def workshop(self, seed: int) -> EmbeddedWorkshop:
        """Return what trains the project and variants of it."""
        from turncheck.engines.embedded.workshop import EmbeddedWorkshop  # imports scikit-learn

        # No two mutants are the same, so their trained models are not cached.
        return EmbeddedWorkshop(dataclasses.replace(self._pipeline_trainer, cache=None), seed)

    def as_trained(self, seed: int, *, understands: bool, decides: bool = True) -> TrainedProject:
        """Return the project with what was trained on it; the base's steps of a pipeline may be in the cache."""
        from turncheck.engines.embedded.workshop import EmbeddedWorkshop, TrainedProject, Understanding

        nlu = self.nlu if understands else None
        workshop = EmbeddedWorkshop(self._pipeline_trainer, seed)
        ensemble = self.ensemble if decides else None
        return TrainedProject(self.project, None if nlu is None else Understanding(nlu), ensemble, workshop)

    @cached_property
    def _calibration(self) -> tuple[Trust | None, ConfidenceMap | None]:
        if not self.vectors:
            return trust_in(self.project)
        from turncheck.engines.embedded.nlu.sentence_vectors import named_vectors  # imports NumPy

        vectors = named_vectors(self.vectors)
        return trust_in(self.project, vectors.digest if vectors else "")

    @property
    def trust(self) -> Trust | None:
        """How far it agrees with the team's Rasa, if the two were compared."""
        return self._calibration[0]

    @property
    def team_confidences(self) -> ConfidenceMap | None:
        """How sure the team's Rasa would be."""
        return self._calibration[1]

    @cached_property
    def nlu(self) -> EmbeddedNlu | None:
        """Language understanding, trained on the whole project; ``None`` if it has no sentences."""
        if self._model is not None:
            from turncheck.engines.embedded.nlu.duckling import noon_of

            if not self._model.has_nlu:
                return None
            loaded = self._model.nlu().on_the_day_of(noon_of(self.today))
            return replace(loaded, team_confidences=self.team_confidences)
        if not self.project.nlu.examples:
            return None
        learnt = with_story_sentences(self.project)
        if self._cache is None:
            return self.nlu_trainer.fit(learnt)
        from turncheck.engines.embedded.training_key import nlu_inputs

        kept = cached_nlu(self._cache, self._key("nlu", learnt), lambda: self._pipeline_trainer.fit(nlu_inputs(learnt)))
        # A cached model has neither: nothing is learnt from them.
        return replace(kept, domain=learnt.domain, team_confidences=self.team_confidences)

    @property
    def trained_sentences(self) -> Collection[str] | None:
        """Those of a model; what is trained here is trained on the project's."""
        return None if self._model is None or self.nlu is None else frozenset(self.nlu.sentences.texts)

    def tokenizer(self) -> Callable[[Sequence[str]], Sequence[tuple[tuple[int, int], ...]]] | None:
        """Return the tokenizer of the model, else the project's own: neither needs any training.

        Raises:
            UserError: the project's is not available.
        """
        if self._model is not None:
            return self._model.tokenize if self._model.has_nlu else None
        if not self.project.nlu.examples:
            return None
        from turncheck.engines.embedded.nlu.plan import make_plan  # if stories annotate entities
        from turncheck.engines.embedded.nlu.spacy_model import make_tokenizer

        tokenizer = make_tokenizer(make_plan(self.project.config, rasa=self.project.major).tokenizer, self.project.root)
        return lambda texts: [tokenizer.tokenize(text).spans for text in texts]

    @cached_property
    def ensemble(self) -> Ensemble:
        """The policies, trained."""
        if self._model is not None:
            return self._model.ensemble()
        from turncheck.engines.embedded.policies.trainer import train_ensemble

        if self._cache is not None and (kept := self._kept_ensemble(self._cache)) is not None:
            return kept
        return train_ensemble(self.project, domain=self.domain)

    def _kept_ensemble(self, cache: Cache) -> Ensemble | None:
        from turncheck.engines.embedded.policies.trainer import train_ensemble
        from turncheck.engines.embedded.training_key import policy_inputs, training_key

        learnt, domain = policy_inputs(self.project)
        key = training_key(cache, "policies", learnt, domain=domain)
        if key is None:
            return None
        return cached_ensemble(cache, key, self.domain, lambda: train_ensemble(learnt, domain=domain))

    @cached_property
    def domain(self) -> DialogueDomain:
        """The project's own, or the model's."""
        return DialogueDomain.of(self.project) if self._model is None else self.ensemble.domain

    @property
    def understands(self) -> bool:
        """Whether there are sentences to train on."""
        return bool(self.project.nlu.examples) if self._model is None else self._model.has_nlu

    def assistant(self, server: ActionServer) -> EmbeddedConversations:
        """Return the whole assistant, its custom actions run by ``server``."""
        from turncheck.engines.embedded.conversation import Assistant, EmbeddedConversations

        server.look()
        assistant = Assistant(self.ensemble.domain, self.ensemble, self.nlu, server, self.seed)
        return EmbeddedConversations(self.info(), assistant, self.nlu).for_threads()

    with_preset_parses = assistant

    def info(self, *, measured: EngineInfo | None = None, conversations: bool = True) -> EngineInfo:
        """Return name, version, and the substitutions in the parts that were used."""
        parts = {**self._recalled, **self.parts()}
        nlu, ensemble = measured or parts.get("nlu"), parts.get("core")
        replaced = (*(nlu.substitutions if nlu else ()), *(ensemble.substitutions if ensemble else ()))
        nlg = [NLG_NOTE] if conversations and "nlg" in self.project.endpoints else []
        return EngineInfo(
            name="embedded",
            version=__version__,
            substitutions=(*self._recipe(), *replaced),
            notes=_unique((*(nlu.notes if nlu else ()), *nlg)),
            model=None if self._model is None else self._model.path.name,
            configured=self._configured(),
        )

    def _recipe(self) -> tuple[Substitution, ...]:
        from turncheck.engines.embedded.configured import replaced_recipe

        return replaced_recipe(self.project.config) if self._model is None else ()

    def _configured(self) -> tuple[ConfiguredComponent, ...] | None:
        """Return what is done with each component; not known of a model, which was trained before.

        Nor is it if the configuration cannot be read, or is missing: nobody has chosen what takes its place.
        """
        is_missing = any(finding.code == "config-not-found" for finding in self.project.findings)
        if self._model is not None or is_missing or "config" in self.project.unreadable:
            return None
        from turncheck.engines.embedded.configured import configured_components

        return configured_components(
            self.project.config, rasa=self.project.domain.rasa, allow_custom_code=self.allow_custom_code
        )

    def use_cache(self, cache: Cache) -> None:
        """Cache trained models here."""
        self._cache = cache

    def key_of_folds(self, folds: int) -> str | None:
        """Return the digest of what the folds are trained on and judged with: all sentences, and how they are split.

        It includes the domain if a sentence names its intent (``/greet``).
        """
        outright = any(example.text.lstrip().startswith("/") for example in self.project.nlu.examples)
        return self._key("folds", self.project, folds=folds, domain=self.project.domain if outright else None)

    def _key(self, kind: str, learnt: Project, **more: Any) -> str | None:
        """Return the cache key for training language understanding; with vectors it includes their model."""
        if self._cache is None or self.vectors or self.allow_custom_code:
            return None
        from turncheck.engines.embedded.training_key import nlu_inputs, training_key

        team = msgspec.to_builtins(self.team_confidences)
        return training_key(self._cache, kind, nlu_inputs(learnt), seed=self.seed, today=self.today, team=team, **more)

    def parts(self) -> Mapping[Part, EngineInfo]:
        """Return the substitutions in language understanding and in the policies, as far as they were trained."""
        found: dict[Part, EngineInfo] = {}
        if "nlu" in self.__dict__ and self.nlu:
            found["nlu"] = self.nlu.info
        if "ensemble" in self.__dict__:
            substitutions = self.ensemble.substitutions
            found["core"] = EngineInfo(name="embedded", version=__version__, substitutions=substitutions)
        return found

    def recall(self, parts: Mapping[Part, EngineInfo]) -> None:
        """Accept the descriptions of parts that need not be trained here."""
        self._recalled = {**self._recalled, **parts}


def _unique(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))


# The embedded engine of a project, by the platform that the project is an assistant of.


@contextmanager
def opened(  # noqa: PLR0917 - as of all engines
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    hosts: tuple[str, ...] | None,
    models: Models | None,
    variables: FileVariables | None = None,  # noqa: ARG001 - action servers are called by others
) -> Iterator[EmbeddedEngine]:
    """Yield the engine; see :func:`turncheck.engines.choice.chosen_engines`."""
    if settings.vectors:
        from turncheck.engines.embedded.nlu.sentence_vectors import named_vectors  # imports NumPy

        named_vectors(settings.vectors)  # what is missing is reported before anything is measured
    yield engine_of(settings, project, environment, hosts=hosts, models=models)


class StandInModule(Protocol):
    """What is trained on the assistants of a platform, in the module ``stand_in`` of its package."""

    @property
    def StandIn(self) -> type[EmbeddedEngine]:  # noqa: N802 - a class of a module
        """The embedded engine of its assistants."""


STAND_IN: Final = platforms.Part[StandInModule]("stand_in")


def engine_of(
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    *,
    hosts: tuple[str, ...] | None = None,
    models: Models | None = None,
) -> EmbeddedEngine:
    """Return the engine, which trains nothing before it is asked."""
    own = project.platform.part(STAND_IN)
    kind: type[EmbeddedEngine] = EmbeddedEngine if own is None else own.StandIn
    return kind(
        project,
        settings.seed,
        hosts,
        settings.allow_custom_code,
        settings.vectors,
        models,
        environment,
        settings.today,
    )
