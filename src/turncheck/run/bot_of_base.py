"""How a bot over HTTP is asked on the base: that is in the base's own ``turncheck.yml``, and no change chooses it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.ci.base import BaseSearch
from turncheck.ci.git import find_checkout
from turncheck.ci.host import Base
from turncheck.messages.errors import UserError
from turncheck.process.output_files import temporary_folder
from turncheck.settings.file import read_settings_file
from turncheck.settings.secrets import secret_setting
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.ci.host import Host
    from turncheck.settings.bot import Bot
    from turncheck.settings.options import Settings

_OBJECT: Final = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


def bot_of_base(settings_file: Path | None, commit: str | None) -> Bot | None:
    """Return the ``bot:`` of a commit; ``None`` if the checkout does not have it, or it cannot be read there."""
    if settings_file is None or commit is None or not _OBJECT.fullmatch(commit):
        return None
    file = settings_file.resolve()
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


def ensure_token_is_sent_as_on_base(
    settings: Settings, host: Host, environment: Mapping[str, str], settings_file: Path | None = None
) -> None:
    """Make sure that a change does not put the bot's token where its base has none: the bot may repeat it.

    Outside of a CI host, a base without ``bot:`` is no reason: whoever writes the first one tries it.

    Raises:
        UserError: it does, or nobody can say.
    """
    if secret_setting(settings, "bot-token", environment) is None:
        return
    # A run has read the project's own file; other commands have only their flags.
    bot = settings.bot or read_settings_file(Path(settings.project)).values.get("bot")
    if bot is None or not bot.token_places:
        return
    checkout = find_checkout(Path(settings.project))
    base = BaseSearch(settings, checkout, host, lambda _, __: None).find()
    commit = base.commit if isinstance(base, Base) else None
    is_of_a_change = host.run.of_a_change or (isinstance(base, Base) and bool(base.of_a_change or base.head))
    if not is_of_a_change or (not host.name and (checkout is None or commit in {None, checkout.head()})):
        return
    there = bot_of_base(settings_file or Path(settings.project, FILE_NAME), commit)
    if there is None and not host.name:
        return
    new = bot.token_places - (there.token_places if there is not None else frozenset())
    if new:
        why = "the base does not send it there" if there is not None else "what the base sends is not known here"
        raise UserError(
            f"`bot:` sends {{token}} in {', '.join(sorted(new))}, and {why}",
            location=bot.location,
            hint="Send it in a header (`token`); or let the base have it first. The checkout needs the base's commit.",
        )
