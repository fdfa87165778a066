"""A pipe, an endless device or eight sparse gigabytes in the place of a file that a command reads: words, and soon."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from fewer_sentences import keep_sentences
from in_process import turncheck

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "pizzeria"
_SECONDS: Final = 60
_MOST_MEMORY: Final = 6 << 30


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 8 << 30)


KINDS: Final[dict[str, Callable[[Path], object]]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "sparse": _sparse,
}
_VALIDATE: Final = ("run", "--quiet", "--evaluations", "validate")
_NO_PLOT: Final = "--no-plot"
READ: Final[list[tuple[str, ...]]] = [
    *((file, *_VALIDATE) for file in ("config.yml", "domain.yml", "data/nlu.yml", "data/more.md", "data/more.json")),
    *((file, *_VALIDATE) for file in ("endpoints.yml", "credentials.yml", "turncheck.yml", "tests/test_more.yml")),
    *(
        (file, *_VALIDATE)
        for file in ("tests/suite.json", "batch/more.csv", "actions/actions.py", "botDefinition.json")
    ),
    (".turncheck/calibration.json", "run", "--quiet", "--evaluations", "nlu"),
    ("results/report.json", *_VALIDATE),
    ("results/report.html", *_VALIDATE),
    ("r.json", *_VALIDATE, "--baseline", "r.json"),
    ("x.zip", "run", "x.zip"),
    ("m.tar.gz", "parse", "-m", "m.tar.gz", "hi"),
    ("models/m.tar.gz", "parse", "hi"),
    ("m.tar.gz", "test", "nlu", "-m", "m.tar.gz", _NO_PLOT),
    ("m.tar.gz", "test", "core", "-m", "m.tar.gz", _NO_PLOT),
    ("x.yml", "test", "nlu", "-u", "x.yml", _NO_PLOT),
    ("x.yml", "test", "core", "-s", "x.yml", _NO_PLOT),
    ("x.yml", "test", "core", "--endpoints", "x.yml", _NO_PLOT),
    ("x.yml", "test", "e2e", "x.yml"),
    ("x.json", "test", "batch", "x.json"),
    ("x.yml", "test", "robustness", "-u", "x.yml"),
    ("x.yml", "test", "strength", "-s", "x.yml"),
    ("x.yml", "suggest", "--e2e", "x.yml"),
    ("x.yml", "train", "-c", "x.yml"),
    ("x.yml", "train", "-d", "x.yml"),
    ("x.yml", "train", "nlu", "-u", "x.yml"),
    ("x.yml", "data", "validate", "--data", "x.yml"),
    ("x.yml", "data", "validate", "-c", "x.yml"),
    ("x.yml", "data", "split", "nlu", "-u", "x.yml"),
    ("x.md", "data", "convert", "nlu", "x.md", "--out", "o"),
    ("x.md", "data", "convert", "core", "x.md", "--out", "o"),
    ("x.yml", "data", "convert", "domain", "x.yml", "--out", "o"),
    ("x.csv", "data", "convert", "batch", "x.csv", "--out", "o.json"),
    ("vec/config.json", "run", "--quiet", "--vectors", "vec", "--evaluations", "nlu"),
    ("vec/modules.json", "run", "--quiet", "--vectors", "vec", "--evaluations", "nlu"),
    ("r.json", "report", "render", "r.json"),
    ("r.json", "report", "compare", "r.json", "results"),
    ("r.json", "report", "compare", "results", "r.json"),
    ("results/verdict.json", "report", "render", "results"),
    ("results/comparison.json", "report", "render", "results"),
    ("shard/shard.json", "report", "merge", "shard", "--baseline", "none"),
    ("shard/shard-answers.json.gz", "report", "merge", "shard", "--baseline", "none"),
    ("rasa/intent_report.json", "report", "import", "rasa"),
    ("rasa/story_report.json", "report", "import", "rasa"),
    ("k.csv", "report", "import", "--kore-csv", "k.csv"),
    ("x.json", "calibrate", "--results", "x.json"),
    ("x.jsonl", "suite", "from-conversations", "x.jsonl", "--out", "o.json"),
    ("x.txt", "suite", "add", "s.json", "--from", "x.txt", "--intent", "greet"),
    ("s.json", "suite", "add", "s.json", "--from", "README.md", "--intent", "greet"),
    (".github/workflows/turncheck.yml", "init"),
]
"""The file, and a command that reads it."""


class TooLongError(BaseException):
    """Nothing has ended: whatever catches errors does not catch this."""


@pytest.fixture
def _limited() -> Iterator[None]:
    """Little memory, and not for ever."""

    def end(*_: object) -> None:
        raise TooLongError

    before, handler = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGALRM, end)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, before[1]))
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An assistant whose files of results and of a shard are there."""
    bot = keep_sentences(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("files") / "bot"), 6)
    turncheck("run", "--quiet", "--evaluations", "nlu", cwd=bot)
    turncheck("run", "--quiet", "--evaluations", "nlu", "--shard", "1/1", "--out", "shard", cwd=bot)
    turncheck("test", "nlu", "-u", "data/nlu.yml", "--no-plot", "--out", "rasa", cwd=bot)
    assert (bot / "results" / "report.json").is_file()
    assert (bot / "shard" / "shard.json").is_file()
    assert (bot / "rasa" / "intent_report.json").is_file()
    return bot


@pytest.mark.usefixtures("_limited", "_shared_cache")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("read", READ, ids=" ".join)
def test_what_is_no_file_ends_in_words(read: tuple[str, ...], kind: str, project: Path, tmp_path: Path) -> None:
    file, *command = read
    bot = shutil.copytree(project, tmp_path / "bot")
    path = bot / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    KINDS[kind](path)

    done = turncheck(*command, cwd=bot)

    assert done.stdout + done.stderr
    for word in ("Traceback", "crashed", "not enough memory", "[Errno"):
        assert word not in done.stdout + done.stderr
