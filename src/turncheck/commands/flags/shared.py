"""The flags that several commands share: each defined once, and how their values are read."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.settings.bounds import MOST_FOLDS, MOST_REPETITIONS, MOST_SEED, MOST_WORKERS

if TYPE_CHECKING:
    from turncheck.process.screen import Console
    from turncheck.settings.setting import Option

_MOST_SHOWN = 80
"""Maximum number of characters of a wrong value in a message."""
Group = argparse._ArgumentGroup | argparse.ArgumentParser  # noqa: SLF001 - argparse names its groups nowhere else


def existing_folder(text: str) -> Path:
    """Read the path of an existing folder."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"no such folder: {text}")
    return Path(text)


def output_path(text: str) -> Path:
    """Read where to write to."""
    if not text.strip():
        raise argparse.ArgumentTypeError("expected a path (the current folder is '.')")
    return Path(text)


class ProjectAction(argparse.Action):
    """Takes an assistant's folder, or the export of a Kore.ai assistant: then its folder, and it as the only data."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse's signature
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """Store what the flag names."""
        path = Path(values)
        if path.is_file():
            _ensure_export(path)
            namespace.data = [path]
            path = path.parent
        elif not path.is_dir():
            raise argparse.ArgumentError(self, f"no such folder: {values}")
        setattr(namespace, self.dest, path)


def _ensure_export(path: Path) -> None:
    """Refuse a file that is named as a project but is not one.

    Raises:
        UserError: says so.
    """
    from turncheck.project.export import ensure_export  # not for --help

    ensure_export(path)


def whole_number(text: str) -> int:
    """Read a whole number."""
    return _whole(text, None)


def not_negative(text: str) -> int:
    """Read a whole number of at least 0."""
    return _whole(text, 0)


def at_least_one(text: str) -> int:
    """Read a whole number of at least 1."""
    return _whole(text, 1)


def repetitions(text: str) -> int:
    """Read how often something is to be done."""
    return _whole(text, 1, MOST_REPETITIONS)


def folds(text: str) -> int:
    """Read the number of folds."""
    return _whole(text, 2, MOST_FOLDS)


def seed(text: str) -> int:
    """Read the seed of everything random."""
    return _whole(text, 0, MOST_SEED)


def workers(text: str) -> int:
    """Read the number of workers."""
    return _whole(text, 0, MOST_WORKERS)


def share(text: str) -> float:
    """Read a number between 0 and 1, exclusive."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a number between 0 and 1, not '{text[:_MOST_SHOWN]}'")
    return value


def _whole(text: str, least: int | None, most: int | None = None) -> int:
    wanted = "expected a whole number" + (f", at least {least}" if least is not None else "")
    wanted += f" and at most {most}" if most is not None else ""
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text) or not _is_within(int(text), least, most):
        raise argparse.ArgumentTypeError(f"{wanted}, not '{text[:_MOST_SHOWN]}'")
    return int(text)


def _is_within(number: int, least: int | None, most: int | None) -> bool:
    return (least is None or number >= least) and (most is None or number <= most)


def add_project(group: Group) -> None:
    """Add the assistant's folder."""
    group.add_argument(
        "--project",
        action=ProjectAction,
        default=Path(),
        metavar="DIR",
        help="the assistant's folder, or a Kore.ai export (default: .)",
    )
    group.add_argument(
        "--language", metavar="CODE", help="language of a Kore.ai assistant to read (default: its own default)"
    )


def add_domain(group: Group) -> None:
    """Add the domain."""
    group.add_argument("-d", "--domain", type=Path, metavar="PATH", help="the domain (default: domain.yml)")


def add_config(group: Group, *, several: str | None = None) -> None:
    """Add the configuration; ``several`` says what several are for."""
    words = "the configuration (default: config.yml)"
    if several is None:
        group.add_argument("-c", "--config", type=Path, metavar="PATH", help=words)
    else:
        add_paths(group, "-c", "--config", words=f"{words}; {several}")


def add_paths(group: Group, *names: str, words: str) -> None:
    """Add a flag that takes several paths, in one go and repeated."""
    group.add_argument(*names, type=Path, nargs="+", action="extend", metavar="PATH", help=words)


def add_model(group: Group) -> None:
    """Add the model."""
    group.add_argument("-m", "--model", type=Path, metavar="PATH", help="a trained model, or a folder of them")


def add_seed(group: Group, of_what: str) -> None:
    """Add the seed."""
    group.add_argument("--seed", type=seed, default=42, metavar="N", help=f"seed of {of_what} (default: 42)")


def add_training_files(group: Group) -> None:
    """Add the files that an assistant is trained on."""
    add_domain(group)
    add_config(group)
    add_paths(group, "--data", words="training data, files or folders (default: data)")


def add_workers(group: Group) -> None:
    """Add the number of processes."""
    words = "number of parallel processes (default: 0, one per processor)"
    group.add_argument("--workers", type=workers, default=0, metavar="N", help=words)


def add_augmentation(group: Group) -> None:
    """Add the augmentation factor."""
    words = "augmentation factor: how many stories are glued together (default: 50)"
    group.add_argument("--augmentation", type=not_negative, default=50, metavar="N", help=words)


def add_model_output(group: Group) -> None:
    """Add the output folder of models."""
    group.add_argument(
        "--out", type=output_path, default=Path("models"), metavar="DIR", help="output folder (default: models)"
    )
    group.add_argument("--fixed-model-name", metavar="NAME", help="name of the model (default: one with the time)")
    group.add_argument("--force", action="store_true", help=argparse.SUPPRESS)


def add_json(group: Group) -> None:
    """Add the file for the report."""
    group.add_argument("--json", type=Path, metavar="FILE", help="also write the report to this file")


def add_out(group: Group, *files: str) -> None:
    """Add the output folder of these files, which are only written if it is named."""
    words = f"write {' and '.join((', '.join(files[:-1]), files[-1]))} here"
    group.add_argument("--out", type=output_path, metavar="DIR", help=words)


def add_rasa_files(group: Group) -> None:
    """Add the Rasa version whose files are written."""
    group.add_argument(
        "--rasa-files",
        type=int,
        choices=(0, 1, 2, 3),
        metavar="VERSION",
        help="write result files as this major version of Rasa does, 0 to 3 (default: the project's)",
    )


def add_channel(group: Group) -> None:
    """Add the channel of a conversation."""
    words = "channel to choose responses for (default: cmdline)"
    group.add_argument("--channel", default="cmdline", metavar="NAME", help=words)


def add_verbosity(group: Group) -> None:
    """Add the verbosity flags of every command; ``-vv`` and ``--debug`` as in Rasa."""
    group.add_argument("-q", "--quiet", action="store_true", help="print only results and errors")
    group.add_argument("-v", "--verbose", action="count", default=0, help="print more")
    group.add_argument(
        "-vv", "--debug", action="store_const", const=2, dest="verbose", help="print everything, for debugging"
    )
    group.add_argument(
        "--logging-config-file",
        action=_ConfigureLogs,
        type=Path,
        metavar="FILE",
        help="also log what is printed as this file says (YAML of Python's logging.config, as in Rasa)",
    )


class _ConfigureLogs(argparse.Action):
    """Configures the logs at once: whatever follows is logged."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse's signature
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """Configure them by the file."""
        from turncheck.process.screen import configure_logs  # not for --help

        configure_logs(values)
        setattr(namespace, self.dest, values)


def screen_of(namespace: argparse.Namespace) -> Console:
    """Return the screen that the flags of :func:`add_verbosity` ask for."""
    from turncheck.process.screen import Console  # not for --help

    return Console(quiet=namespace.quiet, verbose=bool(namespace.verbose))


SHORT_FORMS = {"config": "-c", "domain": "-d", "nlu": "-u", "stories": "-s", "model": "-m"}
"""As in Rasa."""


def add_setting(group: argparse._ArgumentGroup | argparse.ArgumentParser, name: str, option: Option) -> None:
    """Add the flag of one setting. Unset is ``None``: the settings have the defaults.

    ``project`` is one folder here: only ``run`` takes several, with a flag of its own.
    """
    from turncheck.settings.declared import default_of

    names = [*([SHORT_FORMS[name]] if name in SHORT_FORMS else []), f"--{name}"]
    default = default_of(name)
    text = "the assistant's folder" if name == "project" else option.help
    if default not in (None, (), False, 0, "") and "default:" not in text:
        text += f" (default: {', '.join(default) if isinstance(default, tuple) else str(default).lower()})"
    text = text.replace("%", "%%")
    if option.switch and option.metavar is not None:  # a switch that may have a value
        group.add_argument(*names, nargs="?", const="true", default=None, metavar=option.metavar, help=text)
        group.add_argument(
            f"--no-{name}",
            dest=name.replace("-", "_"),
            action="store_const",
            const="false",
            help="no sentence vectors (the default)",
        )
    elif option.switch:
        group.add_argument(*names, action=argparse.BooleanOptionalAction, default=None, help=text)
    elif option.many:
        group.add_argument(*names, nargs="+", action="extend", metavar=option.metavar or "WORD", help=text)
    else:
        metavar = option.metavar or ("{" + ",".join(option.choices) + "}" if option.choices else None)
        group.add_argument(*names, metavar=metavar, help=text)


def add_custom_code_flag(parser: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add ``--allow-custom-code`` to a command that trains without writing a model: a model holds no code."""
    parser.add_argument(
        "--allow-custom-code",
        action="store_true",
        help="load components from the project's own modules; this runs its code",
    )


def add_vectors_flag(parser: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add ``--vectors`` to a command that trains."""
    parser.add_argument(
        "--vectors",
        nargs="?",
        const=True,
        default=False,
        metavar="FOLDER",
        help="use sentence vectors beside n-grams, from the installed package (English) or from this"
        " sentence-transformers"
        " folder; needs turncheck[vectors]",
    )
