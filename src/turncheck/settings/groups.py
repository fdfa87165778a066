"""The action's inputs by what they are about: the ten that matter most first, as pages and editors list them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST: Final = (
    *("project", "evaluations", "engine", "fail-on", "thresholds"),
    *("max-regression", "require", "baseline", "comment", "artifact-name"),
)
"""The ten that matter most."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "The ten that matter most": FIRST,
        "Files of the assistant": (
            *("config", "domain", "data", "nlu", "stories", "e2e", "batch", "language", "plugins", "out"),
        ),
        "How it is measured": (
            *("folds", "seed", "strict", "slot-order", "repeats", "strength", "strength-budget", "robustness"),
            *("misunderstood", "vectors", "today"),
        ),
        "What fails a run": ("fail-on-warnings", "accept-gone", "not-judged", "batch-failures", "base"),
        "Publishing": (
            *("check-run", "code-scanning", "annotations", "retention-days", "junit-flavour", "output-format"),
            *("token", "trace-url", "run-id"),
        ),
        "Large assistants": ("workers", "cluster", "cache", "cache-folder", "cache-key", "shard", "shards"),
        "Action server and variables": ("action-endpoint", "action-server", "allow-hosts", "env"),
        "A real Rasa (`engine: rasa`)": (
            *("model", "rasa-url", "rasa-url-base", "rasa-token", "rasa-jwt", "rasa-command", "rasa-servers"),
        ),
        "Kore.ai's platform (`engine: kore`)": (
            *("kore-host", "kore-bot-id", "kore-bot-name", "kore-client-id", "kore-client-secret"),
            *("kore-version", "kore-way", "kore-timeout", "notes"),
        ),
        "A bot over HTTP (`engine: http`)": (
            *("bot-url", "bot-url-base", "bot-callback", "bot-token", "bot-parallel"),
        ),
    }
)
"""All inputs, each in one group, by the group's title."""
