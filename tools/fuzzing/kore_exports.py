"""Exports of Kore.ai assistants, spoiled: values of another type, broken text, damaged zips. Some are trained on."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.fuzzing.mutations import change_value, mutate
from tools.fuzzing.trial import PLANTED, Trial

from turncheck.commands.validate import FORMATS, Request, run_data_validate
from turncheck.messages.errors import UserError
from turncheck.platforms.kore.stand_in import KoreNluTrainer
from turncheck.project.export import ensure_export
from turncheck.project.reader import read_project
from turncheck.render.phrases import engine_lines

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

EXPORTS = Path(__file__).parents[2] / "tests" / "oracle" / "kore" / "exports"
_SECRET = "NEVER-SHOW"  # noqa: S105 - what the recorded exports have in place of one
_SENTENCES = ("I want two bags of green tea", "", "renew it right now", "/greet", "~yes", "9" * 200)


@cache
def exports() -> tuple[Any, ...]:
    """The recorded exports, with a planted secret where real ones have theirs."""
    paths = sorted(EXPORTS.glob("*/botDefinition.json"))
    return tuple(json.loads(path.read_text(encoding="utf-8").replace(_SECRET, PLANTED)) for path in paths)


def spoiled(chance: random.Random) -> tuple[str, bytes]:
    """The name and the bytes of a file."""
    document = chance.choice(exports())
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        document = change_value(document, chance)
    if chance.random() < 0.1:
        document = {chance.choice(("app", "bot", "botDefinition", "x")): document}
    try:
        text = json.dumps(document, indent=chance.choice((None, 4)), ensure_ascii=chance.random() < 0.5)
    except (RecursionError, ValueError):
        text = "[" * 3000
    content = text.encode("utf-8", "surrogatepass" if chance.random() < 0.1 else "replace")
    if chance.random() < 0.3:  # which may put any line anywhere, also one with a secret
        content = mutate(content.replace(PLANTED.encode(), b"x"), [content.replace(PLANTED.encode(), b"x")], chance)
    if chance.random() > 0.2:
        return chance.choice(("botDefinition.json", "appDefinition.json", "bot.json")), content
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(chance.choice(("botDefinition.json", "a/b/appDefinition.json", "../x")), content)
    damaged = bytearray(packed.getvalue())
    for _ in range(chance.choice((0, 1, 3))):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return "bot.zip", bytes(damaged)


def check(folder: Path, path: Path, chance: random.Random) -> str:
    """Read and check it, and sometimes train on it; raises whatever should not be raised."""
    shown = io.StringIO()
    language = chance.choice((None, None, None, "de", "xx"))
    data = [path] if chance.random() < 0.7 else None
    try:
        ensure_export(path)
        request = Request(project=folder, data=data, strict=chance.random() < 0.5, language=language)
        for output_format in FORMATS if chance.random() < 0.1 else ("json",):
            run_data_validate(request, output_format=output_format, output=shown)
        if chance.random() < 0.05:
            project = read_project(folder, data=data, language=language)
            if project.native is not None:
                engine = KoreNluTrainer().fit(project)
                shown.write(json.dumps(engine.model_parse(_SENTENCES)))
                shown.writelines(engine_lines(engine.info))
    except UserError as error:
        shown.write(str(error))
    return shown.getvalue()


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield spoiled exports, each in a folder of its own below ``place`` while it is tried."""
    folder = place / "bot"
    folder.mkdir(exist_ok=True)
    while True:
        for old in folder.iterdir():
            old.unlink()
        name, content = spoiled(chance)
        path = folder / name
        path.write_bytes(content)

        def keep(kept: Path, content: bytes = content, name: str = name) -> None:
            kept.mkdir(parents=True, exist_ok=True)
            (kept / name).write_bytes(content)

        yield Trial(lambda path=path: check(folder, path, chance), keep)  # type: ignore[misc]
