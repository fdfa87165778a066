"""A run whose work is spread over a Dask cluster: the report of one machine, whichever workers are lost on the way."""

from __future__ import annotations

import json
import operator
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest
from dask_cluster import SlowTrainer, dask_cluster, local_cluster
from fewer_sentences import keep_sentences
from test_strength import CASES, STORIES, small_bot
from timing import Timing

from turncheck.cli import run_command_line
from turncheck.evaluations.nlu.splits import FoldRun, Folds, run_folds, stable_folds
from turncheck.messages.errors import EngineError, IncompleteError, UserError
from turncheck.process.cache import Cache, software
from turncheck.process.screen import Console
from turncheck.project.model import Project
from turncheck.project.reader import read_project
from turncheck.work import cluster as cluster_module
from turncheck.work.cluster import connected

EXAMPLES = Path(__file__).parents[2] / "examples"
QUIET = Console(quiet=True)


def turncheck(*arguments: str | Path) -> int:
    return run_command_line([str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of these tests in CI is not the one that they are about."""
    for name in ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "BITBUCKET_BUILD_NUMBER", "CI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def local() -> Iterator[str]:
    with local_cluster() as address:
        yield address


def bot(folder: Path) -> Path:
    """A bot with something of each kind to do: folds, stories of two kinds, cases, mutants."""
    root = small_bot(folder / "bot", test_stories=STORIES, e2e_test_cases=CASES)
    more = "".join(
        f"  - story: again {number}\n    steps:\n      - intent: greet\n      - action: utter_hello\n"
        for number in range(9)
    )
    (root / "tests/test_stories.yml").write_text(STORIES.lstrip() + more)
    return root


def report_of(folder: Path) -> dict[str, object]:
    report = json.loads((folder / "report.json").read_bytes())
    del report["timings"], report["source"]["measured"]
    return report  # type: ignore[no-any-return]


FLAGS = (
    "--no-cache",
    "--baseline",
    "none",
    "--strength",
    "all",
    "--strength-budget",
    "0",
    "--robustness",
    "--folds",
    "2",
)


def test_a_run_on_a_cluster_reports_what_one_machine_does(
    local: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = bot(tmp_path)
    code = turncheck("run", project, *FLAGS, "--out", tmp_path / "one", "--quiet")

    assert turncheck("run", project, *FLAGS, "--cluster", local, "--out", tmp_path / "many") == code

    assert f"The cluster at {local} has 2 workers." in capsys.readouterr().err
    one, many = report_of(tmp_path / "one"), report_of(tmp_path / "many")
    assert json.dumps(many) == json.dumps(one)
    assert {"nlu", "core", "e2e", "strength", "robustness"} <= {name for name, section in one.items() if section}


def test_a_pipeline_that_learns_gives_the_same_to_the_last_digit(local: str, tmp_path: Path) -> None:
    project = keep_sentences(shutil.copytree(EXAMPLES / "pizzeria", tmp_path / "pizzeria"), 6)
    (project / "tests" / "test_nlu.yml").unlink()
    flags = ("--no-cache", "--baseline", "none", "--evaluations", "nlu", "core", "--folds", "2", "--quiet")
    turncheck("run", project, *flags, "--out", tmp_path / "one")

    turncheck("run", project, *flags, "--cluster", local, "--out", tmp_path / "many")

    assert json.dumps(report_of(tmp_path / "many")) == json.dumps(report_of(tmp_path / "one"))


def test_shards_and_a_cluster_go_together(local: str, tmp_path: Path) -> None:
    project = bot(tmp_path)
    turncheck("run", project, "--no-cache", "--baseline", "none", "--out", tmp_path / "one", "--quiet")
    places = [tmp_path / "shard-1", tmp_path / "shard-2"]
    for number, place in enumerate(places, 1):
        flags = ("--shard", f"{number}/2", "--cluster", local, "--no-cache", "--out", place, "--quiet")
        assert turncheck("run", project, *flags) == 0

    turncheck("report", "merge", *places, "--baseline", "none", "--out", tmp_path / "merged", "--quiet")

    assert json.dumps(report_of(tmp_path / "merged")) == json.dumps(report_of(tmp_path / "one"))


def several(folder: Path) -> str:
    """Three bots, of which one cannot be measured."""
    for name in ("one", "two"):
        bot(folder / "bots" / name)
    broken = bot(folder / "bots" / "broken")
    (broken / "turncheck.yml").write_text("folds: none\n")
    return str(folder / "bots" / "*" / "bot")


MEASURED = re.compile(rb"measured [\d-]+ [\d:]+ UTC")


def files_of(folder: Path) -> dict[str, object]:
    """All that was written, but for how long it took and when."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if path.name == "report.json":
            found[str(path.relative_to(folder))] = json.dumps(report_of(path.parent))
        elif path.is_file() and path.name != "junit.xml":
            found[str(path.relative_to(folder))] = MEASURED.sub(b"", path.read_bytes())
    return found


def test_several_assistants_are_spread_too(
    local: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    several(tmp_path)
    run = ("run", "bots/*/bot", "--no-cache", "--baseline", "none", "--folds", "2")
    assert turncheck(*run, "--out", "one") == 2
    alone = capfd.readouterr()

    assert turncheck(*run, "--cluster", local, "--out", "many") == 2

    spread = capfd.readouterr()
    assert files_of(Path("many")) == files_of(Path("one"))
    assert spread.out.replace("many", "one") == alone.out
    assert "3 assistants, " in spread.err
    for name in ("one", "two"):
        assert f"bots/{name}/bot: The cluster at {local} has 2 workers." in spread.err
        assert f"bots/{name}/bot: done (" in spread.err
    assert "bots/broken/bot: done (" in spread.err


def test_of_several_assistants_nothing_is_measured_without_the_cluster(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 1.0)
    several(tmp_path)

    assert turncheck("run", "bots/*/bot", "--cluster", "tcp://127.0.0.1:9", "--out", "out") == 2

    assert capfd.readouterr().err.count("cannot be reached") == 1
    assert not Path("out").exists()


# --- what is lost on the way -----------------------------------------------------------------------------------------


def folds(folder: Path) -> tuple[Project, Folds]:
    root = small_bot(folder / "bot")
    lines = ['version: "3.1"', "nlu:"]
    for intent, word in {"greet": "hello", "bye": "goodbye"}.items():
        lines += [f"- intent: {intent}", "  examples: |", *(f"    - {word} number {number}" for number in range(9))]
    (root / "data" / "nlu.yml").write_text("\n".join(lines) + "\n")
    project = read_project(root)
    plan = stable_folds(project.nlu.examples, 9, 1)
    assert all(plan.judged(fold) for fold in range(9))
    return project, plan


@pytest.mark.parametrize(("times", "is_there"), [(2, True), (3, False)])
def test_a_scheduler_that_says_more_than_its_greeting_at_first_is_asked_again(
    times: int, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [AssertionError()] * times

    class BusyClient:
        def __init__(self, *_: object, **__: object) -> None:
            if left:
                raise left.pop()

    monkeypatch.setattr("distributed.Client", BusyClient)
    if is_there:
        assert isinstance(cluster_module._client("tcp://127.0.0.1:1"), BusyClient)
    else:
        with pytest.raises(ConnectionError):
            cluster_module._client("tcp://127.0.0.1:1")
    assert not left


def test_what_is_lost_on_the_way_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, plan = folds(tmp_path)
    expected = run_folds(project, SlowTrainer(1), plan)
    shown = StringIO()
    with dask_cluster(tmp_path, 3) as cluster:

        def run(progress: Callable[[int, int], None]) -> list[FoldRun]:
            with connected(cluster.address, Console(stream=shown)) as work:
                return run_folds(project, SlowTrainer(1), plan, work=work, progress=progress)

        def kill_two(done: int, total: int) -> None:
            if done in {1, 2}:
                cluster.kill_worker()
                time.sleep(1.1)  # until it is looked for

        def replace_the_last(done: int, total: int) -> None:
            if done == 1:
                cluster.kill_worker()
                cluster.add_worker()

        assert run(kill_two) == expected
        assert shown.getvalue().count("is gone (") == 2
        assert run(replace_the_last) == expected

        monkeypatch.setattr(cluster_module, "NO_WORKERS_SECONDS", 2.0)
        with pytest.raises(IncompleteError, match="no workers for 2 s") as raised:
            run(lambda done, total: cluster.kill_worker())
        assert len(raised.value.finished) >= 1

        cluster.add_worker()
        cluster.await_workers(1)
        with pytest.raises(IncompleteError, match=f"the Dask scheduler at {cluster.address} is gone") as raised:
            run(lambda done, total: cluster.scheduler.kill())
        assert len(raised.value.finished) >= 1


# --- what cannot be used ---------------------------------------------------------------------------------------------


def test_a_scheduler_that_is_not_there_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 1.0)
    project = bot(tmp_path)

    assert turncheck("run", project, "--cluster", "tcp://127.0.0.1:9", "--out", tmp_path / "out") == 2

    assert "the Dask scheduler at 'tcp://127.0.0.1:9' cannot be reached" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 64, b"\xff" * 64], ids=repr)
def test_what_accepts_and_never_answers_is_given_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: bytes, timing: Timing
) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 1.0)
    monkeypatch.setattr(cluster_module, "ANSWER_SECONDS", 3.0)
    kept = []
    with socket.create_server(("127.0.0.1", 0)) as silent:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    kept.append(silent.accept()[0])
                    kept[-1].sendall(answer)

        Thread(target=accept, daemon=True).start()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with timing.at_most(20, time.monotonic):
            assert turncheck("run", bot(tmp_path), "--cluster", address, "--out", tmp_path / "out") == 2

    said = capsys.readouterr().err
    assert f"the Dask scheduler at '{address}' cannot be reached" in said
    assert "Traceback" not in said
    for one in kept:
        one.close()


@pytest.mark.parametrize("address", ["nowhere", "http://127.0.0.1:1", "", "tcp://"])
def test_what_is_no_address_is_said(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert turncheck("run", bot(tmp_path), f"--cluster={address}", "--out", tmp_path / "out") == 2
    assert "Traceback" not in capsys.readouterr().err


def test_workers_with_another_version_are_named(local: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = {**software(), "numpy": "1.0", "python": "3.99"}
    monkeypatch.setattr(cluster_module, "_here", lambda: here)

    refused = pytest.raises(UserError, match=r"- tcp://\S+ has numpy \S+, not 1.0, python \S+, not 3.99")
    with refused, connected(local, QUIET):
        pass


def test_a_cluster_without_workers_or_without_turncheck_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "WORKERS_SECONDS", 1.0)
    (tmp_path / "turncheck").mkdir()
    (tmp_path / "turncheck" / "__init__.py").write_text("raise ImportError('another one')\n")
    with dask_cluster(tmp_path, 0) as cluster:
        with pytest.raises(UserError, match="no workers"), connected(cluster.address, QUIET):
            pass
        cluster.add_worker({"PYTHONPATH": str(tmp_path)})
        cluster.await_workers(1)
        with pytest.raises(UserError, match="no turncheck"), connected(cluster.address, QUIET):
            pass


def test_a_worker_that_comes_later_is_looked_at_too(local: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(local, QUIET) as work:
        monkeypatch.setattr(cluster_module, "_here", lambda: {"turncheck": "0.0"})
        with pytest.raises(EngineError, match="another version"):
            list(work.each(divmod, 7, [2, 3], total=2))


def test_what_a_task_raises_is_raised_here(local: str) -> None:
    with connected(local, QUIET) as work:
        assert dict(work.each(divmod, 7, [2, 3], total=2)) == {0: (3, 1), 1: (2, 1)}
        with pytest.raises(ZeroDivisionError):
            list(work.each(divmod, 7, [2, 0], total=2))
        with pytest.raises(FileNotFoundError):
            list(work.each(open, "/nowhere/at/all", ["r"], total=1))


def test_a_cluster_is_for_the_embedded_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--engine", "rasa", "--rasa-url", "http://127.0.0.1:9", "--cluster", "tcp://127.0.0.1:9")
    assert turncheck("run", bot(tmp_path), *flags, "--out", tmp_path / "out") == 2
    assert "--cluster is for the engine 'embedded'" in capsys.readouterr().err


def test_a_cache_of_this_machine_is_not_sent_to_others(local: str, tmp_path: Path) -> None:
    with connected(local, QUIET) as work:
        assert dict(work.each(operator.is_, Cache(tmp_path), [None], total=1)) == {0: True}
