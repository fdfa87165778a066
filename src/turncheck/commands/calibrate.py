"""Several engines on the same tests: ``turncheck calibrate``.

It says how far the stand-in agrees with the team's own model; with ``--engines``, the answers side by side.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck import __version__
from turncheck.commands.flags.shared import add_setting, add_verbosity, screen_of
from turncheck.commands.import_results import import_results
from turncheck.messages.errors import EXIT_FAILED, EXIT_NOT_DONE, EXIT_OK, INTERRUPTED, UserError
from turncheck.messages.phrasing import count, nearest
from turncheck.messages.plain_text import plain
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import text
from turncheck.settings.engines import ENGINES
from turncheck.settings.sources import from_flags

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.comparison.engines import Asked
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.engines import EnginesCompared
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report
    from turncheck.report.trust import Agreement, Calibration
    from turncheck.run.inputs import Inputs
    from turncheck.settings.options import Settings

_READ: Final = ("project", "config", "domain", "data", "nlu", "stories")
_READ_BY_ENGINES: Final = ("e2e", "batch", "language", "evaluations")
_MEASURED: Final = ("seed", "workers", "vectors")
_RASA: Final = ("rasa-url", "rasa-token", "rasa-jwt", "rasa-command", "rasa-servers", "model", "allow-hosts", "env")
_KORE: Final = (
    *("kore-host", "kore-bot-id", "kore-bot-name", "kore-client-id", "kore-client-secret", "kore-version", "kore-way"),
    *("kore-timeout", "notes"),
)
_HTTP: Final = ("bot-url", "bot-callback", "bot-token", "bot-parallel")
_OF_BOTH: Final = (*_READ, *_MEASURED, *_RASA)
_OF_THE_STAND_IN: Final = ("folds", "results")
_OF_ENGINES: Final = (
    *(*_READ_BY_ENGINES, "today", "out", *_KORE, *_HTTP),
    *("plugins", "action-endpoint", "action-server", "thresholds"),
)


def add_calibrate(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``calibrate``."""
    parser = subparsers.add_parser(
        "calibrate",
        help=words,
        description="Judge the same sentences and stories with your own Rasa model and with the embedded"
        " engine, and write how far they agree into .turncheck/calibration.json, which later runs read: commit that"
        " file. With --engines: ask several engines the same test sentences, stories, end-to-end cases and batch"
        " suites, and show per test what each made of it, how far they agree, and which changed sides.",
    )
    _add_settings(parser, "input", _READ)
    _add_settings(parser, "evaluation", _MEASURED)
    _add_settings(parser, "your own Rasa", _RASA)
    stand_in = _add_settings(parser, "without --engines", ("folds",))
    stand_in.add_argument(
        "--results",
        type=Path,
        metavar="PATH",
        help="results of your Rasa from before: the folder of `rasa test --successes`, or a report.json of"
        " --engine rasa",
    )
    _add_engines(parser, "with --engines", required=False)
    add_verbosity(parser)
    parser.set_defaults(handler=_calibrate)


def add_compare_engines(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``compare-engines``, as ``calibrate --engines`` was called."""
    parser = subparsers.add_parser("compare-engines", help=words, description=f"{_NOW_CALLED} Its flags are the same.")
    _add_settings(parser, "input", _READ)
    _add_settings(parser, "evaluation", _MEASURED)
    _add_settings(parser, "engine rasa", _RASA)
    _add_engines(parser, "engines", required=True)
    add_verbosity(parser)
    parser.set_defaults(handler=_compare_engines)


_NOW_CALLED: Final = "`compare-engines` is now `calibrate --engines`; the next release no longer knows this name."


def _add_settings(parser: argparse.ArgumentParser, title: str, names: Sequence[str]) -> argparse._ArgumentGroup:
    from turncheck.settings.declared import options  # not for the commands beside this one

    group = parser.add_argument_group(title)
    for name in names:
        add_setting(group, name, options()[name])
    return group


def _add_engines(parser: argparse.ArgumentParser, title: str, *, required: bool) -> None:
    group = _add_settings(parser, title, [name for name in _OF_ENGINES if name != "thresholds"])
    group.add_argument(
        "--engines",
        nargs="+",
        action="extend",
        required=required,
        metavar="NAME",
        help="the engines: embedded, rasa, kore, kore:published, kore:in-development, http; the first one that answers"
        " is what the others are compared with",
    )
    group.add_argument(
        "--thresholds",
        nargs="+",
        action="extend",
        metavar="RULE",
        help="what must hold: 'agreement >= 0.9', 'agreement[kore:published] >= 0.95', 'right[rasa] >= 0.8'",
    )


def _calibrate(namespace: argparse.Namespace) -> int:
    if namespace.engines is not None:
        _refuse(namespace, _OF_THE_STAND_IN, "compares your own Rasa with the embedded engine: leave --engines out")
        return _ask_engines(namespace)
    _refuse(namespace, _OF_ENGINES, "is for several engines: name them with --engines")
    return run_calibrate(_flags(namespace, (*_OF_BOTH, "folds")), namespace.results, screen_of(namespace))


def _compare_engines(namespace: argparse.Namespace) -> int:
    screen_of(namespace).alarm(_NOW_CALLED)
    return _ask_engines(namespace)


def _ask_engines(namespace: argparse.Namespace) -> int:
    flags = _flags(namespace, (*_OF_BOTH, *(name for name in _OF_ENGINES if name != "thresholds")))
    return run_compare_engines(flags, namespace.engines, namespace.thresholds or (), screen_of(namespace))


def _flags(namespace: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(namespace, name.replace("-", "_")) for name in names}


def _refuse(namespace: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Refuse flags of the other use of the command: they would be ignored."""
    given = [name for name, value in _flags(namespace, names).items() if value is not None]
    if given:
        raise UserError(f"--{given[0]} {why}")


def run_compare_engines(
    flags: Mapping[str, Any], engines: Sequence[str], thresholds: Sequence[str], screen: Console
) -> int:
    """Ask each engine all tests, and write what they made of them.

    An engine that cannot be asked is a column that says so.

    Args:
        flags: settings by name with dashes; ``None`` is unset.
        engines: their names, with a variant after a colon: ``kore:published``.
        thresholds: the gates.
        screen: where progress is shown.

    Returns:
        0 if the gates hold, 1 if one does not, 2 if nothing could be compared, or a gate could not be judged.

    Raises:
        UserError: an engine or a gate that there is not, no tests, a file that cannot be read or written.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    import msgspec

    from turncheck.comparison.engines import Asked, compare_engines, read_engine_rules
    from turncheck.engines.choice import settings_of_engine
    from turncheck.publishing.files import write_own, written_line
    from turncheck.render.engines import JSON_NAME, engines_csv, engines_text, render_engines_page
    from turncheck.report.codec import json_of
    from turncheck.run.prepare import prepare

    chosen = _chosen(engines)
    rules = read_engine_rules(thresholds, engines)
    inputs = prepare(from_flags(flags), os.environ).inputs
    evaluations = _evaluations(inputs.settings)
    asked: list[Asked] = []
    interrupted = False
    for name, (engine, more) in zip(engines, chosen, strict=True):
        if interrupted:
            asked.append(Asked(name, problem="not asked: the comparison was interrupted"))
            continue
        screen.note(f"{name}:")
        settings = settings_of_engine(inputs.settings, engine, evaluations=evaluations, **more)
        one, interrupted = _asked(name, replace(inputs, settings=settings), screen)
        asked.append(one)
    if all(one.report is None for one in asked):
        problems = "\n".join(f"{one.name}: {one.problem}" for one in asked)
        raise UserError(f"no engine could be asked:\n{problems}")
    compared = compare_engines(asked, rules)
    sys.stdout.write(plain(engines_text(compared, folder=inputs.settings.project)))
    out = Path(inputs.settings.out)
    document = Rendered(JSON_NAME, "application/json", msgspec.json.format(json_of(compared), indent=1) + b"\n")
    screen.note(written_line(out, write_own(out, [document, engines_csv(compared), render_engines_page(compared)])))
    if interrupted:
        raise KeyboardInterrupt
    return _exit_code(compared)


def _chosen(names: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Return the engine of each name, and the setting that its variant stands for.

    Raises:
        UserError: there is no such engine or variant, fewer than two, or one twice.
    """
    if len(names) < 2 or len(set(names)) < len(names):
        raise UserError(
            "name at least two engines, each once", hint="--engines embedded rasa kore:published kore:in-development"
        )
    found = []
    for name in names:
        engine, _, variant = name.partition(":")
        if engine not in ENGINES:
            close = nearest(engine, ENGINES)
            known = f"Did you mean '{close[0]}'?" if close else f"Known are {', '.join(ENGINES)}."
            raise UserError(f"there is no engine '{engine[:80]}'", hint=known)
        setting, values = ENGINES[engine].variants or ("", ())
        if variant and variant not in values:
            known = f"It has {', '.join(f'{engine}:{value}' for value in values)}." if values else f"Write {engine}."
            raise UserError(f"the engine '{engine}' has no '{variant[:80]}'", hint=known)
        found.append((engine, {setting: variant} if variant else {}))
    return found


def _evaluations(settings: Settings) -> tuple[Evaluation, ...]:
    """Return the evaluations that there are tests for, of those that are asked for.

    Training sentences are none: each engine was trained on them, or on others.

    Raises:
        UserError: there are no tests, or some of them cannot be read: the others alone could agree.
    """
    from turncheck.run.reading import ensure_tests_read, read_configured, read_tests

    read_configured(settings)
    tests = read_tests(settings)
    wanted = settings.evaluations or ("nlu", "core", "e2e", "batch")
    if "nlu" in wanted:
        ensure_tests_read("the test sentences", tests.nlu_findings)
    if "core" in wanted:
        ensure_tests_read("the test stories", tests.story_findings)
    there: dict[Evaluation, object] = {
        "nlu": tests.nlu and tests.nlu.examples,
        "core": tests.stories,
        "e2e": tests.e2e,
        "batch": tests.batch,
    }
    found = tuple(name for name, has in there.items() if has and name in wanted)
    if not found:
        raise UserError(
            "there are no tests to ask the engines",
            hint="Name test sentences with --nlu, batch suites with --batch, or stories with --stories.",
        )
    return found


def _asked(name: str, inputs: Inputs, screen: Console) -> tuple[Asked, bool]:
    """Ask an engine, and return whether somebody interrupted it, too."""
    from turncheck.comparison.engines import Asked
    from turncheck.run.evaluated_project import evaluate_project

    begin = screen.clock()
    try:
        report = evaluate_project(inputs, screen).report
    except UserError as error:
        screen.alarm(f"{name}: {error}")
        return Asked(name, problem=error.message, seconds=screen.clock() - begin), False
    except KeyboardInterrupt:
        return Asked(name, problem="interrupted", seconds=screen.clock() - begin), True
    wanted = inputs.settings.evaluations
    faults = [skipped.reason for skipped in report.skipped if skipped.fault and skipped.evaluation in wanted]
    problem = report.stopped or next(iter(faults), "")
    return Asked(name, report, problem.partition("\n")[0], screen.clock() - begin), report.stopped == INTERRUPTED


def _exit_code(compared: EnginesCompared) -> int:
    outcomes = {gate.outcome for gate in compared.gates}
    if "failed" in outcomes:
        return EXIT_FAILED
    return EXIT_NOT_DONE if compared.agreement is None or "not judged" in outcomes else EXIT_OK


_MOST_NAMED: Final = 10


def run_calibrate(flags: Mapping[str, Any], results: Path | None, screen: Console) -> int:
    """Compare the two, write the file into the project, and summarize it.

    Args:
        flags: settings by name with dashes; ``None`` is unset.
        results: what the team's model judged before: the folder of ``rasa test``, or a report.
        screen: where progress is shown.

    Raises:
        UserError: neither a model nor results were named; one of the two cannot judge anything; they have nothing in
        common.
    """
    import msgspec

    from turncheck.project.calibration import CALIBRATION_FILE
    from turncheck.publishing.files import write_file
    from turncheck.report.codec import json_of
    from turncheck.run.prepare import prepare
    from turncheck.run.reading import read_configured

    inputs = prepare(from_flags(flags), os.environ).inputs
    settings = inputs.settings
    named = [name for name in ("rasa-url", "rasa-command", "model") if getattr(settings, name.replace("-", "_"))]
    if results is None and not named:
        raise UserError(
            "there is nothing to compare the stand-in with",
            hint="Name your Rasa with --rasa-url or --rasa-command, or its earlier results with --results.",
        )
    if results is not None and named:
        raise UserError(f"--results and --{named[0]} name two different models", hint="Give one of the two.")
    theirs = _theirs(inputs, screen) if results is None else _read(results, settings)
    project = read_configured(settings)
    in_folds = results is not None and _is_of_folds(theirs, settings, project)
    ours = _judged(
        replace(inputs, settings=_of_engine(settings, "embedded")), screen, "the stand-in", in_folds=in_folds
    )
    calibration = calibration_of(ours, theirs, project, _digest_of_vectors(settings))
    path = Path(settings.project) / CALIBRATION_FILE
    write_file(path, msgspec.json.format(json_of(calibration), indent=1) + b"\n")
    sys.stdout.writelines(plain(f"{line}\n") for line in _lines(calibration, ours, theirs, in_folds=in_folds))
    sys.stdout.write(plain(f"Written to {path}: commit it, and later runs read it.\n"))
    return EXIT_OK


def calibration_of(ours: Report, theirs: Report, project: Project, vectors: str) -> Calibration:
    """Compare two reports on the same tests.

    Args:
        ours: the stand-in's.
        theirs: that of the team's model.
        project: what both were trained on.
        vectors: the SHA-256 of the stand-in's sentence vectors; empty without any.

    Raises:
        UserError: they have no sentence and no story in common.
    """
    from turncheck.comparison.engines import agreements_of, compared_sentences, confidence_map
    from turncheck.project.calibration import components_of, digest_of, intents_of
    from turncheck.report.trust import Calibration

    agreements, pairs = agreements_of(ours, theirs), compared_sentences(ours, theirs)
    if agreements.sentences is None and agreements.stories is None:
        raise UserError(
            f"your Rasa and the stand-in judged nothing in common ({_why_nothing(ours, theirs)})",
            hint="Name test sentences with --nlu or test stories with --stories, the same for both.",
        )
    engine = theirs.engine
    known = engine is not None and engine.version != "unknown"
    return Calibration(
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        engine=f"rasa {engine.version}" if engine and known else "rasa",
        pipeline=digest_of(project.config),
        agreements=agreements,
        assistant=intents_of(project),
        components=components_of(project.config),
        vectors=vectors,
        confidences=confidence_map(pairs, ours.nlu),
    )


def _why_nothing(ours: Report, theirs: Report) -> str:
    judged = [
        f"{who}: {count(len(report.nlu.predictions) if report.nlu else 0, 'sentence')}"
        for who, report in (("your Rasa", theirs), ("the stand-in", ours))
    ]
    reasons = [
        f"{skipped.evaluation} {skipped.reason}" for skipped in theirs.skipped if skipped.evaluation in {"nlu", "core"}
    ]
    return "; ".join([*judged, *reasons])


def _theirs(inputs: Inputs, screen: Console) -> Report:
    return _judged(replace(inputs, settings=_of_engine(inputs.settings, "rasa")), screen, "your Rasa")


def _of_engine(settings: Settings, engine: str) -> Settings:
    from turncheck.engines.choice import settings_of_engine

    return settings_of_engine(settings, engine, evaluations=("nlu", "core"))


def _is_of_folds(theirs: Report, settings: Settings, project: Project) -> bool:
    """Whether results are those of a cross-validation: of training sentences, rather than of test sentences."""
    from turncheck.run.reading import read_tests

    judged = {prediction.text for prediction in theirs.nlu.predictions} if theirs.nlu else set()
    tests = read_tests(settings).nlu
    in_tests = judged.intersection(example.text for example in (tests.examples if tests else ()))
    return len(judged.intersection(example.text for example in project.nlu.examples)) > len(in_tests)


def _digest_of_vectors(settings: Settings) -> str:
    if not settings.vectors:
        return ""
    from turncheck.engines.embedded.nlu.sentence_vectors import named_vectors  # imports NumPy

    vectors = named_vectors(settings.vectors)
    return vectors.digest if vectors else ""


def _judged(inputs: Inputs, screen: Console, who: str, *, in_folds: bool = False) -> Report:
    """Have an engine judge the project's test sentences and stories; ``in_folds``: cross-validate its own sentences.

    Raises:
        UserError: it could not finish.
    """
    from turncheck.run.evaluated_project import evaluate_project

    screen.note(f"{who[:1].upper()}{who[1:]}:")
    report = evaluate_project(inputs, screen, in_folds=in_folds).report
    if report.stopped is not None:
        raise UserError(f"{who} did not judge everything: {report.stopped}", hint="Nothing was written.")
    faults = [skipped for skipped in report.skipped if skipped.fault]
    if faults:
        raise UserError(f"{faults[0].evaluation} could not be run: {faults[0].reason}", location=faults[0].location)
    return report


def _read(results: Path, settings: Settings) -> Report:
    """Read what the team's model judged before.

    Raises:
        UserError: there are no results, or they do not list all sentences.
    """
    from turncheck.run.report_of import read_report

    if results.is_dir() and not (results / "report.json").is_file():
        nlu, stories = [Path(settings.nlu)] if settings.nlu else [], [Path(path) for path in settings.stories]
        report = import_results(results, Path(settings.project), nlu=nlu, stories=stories)
    else:
        path = results / "report.json" if results.is_dir() else results
        report = read_report(path)
        if report.engine is None or report.engine.name != "rasa":
            name = report.engine.name if report.engine else "no engine"
            raise UserError(f"{path} is a report of {name}, not of your Rasa", hint="Write one with --engine rasa.")
    if report.nlu is not None and report.nlu.unlisted:
        raise UserError(
            f"{results} lists {len(report.nlu.predictions):,} of {count(report.nlu.examples, 'sentence')}",
            hint="Write all of them: rasa test nlu --successes.",
        )
    return report


# --- what is said of it ----------------------------------------------------------------------------------------------


def _lines(calibration: Calibration, ours: Report, theirs: Report, *, in_folds: bool) -> Iterator[str]:
    from turncheck.project.calibration import CALIBRATION_FILE
    from turncheck.render.trust import trust_line
    from turncheck.report.trust import Trust

    agreements = calibration.agreements
    trust = Trust(path=CALIBRATION_FILE, date=calibration.date, engine=calibration.engine, agreements=agreements)
    yield trust_line(trust)
    if agreements.sentences is not None:
        judged = len(theirs.nlu.predictions) if theirs.nlu else 0
        compared = f"{agreements.sentences.theirs:,} of the {count(judged, 'sentence')}"
        yield f"  {compared} that your Rasa judged were compared."
    if in_folds:
        yield "  They are training sentences: both are taken as cross-validated."
    if ours.nlu is not None and ours.nlu.mode == "held-out" and ours.nlu.on_training_sentences:
        number = count(ours.nlu.on_training_sentences, "sentence")
        yield f"  The stand-in was trained on {number} of them, which makes the agreement optimistic."
    for what, parts in (("intents", agreements.intents), ("entities", agreements.entity_types)):
        yield from _lowest(what, parts)
    if calibration.confidences is None:
        yield "  Too few sentences to compare confidences: the fallback uses the stand-in's own."
    elif calibration.confidences.fallbacks is not None:
        yield f"  Your Rasa falls back on {_percent(calibration.confidences.fallbacks, 1)} of the sentences."


def _lowest(what: str, parts: Mapping[str, Agreement]) -> Iterator[str]:
    from turncheck.report.trust import LEAST_AGREEMENT

    low = [
        (agreement.share or 0.0, name) for name, agreement in parts.items() if agreement.too_low and not agreement.few
    ]
    if not low:
        return
    shown = ", ".join(f"{text(name)} {_percent(share)}" for share, name in sorted(low)[:_MOST_NAMED])
    more = f" and {len(low) - _MOST_NAMED} more" if len(low) > _MOST_NAMED else ""
    yield f"  Below {_percent(LEAST_AGREEMENT)}, so changes there get no verdict: {what} {shown}{more}"


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"
