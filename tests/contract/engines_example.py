"""The example of docs/engines.md: a bot on the platform whose published version is older than its export."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from fake_kore import BOT, CLIENT, SECRET, FakeKore, serving
from in_process import turncheck

from turncheck.platforms.kore.engine.client import Clock
from turncheck.project.batch.reader import find_suites, read_suites

if TYPE_CHECKING:
    from subprocess import CompletedProcess

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "engines.md"


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


def compare_as_documented(folder: Path) -> CompletedProcess[str]:
    """Run the page's command on a copy of the example in a folder, without pauses; results are in its folder out."""
    shutil.copytree(ROOT / "examples" / "bike_workshop", folder / "bot")
    pattern = r"^    (turncheck calibrate --engines embedded kore.*\\\n.*)"
    (command,) = re.findall(pattern, PAGE.read_text("utf-8"), re.MULTILINE)
    words = shlex.split(command.replace("\\\n", " "))[1:]
    clock = patch("turncheck.platforms.kore.engine.engines.Clock", lambda: Clock(sleep=lambda _seconds: None))
    with (
        serving(example_platform(folder / "bot")) as kore,
        clock,
        patch.dict(os.environ, {"TURNCHECK_KORE_CLIENT_SECRET": SECRET}),
    ):
        return turncheck(*words, *flags_of(kore), "--out", "out", cwd=folder)
