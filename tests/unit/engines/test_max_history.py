"""How far policies look back: by their own key, or by that of their featurizer."""

from __future__ import annotations

from typing import Any

import pytest

from turncheck.engines.embedded.policies.rules import MemoizationSettings
from turncheck.engines.embedded.policies.stand_ins import StandInSettings
from turncheck.messages.finding import Location
from turncheck.project.config import max_history_of, smallest_max_history
from turncheck.project.model import Component, Config

MAX = "MaxHistoryTrackerFeaturizer"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, None),
        ({"max_history": 3}, 3),
        ({"max_history": None}, None),
        ({"max_history": True}, None),
        ({"max_history": 0}, None),
        ({"featurizer": [{"name": MAX, "max_history": 2}]}, 2),
        ({"max_history": 5, "featurizer": [{"name": MAX, "max_history": 2}]}, 2),
        ({"max_history": 5, "featurizer": [{"name": MAX}]}, 5),
        ({"max_history": 5, "featurizer": [{"name": "FullDialogueTrackerFeaturizer"}]}, None),
        ({"max_history": 5, "featurizer": []}, 5),
        ({"max_history": 5, "featurizer": "odd"}, 5),
    ],
)
def test_the_featurizers_key_counts_before_the_policys(parameters: dict[str, Any], expected: int | None) -> None:
    assert max_history_of(parameters) == expected
    assert MemoizationSettings.of("MemoizationPolicy", parameters).max_history == (expected or 0)
    assert StandInSettings.of("TEDPolicy", parameters).max_history == (expected or StandInSettings().max_history)


def test_the_smallest_of_the_policies_counts() -> None:
    place = Location("config.yml")
    policies = (
        Component("MemoizationPolicy", {"max_history": 4}, place),
        Component("TEDPolicy", {"featurizer": [{"name": MAX, "max_history": 2}]}, place),
        Component("RulePolicy", {}, place),
    )
    assert smallest_max_history(Config(policies=policies)) == 2
    assert smallest_max_history(Config(policies=policies[2:])) is None
    assert smallest_max_history(Config()) is None
