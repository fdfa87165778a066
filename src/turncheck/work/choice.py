"""The workplace that the settings name."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from turncheck.work.workplace import Local

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.process.screen import Screen
    from turncheck.settings.options import Settings
    from turncheck.work.workplace import Workplace


@contextmanager
def workplace_of(settings: Settings, screen: Screen) -> Iterator[Workplace]:
    """Yield where this run's work is done: the cluster that is named, else this machine.

    Raises:
        UserError: the cluster cannot be used.
    """
    if settings.cluster is None:
        yield Local(settings.workers)
        return
    from turncheck.work.cluster import connected  # most runs have none

    with connected(settings.cluster, screen) as cluster:
        yield cluster
