"""A change cannot choose what it is compared with: whole runs, in a repository whose tests the change deletes.

A row is an attempt and its outcome: a bad change fails, with the cause in words; a good one passes, compared with its
past.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from golden_texts import Golden
from repository_at_work import (
    GREET,
    RULES,
    THANK,
    Repository,
    a_response_changed,
    assistant,
    at_the_top,
    change,
    git,
    in_bot,
    one_test_deleted,
    settings,
    several,
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    return Repository(tmp_path, monkeypatch)


# --- the change chooses what is measured -----------------------------------------------------------------------------


def decoy_by_project(folder: Path) -> None:
    assistant(folder / "decoy", GREET)
    settings(folder, "project: decoy\n")


def decoy_by_projects(folder: Path) -> None:
    assistant(folder / "decoy", GREET)
    settings(folder, "projects: [decoy]\n")


def decoy_by_pattern(folder: Path) -> None:
    assistant(folder / "decoys" / "easy", GREET)
    settings(folder, "projects: ['decoys/*']\n")


def key_removed(folder: Path) -> None:
    (folder / "turncheck.yml").unlink()
    assistant(folder, GREET)


def one_of_several(folder: Path) -> None:
    settings(folder, "project: bots/shop\n")


def link_to_a_decoy(folder: Path) -> None:
    (folder / "bot").rename(folder / "bot_real")
    assistant(folder / "decoy", GREET)
    (folder / "bot").symlink_to("decoy")


def domain_that_is_rubbish_there(folder: Path) -> None:
    one_test_deleted(folder)
    shutil.copy(folder / "domain.yml", folder / "credentials.yml")
    settings(folder, "domain: credentials.yml\n")


def data_that_are_rubbish_there(folder: Path) -> None:
    one_test_deleted(folder)
    (folder / "more").mkdir(exist_ok=True)
    shutil.copy(folder / "data" / "rules.yml", folder / "more" / "rules.yml")
    settings(folder, "data: [more, data]\n")


def with_credentials(folder: Path) -> None:
    at_the_top(folder)
    (folder / "credentials.yml").write_text("rest:\n")
    (folder / "more").mkdir()
    (folder / "more" / "rules.yml").write_text('version: "3.1"\nrules: nonsense\n')


BAD = [
    (at_the_top, one_test_deleted, ()),
    (at_the_top, decoy_by_project, ()),
    (at_the_top, decoy_by_projects, ()),
    (at_the_top, decoy_by_pattern, ()),
    (in_bot, decoy_by_project, ()),
    (in_bot, decoy_by_projects, ()),
    (in_bot, key_removed, ()),
    (several, decoy_by_project, ()),
    (several, decoy_by_projects, ()),
    (several, one_of_several, ()),
    (in_bot, link_to_a_decoy, ()),
    (in_bot, link_to_a_decoy, ("--project", "bot")),
    (with_credentials, domain_that_is_rubbish_there, ()),
    (with_credentials, data_that_are_rubbish_there, ()),
]


@pytest.mark.parametrize(
    ("base", "then", "flags"), BAD, ids=[f"{base.__name__}-{then.__name__}-{len(flags)}" for base, then, flags in BAD]
)
def test_a_change_that_loses_tests_fails(
    repository: Repository,
    capsys: pytest.CaptureFixture[str],
    base: Callable[[Path], None],
    then: Callable[[Path], None],
    flags: tuple[str, ...],
) -> None:
    change(repository, base, then)

    code, _ = repository.judged(*flags)

    said = capsys.readouterr()
    assert code in {1, 2}
    assert re.search(r"gone-tests|no longer measure|deletes it", said.out + said.err)


# --- good changes ----------------------------------------------------------------------------------------------------


def moved_into_a_folder(folder: Path) -> None:
    (folder / "assistants").mkdir()
    for name in ("domain.yml", "config.yml", "data", "tests"):
        (folder / name).rename(folder / "assistants" / name)
    settings(folder, "project: assistants\n")


def renamed(folder: Path) -> None:
    (folder / "bot").rename(folder / "pizza")
    settings(folder, "project: pizza\n")


def one_becomes_several(folder: Path) -> None:
    moved_into_a_folder(folder)
    (folder / "bots").mkdir()
    (folder / "assistants").rename(folder / "bots" / "first")
    assistant(folder / "bots" / "second", GREET.replace("greets", "another"))
    settings(folder, "projects: [bots/*]\n")


def linked(folder: Path) -> None:
    assistant(folder / "versions" / "one", GREET, THANK)
    (folder / "bot").symlink_to("versions/one")
    settings(folder, "project: bot\n")


def one_more_story(folder: Path) -> None:
    assistant(folder / "versions" / "one", GREET, THANK, GREET.replace("greets", "greets again"))


GOOD = [
    (at_the_top, a_response_changed),
    (in_bot, a_response_changed),
    (at_the_top, moved_into_a_folder),
    (in_bot, renamed),
    (linked, one_more_story),
]


@pytest.mark.parametrize(("base", "then"), GOOD, ids=[f"{base.__name__}-{then.__name__}" for base, then in GOOD])
def test_an_honest_change_is_compared_with_its_past(
    repository: Repository, base: Callable[[Path], None], then: Callable[[Path], None]
) -> None:
    change(repository, base, then)

    code, comparison = repository.judged()

    assert code == 0
    assert comparison["baseline"]["status"] == "present"
    assert comparison["baseline"]["commit"] == git(repository.server, "rev-parse", "main")


# --- a flag names the new place of an assistant that was moved -------------------------------------------------------


def in_a_folder(folder: Path) -> None:
    assistant(folder / "bot", GREET, THANK)


def beside_a_toy(folder: Path) -> None:
    in_a_folder(folder)
    assistant(folder / "toy", GREET)
    (folder / "toy" / "domain.yml").write_text((folder / "toy" / "domain.yml").read_text() + "# toy\n")


def moved_to(place: str) -> Callable[[Path], None]:
    """Move ``bot``, or what is at the top, as it is."""

    def move(folder: Path) -> None:
        old = folder / "bot" if (folder / "bot").is_dir() else folder
        new = folder / place
        new.mkdir(parents=True, exist_ok=True)
        for name in ("domain.yml", "config.yml", "data", "tests"):
            (old / name).rename(new / name)
        (folder / "turncheck.yml").unlink(missing_ok=True)

    return move


def with_one_test_less(move: Callable[[Path], None], place: str, edit: bool = False) -> Callable[[Path], None]:
    def then(folder: Path) -> None:
        move(folder)
        assistant(folder / place, GREET)
        for path in (folder / place).rglob("*.yml") if edit else ():
            path.write_text(path.read_text() + "# edited\n")

    return then


def linked_at_its_old_place(folder: Path) -> None:
    with_one_test_less(moved_to("pizza"), "pizza")(folder)
    (folder / "bot").rmdir()
    (folder / "bot").symlink_to("pizza")


def made_of_the_toy(folder: Path) -> None:
    shutil.rmtree(folder / "bot")
    (folder / "toy").rename(folder / "pizza")


MOVED = [
    (in_a_folder, moved_to("pizza"), "pizza"),
    (in_a_folder, moved_to("."), "."),
    (in_a_folder, moved_to("apps/chat/pizza"), "apps/chat/pizza"),
    (at_the_top, moved_to("pizza"), "pizza"),
    (in_bot, moved_to("."), "."),
    (beside_a_toy, moved_to("pizza"), "pizza"),
]


@pytest.mark.parametrize(("base", "then", "place"), MOVED)
def test_a_moved_assistant_that_a_flag_names_is_compared_with_its_past(
    repository: Repository,
    capsys: pytest.CaptureFixture[str],
    base: Callable[[Path], None],
    then: Callable[[Path], None],
    place: str,
) -> None:
    change(repository, base, then)

    code, comparison = repository.judged("--project", place)

    assert (code, comparison["baseline"]["status"]) == (0, "present")
    assert re.search(r"Stories passed +2/2 +2/2 +same", capsys.readouterr().out)
    assert "project" not in {setting["name"] for setting in comparison["settings_changed"]}
    assert any("on the base it is in" in warning for warning in comparison["baseline"]["warnings"])


HOLLOWED = [
    (in_a_folder, with_one_test_less(moved_to("pizza"), "pizza"), "pizza"),
    (in_a_folder, with_one_test_less(moved_to("pizza"), "pizza", edit=True), "pizza"),
    (in_a_folder, with_one_test_less(moved_to("."), "."), "."),
    (at_the_top, with_one_test_less(moved_to("pizza"), "pizza"), "pizza"),
    (in_a_folder, linked_at_its_old_place, "pizza"),
    (beside_a_toy, made_of_the_toy, "pizza"),
]


@pytest.mark.parametrize(("base", "then", "place"), HOLLOWED)
def test_a_moved_assistant_that_a_flag_names_has_not_lost_its_tests(
    repository: Repository,
    capsys: pytest.CaptureFixture[str],
    base: Callable[[Path], None],
    then: Callable[[Path], None],
    place: str,
) -> None:
    change(repository, base, then)

    code, _ = repository.judged("--project", place)

    assert code == 1
    assert "gone-tests" in capsys.readouterr().out


def test_what_a_moved_assistant_had_is_named_where_it_was(repository: Repository) -> None:
    change(repository, in_a_folder, with_one_test_less(moved_to("pizza"), "pizza"))

    repository.judged("--project", "pizza")

    comment = Path("results/comment.md").read_text()
    assert re.findall(r"was at `?([\w/]+)/tests", comment) == ["bot"] * 2


@pytest.mark.parametrize(
    ("base", "place", "inside", "where"),
    [
        (in_a_folder, "pizza", ".", "bot/tests"),
        (in_a_folder, "pizza", "pizza", "../bot/tests"),
        (at_the_top, "pizza", ".", "tests"),
        (in_a_folder, ".", ".", "bot/tests"),
    ],
)
def test_a_terminal_names_what_a_moved_assistant_had_where_it_was(  # noqa: PLR0917
    repository: Repository,
    capsys: pytest.CaptureFixture[str],
    base: Callable[[Path], None],
    place: str,
    inside: str,
    where: str,
) -> None:
    change(repository, base, with_one_test_less(moved_to(place), place))
    repository.goes_to = repository.job / inside

    repository.judged("--project", "." if inside == place else place)

    table = capsys.readouterr().out.partition("turncheck: error")[0]  # which has paths from the repository's top
    assert set(re.findall(r"was at ([\w./]+)/test_stories", table)) == {where}


def test_one_of_several_that_flags_name_may_have_moved(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    def one_renamed(folder: Path) -> None:
        (folder / "bots" / "shop").rename(folder / "bots" / "store")
        assistant(folder / "bots" / "store", GREET)

    change(repository, several, one_renamed)

    code, _ = repository.judged("--project", "bots/bank\nbots/store")

    assert code == 1
    assert "gone-tests" in capsys.readouterr().out
    assert json.loads(Path("results/bots/store/comparison.json").read_text())["baseline"]["status"] == "present"


def test_a_copy_of_an_assistant_that_is_still_there_is_new(repository: Repository) -> None:
    def copied(folder: Path) -> None:
        assistant(folder / "second", GREET)

    change(repository, in_a_folder, copied)

    code, comparison = repository.judged("--project", "second")

    assert (code, comparison["baseline"]["status"]) == (0, "missing")


def without_commit(reason: str) -> str:
    return re.sub(r"\b[0-9a-f]{8}\b", "COMMIT", reason)


def test_one_assistant_that_becomes_one_of_several_is_compared_with_its_past(
    repository: Repository, golden: Golden
) -> None:
    change(repository, at_the_top, one_becomes_several)

    code, _ = repository.judged()

    assert code == 0
    first = json.loads(Path("results/bots/first/comparison.json").read_text())
    second = json.loads(Path("results/bots/second/comparison.json").read_text())
    assert first["baseline"]["status"] == "present"
    assert second["baseline"]["status"] == "missing"
    golden(without_commit(second["baseline"]["reason"]))


# --- a folder that leads out, clones that lack files, other repositories in it ---------------------------------------


@pytest.mark.parametrize("by_file", [True, False])
def test_a_project_that_leads_out_of_the_repository_is_refused(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str], by_file: bool, golden: Golden
) -> None:
    outside = tmp_path / "outside"
    assistant(outside, GREET)

    def link_out(folder: Path) -> None:
        (folder / "out").symlink_to(outside)
        settings(folder, "project: out\n" if by_file else "strict: true\n")

    change(repository, at_the_top, link_out)

    code, _ = repository.judged(*(() if by_file else ("--project", "out")))

    assert code == 2
    golden(capsys.readouterr().err)
    assert not Path("results/report.json").exists()


@pytest.mark.parametrize("kind", ["--filter=blob:none", "--filter=tree:0", "--filter=blob:none --sparse"])
@pytest.mark.parametrize(("then", "expected"), [(a_response_changed, 0), (one_test_deleted, 1)])
def test_a_clone_that_lacks_files_has_its_base(
    repository: Repository, kind: str, then: Callable[[Path], None], expected: int
) -> None:
    change(repository, in_bot, then)
    (repository.server / "bot" / "data" / "rules.yml").write_text(RULES + "# meanwhile\n")
    repository.commit("meanwhile")
    repository.clone(*kind.split())
    if "--sparse" in kind:
        git(repository.job, "sparse-checkout", "set", "bot")

    code, comparison = repository.run()

    assert (code, comparison["baseline"]["status"]) == (expected, "present")


@pytest.mark.parametrize("kind", ["--filter=blob:none", "--filter=tree:0"])
def test_a_clone_that_lacks_files_whose_remote_is_gone_names_the_command(repository: Repository, kind: str) -> None:
    change(repository, at_the_top, one_test_deleted)
    (repository.server / "data" / "rules.yml").write_text(RULES + "# meanwhile\n")
    repository.commit("meanwhile")
    repository.clone(kind)
    git(repository.job, "remote", "set-url", "origin", "file:///nowhere/bots")

    code, comparison = repository.run()

    assert (code, comparison["baseline"]["status"]) == (1, "unreachable")
    command = re.search("run `git ([^`]+)`", comparison["baseline"]["reason"])
    assert command is not None
    git(repository.job, "remote", "set-url", "origin", f"file://{repository.server}")
    git(repository.job, *command[1].split())
    git(repository.job, "remote", "set-url", "origin", "file:///nowhere/bots")
    assert repository.run()[1]["baseline"]["status"] == "present"


@pytest.mark.parametrize("are_there", [True, False])
def test_tests_in_a_submodule_are_those_of_the_base(
    repository: Repository, tmp_path: Path, are_there: bool, golden: Golden
) -> None:
    others = tmp_path / "others"
    assistant(others / "unused", GREET)
    (others / "test_stories.yml").write_text('version: "3.1"\nstories:\n' + GREET + THANK)
    git(others, "init", "-q")
    git(others, "add", "-A")
    git(others, "commit", "-q", "-m", "tests")

    def with_submodule(folder: Path) -> None:
        assistant(folder, GREET)
        shutil.rmtree(folder / "tests")
        git(folder, "submodule", "add", "-q", f"file://{others}", "tests")

    def other_commit(folder: Path) -> None:
        (others / "test_stories.yml").write_text('version: "3.1"\nstories:\n' + GREET)
        git(others, "commit", "-q", "-a", "-m", "fewer")
        git(folder / "tests", "pull", "-q")

    change(repository, with_submodule, other_commit)
    clone = ("--recurse-submodules",) if are_there else ()

    code, _ = repository.judged(clone=clone)

    assert code == 1
    gates = json.loads(Path("results/verdict.json").read_text())["gates"]
    reason = next(one["reason"] for one in gates if one["name"] == "gone-tests")
    golden(without_commit(reason))  # a job without submodules has no tests on either side


def test_a_first_commit_and_a_repository_without_an_assistant_have_no_base(
    repository: Repository, golden: Golden
) -> None:
    def readme(folder: Path) -> None:
        (folder / "README").write_text("soon")

    change(repository, readme, at_the_top)

    code, comparison = repository.judged()

    assert (code, comparison["baseline"]["status"]) == (0, "missing")
    golden(without_commit(comparison["baseline"]["reason"]))


def test_a_base_that_is_faulty_itself_can_be_repaired_but_its_tests_are_not_known_to_be_there(
    repository: Repository, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    def broken(folder: Path) -> None:
        at_the_top(folder)
        (folder / "data" / "rules.yml").write_text('version: "3.1"\nrules:\n- rule: [\n')

    def repaired(folder: Path) -> None:
        (folder / "data" / "rules.yml").write_text(RULES)

    change(repository, broken, repaired)

    code, comparison = repository.judged()

    assert code == 0
    assert [one["evaluation"] for one in comparison["base_faults"]]
    verdict = json.loads(Path("results/verdict.json").read_text())
    gate = next(one for one in verdict["gates"] if one["name"] == "gone-tests")
    assert gate["outcome"] == "not judged"
    golden(gate["reason"])
    assert verdict["reservation"]


def test_lines_of_a_domain_beside_the_project_are_lines_of_the_change(repository: Repository) -> None:
    def apart(folder: Path) -> None:
        in_a_folder(folder)
        (folder / "shared").mkdir()
        (folder / "bot" / "domain.yml").rename(folder / "shared" / "domain.yml")

    def longer(folder: Path) -> None:
        with (folder / "shared" / "domain.yml").open("a") as domain:
            domain.writelines(f"  utter_{number}:\n  - text: Number {number}\n" for number in range(12))
        (folder / "elsewhere.yml").write_text("a: 1\n")

    change(repository, apart, longer)

    code, comparison = repository.judged("--project", "bot", "--domain", "shared/domain.yml")

    assert (code, comparison["changed_lines"]) == (0, 24)
