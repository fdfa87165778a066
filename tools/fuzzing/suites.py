"""Mutated batch suites, the platform's results of them, and logs: each is read and, if possible, written again."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from tools.fuzzing.mutations import mutate
from tools.fuzzing.project_files import ORACLES
from tools.fuzzing.trial import Trial

from turncheck.evaluations.batch.judging import flatten, how_it_fits
from turncheck.messages.errors import UserError
from turncheck.platforms.kore.imported import import_batch_csv
from turncheck.project.batch.reader import HowToRead, decode, read_suites
from turncheck.project.batch.suggestions import examples_of, successful_utterances
from turncheck.project.batch.writer import write_suite
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml
from turncheck.project.nlu_data import NluData
from turncheck.yaml_tree.json_tree import parse_json

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

_MOST_BYTES = 20_000
_RESULTS = (
    b'"Bot Name:","Tea"\n"Notes:","one\ntwo"\n\n"Utterance","ExpectedIntent","MatchedIntent","Result Type",'
    b'"Entity Name","Expected EntityValue","Matched EntityValue","Entity Result"\n'
    b'"to Oslo","A|B","A","True Positive","City","Oslo","none","FALSE"\n'
    b'"so urgent","trait: A","trait: A||B","","","","",""\n'
)
_LOG = b'[{"utterance": "buy tea", "intent": "Order Tea", "completed": true}]'


def recorded() -> list[tuple[str, bytes]]:
    """All recorded suites, by name, and one of each other kind."""
    found = [
        (path.name, path.read_bytes())
        for oracle in ORACLES
        for path in sorted((oracle / "kore" / "suites").glob("*"))
        if path.name != "expected.json" and path.stat().st_size < _MOST_BYTES
    ]
    return [*found, ("results.csv", _RESULTS), ("log.json", _LOG)]


def read(place: Path, name: str, content: bytes) -> str:
    """Read a file under every kind of name; raises whatever should not be raised."""
    path = place / name
    path.write_bytes(content)
    shown = ""
    suites = read_suites(place, [path], HowToRead(strict=len(content) % 2 == 0))
    shown += "".join(f"{finding.location}: {finding.message} {finding.hint}" for finding in suites.findings)
    for suite in suites.suites:
        for suffix in (".json", ".csv"):
            try:
                shown += write_suite(suite.cases, suffix)
            except UserError as error:
                shown += str(error)
        shown += write_nlu_yaml(NluData(tuple(examples_of(suite.cases)[0])))
        for case in suite.cases:
            for entity in case.entities:
                shown += f"{how_it_fits(entity.values[0], case.text)}"
    source, _ = decode(name, content)
    if source is None:
        return shown
    for reading in (import_batch_csv, _log):
        try:
            shown += str(reading(name, source.file_text))
        except UserError as error:
            shown += str(error)
    data: Any = getattr(parse_json(source).root, "data", None)
    return f"{shown}{flatten(data)}"


def _log(name: str, text: str) -> str:
    from turncheck.yaml_tree.source import Source

    return json.dumps([case.text for case in successful_utterances(Source(name, text)).cases])


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield a mutated file, again and again."""
    pool = recorded()
    contents = [content for _, content in pool]
    while True:
        name, content = chance.choice(pool)
        spoilt = mutate(content, contents, chance)
        yield Trial(partial(read, place, name, spoilt), partial(_keep, name, spoilt))


def _keep(name: str, content: bytes, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
