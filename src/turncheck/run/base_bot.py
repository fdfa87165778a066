"""How a bot over HTTP is asked on the base: the ``bot:`` of the base's own ``turncheck.yml``, not that of a change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turncheck.ci.git import find_checkout
from turncheck.messages.errors import UserError
from turncheck.process.output_files import temporary_folder
from turncheck.settings.file import read_settings_file
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    from turncheck.run.inputs import Inputs
    from turncheck.settings.bot import Bot


def bot_of_base(inputs: Inputs, commit: str | None) -> Bot | None:
    """Return the ``bot:`` of a commit; ``None`` if the checkout does not have it, or it cannot be read there."""
    if inputs.settings_file is None or commit is None or not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", commit):
        return None
    file = inputs.settings_file.resolve()
    checkout = find_checkout(file.parent)
    if checkout is None or not file.is_relative_to(checkout.top.resolve()) or not checkout.has(commit):
        return None
    content = checkout.unfiltered(commit, file.relative_to(checkout.top.resolve()).as_posix())
    if content is None:
        return None
    with temporary_folder("base") as folder:
        (folder / FILE_NAME).write_bytes(content)
        try:
            bot: Bot | None = read_settings_file(folder).values.get("bot")
        except UserError:  # a mistake that this change mends, say
            return None
    return bot
