"""The example of docs/engines.md: a bot on the platform whose published version is older than its export."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fake_kore import BOT, CLIENT, FakeKore

from turncheck.project.batch.reader import find_suites, read_suites

if TYPE_CHECKING:
    from pathlib import Path


def example_platform(bot: Path) -> FakeKore:
    """Return a platform that understands the suites of a project as they expect, published otherwise in two cases."""
    kore = FakeKore(published={"how much is a check": ("Book Repair",), "see you later": ()})
    for suite in read_suites(bot, find_suites(bot)).suites:
        for case in suite.cases:
            (kore.traits if case.is_trait else kore.intents)[case.text] = case.intents
            kore.entities[case.text] = {
                one.name: found[0] if (found := re.search(one.values[0], case.text)) else one.values[0]
                for one in case.entities
            }
    return kore


def flags_of(kore: FakeKore) -> list[str]:
    """Return the flags with which the platform is asked."""
    return ["--kore-host", kore.url, "--kore-bot-id", BOT, "--kore-client-id", CLIENT]
