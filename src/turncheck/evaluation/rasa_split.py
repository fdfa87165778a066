"""Rasa's split of NLU data into training and test, reproduced example by example.

What ``rasa data split nlu`` samples depends on the order of a Python set of messages, whose hashes are fingerprints
of their content. The same sets are built here from the same fingerprints: the same seed gives the same split.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from hashlib import md5
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.project.model import Response
    from turncheck.project.nlu_data import Example

_FEWEST_EXAMPLES: Final = 2


@dataclass(frozen=True, slots=True)
class Split:
    """Training and test examples in Rasa's order, and what Rasa warns about beforehand, in our wording."""

    training: tuple[Example, ...]
    test: tuple[Example, ...]
    warnings: tuple[str, ...] = ()


def split_as_rasa(
    examples: Sequence[Example], responses: Mapping[str, Response], *, fraction: float, seed: int
) -> Split:
    """Split each intent (for retrieval intents, each response key): ``fraction`` of its examples is for training.

    Rare labels come first, and the frequent ones make up for what they got too many or too few of. Each label has at
    least one training and one test example; a label with a single example goes to the test set. Examples without an
    intent, which Rasa would lose, go to the training set.

    Args:
        examples: the NLU examples in Rasa's order of reading.
        responses: those in the NLU files by name, since their text is a part of a retrieval example's fingerprint.
        fraction: between 0 and 1.
        seed: the seed for shuffling each label separately, like Rasa's ``--random-seed``.
    """
    messages = [_Message(example, _response_text(example, responses)) for example in examples]
    pool = set(messages)
    training: list[Example] = []
    test: list[Example] = []
    for by_response in (True, False):
        for label in _labels(examples, by_response=by_response):
            members = [message for message in pool if _label(message.example, by_response=by_response) == label]
            if not members:
                continue
            pool = pool - set(members)
            Random(seed).shuffle(members)
            wanted = int((len(training) + len(test) + len(members)) * fraction) - len(training)
            cut = min(len(members) - 1, max(1, wanted))
            training += [message.example for message in members[:cut]]
            test += [message.example for message in members[cut:]]
    training += [example for example in examples if not example.intent]
    return Split(tuple(training), tuple(test), tuple(_warnings(examples, messages, fraction)))


def fingerprint(value: Any) -> str:
    """Return Rasa's fingerprint: MD5 over the fingerprints of keys and values, of elements, or over ``str(value)``."""
    if isinstance(value, dict):
        return _md5(json.dumps({fingerprint(key): fingerprint(one) for key, one in value.items()}, sort_keys=True))
    if isinstance(value, list | tuple):
        return _md5(json.dumps([fingerprint(one) for one in value]))
    return _md5(str(value))


def _md5(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


class _Message:
    """An example with the same hash as in Rasa."""

    def __init__(self, example: Example, response: str | None) -> None:
        self.example = example
        self.response = response

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the message's data and of its (empty) list of features."""
        return fingerprint([self._data(), []])

    def _data(self) -> dict[str, Any]:
        example = self.example
        data: dict[str, Any] = {"text": example.text}
        if example.intent:
            data["intent"] = example.base_intent
            if "/" in example.intent:
                data["intent_response_key"] = example.intent
        if example.entities:
            data["entities"] = [
                {"start": one.start, "end": one.end, "value": one.value, "entity": one.entity}
                | {key: name for key, name in (("role", one.role), ("group", one.group)) if name is not None}
                for one in example.entities
            ]
        if example.metadata:
            data["metadata"] = dict(example.metadata)
        if self.response is not None:
            data["response"] = self.response
        return data

    def __hash__(self) -> int:
        return int(self.fingerprint, 16)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Message) and self.fingerprint == other.fingerprint


def response_name(label: str) -> str:
    """Return the response that answers a retrieval label: ``utter_faq/hours`` for ``faq/hours``."""
    return f"utter_{label}"


def _response_text(example: Example, responses: Mapping[str, Response]) -> str | None:
    """The text of the last variation that has one; the response's name if none has; ``None`` without a response."""
    if not example.intent or "/" not in example.intent:
        return None
    response = responses.get(response_name(example.intent))
    if response is None or not response.variations:
        return None
    return next((one.text for one in reversed(response.variations) if one.text), None) or response.name


def _label(example: Example, *, by_response: bool) -> str | None:
    if by_response:
        return example.intent if example.intent and "/" in example.intent else None
    return example.base_intent or None


def _labels(examples: Iterable[Example], *, by_response: bool) -> list[str]:
    """The labels, rarest first; equally rare ones in the order of the files."""
    labels = (_label(example, by_response=by_response) for example in examples)
    counts = Counter(label for label in labels if label)
    return [label for label, _ in sorted(counts.items(), key=itemgetter(1))]


def _warnings(examples: Sequence[Example], messages: Sequence[_Message], fraction: float) -> list[str]:
    intents = Counter(example.base_intent for example in examples if example.base_intent)
    warnings = [
        f"Intent '{intent}' has only {count} example; an intent needs {_FEWEST_EXAMPLES} to be on both sides."
        for intent, count in intents.items()
        if count < _FEWEST_EXAMPLES
    ]
    parts = [
        (kind, name)
        for example in examples
        for entity in example.entities
        for kind, name in (("Entity", entity.entity), ("Role", entity.role), ("Group", entity.group))
        if name
    ]
    warnings += [f"{kind} '{name}' has only 1 example." for (kind, name), count in Counter(parts).items() if count == 1]
    unanswered = Counter(
        message.example.intent for message in messages if "/" in (message.example.intent or "") and not message.response
    )
    warnings += [f"'{label}' has {count} examples but no response." for label, count in unanswered.items()]
    labels = {example.intent for example in examples if example.intent}
    smaller = min(fraction, 1 - fraction)
    if int(smaller * len(examples)) + 1 < len(labels):
        warnings.append(
            f"There are too few examples to have each of {len(labels)} intents on both sides and train on {fraction:g} "
            "of the data; the share will differ."
        )
    return warnings
