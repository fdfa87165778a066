"""``turncheck data split nlu``: the two files of a split, as Rasa writes them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.commands.flags.shared import add_project, add_verbosity, output_path, screen_of, share, whole_number
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import plain
from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from turncheck.evaluations.nlu.splits import Split
    from turncheck.process.screen import Console
    from turncheck.project.model import Response
    from turncheck.project.nlu_data import Example, NluData


def add_data_split(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``split nlu`` below ``data``."""
    words = "split data into training and test data"
    split = subparsers.add_parser("split", help=words, description=f"{words[0].upper()}{words[1:]}.")
    kinds = split.add_subparsers(title="commands", metavar="KIND", required=True, prog=split.prog)
    parser = kinds.add_parser(
        "nlu",
        help="split NLU data, intent by intent, as Rasa does",
        description="Split NLU data, intent by intent, into training and test data: for the same seed as"
        " `rasa data split nlu` does.",
    )
    add_project(parser)
    parser.add_argument("-u", "--nlu", type=Path, metavar="PATH", help="file or folder with NLU data (default: data)")
    parser.add_argument(
        "--training-fraction",
        type=share,
        default=0.8,
        metavar="SHARE",
        help="share of the data to train on (default: 0.8)",
    )
    parser.add_argument(
        "--random-seed",
        type=whole_number,
        metavar="N",
        help="seed of the split (default: a random one, which is printed)",
    )
    parser.add_argument(
        "--out",
        type=output_path,
        default=Path("train_test_split"),
        metavar="DIR",
        help="output folder (default: train_test_split)",
    )
    add_verbosity(parser)
    parser.set_defaults(handler=_data_split_nlu)


def _data_split_nlu(namespace: argparse.Namespace) -> int:
    return run_data_split_nlu(
        namespace.project,
        namespace.nlu,
        namespace.out,
        fraction=namespace.training_fraction,
        seed=namespace.random_seed,
        screen=screen_of(namespace),
    )


_LARGEST_SEED: Final = 2**31
_READS_YAML: Final = 2
"""The first major version of Rasa that reads data in YAML."""


# --- data split nlu --------------------------------------------------------------------------------------------------


def run_data_split_nlu(
    project: Path, nlu: Path | None, out: Path, *, fraction: float, seed: int | None, screen: Console
) -> int:
    """Split NLU data into ``training_data.yml`` and ``test_data.yml`` as ``rasa data split nlu`` does.

    The responses of retrieval intents go to ``nlg_training_data.yml`` and ``nlg_test_data.yml``, which are written even
    when empty. Markdown is split into ``.md`` files as in Rasa 1, its other data into ``.json``, with responses only
    where there are some.

    Without a seed a random one is used, and printed so that the split can be repeated.

    Raises:
        UserError: the fraction is outside (0, 1), nothing can be read, a file cannot be written.
    """
    import random

    from turncheck.evaluations.nlu.splits import split_as_rasa
    from turncheck.project.candidates import DEFAULT_DATA
    from turncheck.project.reader import read_nlu, read_nlu_responses, read_project
    from turncheck.publishing.files import write_all
    from turncheck.run.folders import ensure_apart
    from turncheck.run.reading import ensure_assistant, ensure_there

    if not 0 < fraction < 1:
        raise UserError(f"--training-fraction is {fraction:g}, and must be between 0 and 1")
    path = nlu or project / DEFAULT_DATA
    ensure_apart(out, (path, project / DEFAULT_DATA))
    read = read_project(project)
    if nlu is None:
        ensure_assistant(read)
        if (refusal := read.platform.no_split) is not None:
            raise UserError(refusal.what, hint=refusal.hint)
    ensure_there("nlu", [path])
    data, findings = read_nlu([path], project)
    faults = [finding for finding in findings if finding.severity == "error"]
    if faults:
        # A half-read file would be split without mentioning the lost half.
        raise UserError(
            f"the NLU data cannot be read: {faults[0].message}",
            location=faults[0].location,
            hint=f"`turncheck data validate` lists {count(len(faults), 'fault')}.",
        )
    if not data.examples:
        raise UserError(f"there are no NLU examples at '{path}'", hint="Name NLU data with --nlu.")
    if seed is None:
        seed = random.SystemRandom().randrange(_LARGEST_SEED)
        screen.note(f"The seed of this split is {seed}: --random-seed {seed} makes it again.")
    responses = read_nlu_responses([path], project)
    split = split_as_rasa(data.examples, responses, fraction=fraction, seed=seed)
    for warning in split.warnings:
        screen.note(f"Warning: {warning}")
    write_all(out, list(_split_files(data, split, responses, read.major)))
    sys.stdout.write(
        plain(f"{count(len(split.training), 'example')} to train on and {len(split.test):,} to test with: {out}\n")
    )
    return EXIT_OK


def needed_responses(examples: Iterable[Example], responses: Mapping[str, Response]) -> list[Response]:
    """Return the responses that retrieval examples select, in the order of the examples."""
    from turncheck.evaluations.nlu.splits import response_name

    labels = (example.intent for example in examples if example.intent and "/" in example.intent)
    names = dict.fromkeys(response_name(label) for label in labels)
    return [responses[name] for name in names if name in responses]


def _split_files(data: NluData, split: Split, responses: Mapping[str, Response], major: int) -> Iterator[Rendered]:
    from msgspec.structs import replace

    from turncheck.project.folder import YAML_SUFFIXES
    from turncheck.project.formats import rasa_nlu_writer
    from turncheck.project.testfiles import MARKDOWN

    parts = {"training": split.training, "test": split.test}
    kinds = {Path(example.location.path).suffix for example in _first_of_blocks(data.examples)}
    for name, examples in parts.items():
        part, needed = replace(data, examples=examples), needed_responses(examples, responses)
        if kinds == {MARKDOWN}:
            yield Rendered(f"{name}_data.md", "text/markdown", rasa_nlu_writer.write_nlu_markdown(part))
        elif major < _READS_YAML and kinds.isdisjoint(YAML_SUFFIXES):
            yield Rendered(f"{name}_data.json", "application/json", rasa_nlu_writer.write_nlu_json(part))
        else:
            yield _yaml(f"{name}_data.yml", rasa_nlu_writer.write_nlu_yaml(part))
            yield _yaml(f"nlg_{name}_data.yml", rasa_nlu_writer.write_responses_yaml(needed))
            continue
        if needed:
            yield Rendered(f"nlg_{name}_data.md", "text/markdown", rasa_nlu_writer.write_responses_markdown(needed))


def _first_of_blocks(examples: Iterable[Example]) -> Iterable[Example]:
    """Return one example of each block: they are in one file, and finding a place takes time."""
    return {id(example.origin): example for example in examples}.values()


def _yaml(name: str, content: str) -> Rendered:
    return Rendered(name, "application/yaml", content)
