"""From a project's policies section to trained policies, and those in a model file; and which of them decides.

What runs for each configured policy is one row: how it is trained, and read back from a model. All of them together
decide by Rasa's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypedDict

from msgspec import Struct

from turncheck.dialogue.domain import ACTION_LISTEN, DialogueDomain
from turncheck.dialogue.events import ActionExecuted, ActionExecutionRejected, ActiveLoop, Event, UserFeaturization
from turncheck.dialogue.policy_states import RuleOnly
from turncheck.dialogue.rule_learning import learn_rules
from turncheck.dialogue.rules import Prediction, RuleSettings
from turncheck.dialogue.situation import BUILT_IN_TYPES
from turncheck.dialogue.training import Trackers, training_trackers
from turncheck.engines.conversation import Decision
from turncheck.engines.embedded import model_archive
from turncheck.engines.embedded.policies import rules
from turncheck.messages.errors import TrainingRefusedError, UserError
from turncheck.messages.phrasing import suggestion
from turncheck.project.config import (
    GRAPH_RECIPE,
    NOT_RUN_FOR_FLOWS,
    POLICIES,
    is_custom,
    is_of_flows,
    policy_class,
    short_name,
)
from turncheck.project.model import Component, Config, Project, in_order_of_names
from turncheck.project.rasa_components import POLICIES_IN_CODE, configured_policies, ensure_policy_accepted
from turncheck.project.rasa_version import NEWEST, OLDEST

if TYPE_CHECKING:
    from turncheck.dialogue.tracker import Tracker
    from turncheck.report.model import Substitution

ALTERNATIVES: Final = 3
FOLLOWUP: Final = "followup_action"
"""The policy's name if an event has named the next action."""


class Ensemble(Struct, frozen=True):
    """The trained policies of an assistant, in the order of its configuration.

    ``components``: how each of them was configured, which a model stores beside what it learnt.
    """

    domain: DialogueDomain
    policies: Sequence[Policy]
    substitutions: tuple[Substitution, ...] = ()
    components: tuple[Component, ...] = ()

    @property
    def rule_only(self) -> RuleOnly:
        """What only rules know; empty without RulePolicy."""
        for policy in self.policies:
            if isinstance(policy, rules.RulePolicy):
                return policy.book.rule_only
        return RuleOnly()

    def next(self, tracker: Tracker) -> Decision:
        """Take the follow-up action if there is one that the domain knows, else ask the policies."""
        if self.domain.is_older:
            self._resume_form(tracker)
        followup = tracker.followup_action
        if followup:
            tracker.situation.followup_action = None
            if followup in self.domain.actions:
                return Decision(followup, FOLLOWUP)
        return self.decide(tracker)

    def _resume_form(self, tracker: Tracker) -> None:
        """Undo a form's rejection if no story leaves it at such a message, as Rasa 1 does."""
        refused = tracker.active_loop_name
        if refused is None or _rejected_action(tracker) != refused:
            return
        if not any(isinstance(policy, rules.FormPolicy) and policy.knows_detour(tracker) for policy in self.policies):
            tracker.append(ActiveLoop(refused))

    def decide(self, tracker: Tracker) -> Decision:
        """Ask all policies; an action that has just been rejected is excluded for all of them."""
        rule_only = self.rule_only
        predictions = [policy.predict(tracker, rule_only) for policy in self.policies]
        rejected = _rejected_action(tracker)
        if self.domain.is_older and not tracker.is_active_loop_rejected:
            rejected = None
        if rejected is not None:
            predictions = [prediction.without(rejected) for prediction in predictions]
        best = rules.pick_older(predictions) if self.domain.domain.rasa < NEWEST else pick(predictions)
        events: list[Event] = [event for prediction in predictions for event in prediction.events]
        events.extend(best.optional_events)
        if tracker.latest_action_name == ACTION_LISTEN:
            events.append(UserFeaturization(best.uses_text))
        action = best.action(self.domain)
        return Decision(
            action=action,
            policy=best.policy,
            confidence=best.confidence,
            events=tuple(events),
            hide_rule_turn=best.hide_rule_turn,
            is_end_to_end=best.uses_text,
            metadata=best.metadata,
            alternatives=self._alternatives(predictions, action),
        )

    def _alternatives(self, predictions: Sequence[Prediction], action: str) -> tuple[tuple[str, float], ...]:
        scores: dict[str, float] = {}
        for prediction in predictions:
            for name, score in prediction.scores.items():
                if name != action and score > scores.get(name, 0.0):
                    scores[name] = score
        ranked = sorted(scores.items(), key=lambda pair: (-pair[1], self.domain.action_number(pair[0])))
        return tuple(ranked[:ALTERNATIVES])


def pick(predictions: Sequence[Prediction]) -> Prediction:
    """Return the prediction that counts.

    One that ignores the user beats all others, then one from the text beats those from the intent, then the confidence
    decides, then the priority, then the order.
    """
    any_ignores = any(prediction.ignores_user for prediction in predictions)
    any_text = any(prediction.uses_text for prediction in predictions)
    best: Prediction | None = None
    for prediction in predictions:
        if prediction.ignores_user != any_ignores:
            continue
        if not any_ignores and prediction.uses_text != any_text:
            continue
        if best is None or (prediction.confidence, prediction.priority) > (best.confidence, best.priority):
            best = prediction
    if best is None:
        raise ValueError("an ensemble needs at least one policy")
    return best


def _rejected_action(tracker: Tracker) -> str | None:
    for event in reversed(tracker.events):
        if isinstance(event, ActionExecutionRejected):
            return event.name
        if isinstance(event, ActionExecuted):
            return None
    return None


# What every policy is.


class Policy(Protocol):
    """A trained policy."""

    @property
    def name(self) -> str:
        """The name of its Rasa class."""

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:
        """Predict what comes next."""

    def to_json(self) -> dict[str, Any]:
        """Return what was learnt, as JSON values, for the model archive."""


_Parameters: TypeAlias = Mapping[str, Any]
_Fit: TypeAlias = Callable[[_Parameters, "Trackers", "DialogueDomain"], "Policy"]
_Read: TypeAlias = Callable[[_Parameters, Mapping[str, Any], "DialogueDomain"], "Policy"]


class PolicyKind(Struct, frozen=True):
    """How a policy is trained by its parameters, and read back from the JSON values that it was stored as.

    ``stands_in``: it takes the place of a neural network. ``only_older``: Rasa 3 no longer has it.
    """

    fit: _Fit
    read: _Read
    stands_in: bool = False
    only_older: bool = False


def kind_of(component: Component, domain: DialogueDomain) -> PolicyKind | None:
    """Return what runs for a configured policy, ``None`` if this version of Rasa does not have it."""
    return None if runs_in(component, domain.domain.rasa) is None else _KINDS[policy_class(component)]


def runs_in(component: Component, rasa: int) -> str | None:
    """Return what runs for a policy in a project for this version of Rasa: policies of the same kind run alike."""
    name = policy_class(component)
    kind = _KINDS.get(name)
    if kind is None or (kind.only_older and rasa >= NEWEST):
        return None
    return "TedStandIn" if kind.stands_in and name != "UnexpecTEDIntentPolicy" else name


def unjudged_policy(config: Config, rasa: int) -> Component | None:
    """Return the first policy that is a class of the project which nothing can stand in for; ``None``: there is none.

    What the assistant does without it says nothing about what it does.
    """
    policies = configured_policies(config)
    return next((one for one in policies if is_custom(one.name) and runs_in(one, rasa) is None), None)


def _memoization(name: str, kind: type[rules.MemoizationPolicy]) -> PolicyKind:
    def settings(parameters: _Parameters, domain: DialogueDomain) -> rules.MemoizationSettings:
        history = rules.HISTORY if domain.domain.rasa < NEWEST else 0
        return rules.MemoizationSettings.of(name, parameters, max_history=history)

    return PolicyKind(
        lambda parameters, trackers, domain: kind.fit(trackers.all, settings(parameters, domain)),
        lambda parameters, shape, domain: kind.from_json(shape, settings(parameters, domain)),
    )


def _ted(name: str, *, only_older: bool = False) -> PolicyKind:
    # NumPy is only imported if one of these is configured.
    def fit(parameters: _Parameters, trackers: Trackers, _: DialogueDomain) -> Policy:
        from turncheck.engines.embedded.policies.stand_ins import StandInSettings, TedStandIn

        return TedStandIn.fit(trackers.all, StandInSettings.of(name, parameters))

    def read(parameters: _Parameters, shape: Mapping[str, Any], _: DialogueDomain) -> Policy:
        from turncheck.engines.embedded.policies.stand_ins import StandInSettings, TedStandIn

        return TedStandIn.from_json(shape, StandInSettings.of(name, parameters))

    return PolicyKind(fit, read, stands_in=True, only_older=only_older)


def _fit_unexpected(parameters: _Parameters, trackers: Trackers, _: DialogueDomain) -> Policy:
    from turncheck.engines.embedded.policies.stand_ins import UNEXPECTED, StandInSettings, UnexpectedIntentStandIn

    return UnexpectedIntentStandIn.fit(trackers.all, StandInSettings.of(UNEXPECTED, parameters))


def _read_unexpected(parameters: _Parameters, shape: Mapping[str, Any], _: DialogueDomain) -> Policy:
    from turncheck.engines.embedded.policies.stand_ins import UNEXPECTED, StandInSettings, UnexpectedIntentStandIn

    return UnexpectedIntentStandIn.from_json(shape, StandInSettings.of(UNEXPECTED, parameters))


def _untrained(of: Callable[[_Parameters], Policy]) -> PolicyKind:
    return PolicyKind(lambda parameters, *_: of(parameters), lambda parameters, *_: of(parameters), only_older=True)


_KINDS: Final[Mapping[str, PolicyKind]] = {
    "RulePolicy": PolicyKind(
        lambda parameters, trackers, domain: rules.RulePolicy(
            learn_rules(trackers.all, domain, RuleSettings.of(parameters))
        ),
        lambda parameters, shape, domain: rules.RulePolicy.from_json(shape, domain, RuleSettings.of(parameters)),
    ),
    "MemoizationPolicy": _memoization("MemoizationPolicy", rules.MemoizationPolicy),
    "AugmentedMemoizationPolicy": _memoization("AugmentedMemoizationPolicy", rules.AugmentedMemoizationPolicy),
    "TEDPolicy": _ted("TEDPolicy"),
    "UnexpecTEDIntentPolicy": PolicyKind(_fit_unexpected, _read_unexpected, stands_in=True),
    **{name: _ted(name, only_older=True) for name in ("KerasPolicy", "EmbeddingPolicy", "SklearnPolicy")},
    rules.MAPPING: _untrained(rules.MappingPolicy.of),
    rules.FORM: PolicyKind(
        lambda parameters, trackers, _: rules.FormPolicy.fit(trackers.all, parameters),
        lambda parameters, shape, _: rules.FormPolicy.from_json(shape, parameters),
        only_older=True,
    ),
    rules.FALLBACK: _untrained(lambda parameters: rules.FallbackPolicy.of(rules.FALLBACK, parameters)),
    rules.TWO_STAGE: _untrained(lambda parameters: rules.TwoStageFallbackPolicy.of(rules.TWO_STAGE, parameters)),
}
"""The policies of every Rasa that are run here, by their class's name."""

LEARNERS: Final = frozenset(name for name, kind in _KINDS.items() if kind.stands_in)
"""The policies that learn from augmented stories, too."""
OF_OLDER: Final = frozenset({*_KINDS, "EnsemblePolicy"})
"""The policies that Rasa 1 and 2 have."""


DEFAULT_AUGMENTATION: Final = 50


def train_ensemble(
    project: Project,
    *,
    domain: DialogueDomain | None = None,
    trackers: Trackers | None = None,
    augmentation: int = DEFAULT_AUGMENTATION,
) -> Ensemble:
    """Train the project's policies on its stories and rules.

    Raises :class:`~turncheck.messages.errors.TrainingRefusedError` if Rasa refuses to train, also
    if no policy is left to decide anything.
    """
    domain = DialogueDomain.of(project) if domain is None else domain
    components = configured_policies(project.config, domain.domain.rasa)
    if trackers is None:
        # Only policies that are really trained use augmented stories.
        needs_glue = any(policy_class(component) in LEARNERS for component in components)
        ordered = replace(project, stories=in_order_of_names(project.stories), rules=in_order_of_names(project.rules))
        trackers = training_trackers(ordered, domain, augmentation=augmentation if needs_glue else 0)
    # A class of the project may do what one of Rasa's is needed for.
    is_known = unjudged_policy(project.config, domain.domain.rasa) is None
    if domain.domain.rasa < NEWEST:
        _refuse_as_older(components, domain, project, is_known=is_known)
    else:
        _refuse_unknown(components, project)
        if is_known:
            _refuse_forms_without_rules(components, domain)
    policies: list[Policy] = []
    trained: list[Component] = []
    substitutions = [*_in_code(components), *_custom_slots(domain)]
    for component in components:
        policy, substitution = _trained(component, trackers, domain)
        if policy is not None:
            policies.append(policy)
            # A model holds what runs, not a class that could not be found without the project.
            trained.append(replace(component, name=component.extends, extends="") if component.extends else component)
        if substitution is not None:
            substitutions.append(substitution)
    if not policies and not is_known:
        raise UserError(
            "All policies are code of the project, which is not run: nothing is left to train",
            location=project.config.location,
            hint="Use --engine rasa, which runs them.",
        )
    if not policies:
        raise TrainingRefusedError(
            "The configuration names no policy that can decide on the next action",
            location=project.config.location,
            hint="Add MemoizationPolicy and RulePolicy to 'policies'.",
        )
    return Ensemble(domain, tuple(policies), tuple(substitutions), tuple(trained))


def _in_code(components: Sequence[Component]) -> list[Substitution]:
    if components is not POLICIES_IN_CODE:
        return []
    used = "MemoizationPolicy and KerasPolicy"
    return [_substitution("the policies of the training script", used, "a project's Python is not run here")]


def _custom_slots(domain: DialogueDomain) -> list[Substitution]:
    """Name the slots whose type is one of the project's classes."""
    return [
        _substitution(f"{slot.type} (slot '{slot.name}')", "type 'text'", "a project's slot classes are not run here")
        for slot in domain.slots.values()
        if slot.type not in BUILT_IN_TYPES
    ]


def _refuse_unknown(components: Sequence[Component], project: Project) -> None:
    """Refuse a name that is neither a policy of Rasa 3 nor the path of a class. Rasa Pro has others."""
    if project.calm is not None or project.config.recipe == GRAPH_RECIPE:
        return
    for component in components:
        if short_name(component.name) not in POLICIES and not is_custom(component.name):
            raise TrainingRefusedError(
                f"The policy '{component.written}' is not known to Rasa",
                location=component.location,
                hint=suggestion(component.name, POLICIES) or "Correct its name, or remove it.",
            )


def _refuse_forms_without_rules(components: Sequence[Component], domain: DialogueDomain) -> None:
    if domain.domain.forms and not any(policy_class(component) == "RulePolicy" for component in components):
        raise TrainingRefusedError(
            "The domain has forms, and no RulePolicy is configured to run them",
            location=next(iter(domain.domain.forms.values())).location,
            hint="Add RulePolicy to 'policies', or remove the forms.",
        )


def _refuse_as_older(
    components: Sequence[Component], domain: DialogueDomain, project: Project, *, is_known: bool
) -> None:
    """Refuse what Rasa 1 and 2 refuse to train. ``is_known``: of each policy it is known what it does.

    Raises:
        TrainingRefusedError: with the reason.
    """
    names = {policy_class(component): component for component in components}
    if project.config.policies is None and OLDEST < domain.domain.rasa < 2:
        raise TrainingRefusedError(
            "The configuration names no policies, which Rasa 1 demands",
            location=project.config.location,
            hint="Add 'policies', such as MemoizationPolicy.",
        )
    if is_known and domain.domain.forms and names.keys().isdisjoint({rules.FORM, "RulePolicy"}):
        raise TrainingRefusedError(
            "The domain has forms, and no FormPolicy is configured to run them",
            location=next(iter(domain.domain.forms.values())).location,
            hint="Add FormPolicy to 'policies', or remove the forms.",
        )
    triggering = next((intent for intent in domain.domain.intents.values() if intent.triggers), None)
    if is_known and triggering is not None and rules.MAPPING not in names:
        raise TrainingRefusedError(
            f"The intent '{triggering.name}' triggers an action, and no MappingPolicy is configured",
            location=triggering.location,
            hint="Add MappingPolicy to 'policies', or remove the triggers.",
        )
    two_stage = names.get(rules.TWO_STAGE)
    if two_stage is not None:
        deny = str(two_stage.parameters.get("deny_suggestion_intent_name", "out_of_scope"))
        if deny not in domain.domain.intents:
            raise TrainingRefusedError(
                f"The intent '{deny}', which TwoStageFallbackPolicy needs, is not in the domain",
                location=two_stage.location,
                hint="Add it to the intents, or name another with 'deny_suggestion_intent_name'.",
            )
    unknown = next(
        (component for name, component in names.items() if name not in OF_OLDER and "." not in component.name), None
    )
    if unknown is not None:
        raise TrainingRefusedError(
            f"The policy '{unknown.name}' is not known to Rasa {domain.domain.rasa}",
            location=unknown.location,
            hint="Correct its name.",
        )


def _trained(
    component: Component, trackers: Trackers, domain: DialogueDomain
) -> tuple[Policy | None, Substitution | None]:
    kind = kind_of(component, domain)
    if kind is None:
        why = f"{_OWN_CODE} here" if is_custom(component.name) else "this policy is not known here"
        return None, _substitution(component.name, None, NOT_RUN_FOR_FLOWS if is_of_flows(component) else why)
    ensure_policy_accepted(component)
    policy = kind.fit(component.parameters, trackers, domain)
    name = policy_class(component)
    own = f"{_OWN_CODE}; it extends {name}" if component.extends else ""
    if not kind.stands_in:
        return policy, _substitution(component.name, name, own) if own else None
    from turncheck.engines.embedded.policies.stand_ins import StandInSettings  # imports NumPy

    states = StandInSettings.of(name, component.parameters).max_history
    used = f"a logistic regression over the last {states} states"
    why = "; ".join(filter(None, [own, "neural networks are not trained here"]))
    return policy, _substitution(component.name if own else name, used, why)


_OWN_CODE: Final = "it is code of the project, which is not run"


def _substitution(component: str, used: str | None, reason: str) -> Substitution:
    from turncheck.report.model import Substitution  # most projects need none

    return Substitution(component=component, used=used, reason=reason)


# The policies in a model archive: JSON members below ``core/``.

FOLDER = "core"


class _ComponentShape(TypedDict):
    name: str
    parameters: dict[str, Any]


class _EnsembleShape(TypedDict):
    domain: dict[str, Any]
    retrieval_intents: list[str]
    bot_texts: tuple[str, ...]
    components: list[_ComponentShape]
    substitutions: list[dict[str, Any]]


def write_ensemble(writer: model_archive.MemberWriter, ensemble: Ensemble) -> None:
    """Add the ensemble's members."""
    members = writer.below(FOLDER)
    domain = ensemble.domain
    members.json(
        "ensemble",
        {
            "domain": model_archive.domain_to_json(domain.domain),
            "retrieval_intents": sorted(domain.retrieval_intents),
            "bot_texts": [text for text in domain.actions if text in domain.bot_texts],
            "components": model_archive.components_to_json(ensemble.components),
            "substitutions": [
                {"component": substitution.component, "used": substitution.used, "reason": substitution.reason}
                for substitution in ensemble.substitutions
            ],
        },
    )
    for number, (policy, _) in enumerate(zip(ensemble.policies, ensemble.components, strict=True)):
        members.json(f"policy_{number}", policy.to_json())


def read_ensemble(reader: model_archive.MemberReader, domain: DialogueDomain | None = None) -> Ensemble:
    """Read what :func:`write_ensemble` wrote; ``domain`` is the one to act in, if it is not the stored one.

    Raises:
        UserError: a member is missing.
    """
    members = reader.below(FOLDER)
    shape = members.json("ensemble", _EnsembleShape)
    if domain is None:
        domain = DialogueDomain.from_domain(
            model_archive.domain_from_json(shape["domain"]),
            retrieval_intents=shape["retrieval_intents"],
            bot_texts=shape["bot_texts"],
        )
    components = model_archive.components_from_json(shape["components"])
    policies = [
        _policy(component, members.json(f"policy_{number}", dict[str, Any]), domain)
        for number, component in enumerate(components)
    ]
    return Ensemble(domain, tuple(policies), _substitutions(shape["substitutions"]), components)


def _substitutions(shapes: Sequence[Mapping[str, Any]]) -> tuple[Substitution, ...]:
    from turncheck.report.model import Substitution  # most models need none

    return tuple(model_archive.as_shape(shape, Substitution) for shape in shapes)


def _policy(component: Component, shape: Mapping[str, Any], domain: DialogueDomain) -> Policy:
    kind = kind_of(component, domain)
    if kind is None:
        raise UserError(f"the model has an unknown policy: '{component.name}'", hint="Train it again: turncheck train.")
    return kind.read(component.parameters, shape, domain)
