"""Recipes run nothing that a change brings: all of them are read, and run in a workspace that is full of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from turncheck.commands.init.workflows import PROPOSALS, workflow

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TEXTS = {".md", ".yml", ".yaml", ".py", ".toml", ".sh", ".txt", ".cfg", ".json", ""}
BLOCK = re.compile(r"^```(?:yaml|groovy)\n(?:#|//) (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OF_RASA = re.compile(r"python -m rasa_(?:nlu|sdk)\b")
"""Programs of Rasa's, which run the assistant's own code."""
OUTSIDE = ("/opt/", "/tmp/", "$RUNNER_TEMP/", "$AGENT_TEMPDIRECTORY/", "$$venv")  # noqa: S108 - of new containers


def documents() -> dict[str, str]:
    """Every page, example and template, and what `init` writes, by its name."""
    folders = (ROOT / name for name in ("docs", "azure", "composite", "examples", "templates", ".github"))
    files = [*ROOT.glob("*.md"), *(path for folder in folders for path in folder.rglob("*") if path.is_file())]
    found = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in files if path.suffix in TEXTS}
    for host in PROPOSALS:
        found |= {f"init {host} {asks}": workflow(host, ["bots/a b", "bot"], asks=asks) for asks in (None, True)}
    return found


DOCUMENTS = documents()
RECIPES = {
    **{
        f"{page} {number}: {name}": text
        for page, of in DOCUMENTS.items()
        if page.endswith(".md")
        for number, (name, text) in enumerate(BLOCK.findall(of))
    },
    **{
        name: text
        for name, text in DOCUMENTS.items()
        if name.startswith(("azure/", "templates/", "examples/workflows/", "init "))
    },
}
"""What is copied into a repository for a CI host to run."""
INSTALLING = {
    name: text
    for name, text in RECIPES.items()
    if re.search(r"\bpip[\"'}]* install\b", text) and not name.endswith(".j2")
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_module_is_run_from_the_current_folder(name: str) -> None:
    text = OF_RASA.sub("", DOCUMENTS[name])
    for flags in re.findall(r"\bpython[\d.]*[\"']?((?: +-[A-Za-z]+)*) +-m\b", text) + re.findall(
        r"sys\.executable,((?: \"-\w+\",)*) \"-m\"", text
    ):
        assert "-I" in flags, f"{name}: python -m puts the current folder first on its path; write python3 -I -m"


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_calls_programs_by_their_own_path_and_installs_outside_the_workspace(name: str) -> None:
    said = r"^\s*(?:#|//).*$|(?<=\s)#\s.*$|^\s*(?:- )?(?:name|displayName|description): .*$"
    text = re.sub(said, "", RECIPES[name], flags=re.MULTILINE)
    assert not re.search(
        r"""(?<![\w./-])(?:pip3?|uvx|pipx|turncheck)["']? +(?:install|run|report|test|data|kore)\b""", text
    )
    assert not re.search(r"--user\b(?! [\"\d])|\bPYTHONPATH\b", text), "the user's folder may be the workspace"
    assert not re.search(r"\bHOME\b[\"' ]*[=:][\"' ]*(?:\$|\.|%)", text)
    assert not re.search(r"--token\b", text), "other processes can read it there"
    for place in re.findall(r"-m venv ['\"]?([^\s'\",\]]+)", text):
        assert place.startswith(OUTSIDE), place
    if name in INSTALLING:
        assert re.search(r"PIP_CONFIG_FILE['\"]?(?:: | ?= ?)['\"]?/dev/null", text)


def test_there_are_recipes_of_every_host() -> None:
    assert len(INSTALLING) >= 15
    assert {name.split(": ")[1] for name in INSTALLING if name.startswith("docs/ci.md")} == {
        *(".gitlab-ci.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "Jenkinsfile"),
        *(".circleci/config.yml", ".buildkite/pipeline.yml"),
    }


# They are run.

SHELL = "#!/bin/sh\necho {name} >> {marks}\n"
MODULES = (
    "turncheck",
    "pip",
    "venv",
    "ensurepip",
    "argparse",
    "json",
    "site",
    "usercustomize",
    "sitecustomize",
    "conftest",
)
PROGRAMS = (
    "turncheck",
    "pip",
    "python3",
    "git",
    "docker",
    "bin/pip",
    "bin/turncheck",
    ".local/bin/pip",
    ".local/bin/git",
)
SITE = f".local/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


def fill(folder: Path, marks: Path) -> None:
    """Write what leaves a mark if it is run or read: a change can commit all of it."""

    def write(name: str, text: str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{name}", name).replace("{marks}", str(marks)), "utf-8")

    code = "open('{marks}', 'a').write('{name}\\n')\n"
    for module in MODULES:
        for place in ("", f"{SITE}/"):
            write(f"{place}{module}.py", code)
        write(f"src/{module}/__init__.py", code)
    for name in ("setup.py", "pip/__main__.py", "rasa/__init__.py", ".pythonrc.py", "manage.py", "tests/conftest.py"):
        write(name, code)
    for name in ("x.pth", f"{SITE}/x.pth", "site-packages/x.pth"):
        write(name, f"import sys; {code}")
    for name in ("pip.conf", "pip.ini", ".pip/pip.conf", ".config/pip/pip.conf", "pip/pip.conf"):
        write(name, "[global]\nlog = {marks}\nindex-url = http://127.0.0.1:9/{name}\n")
    for name in PROGRAMS:
        path = folder / name if not (folder / name).is_dir() else folder / f"{name}.sh"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SHELL.format(name=name, marks=marks))
        path.chmod(0o755)
    for name in (".bashrc", ".profile", ".bash_profile", ".zshenv", ".shrc"):
        write(name, "echo {name} >> {marks}\n")
    write(
        ".gitconfig",
        '[core]\n\tfsmonitor = "echo {name} >> {marks}; false"\n\thooksPath = .\n'
        '[diff]\n\texternal = "echo diff >> {marks}; true"\n[diff "x"]\n\ttextconv = "echo x >> {marks}; cat"\n'
        '[filter "x"]\n\tclean = "echo x >> {marks}; cat"\n',
    )
    write(".config/git/config", '[core]\n\tpager = "echo {name} >> {marks}"\n\tsshCommand = "echo {name} >> {marks}"\n')
    write(".gitattributes", "* diff=x filter=x\n")
    write(".env", "PYTHONPATH=.\nPATH=.:$PATH\nGITHUB_TOKEN=theirs\nPYTHONSTARTUP=.pythonrc.py\n")
    write(".netrc", "machine 127.0.0.1 login a password b\n")
    write("pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = 'setup'\nbackend-path = ['.']\n")
    write("setup.cfg", "[options]\nsetup_requires = x\n[global]\ncommand_packages = setup\n")
    write("matplotlibrc", "backend: module://conftest\n")
    write("pyvenv.cfg", "include-system-site-packages = true\n")
    write("python3._pth", ".\nimport site\n")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel in turncheck's place, whose program says that it ran, from where, and with what."""
    folder = tmp_path_factory.mktemp("wheels")
    information = "turncheck-9.dist-info"
    code = (
        "import argparse, json, os, sys\n"
        "def main():\n"
        "    os.makedirs('results', exist_ok=True)\n"
        "    print('RAN', json.dumps({'argv': sys.argv[1:], 'program': sys.argv[0], 'path': sys.path}))\n"
    )
    with zipfile.ZipFile(folder / "turncheck-9-py3-none-any.whl", "w") as wheel:
        wheel.writestr("turncheck_stand_in.py", code)
        wheel.writestr(f"{information}/METADATA", "Metadata-Version: 2.1\nName: turncheck\nVersion: 9\n")
        wheel.writestr(
            f"{information}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{information}/entry_points.txt", "[console_scripts]\nturncheck = turncheck_stand_in:main\n")
        wheel.writestr(f"{information}/RECORD", "")
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of the machine. Its Python is the real one; pip is copied into new environments, which is quicker."""
    folder = tmp_path_factory.mktemp("programs")
    real = Path(getattr(sys, "_base_executable", sys.executable))
    subprocess.run([real, "-I", "-m", "venv", folder / "made"], check=True, capture_output=True)
    site = next((folder / "made" / "lib").glob("python*")) / "site-packages"
    (folder / "python3").write_text(
        f'#!/bin/sh\ncase "$*" in\n*"-m venv "*) ;;\n*) exec {real} "$@" ;;\nesac\n'
        f'{real} "$@" --without-pip || exit 1\nfor last; do :; done\n'
        f'cp -r {site}/pip "$last"/lib/python*/site-packages/\n'
        f'{{ echo "#!$last/bin/python"; tail -n +2 {folder}/made/bin/pip; }} > "$last/bin/pip"\n'
        'chmod +x "$last/bin/pip"\n'
    )
    (folder / "docker").write_text("#!/bin/sh\nexit 0\n")
    for path in (folder / "python3", folder / "docker"):
        path.chmod(0o755)
    (folder / "python").symlink_to("python3")
    return folder


def scripts(name: str, text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the shell commands of a recipe in their order, each with the variables that it sets for it."""
    if "Jenkinsfile" in name or "jenkins" in name:
        variables = dict(re.findall(r"(\w+) = '([^']*)'", text))
        for long, short in re.findall(r"sh (?:'''(.*?)'''|'(.*?)')", text):
            yield (long or short).replace("\\\\", "\\"), variables
        return
    for document in yaml.safe_load_all(
        re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda one: {"version": "turncheck", "flags": ""}.get(one[1], "bot"), text)
    ):
        yield from _of(document, {})


def _of(node: Any, variables: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    if isinstance(node, list):
        for one in node:
            yield from _of(one, variables)
    if not isinstance(node, dict):
        return
    given = [node.get(key) for key in ("variables", "env")]
    variables = {**variables, **{name: value for one in given if isinstance(one, dict) for name, value in one.items()}}
    for key in ("script", "bash", "run", "commands", "command"):
        written = node.get(key)
        for one in written if isinstance(written, list) else [written]:
            if isinstance(one, str):
                yield one.replace("$$", "$"), {name: str(value) for name, value in variables.items()}
    for key, below in node.items():
        if key not in {"env", "variables"}:
            yield from _of(below, variables)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in INSTALLING if not name.endswith("True")])
def test_nothing_of_a_change_is_run(name: str, tmp_path: Path, wheels: Path, programs: Path) -> None:
    marks, own = tmp_path / "marks", tmp_path / "machine"
    workspace = tmp_path / "workspace"
    fill(workspace, marks)
    own.mkdir()
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(workspace),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "VERSION": "turncheck",
        "PROJECT": "bot",
        "FLAGS": "",
        "ARTIFACT": "turncheck",
        **dict.fromkeys(("RUNNER_TEMP", "AGENT_TEMPDIRECTORY", "TMPDIR"), str(own)),
    }
    said = before = ""
    for script, variables in scripts(name, INSTALLING[name]):
        if not re.search("turncheck|venv", script) or "docker run" in script:
            continue
        before += re.sub(r"(?:/opt|/tmp)/turncheck", f"{own}/turncheck", script) + "\n"
        if script.startswith("export "):  # its host runs them in one shell
            continue
        done = subprocess.run(
            ["bash", "-ec", before],
            cwd=workspace,
            env={**environment, **{key: value for key, value in variables.items() if "$" not in value}},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{before}\n{done.stdout}{done.stderr}"
        said, before = said + done.stdout, ""
    assert not marks.exists(), marks.read_text()
    ran = [line for line in said.splitlines() if line.startswith("RAN ")]
    assert ran
    assert not any(str(workspace) in line for line in ran), ran


@pytest.mark.slow
def test_turncheck_itself_runs_nothing_of_it_either(tmp_path: Path) -> None:
    marks, workspace = tmp_path / "marks", tmp_path / "workspace"
    shutil.copytree(ROOT / "examples" / "pizzeria", workspace)
    fill(workspace, marks)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    quiet = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x"), ("switch", "-qc", "change")):
        subprocess.run([*git, *words], cwd=workspace, env=quiet, check=True)
    with (workspace / "data" / "rules.yml").open("a") as file:
        file.write("# changed\n")
    program = Path(sys.executable).with_name("turncheck")
    environment = {"PATH": os.environ["PATH"], "HOME": str(workspace)}
    for flags in (("run", "--no-cache", "--out", str(tmp_path / "out"), "--plots"), ("data", "validate"), ("init",)):
        done = subprocess.run(
            [program, *flags], cwd=workspace, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert not marks.exists(), marks.read_text()
