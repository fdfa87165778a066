"""Nothing is written where a link of a change leads out of its checkout, and one place opens what is written."""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path

import pytest
from golden_texts import Golden
from test_output_folder import COMMANDS, FILES, PIZZERIA

from turncheck.cli import run_command_line
from turncheck.messages.errors import EXIT_NOT_DONE, EXIT_OK, UserError
from turncheck.process.output_files import OwnFiles, atomic_write, ensure_replaceable, write_new
from turncheck.process.places import ensure_inside
from turncheck.publishing.files import write_results
from turncheck.render.rendered import Rendered
from turncheck.run.folders import ensure_apart_from_project
from turncheck.settings.options import Settings

SOURCE = Path(__file__).parents[3] / "src" / "turncheck"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with an assistant in it, beside a folder of somebody else."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "report.json").write_text('{"schema": "turncheck/report/1"}')
    root = tmp_path / "bot"
    shutil.copytree(PIZZERIA, root)
    (root / ".git" / "hooks").mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


def written(folder: Path) -> list[tuple[str, bytes]]:
    return sorted((str(path), path.read_bytes()) for path in folder.rglob("*") if path.is_file())


LINKS = {
    "relative": ("results", "../outside", "results"),
    "absolute": ("results", "{outside}", "results"),
    "dangling": ("results", "../outside/new", "results"),
    "a_folder_above": ("build", "../outside", "build/results"),
    "several": ("results", "one", "results"),
    "there_and_back": ("results", "../outside/../outside", "./config.yml/../results"),
    "by_the_system": ("results", "/proc/self/cwd/../outside", "results"),
    "hooks": ("results", ".git/hooks", "results"),
}


@pytest.mark.parametrize("link", LINKS)
def test_a_folder_that_a_link_leads_out_to_is_refused(checkout: Path, link: str, golden: Golden) -> None:
    outside = checkout.parent / "outside"
    name, target, out = LINKS[link]
    (checkout / "one").symlink_to("two")
    (checkout / "two").symlink_to("../outside")
    (checkout / name).symlink_to(target.format(outside=outside))
    before = written(checkout.parent)

    for writes in (
        lambda: ensure_apart_from_project(Path(out), Settings()),
        lambda: ensure_replaceable(Path(out)),
        lambda: OwnFiles(Path(out, "new")).claim("notes.txt"),
        lambda: write_results(Path(out), [Rendered("notes.txt", "text/plain", "hello")]),
        lambda: write_new(Path(out, "new.yml"), "hello"),
        lambda: atomic_write(Path(out, "notes.txt")).__enter__(),
    ):
        with pytest.raises(UserError, match="link"):
            writes()

    assert written(checkout.parent) == before
    with pytest.raises(UserError) as refused:
        ensure_inside(Path(out))
    golden(refused.value.message.replace(str(checkout.parent), "…"))


@pytest.mark.parametrize("inner", ["rasa", "plots", "batch"])
def test_so_is_a_folder_of_the_results(checkout: Path, inner: str) -> None:
    (checkout / "results").mkdir()
    (checkout / "results" / inner).symlink_to("../../outside")

    with pytest.raises(UserError, match="link"):
        ensure_replaceable(Path("results"))
    with pytest.raises(UserError, match="link"):
        write_results(Path("results"), [Rendered(f"{inner}/notes.txt", "text/plain", "hello")])

    assert len(written(checkout.parent / "outside")) == 1


def test_a_device_or_a_pipe_elsewhere_is_not_written_to(checkout: Path) -> None:
    os.mkfifo(checkout.parent / "pipe")
    reader = os.open(checkout.parent / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    (checkout / "report.json").symlink_to("../pipe")
    try:
        with pytest.raises(UserError, match="link"), atomic_write(Path("report.json")) as file:
            file.write(b"hello")
        with atomic_write(checkout.parent / "pipe") as file:
            file.write(b"hello")
        assert os.read(reader, 10) == b"hello"
    finally:
        os.close(reader)


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(checkout: Path) -> None:
    (checkout / "report.json").symlink_to("../outside/report.json")
    before = written(checkout.parent / "outside")

    with atomic_write(Path("report.json")) as file:
        file.write(b"hello")

    assert not (checkout / "report.json").is_symlink()
    assert written(checkout.parent / "outside") == before


def test_a_submodule_is_a_checkout_of_its_own(checkout: Path) -> None:
    (checkout / "bots" / "pizza").mkdir(parents=True)
    (checkout / "bots" / "pizza" / ".git").write_text("gitdir: ../../.git/modules/pizza\n")
    (checkout / "bots" / "pizza" / "results").symlink_to("../../results")

    with pytest.raises(UserError, match="link"):
        ensure_inside(Path("bots/pizza/results/report.json"))


def test_without_a_checkout_the_current_folder_and_the_project_are_not_left(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(checkout / ".git")
    (checkout / "results").symlink_to("../outside")
    with pytest.raises(UserError, match="link"):
        ensure_inside(Path("results"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="link"):
        ensure_apart_from_project(checkout / "results", Settings(project=str(checkout)))


def test_what_the_user_names_and_links_that_stay_inside_are_written(checkout: Path) -> None:
    (checkout / "here").mkdir()
    (checkout / "results").symlink_to("here")
    (checkout.parent / "elsewhere").symlink_to("outside")  # not in the checkout: nobody's change
    for place in ("results", "../outside", "../elsewhere", str(checkout.parent / "elsewhere"), "/dev/stdout"):
        ensure_inside(Path(place))


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_writes_results_refuses_before_it_measures(
    checkout: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (checkout / "results").symlink_to("../outside")
    before = written(checkout.parent)

    assert run_command_line([*COMMANDS[command], "--out", "results"]) == EXIT_NOT_DONE

    assert "link" in capsys.readouterr().err
    assert written(checkout.parent) == before


@pytest.mark.parametrize("command", FILES)
def test_so_is_each_further_file(checkout: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (checkout / "results").symlink_to("../outside")
    before = written(checkout.parent)

    assert run_command_line([*FILES[command], "results/more.json"]) == EXIT_NOT_DONE

    assert "link" in capsys.readouterr().err
    assert written(checkout.parent) == before


@pytest.mark.parametrize("link", [".github", ".github/workflows"])
def test_init_writes_nothing_through_a_link(checkout: Path, link: str, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / link).parent.mkdir(exist_ok=True)
    (checkout / link).symlink_to(checkout.parent / "outside")
    before = written(checkout.parent)

    assert run_command_line(["init", "--write", "--host", "github", "--budget", "0"]) == EXIT_NOT_DONE

    assert "link" in capsys.readouterr().err
    assert written(checkout.parent) == before


def test_a_folder_that_a_link_leads_to_can_be_named_itself(checkout: Path) -> None:
    shutil.rmtree(checkout.parent / "outside")
    assert run_command_line(["data", "validate", "--out", str(checkout.parent / "outside")]) == EXIT_OK


# The one place.

WRITING = {
    "write_text",
    "write_bytes",
    "mkdir",
    "rename",
    "symlink_to",
    "hardlink_to",
    "touch",
    "makedirs",
    "copyfileobj",
}
WRITING |= {"copyfile", "copy", "copy2", "copytree", "move", "mkstemp", "NamedTemporaryFile", "extractall", "mkfifo"}
NAMED = re.compile(rf"\b(open|{'|'.join(WRITING)})\(")
ELSEWHERE = {
    "process/output_files.py": "the one place",
    "process/cache.py": "marks an entry as used; entries are written by the one place",
    "ci/azure/host.py": "a file in the agent's temporary folder",
    "ci/github/runner.py": "the files of the runner that its variables name",
    "ci/base_files.py": "a temporary folder, with the files of the base",
    "ci/git.py": "the same",
    "run/bot_of_base.py": "the same",
    "run/mended_base.py": "the same, not through links",
    "run/kept_cache.py": "the same, for an archive",
    "process/cache_archive.py": "new files of the same",
    "commands/convert.py": "a temporary folder",
    "commands/core.py": "the same",
    "engines/embedded/models.py": "the same",
    "engines/rasa_server/process.py": "the same",
    "evaluations/strength/candidates.py": "the same",
    "work/workplace.py": "the same",
}


MODE = re.compile(r"(?=[rbt+]*[wax+])[rwaxbt+]{1,4}")


def writes(call: ast.Call) -> bool:
    """Whether a call may write to a file by its name: `open` with a mode for writing, or what only writes."""
    if not isinstance(call.func, ast.Attribute | ast.Name):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
    if name == "copy":
        return isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "shutil"
    if name != "open" or any(word.arg == "fileobj" for word in call.keywords):
        return name in WRITING
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
    modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    flags = {node.attr for one in call.args for node in ast.walk(one) if isinstance(node, ast.Attribute)}
    return any(map(MODE.fullmatch, modes)) or bool(flags & {"O_WRONLY", "O_RDWR", "O_CREAT"})


def test_one_place_opens_what_is_written() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if NAMED.search(text := path.read_text())  # few have to be parsed
        if any(isinstance(node, ast.Call) and writes(node) for node in ast.walk(ast.parse(text)))
    }
    assert found - {"process/streams.py"} == set(ELSEWHERE)  # that opens /dev/null
