"""Every example of every page is tried: commands are run, in the page's order, and what a page shows below is what they
print; files are read by what reads them; Python is executed. What is not tried is named here, with the reason."""

from __future__ import annotations

import ast
import doctest
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml
from documentation import ROOT, as_html, pages
from example_world import (
    EXAMPLES,
    MADE,
    PROGRAMS,
    Shell,
    commands,
    install_plugin,
    platform,
    write_workshop,
    write_world,
)
from fake_kore import SECRET
from fake_kore import serving as serving_kore
from fake_rasa import FakeRasa
from fake_rasa import serving as serving_rasa
from test_ci_recipes import RECIPES

from turncheck.evaluations.robustness.words import LISTS, MAPPINGS, read_word_file
from turncheck.messages.errors import UserError
from turncheck.platforms.kore.engine.client import Clock
from turncheck.project.batch.reader import read_suites
from turncheck.project.e2e.cases import read_cases
from turncheck.project.quarantine import QUARANTINE_FILE, read_quarantine
from turncheck.registry import use_plugins
from turncheck.settings.declared import options
from turncheck.settings.file import read_settings_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from golden_texts import Golden

LEFT_OUT: Final = {"CHANGELOG.md", "docs/findings.md"}
"""The first is about what was; test_documented_examples.py tries what the second shows, right and wrong."""
WORKSHOPS: Final = {"docs/kore.md"}
"""Pages about the export of a Kore.ai assistant; the examples of all others are about the shop."""
TRIED_ELSEWHERE: Final = {
    ("docs/start.md", "sh"): "tests/integration/test_start_page.py",
    ("docs/start.md", "text"): "tests/integration/test_start_page.py",
    ("docs/http.md", "sh"): "tests/integration/test_http_page.py",
    ("docs/http.md", "text"): "tests/integration/test_http_page.py",
    ("README.md", "text"): "tests/integration/test_run.py",
    ("docs/pull_request.md", "diff"): "tests/contract/test_example_page.py",
    ("docs/pull_request.md", "text"): "tests/contract/test_example_page.py",
    ("CONTRIBUTING.md", "sh"): "tests/unit/repository/test_first_change.py",
    ("CONTRIBUTING.md", "diff"): "tests/unit/repository/test_first_change.py",
    ("docs/engines.md", "text"): "tests/contract/engines_example.py",
}
"""What a page shows in a language, and the test, or its example, that tries all of it."""
RUN_ELSEWHERE: Final = {
    "turncheck calibrate": "tests/contract/test_compare_engines.py",
    "turncheck report publish": "tests/contract/test_report_publish.py",
    "turncheck run bot --cluster": "tests/integration/test_cluster.py",
    "turncheck run examples/clinic": "tests/integration/test_shards.py",
}
"""How commands begin that another test runs, since it has the host or the cluster, or all the time that they take."""
NOT_TRIED: Final = {"groovy": "Jenkins", "diagram": "settings → project → engines"}
"""Languages that nothing here can read, and why."""
CODES: Final = {"turncheck data validate --target 3": 1}
"""How a command ends, if not with 0."""
SETTINGS: Final = {name for name, option in options().items() if option.file_key}
SHOWN_ON: Final = [page for page in pages() if str(page.relative_to(ROOT)) not in LEFT_OUT]


@dataclass(frozen=True)
class Example:
    """A fenced or indented example of a page."""

    page: str
    language: str
    text: str

    @property
    def lines(self) -> list[str]:
        """Its lines, continued ones as one and without a prompt."""
        lines = re.sub(r"\\\n\s*", " ", self.text).splitlines()
        return [line.strip().removeprefix("$ ") for line in lines if line.strip()]

    @property
    def runs(self) -> bool:
        """Whether it is of commands."""
        first = next((line for line in self.lines if not line.startswith("#")), "").split()
        return self.language in {"", "sh", "shell"} and bool(first) and first[0] in PROGRAMS

    @property
    def data(self) -> Any:
        """What it is in YAML; ``None`` if it is not."""
        try:
            return yaml.safe_load(self.text) if self.language in {"", "yaml", "json"} else None
        except yaml.YAMLError:
            return None


def examples(page: Path) -> list[Example]:
    """Return the examples of a page, in its order."""
    name = page.relative_to(ROOT).as_posix()
    found = as_html(page.read_text("utf-8")).xpath("//pre")
    return [Example(name, str(pre.get("lang") or ""), pre.text_content()) for pre in found]


# --- Files ------------------------------------------------------------------------------------------------------------


def suite(example: Example, folder: Path) -> None:
    path = folder / ("shown.csv" if example.language == "text" else "shown.json")
    path.write_text(example.text, "utf-8")
    assert read_suites(folder, [path]).findings == ()


def cases(example: Example, folder: Path) -> None:
    (folder / "shown.yml").write_text(example.text, "utf-8")
    read = read_cases(folder, [folder / "shown.yml"])
    assert (read.findings, bool(read.cases)) == ((), True)


def settings(example: Example, folder: Path) -> None:
    (folder / "turncheck.yml").write_text(example.text, "utf-8")
    assert read_settings_file(folder).values.keys() == {key.replace("-", "_") for key in example.data}
    (folder / "turncheck.yml").unlink()


def quarantine(example: Example, folder: Path) -> None:
    (folder / QUARANTINE_FILE).write_text(example.text, "utf-8")
    last = min(date.fromisoformat(str(entry["until"])) for entry in example.data)
    read = read_quarantine(folder, folder, last - timedelta(days=30))
    assert read is not None
    assert (read.findings, len(read.quarantine.tests)) == ((), len(example.data))
    (folder / QUARANTINE_FILE).unlink()


def noise(example: Example, folder: Path) -> None:
    (folder / "noise.yml").write_text(example.text, "utf-8")
    mappings, lists = read_word_file(folder / "noise.yml")
    assert {*mappings, *lists} == example.data.keys()


def recipe(example: Example, _folder: Path) -> None:
    assert any(text in example.text for _, text in RECIPES), "test_ci_recipes.py knows it not"


def workflow(example: Example, folder: Path) -> None:
    """A workflow of GitHub, or steps of one, or the inputs of a step; actionlint reads all of them in one go."""
    shown, text = example.data, example.text
    if isinstance(shown, dict) and "jobs" not in shown:
        step = {"uses": "turncheck/turncheck@v0"}
        shown = [step | (shown if "with" in shown else {"with": shown})]
    if isinstance(shown, list):
        job = {"runs-on": "ubuntu-24.04", "permissions": {"contents": "read"}, "steps": shown}
        shown = {"on": "push", "permissions": {}, "jobs": {"shown": job}}
        text = yaml.safe_dump(shown)
    for job in shown["jobs"].values():
        for step in job["steps"]:
            if step.get("uses", "").startswith("turncheck/turncheck@"):
                assert step.get("with", {}).keys() <= INPUTS, step
    workflows = folder / ".github" / "workflows"
    workflows.mkdir(parents=True, exist_ok=True)
    (workflows / f"shown-{len(list(workflows.iterdir()))}.yml").write_text(text, "utf-8")


INPUTS: Final = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"].keys()


def lint_workflows(folder: Path) -> None:
    """Have actionlint read what the page shows of workflows."""
    found = sorted((folder / ".github").glob("workflows/shown-*.yml"))
    if found:
        linter = Path(sys.executable).with_name("actionlint")
        done = subprocess.run([linter, *found], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def hooks(example: Example, _folder: Path) -> None:
    known = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    assert {hook["id"] for repository in example.data["repos"] for hook in repository["hooks"]} <= known


def suppressed(example: Example, folder: Path) -> None:
    """Entries of the domain with a comment: what it names is not reported there, and would be without it."""
    from turncheck import validate

    domain = folder / "domain.yml"
    kept = domain.read_text("utf-8")
    for shown in example.text.split("\n\n"):
        key = "entities:\n" if "entity" in shown else "intents:\n"
        first = kept[: kept.index(key)].count("\n") + 2
        named = {code.strip() for codes in re.findall(r"turncheck: ignore (.*)", shown) for code in codes.split(",")}
        for text, reported in ((shown, set()), (re.sub("#.*", "", shown), named)):
            domain.write_text(kept.replace(key, f"{key}{text}\n", 1), "utf-8")
            lines = {f"domain.yml:{first + number}" for number in range(text.count("\n") + 1)}
            findings = validate(folder, strict=True).findings
            assert {one.code for one in findings if str(one.location).rpartition(":")[0] in lines} == reported
    domain.write_text(kept, "utf-8")


def schema(example: Example, _folder: Path) -> None:
    assert (ROOT / example.text.strip().rpartition("/main/")[2]).is_file()


def python(example: Example, _folder: Path) -> None:
    code = compile(example.text, example.page, "exec", flags=0, dont_inherit=True)
    exec(code, {"__name__": "shown"})  # noqa: S102 - the page's own example


def documented_function(example: Example, _folder: Path) -> None:
    """A function without its body: what its documentation shows is what ours gives."""
    (function,) = ast.parse(example.text).body
    assert isinstance(function, ast.FunctionDef)
    files = (ROOT / "src").rglob("*.py")
    file = next(file for file in files if f"\ndef {function.name}(" in file.read_text("utf-8"))
    module = import_module(".".join(file.relative_to(ROOT / "src").with_suffix("").parts))
    shown = doctest.DocTestParser().get_doctest(
        ast.get_docstring(function) or "", {function.name: getattr(module, function.name)}, function.name, None, None
    )
    assert shown.examples
    assert doctest.DocTestRunner().run(shown).failed == 0


Reader = "Callable[[Example, Path], None]"


def reader_of(example: Example) -> Callable[[Example, Path], None] | None:
    """Return what reads the file that an example shows; ``None`` if it is none."""
    text, data = example.text, example.data
    if example.language == "python":
        return documented_function if text.rstrip().endswith('"""') else python
    if text.startswith("# yaml-language-server"):
        return schema
    if "# turncheck: ignore" in text:
        return suppressed
    if example.language == "text" and text.startswith("input,intent"):
        return suite
    if re.match(r"# (\.gitlab-ci|azure-|bitbucket-|\.circleci/|\.buildkite/)", text):
        return recipe
    if isinstance(data, list) and data and isinstance(data[0], dict):
        return quarantine if "case" in data[0] else workflow if {"uses", "run"} & data[0].keys() else None
    if not isinstance(data, dict):
        return None
    kinds: dict[Callable[[Example, Path], None], bool] = {
        suite: "testCases" in data,
        cases: "test_cases" in data,
        hooks: "repos" in data,
        noise: data.keys() <= {*MAPPINGS, *LISTS},
        workflow: "jobs" in data or data.keys() <= {"with"} or "${{" in text,
        settings: data.keys() <= SETTINGS,
    }
    return next((kind for kind, fits in kinds.items() if fits), None)


# --- Commands ---------------------------------------------------------------------------------------------------------

_TIMES: Final = re.compile(r"\b\d+(?:\.\d+)? ?(?=s\b|seconds?\b|ms\b)")


def run(example: Example, shell: Shell, *, accept: bool = False) -> None:
    """Run the commands of an example; lines between them are what they print."""
    shell.output = ""
    use_plugins(())
    for line in example.lines:
        if line.startswith("#") or _is_run_elsewhere(line):
            continue
        if line.split()[0] not in PROGRAMS:
            assert_printed(example, [line], shell, accept=accept)
            continue
        for words, code in shell.types(line):
            expected = next((code for begin, code in CODES.items() if " ".join(words).startswith(begin)), 0)
            assert code == expected, f"{' '.join(words)}\n{shell.output}"


def _is_run_elsewhere(line: str) -> bool:
    begin = next((begin for begin in RUN_ELSEWHERE if line.startswith(begin)), None)
    return begin is not None and re.split("[ /]", begin)[-1] in (ROOT / RUN_ELSEWHERE[begin]).read_text("utf-8")


def assert_printed(example: Example, lines: list[str], shell: Shell, *, accept: bool = False) -> None:
    """Assert that the last commands printed these lines, apart from times; ``accept``: write what they printed most
    like them into the page."""
    printed = {_TIMES.sub("", line).strip(): line.strip() for line in shell.output.splitlines()}
    missing = [line for line in lines if _TIMES.sub("", line).strip() not in printed]
    nearest = {line: get_close_matches(line, printed.values(), 1) for line in missing} if accept else {}
    for line, (near, *_) in ((line, near) for line, near in nearest.items() if near):
        page = ROOT / example.page
        page.write_text(page.read_text("utf-8").replace(line, near, 1), "utf-8")
        missing.remove(line)
    assert missing == [], shell.output


def printed_on_other_pages() -> set[str]:
    """Return the lines of what pages show as printed and other tests compare."""
    tried = [example for page in SHOWN_ON for example in examples(page) if (example.page, "text") in TRIED_ELSEWHERE]
    return {line for example in tried if example.language == "text" for line in example.lines}


# --- All of them ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assistant of the examples, to be copied, and a cache that all pages share."""
    folder = tmp_path_factory.mktemp("world")
    write_world(folder)
    install_plugin(folder.parent / "site")
    return folder


@pytest.fixture
def shell(
    world: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    folder = tmp_path / "here"
    if request.getfixturevalue("page") in WORKSHOPS:
        folder.mkdir()
        write_workshop(folder)
    else:
        shutil.copytree(world, folder, symlinks=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(world.parent / "cache-of-the-pages"))
    monkeypatch.syspath_prepend(world.parent / "site")
    monkeypatch.syspath_prepend(EXAMPLES / "plugin" / "src")
    monkeypatch.setenv("TURNCHECK_KORE_CLIENT_SECRET", SECRET)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setattr("turncheck.platforms.kore.engine.engines.Clock", lambda: Clock(sleep=lambda _seconds: None))
    monkeypatch.chdir(folder)
    with ExitStack() as left:
        left.callback(use_plugins, ())
        rasa = left.enter_context(serving_rasa(FakeRasa()))
        kore = left.enter_context(serving_kore(platform()))
        yield Shell(folder, rasa.url, kore)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page.relative_to(ROOT).as_posix() for page in SHOWN_ON if examples(page)])
def test_the_examples_of_a_page(page: str, shell: Shell, golden: Golden) -> None:
    folder = shell.place
    for example in examples(ROOT / page):
        if (page, example.language) in TRIED_ELSEWHERE and not example.text.startswith("input,"):
            assert Path(page).name in (ROOT / TRIED_ELSEWHERE[page, example.language]).read_text("utf-8")
        elif example.language in NOT_TRIED or example.text.startswith(NOT_TRIED["diagram"]):
            continue
        elif example.runs:
            run(example, shell, accept=golden.accept)
        elif reader := reader_of(example):
            if '"results"' in example.text:
                assert shell.types("turncheck run")[0][1] == 0
            reader(example, folder)
        elif example.language in {"", "text"} and shell.output:
            assert_printed(example, example.lines, shell, accept=golden.accept)
        else:
            assert {*example.lines} <= printed_on_other_pages(), example
    lint_workflows(folder)


def test_the_lists_name_what_pages_show_and_nothing_else() -> None:
    shown = [example for page in SHOWN_ON for example in examples(page)]
    lines = [line for example in shown if example.runs for line in example.lines if line.split()[0] in PROGRAMS]

    assert {words[0] for line in lines for words, _ in commands(line)} == PROGRAMS
    assert TRIED_ELSEWHERE.keys() <= {(example.page, example.language) for example in shown}
    assert [begin for begin in (*RUN_ELSEWHERE, *CODES) if not any(line.startswith(begin) for line in lines)] == []
    assert [name for name in MADE if not any(name in line for line in lines)] == []
    assert [name for name in LEFT_OUT | WORKSHOPS if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", ["README.md"])
@pytest.mark.parametrize(
    "text",
    [
        "turncheck data validate --project nowhere",
        "turncheck data validate\nNothing of the kind.",
        "make nothing-of-the-kind",
        "pip install turncheck[nothing]",
        "python tools/count_words.py --nothing",
        "docker run turncheck",
    ],
)
def test_a_wrong_example_is_found(text: str, page: str, shell: Shell) -> None:
    with pytest.raises(AssertionError):
        run(Example(page, "sh", text), shell)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("yaml", "test_cases:\n- test_case: a\n  steps:\n  - usr: hello\n"),
        ("yaml", "fail-on: [nothing]\n"),
        ("yaml", "- uses: turncheck/turncheck@v0\n  with: {nothing: 1}\n"),
        ("yaml", "- case: a\n  owner: b\n  until: 2026-12-31\n"),
        ("json", '{"testCases": [{"inputs": "hello"}]}'),
        ("", "- greet # turncheck: ignore nothing-of-the-kind\n"),
        ("python", "import turncheck\nturncheck.nothing\n"),
        (
            "python",
            'def mcnemar_exact(a: int, b: int) -> float:\n    """One.\n\n    >>> mcnemar_exact(0, 6)\n    1.0\n    """',
        ),
    ],
)
def test_a_wrong_file_is_found(language: str, text: str, tmp_path: Path) -> None:
    write_world(tmp_path)
    example = Example("page.md", language, text)
    reader = reader_of(example)
    assert reader is not None
    with pytest.raises((AssertionError, AttributeError, UserError)):
        reader(example, tmp_path)
