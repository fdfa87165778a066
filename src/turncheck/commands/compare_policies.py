"""Comparing policies: models, or those that ``train core -c A B`` made of fewer and fewer stories, judged."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from itertools import combinations
from math import fsum, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from turncheck.commands.core import judge_stories, read_test_stories
from turncheck.comparison.changed_parts import differences, run_alike
from turncheck.engines.embedded.configured import policies_of
from turncheck.engines.embedded.models import SUFFIX
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import plain
from turncheck.process.regular_file import read_regular
from turncheck.project.model import Config, Project
from turncheck.publishing.files import write_all
from turncheck.render.curves import CORE_CURVE, CurvePoint, draw_curves
from turncheck.render.rasa_files import NAMED_AS_TODAY, as_json
from turncheck.render.sinks.terminal import text
from turncheck.run.folders import ensure_apart_from_project
from turncheck.run.partial import end_with

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.commands.core import CoreOutput, CoreTestOptions
    from turncheck.comparison.changes import UnseenChange
    from turncheck.engines.embedded.policies.trainer import Ensemble
    from turncheck.process.screen import Console
    from turncheck.project.model import Story
    from turncheck.report.model import ConfiguredComponent, Core
    from turncheck.run.under_way import RunInProgress


# Configurations for which the embedded engine runs the same: no comparison here can say which one is better.

Configured = tuple["ConfiguredComponent", ...]
_MOST_NAMED: Final = 5


def alike_to(name: str, configured: Mapping[str, Configured]) -> list[str]:
    """Return the configurations for which the engine runs the same as for this one, without it."""
    own = configured.get(name)
    if own is None:
        return []
    return [one for one, other in configured.items() if one != name and run_alike(own, other)]


def alike_in_words(configured: Mapping[str, Configured], what: str) -> list[str]:
    """Say of each configuration that runs like another one that no figure tells them apart, and in what they differ.

    ``what`` they are configurations of: ``pipeline``, ``policies``.
    """
    return [
        _in_words(one, other, differences(configured[one], configured[other]), what)
        for one, other in combinations(configured, 2)
        if run_alike(configured[one], configured[other]) and one == _first_of(one, configured)
    ]


def _first_of(name: str, configured: Mapping[str, Configured]) -> str:
    return next(one for one in configured if run_alike(configured[one], configured[name]))


def _in_words(one: str, other: str, changes: Sequence[UnseenChange], what: str) -> str:
    if not changes:
        return f"{text(one)} and {text(other)} have the same {what}."
    named = [_name(change) for change in changes]
    names = ", ".join(dict.fromkeys(named[:_MOST_NAMED]))
    more = f" and {count(len(changes) - _MOST_NAMED, 'more difference')}" if len(changes) > _MOST_NAMED else ""
    return (
        f"{text(one)} and {text(other)} differ only in what the embedded engine ignores ({names}{more}): "
        "it cannot say which is better. Compare them with Rasa itself."
    )


def _name(change: UnseenChange) -> str:
    component = text(change.component)
    if change.parameter:
        return f"{text(change.parameter)} of {component}"
    return f"{text(change.base)} against {component}" if change.change == "replaced" else component


_MOST_OF_SIZES: Final = 1 << 20
NUMBER_OF_STORIES: Final = "num_stories.json"
PERCENTAGE: Final = "__percentage__"
_RUN_FOLDER: Final = re.compile(r"run_(\d+)")
_ENOUGH_POINTS: Final = 2


# --- judging ---------------------------------------------------------------------------------------------------------


class _Correct(Struct, frozen=True):
    """How many test stories a model gets right, out of how many; its policies, and a digest of what they learnt."""

    right: int
    total: int
    configured: Configured
    learnt: str
    rasa: int
    """The major version of Rasa of what it was trained on."""


def run_test_models(options: CoreTestOptions, models: Sequence[Path], output: CoreOutput, screen: Console) -> int:
    """Judge several models; write for each the number of right stories to ``results.json``, and print them.

    A model is called by its file's name; those that have the same one by their paths. A graph is drawn for a project of
    Rasa 1 or older, whose manual promises one (1.0 to 1.1); Rasa 3.6.21 writes only ``results.json``.

    Raises:
        UserError: nothing to judge, a model that cannot be read.
    """
    ensure_apart_from_project(output.folder, options.settings)
    stories = read_test_stories(options, screen)
    found = {path: _judge(path, stories, options, screen) for path in models}
    taken = Counter(path.name for path in found)
    right = {path.name if taken[path.name] == 1 else str(path): correct.right for path, correct in found.items()}
    write_all(output.folder, [as_json("results.json", {name: [number] for name, number in right.items()})])
    if output.plots and any(one.rasa < NAMED_AS_TODAY for one in found.values()):
        from turncheck.render.plots import bars  # imports matplotlib

        with screen.step("plots", "Drawing"):
            title = f"Models compared: test stories that are right, of {max(one.total for one in found.values())}"
            write_all(output.folder, [bars(f"{CORE_CURVE.name}{kind}", title, right) for kind in (".pdf", ".png")])
    for path, correct in found.items():
        sys.stdout.write(
            f"{text(str(path), 200)}: {correct.right} of {count(correct.total, 'story', 'stories')} right\n"
        )
    for learnt in dict.fromkeys(correct.learnt for correct in found.values()):
        print_alike({str(path): one.configured for path, one in found.items() if one.learnt == learnt})
    return EXIT_OK


def run_test_model_directory(options: CoreTestOptions, output: CoreOutput, screen: Console) -> int:
    """Judge a folder made by ``train core -c A B``; write ``results.json`` and the curve, and print the figures.

    Raises:
        UserError: nothing to judge, no such folder, models that cannot be read.
    """
    ensure_apart_from_project(output.folder, options.settings)
    folder = _model_folder(options.models.named or Path("models"))
    stories = read_test_stories(options, screen)
    results: dict[str, list[list[int]]] = {}
    configured: dict[str, Configured] = {}
    for run in _runs(folder):
        of_run: dict[str, list[tuple[int, int]]] = {}
        for path in sorted(run.glob(f"*{SUFFIX}")):
            config, _, percentage = path.name.removesuffix(SUFFIX).partition(PERCENTAGE)
            share = int(percentage) if re.fullmatch("[0-9]{1,9}", percentage) else 0
            correct = _judge(path, stories, options, screen)
            configured.setdefault(config, correct.configured)
            of_run.setdefault(config, []).append((share, correct.right))
        for config, scores in of_run.items():
            results.setdefault(config, []).append([right for _, right in sorted(scores)])
    write_all(output.folder, [as_json("results.json", results)])
    sizes = _sizes(folder)
    if output.plots and sizes is not None:
        with screen.step("plots", "Drawing"):
            curves = draw_curves({name: _curve(runs, sizes) for name, runs in results.items()}, CORE_CURVE)
            write_all(output.folder, [curve for curve in curves if curve.media_type == "application/pdf"])
    _print(results)
    print_alike(configured)
    screen.note(f"Results are in {output.folder}")
    return EXIT_OK


def _judge(path: Path, stories: Sequence[Story], options: CoreTestOptions, screen: Console) -> _Correct:
    with screen.step("core", f"Testing {path}"):
        nothing = Project(options.project, "")  # a named model needs no project
        with_model = options._replace(models=replace(options.models, named=path))
        single = judge_stories(stories, with_model, nothing, screen)
    if single.stopped is not None:
        end_with(single.stopped)
    run, core = cast("RunInProgress", single.run), cast("Core", single.report.core)
    counted = [story for story in core.stories if not story.duplicate]
    right = sum(story.passed for story in counted)
    ensemble = cast("Ensemble", run.engines.ensemble)
    major = int(ensemble.domain.domain.rasa)
    return _Correct(right, len(counted), _configured(ensemble), _learnt(ensemble), major)


def _configured(ensemble: Ensemble) -> Configured:
    return policies_of(Config(policies=ensemble.components), rasa=ensemble.domain.domain.rasa)


def _learnt(ensemble: Ensemble) -> str:
    return json.dumps([policy.to_json() for policy in ensemble.policies], sort_keys=True)


def _model_folder(path: Path) -> Path:
    folder = path.parent if path.is_file() else path
    if not folder.is_dir() or not _runs(folder):
        raise UserError(
            f"'{folder}' holds no models to compare",
            hint="Train some: turncheck train core --config A.yml B.yml --out FOLDER.",
        )
    return folder


def _runs(folder: Path) -> list[Path]:
    runs = ((_RUN_FOLDER.fullmatch(path.name), path) for path in folder.iterdir() if path.is_dir())
    return [path for _, path in sorted((int(match[1]), path) for match, path in runs if match)]


def _sizes(folder: Path) -> list[int] | None:
    try:
        sizes = json.loads(read_regular(folder / NUMBER_OF_STORIES, most=_MOST_OF_SIZES))
    except (OSError, ValueError, RecursionError):
        return None
    return sizes if isinstance(sizes, list) and all(isinstance(size, int) for size in sizes) else None


def _curve(runs: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[CurvePoint]:
    return [CurvePoint(size, *_spread(scores)) for size, scores in zip(sizes, zip(*runs, strict=False), strict=False)]


def _spread(scores: Sequence[int]) -> tuple[float, float]:
    mean = fsum(scores) / len(scores)
    if len(scores) < _ENOUGH_POINTS:
        return mean, 0.0
    return mean, sqrt(fsum((score - mean) ** 2 for score in scores) / len(scores))


def print_alike(configured: Mapping[str, Configured]) -> None:
    for line in alike_in_words(configured, "policies"):
        sys.stdout.write(plain(f"{line}\n"))


def _print(results: Mapping[str, Any]) -> None:
    for name, runs in sorted(results.items()):
        for number, scores in enumerate(runs, 1):
            shown = ", ".join(str(score) for score in scores)
            sys.stdout.write(f"{text(name)}, run {number}: {shown} stories right\n")
