"""The base where repositories are odd: forks, links, submodules, large files, names of one's own.

Each case is a whole run: a bad change fails, an honest one is compared with its past.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from golden_texts import Golden
from repository_at_work import (
    GREET,
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


def jenkins(**more: str) -> dict[str, str]:
    return {"JENKINS_URL": "https://ci.example/", "CHANGE_ID": "7", "CHANGE_TARGET": "main", **more}


def gone_tests() -> str:
    """What the gate says, with its outcome."""
    gates = json.loads(Path("results/verdict.json").read_text())["gates"]
    return next(f"{one['outcome']}: {one['reason']}" for one in gates if one["name"] == "gone-tests")


# --- files with names of their own -----------------------------------------------------------------------------------


def with_own_names(folder: Path) -> None:
    assistant(folder / "bot", GREET, THANK)
    for old, new in (("domain.yml", "own_domain.yml"), ("config.yml", "own_config.yml"), ("data", "training")):
        (folder / "bot" / old).rename(folder / "bot" / new)


def fewer_stories(folder: Path) -> None:
    tests = next(folder.glob("**/test_stories.yml"))
    tests.write_text('version: "3.1"\nstories:\n' + GREET)


OWN_NAMES = {"domain": "bot/own_domain.yml", "config": "bot/own_config.yml", "data": "bot/training"}


@pytest.mark.parametrize("by_file", [True, False])
@pytest.mark.parametrize("then", [fewer_stories, lambda folder: (folder / "README").write_text("x")])
def test_an_assistant_whose_files_have_names_of_their_own_is_there(
    repository: Repository, by_file: bool, then: Callable[[Path], None]
) -> None:
    def base(folder: Path) -> None:
        with_own_names(folder)
        if by_file:
            settings(folder, "project: bot\n" + "".join(f"{name}: {path}\n" for name, path in OWN_NAMES.items()))

    change(repository, base, then)
    flags = [word for name, path in OWN_NAMES.items() for word in (f"--{name}", path)]

    code, comparison = repository.judged(*(() if by_file else ("--project", "bot", *flags)))

    assert (code, comparison["baseline"]["status"]) == (int(then is fewer_stories), "present")


def test_a_folder_whose_name_looks_like_a_pattern_is_that_folder(repository: Repository) -> None:
    def base(folder: Path) -> None:
        assistant(folder / "bots" / "[de]", GREET, THANK)

    change(repository, base, fewer_stories)

    code, comparison = repository.judged("--project", "bots/[de]")

    assert (code, comparison["baseline"]["status"]) == (1, "present")


def test_a_settings_file_that_the_change_corrects_still_says_what_the_base_measured(repository: Repository) -> None:
    def base(folder: Path) -> None:
        in_bot(folder)
        settings(folder, "project: bot\nkey-of-an-older-version: 1\n")

    def then(folder: Path) -> None:
        settings(folder, "project: bot\n")
        fewer_stories(folder)

    change(repository, base, then)

    code, _ = repository.judged()

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


@pytest.mark.parametrize("said", ["project: [bot\n", "- project: bot\n", None], ids=["cut", "a list", "a folder"])
@pytest.mark.parametrize("chosen", ["bot", "decoy"])
def test_a_settings_file_of_the_base_that_cannot_be_read_does_not_let_the_change_choose(
    repository: Repository, said: str | None, chosen: str
) -> None:
    def base(folder: Path) -> None:
        assistant(folder / "bot", GREET, THANK)
        if said is None:
            (folder / "turncheck.yml").mkdir()
            (folder / "turncheck.yml" / "kept").write_text("")
        else:
            settings(folder, said)

    def then(folder: Path) -> None:
        if said is None:
            shutil.rmtree(folder / "turncheck.yml")
        assistant(folder / "decoy", GREET)
        settings(folder, f"project: {chosen}\n")

    change(repository, base, then)

    code, comparison = repository.judged()

    assert comparison["baseline"]["status"] == "present"
    assert (code, gone_tests().startswith("failed: 1 story")) == ((0, False) if chosen == "bot" else (1, True))


# --- a report in the repository, the change's own word ---------------------------------------------------------------


def report_of(repository: Repository, name: str) -> None:
    """Leave the report of what is there in the repository."""
    repository.goes_to = repository.server
    repository.run("--baseline", "none", "--out", str(repository.server.parent / name))
    shutil.copy(repository.server.parent / name / "report.json", repository.server / "base-report.json")
    repository.goes_to = None


@pytest.mark.parametrize("by_file", [True, False])
def test_a_baseline_in_the_repository_is_that_of_the_base(repository: Repository, by_file: bool) -> None:
    def base(folder: Path) -> None:
        at_the_top(folder)
        report_of(repository, "then")
        settings(folder, "baseline: base-report.json\n" if by_file else "strict: true\n")

    def then(folder: Path) -> None:
        one_test_deleted(folder)
        report_of(repository, "now")

    change(repository, base, then)

    code, _ = repository.judged(*(() if by_file else ("--baseline", "base-report.json")))

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


def branch_build(kind: str, commit: str) -> dict[str, str]:
    """The variables of a job that no change is named in."""
    return {
        "bitbucket": {"BITBUCKET_BUILD_NUMBER": "1", "BITBUCKET_COMMIT": commit, "BITBUCKET_BRANCH": "feature"},
        "azure": {"TF_BUILD": "True", "BUILD_SOURCEVERSION": commit, "BUILD_SOURCEBRANCH": "refs/heads/feature"},
        "gitlab": {
            "GITLAB_CI": "true",
            "CI_COMMIT_SHA": commit,
            "CI_COMMIT_BRANCH": "feature",
            "CI_DEFAULT_BRANCH": "main",
        },
        "buildkite": {
            "BUILDKITE": "true",
            "BUILDKITE_PULL_REQUEST": "false",
            "BUILDKITE_BRANCH": "feature",
            "BUILDKITE_PIPELINE_DEFAULT_BRANCH": "main",
        },
    }[kind]


@pytest.mark.parametrize("word", ["base: HEAD~1", "base: HEAD", "baseline: none"])
@pytest.mark.parametrize("kind", ["bitbucket", "azure", "gitlab", "buildkite"])
def test_a_branch_cannot_choose_what_it_is_compared_with(repository: Repository, kind: str, word: str) -> None:
    def then(folder: Path) -> None:
        one_test_deleted(folder)
        settings(folder, f"{word}\n")
        repository.commit("first")
        (folder / "README").write_text("second")

    change(repository, at_the_top, then)
    git(repository.server, "checkout", "-q", "feature")
    head = git(repository.server, "rev-parse", "HEAD")
    git(repository.server, "checkout", "-q", "main")

    repository.clone()
    code, _ = repository.run(**branch_build(kind, head))

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


def test_a_branch_with_the_usual_name_is_not_the_default_branch_for_that(repository: Repository) -> None:
    """The default branch is `develop`; somebody has pushed a branch `main` beside the change."""
    git(repository.server, "symbolic-ref", "HEAD", "refs/heads/develop")
    at_the_top(repository.server)
    repository.commit("base")
    git(repository.server, "checkout", "-q", "-b", "feature")
    one_test_deleted(repository.server)
    repository.commit("change")
    git(repository.server, "branch", "main")
    git(repository.server, "commit", "-q", "--allow-empty", "-m", "second")
    git(repository.server, "checkout", "-q", "develop")
    repository.job.mkdir()
    git(repository.job, "init", "-q")
    git(repository.job, "remote", "add", "origin", f"file://{repository.server}")
    git(repository.job, "fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
    git(repository.job, "checkout", "-q", "--detach", "origin/feature")

    code, _ = repository.run(JENKINS_URL="https://ci.example/", BRANCH_NAME="feature")

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")
    git(repository.job, "remote", "set-url", "origin", f"file://{repository.server}-away")
    code, comparison = repository.run(JENKINS_URL="https://ci.example/", BRANCH_NAME="feature")
    assert (code, comparison["baseline"]["status"]) == (1, "unreachable")


def test_a_target_that_is_called_as_if_it_were_of_a_remote_is_that_branch(repository: Repository) -> None:
    assistant(repository.server, GREET)
    repository.commit("first")
    git(repository.server, "branch", "dev")
    change(repository, at_the_top, one_test_deleted)
    git(repository.server, "update-ref", "refs/heads/origin/dev", "main")

    repository.clone()
    code, _ = repository.run(**jenkins(CHANGE_TARGET="origin/dev"))

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


# --- forks -----------------------------------------------------------------------------------------------------------

BITBUCKET = "https://bitbucket.example.com/projects/ACME/repos/bots/pull-requests/7/overview"


def of_a_fork(repository: Repository) -> None:
    """The fork's `main` lies beside the change, which deletes a test."""
    change(repository, at_the_top, one_test_deleted)
    git(repository.server, "branch", "-f", "spare", "main")
    git(repository.server, "checkout", "-q", "feature")
    git(repository.server, "branch", "-f", "main", "feature")
    git(repository.server, "commit", "-q", "--allow-empty", "-m", "second")
    repository.clone()


@pytest.mark.parametrize(
    ("origin", "page"),
    [
        ("https://bitbucket.example.com/scm/~mallory/bots.git", BITBUCKET),
        ("https://gitlab.com/mallory/acme/bots.git", "https://gitlab.com/acme/bots/-/merge_requests/7"),
        ("git@github.example:mallory/bots.git", "https://github.example/acme/bots/pull/7"),
    ],
)
def test_the_main_of_a_fork_is_not_the_target(repository: Repository, origin: str, page: str, golden: Golden) -> None:
    of_a_fork(repository)
    git(repository.job, "remote", "set-url", "origin", origin)

    code, comparison = repository.run(**jenkins(CHANGE_FORK="mallory", CHANGE_URL=page))

    assert (code, comparison["baseline"]["status"]) == (1, "unreachable")
    golden(comparison["baseline"]["reason"])


def test_another_remote_may_be_the_target(repository: Repository) -> None:
    of_a_fork(repository)
    git(repository.job, "remote", "set-url", "origin", "https://bitbucket.example.com/scm/~mallory/bots.git")
    git(repository.job, "remote", "add", "upstream", "ssh://git@bitbucket.example.com:7999/acme/bots.git")
    git(repository.job, "update-ref", "refs/remotes/upstream/main", "refs/remotes/origin/spare")

    code, _ = repository.run(**jenkins(CHANGE_FORK="~mallory", CHANGE_URL=BITBUCKET))

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


def test_a_tag_of_a_fork_is_no_base(repository: Repository, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    of_a_fork(repository)
    git(repository.job, "tag", "stable", "origin/main")
    git(repository.job, "remote", "set-url", "origin", "https://bitbucket.example.com/scm/~mallory/bots.git")

    code, _ = repository.run("--base", "stable", **jenkins(CHANGE_FORK="~mallory", CHANGE_URL=BITBUCKET))

    assert code == 2
    golden(capsys.readouterr().err, only="'stable'")


# --- links, other repositories ---------------------------------------------------------------------------------------


def a_link_to_a_decoy(folder: Path) -> None:
    (folder / "bot").rename(folder / "bot_real")
    assistant(folder / "decoy", GREET)
    (folder / "bot").symlink_to("decoy")


def test_a_job_that_goes_through_a_link_is_compared_with_what_the_base_has_there(repository: Repository) -> None:
    change(repository, lambda folder: assistant(folder / "bot", GREET, THANK), a_link_to_a_decoy)
    repository.goes_to = repository.job / "bot"

    code, _ = repository.judged()

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


@pytest.mark.parametrize("other", ["assets", "zones"])
def test_a_second_link_to_the_same_place_does_not_hide_what_the_job_has_entered(
    repository: Repository, other: str
) -> None:
    def base(folder: Path) -> None:
        assistant(folder / "bot", GREET, THANK)
        (folder / other).mkdir()
        (folder / other / "picture").write_text("")

    def then(folder: Path) -> None:
        a_link_to_a_decoy(folder)
        shutil.rmtree(folder / other)
        (folder / other).symlink_to("decoy")

    change(repository, base, then)
    repository.goes_to = repository.job / "bot"

    code, _ = repository.judged()

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


def a_link_through_another(folder: Path) -> None:
    (folder / "bots").rename(folder / "real")
    (folder / "bots").symlink_to("real")
    shutil.rmtree(folder / "real" / "bank")
    assistant(folder / "decoy", GREET)
    (folder / "real" / "bank").symlink_to("../decoy")


def a_link_for_the_parent(folder: Path) -> None:
    (folder / "bots").rename(folder / "real")
    (folder / "bots").symlink_to("real")
    assistant(folder / "real" / "bank", GREET)


def a_link_that_is_turned(folder: Path) -> None:
    assistant(folder / "decoy", GREET)
    (folder / "bot").unlink()
    (folder / "bot").symlink_to("decoy")


def a_link_to_the_top(folder: Path) -> None:
    shutil.rmtree(folder / "bots")
    (folder / "bots").mkdir()
    (folder / "bots" / "bank").symlink_to("..")
    assistant(folder, GREET)


def a_link_that_looks_elsewhere(folder: Path) -> None:
    shutil.rmtree(folder / "jobs")
    (folder / "deep" / "jobs").mkdir(parents=True)
    (folder / "deep" / "jobs" / "notes").write_text("")
    (folder / "jobs").symlink_to("deep/jobs")
    (folder / "deep" / "bots").symlink_to("decoys")
    assistant(folder / "deep" / "decoys" / "bank", GREET)


def another_folder_becomes_a_link(folder: Path) -> None:
    assistant(folder / "bots" / "bank", GREET)
    shutil.rmtree(folder / "jobs")
    (folder / "jobs").symlink_to("bots/bank")


def one_of_the_links_is_an_assistant_already(folder: Path) -> None:
    shutil.rmtree(folder / "bots" / "bank")
    (folder / "bots" / "bank").symlink_to("../easy")


def a_bank(folder: Path) -> None:
    assistant(folder / "bots" / "bank", GREET, THANK)
    assistant(folder / "easy", GREET)
    for name in ("jobs", "bots/jobs"):
        (folder / name).mkdir()
        (folder / name / "notes").write_text("")


def a_link(folder: Path) -> None:
    assistant(folder / "versions" / "one", GREET, THANK)
    (folder / "bot").symlink_to("versions/one")


@pytest.mark.parametrize(
    ("base", "then", "entered", "flags"),
    [
        (a_bank, a_link_through_another, "bots/bank", ()),
        (a_bank, a_link_for_the_parent, "bots/bank", ()),
        (a_bank, a_link_for_the_parent, "bots/jobs", ("--project", "../bank")),
        (a_bank, a_link_to_the_top, "bots/bank", ()),
        (a_bank, a_link_that_looks_elsewhere, "jobs", ("--project", "../bots/bank")),
        (a_bank, another_folder_becomes_a_link, "bots/bank", ()),
        (a_bank, one_of_the_links_is_an_assistant_already, "bots/bank", ()),
        (a_link, a_link_that_is_turned, "bot", ()),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_by_whichever_links_a_job_has_entered_a_folder_it_is_what_the_base_has_there(
    repository: Repository,
    base: Callable[[Path], None],
    then: Callable[[Path], None],
    entered: str,
    flags: tuple[str, ...],
) -> None:
    change(repository, base, then)
    repository.clone()
    repository.goes_to = repository.job / entered

    code, _ = repository.run(*flags)

    assert code == 1
    assert "gone" in gone_tests()


def test_a_link_that_the_base_has_too_is_the_same_assistant(repository: Repository) -> None:
    again = GREET.replace("greets", "greets again")
    change(repository, a_link, lambda folder: assistant(folder / "versions/one", GREET, THANK, again))
    repository.goes_to = repository.job / "bot"

    code, comparison = repository.judged()

    assert code == 0
    assert comparison["baseline"]["status"] == "present"
    assert "project" not in [one["name"] for one in comparison["settings_changed"]]


@pytest.mark.parametrize("kind", ["its parent is a link to another checkout", "to a plain folder", "a clone inside"])
def test_an_assistant_of_another_repository_is_not_measured(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, golden: Golden
) -> None:
    outside = tmp_path / "outside"
    assistant(outside / "demo", GREET)
    if "plain" not in kind:
        git(outside, "init", "-q")
        git(outside, "add", "-A")
        git(outside, "commit", "-q", "-m", "demo")

    def then(folder: Path) -> None:
        settings(folder, "project: link/demo\n")
        if "inside" not in kind:
            (folder / "link").symlink_to(outside)

    change(repository, at_the_top, then)
    repository.clone()
    if "inside" in kind:
        git(repository.job, "clone", "-q", f"file://{outside}", "link")

    code, _ = repository.run()

    assert code == 2
    golden(capsys.readouterr().err, only="link/demo")


def test_the_assistants_of_a_checkout_in_a_subfolder_are_missed(
    repository: Repository, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    change(repository, several, lambda folder: shutil.rmtree(folder / "bots" / "shop"))
    repository.clone()
    repository.goes_to = repository.job.parent

    code, _ = repository.run("job/bots/*")

    assert code == 2
    golden(capsys.readouterr().err, only="job/bots/shop")


# --- submodules, large files, other kinds of repositories ------------------------------------------------------------


def other_repository(folder: Path, *stories: str) -> str:
    folder.mkdir()
    (folder / "test_more.yml").write_text('version: "3.1"\nstories:\n' + "".join(stories))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "tests")
    return f"file://{folder}"


def test_a_submodule_that_the_change_switches_off_is_missed(repository: Repository, tmp_path: Path) -> None:
    url = other_repository(tmp_path / "suite", THANK)

    def base(folder: Path) -> None:
        assistant(folder, GREET)
        git(folder, "submodule", "--quiet", "add", url, "tests/suite")

    def then(folder: Path) -> None:
        git(folder, "config", "-f", ".gitmodules", "submodule.tests/suite.update", "none")

    change(repository, base, then)
    repository.clone()

    code, _ = repository.run()

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


NONE = '[submodule "tests/suite"]\n\tupdate = none\n'


@pytest.mark.parametrize(
    "rewritten",
    [
        lambda said: said + NONE,
        lambda said: NONE + said,
        lambda said: said + NONE.replace("\n\t", " "),
        lambda said: said + NONE.replace("submodule", "SUBMODULE"),
        lambda said: said + NONE.replace("tests/", "tests\\/"),
        None,
    ],
    ids=["section after", "section before", "one line", "capitals", "escaped", "no longer a submodule"],
)
def test_whether_a_job_checks_a_submodule_out_is_not_the_changes_choice(
    repository: Repository, tmp_path: Path, rewritten: Callable[[str], str] | None
) -> None:
    url = other_repository(tmp_path / "suite", THANK)

    def base(folder: Path) -> None:
        assistant(folder, GREET)
        git(folder, "submodule", "--quiet", "add", url, "tests/suite")

    def then(folder: Path) -> None:
        if rewritten is None:  # what `.gitmodules` says of it stays there
            git(folder, "rm", "-q", "--cached", "tests/suite")
            shutil.rmtree(folder / "tests" / "suite")
        else:
            (folder / ".gitmodules").write_text(rewritten((folder / ".gitmodules").read_text()))

    change(repository, base, then)
    repository.clone("--recurse-submodules")

    code, _ = repository.run()

    assert not list((repository.job / "tests").glob("suite/*"))
    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


def test_a_submodule_within_a_submodule_belongs_to_the_base(repository: Repository, tmp_path: Path) -> None:
    url, inner = other_repository(tmp_path / "suite", THANK), tmp_path / "inner"
    assistant(inner, GREET)
    git(inner, "init", "-q")
    git(inner, "submodule", "--quiet", "add", url, "tests/suite")
    git(inner, "add", "-A")
    git(inner, "commit", "-q", "-m", "with the suite")

    def then(folder: Path) -> None:
        git(inner, "rm", "-q", "tests/suite")
        git(inner, "commit", "-q", "-m", "without the suite")
        git(folder / "bot", "pull", "-q")

    change(repository, lambda folder: git(folder, "submodule", "--quiet", "add", f"file://{inner}", "bot"), then)
    repository.clone("--recurse-submodules")

    code, _ = repository.run("--project", "bot")

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


def test_a_submodule_that_no_job_needs_may_be_removed(repository: Repository, tmp_path: Path) -> None:
    url = other_repository(tmp_path / "theme")

    def base(folder: Path) -> None:
        at_the_top(folder)
        git(folder, "submodule", "--quiet", "add", url, "docs/theme")

    change(repository, base, lambda folder: git(folder, "rm", "-q", "docs/theme"))

    code, comparison = repository.judged()

    assert (code, comparison["baseline"]["status"]) == (0, "present")


@pytest.mark.parametrize("others", [False, True], ids=["no .gitmodules", "another submodule"])
@pytest.mark.parametrize("removed", [False, True], ids=["still there", "removed"])
def test_a_repository_that_was_added_by_accident_is_in_no_checkout(
    repository: Repository, tmp_path: Path, others: bool, removed: bool
) -> None:
    """``git add`` of a clone leaves an entry of which no `.gitmodules` says where it comes from: git has it nowhere."""
    url = other_repository(tmp_path / "theme")

    def base(folder: Path) -> None:
        assistant(folder, GREET, THANK)
        git(folder, "clone", "-q", url, "tests/copied")
        if others:
            git(folder, "submodule", "--quiet", "add", url, "docs/theme")

    def then(folder: Path) -> None:
        assistant(folder, GREET)
        shutil.rmtree(folder / "tests" / "copied")
        if removed:
            git(folder, "rm", "-q", "--cached", "tests/copied")
        else:
            git(folder, "clone", "-q", url, "tests/copied")

    change(repository, base, then)

    code, comparison = repository.judged()

    assert (code, comparison["baseline"]["status"]) == (1, "present")
    assert gone_tests().startswith("failed: 1 story")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where large files are kept: a filter as that of git-lfs, which fetches nothing if there is a file `excluded`."""
    store = tmp_path / "store"
    store.mkdir()
    tool = tmp_path / "large.py"
    tool.write_text(
        "import hashlib, os, sys\n"
        f"store = {str(store)!r}\n"
        "text = sys.stdin.read()\n"
        "fetches = 'GIT_LFS_SKIP_SMUDGE' not in os.environ and not os.path.exists(f'{store}/excluded')\n"
        "if sys.argv[1] == 'clean' and not text.startswith('version https'):\n"
        "    name = hashlib.sha256(text.encode()).hexdigest()\n"
        "    open(f'{store}/{name}', 'w').write(text)\n"
        "    spec = 'version https://git-lfs.github.com/spec/v1'\n"
        "    text = f'{spec}\\noid sha256:{name}\\nsize {len(text)}\\n'\n"
        "elif sys.argv[1] == 'smudge' and fetches and 'sha256:' in text:\n"
        "    text = open(store + '/' + text.split('sha256:')[1].split()[0]).read()\n"
        "sys.stdout.write(text)\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "".join(f'[filter "lfs"]\n{one} = {sys.executable} -I -S {tool} {one}\n' for one in ("clean", "smudge"))
    )
    monkeypatch.setenv("HOME", str(home))
    return store


def with_large_files(folder: Path) -> None:
    (folder / ".gitattributes").write_text("tests/*.yml filter=lfs -text\n")
    at_the_top(folder)


@pytest.mark.parametrize("can_be_had", [True, False])
def test_tests_that_are_kept_as_large_files_are_read(repository: Repository, store: Path, can_be_had: bool) -> None:
    change(repository, with_large_files, one_test_deleted)
    assert "oid sha256" in git(repository.server, "show", "main:tests/test_stories.yml")
    repository.clone()
    if not can_be_had:
        shutil.rmtree(store)

    code, comparison = repository.run()

    assert code == 1
    if can_be_had:
        assert gone_tests().startswith("failed: 1 story")
    else:
        assert comparison["baseline"]["status"] == "unreachable"
        assert "tests/test_stories.yml" in comparison["baseline"]["reason"]


def test_large_files_that_the_change_tells_jobs_not_to_fetch_are_missed(repository: Repository, store: Path) -> None:
    def then(folder: Path) -> None:
        (folder / ".lfsconfig").write_text("[lfs]\n\tfetchexclude = tests/**\n")
        (folder / "tests" / "test_kept.yml").write_text('version: "3.1"\nstories:\n' + GREET)
        (folder / ".gitattributes").write_text("tests/test_stories.yml filter=lfs -text\n")

    def base(folder: Path) -> None:
        with_large_files(folder)
        (folder / ".gitattributes").write_text("tests/test_stories.yml filter=lfs -text\n")

    change(repository, base, then)
    (store / "excluded").write_text("")
    repository.clone()
    (store / "excluded").unlink()
    assert "oid sha256" in (repository.job / "tests" / "test_stories.yml").read_text()

    code, _ = repository.run()

    assert code == 1
    assert gone_tests().startswith("failed: 1 story")


def test_a_repository_with_longer_object_ids_has_its_base(repository: Repository) -> None:
    shutil.rmtree(repository.server / ".git")
    git(repository.server, "init", "-q", "--object-format=sha256")
    change(repository, at_the_top, a_response_changed)
    base = git(repository.server, "rev-parse", "main")
    git(repository.server, "config", "uploadpack.allowAnySHA1InWant", "true")
    repository.clone("--depth", "1")
    head = git(repository.job, "rev-parse", "HEAD")
    named = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}

    code, comparison = repository.run(
        GITLAB_CI="true", CI_COMMIT_SHA=head, CI_MERGE_REQUEST_IID="7", CI_DEFAULT_BRANCH="main", **named
    )

    assert (code, comparison["baseline"]["commit"]) == (0, base)


def test_a_further_working_tree_is_no_submodule(repository: Repository, tmp_path: Path) -> None:
    change(repository, at_the_top, a_response_changed)
    modules = tmp_path / "modules"
    modules.mkdir()
    git(modules, "clone", "-q", "--branch", "feature", f"file://{repository.server}", "bots")
    git(modules / "bots", "worktree", "add", "-q", "--detach", str(repository.job), "feature")

    code, comparison = repository.run()

    assert (code, comparison["baseline"]["status"]) == (0, "present")


# --- engines and reports that cannot say -----------------------------------------------------------------------------


def test_a_base_that_only_its_own_engine_could_measure_is_out_of_reach(repository: Repository, golden: Golden) -> None:
    def base(folder: Path) -> None:
        at_the_top(folder)
        settings(folder, "engine: rasa\n")

    def then(folder: Path) -> None:
        (folder / "turncheck.yml").unlink()
        one_test_deleted(folder)

    change(repository, base, then)

    code, comparison = repository.judged()

    assert (code, comparison["baseline"]["status"]) == (1, "unreachable")
    golden(re.sub(r"commit [0-9a-f]{8}\b", "commit BASE", comparison["baseline"]["reason"]))


def test_an_export_that_the_settings_file_names_is_compared_with_its_past(repository: Repository) -> None:
    example = Path(__file__).parents[2] / "examples" / "bike_workshop"

    def base(folder: Path) -> None:
        shutil.copytree(example, folder / "bot", ignore=shutil.ignore_patterns("results"))
        settings(folder, "project: bot/botDefinition.json\n")

    def then(folder: Path) -> None:
        min((folder / "bot" / "tests").glob("*.json")).unlink()

    change(repository, base, then)

    code, comparison = repository.judged("--evaluations", "validate", "batch")

    assert (code, comparison["baseline"]["status"]) == (1, "present")
    assert gone_tests().startswith("failed")
