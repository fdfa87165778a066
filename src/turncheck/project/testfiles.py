"""Where a project keeps its tests, and the Python code of its actions."""

from __future__ import annotations

import ast
import re
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.messages.finding import Finding, Location, shown_path
from turncheck.process import regular_file
from turncheck.project import project_file
from turncheck.project.botium.ignored import is_ignored
from turncheck.project.folder import YAML_SUFFIXES, ProjectFolder, absolute_name, is_assistant, is_foreign, own_folders
from turncheck.project.formats.format import FormatInput
from turncheck.project.formats.registry import recognised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from turncheck.project.formats.format import Format
    from turncheck.yaml_tree.source import Source


TESTS_FOLDER: Final = "tests"
TEST_STORY_PREFIX: Final = "test_"
MARKDOWN: Final = ".md"
JSON: Final = ".json"
_MAY_HOLD_TESTS: Final = YAML_SUFFIXES | {JSON, ".csv"}
TEST_NLU_FILE: Final = "test_data.yml"
E2E_KEYS: Final = ("test_cases", "fixtures", "metadata")
DOMAIN_KEYS: Final = ("intents", "slots", "responses", "actions", "forms", "entities")
E2E_CASES_FILE: Final = "tests/e2e_test_cases.yml"
COVERAGE_FOLDER: Final = "e2e_coverage_results"
"""Where the cases that passed and failed are written with their coverage, as Rasa Pro does."""
COVERAGE_FILES: Final = {name: f"coverage_report_for_{name}_tests.csv" for name in ("passed", "failed")}
"""Beside them, in whatever folder."""
DU_FOLDER: Final = "dialogue_understanding_tests"
"""Where Rasa looks for dialogue understanding tests, which only flows are held against."""
E2E_FOLDERS: Final = (TESTS_FOLDER, "e2e_tests")
"""Folders with end-to-end cases; the second one is named as Rasa Pro's templates name it."""
_TO_BE_REVIEWED: Final = re.compile(r"e2e_suggested_[0-9]+\.yml")
_MISSPELT_CASES: Final = re.compile(rb"^((?:tests?[_-]?cases?|e2e_test_cases))[ \t]*:[ \t]*(?:#.*)?$", re.MULTILINE)
_CASES_LINE: Final = re.compile(rb"^(?:\xef\xbb\xbf)?['\"]?test_cases['\"]?[ \t]*:", re.MULTILINE)
"""The key of end-to-end cases at the top level of a file, which need not be YAML: reading it says what is wrong."""


def find_test_stories(root: Path) -> list[Path]:
    """Return the files ``test_*.yml`` with stories or rules below ``tests/``, or below the project without that folder.

    Below ``tests/``, stories in Markdown count under any name, such as Rasa 1's ``conversation_tests.md``.

    Sorted by path. Hidden folders and virtual environments are not searched.
    """
    folder = root / TESTS_FOLDER
    candidates = _files(
        root, folder if regular_file.is_folder(folder) else root, lambda name: name.startswith(TEST_STORY_PREFIX)
    )
    paths = _with_keys(root, candidates, project_file.STORY_KEYS)
    in_markdown = _files(root, folder, lambda name: name.endswith(MARKDOWN)) if regular_file.is_folder(folder) else []
    return [
        *paths,
        *(path for path in _with_keys(root, in_markdown, project_file.STORY_KEYS) if _holds_stories(root, path)),
    ]


def _holds_stories(root: Path, path: Path) -> bool:
    """Whether a Markdown file is meant as stories rather than for people to read."""
    from turncheck.project.formats.markdown_stories import is_training_data  # few projects have any

    source = ProjectFolder(root).read(path)
    return source is not None and is_training_data(source.file_text)


def find_test_nlu(root: Path) -> list[Path]:
    """Return the NLU files ``tests/*nlu*`` (or everything in a folder of such a name), else ``test_data.yml``.

    ``test_data.yml`` is looked for in the project's folder, where users of ``rasa data split`` put it, and in
    ``tests/``.
    """
    folder = root / TESTS_FOLDER
    named = sorted(path for path in _listed(folder) if "nlu" in path.name.lower())
    files = (file for path in named for file in (_files(root, path) if regular_file.is_folder(path) else [path]))
    paths = _with_keys(root, files, project_file.NLU_KEYS)
    return paths or _with_keys(root, (root / TEST_NLU_FILE, folder / TEST_NLU_FILE), project_file.NLU_KEYS)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # there is none; or :func:`find_unsearched` says why it cannot be read
        return []


def find_unsearched(root: Path) -> Iterator[Finding]:
    """Yield an error for each folder of the project that cannot be searched for tests."""
    folder = ProjectFolder(root)
    for listed_folder in own_folders(root):
        if listed_folder.refusal:
            name = folder.name(listed_folder.path)
            yield Finding(
                "file-unreadable",
                "error",
                f"'{name}' cannot be read ({listed_folder.refusal}): it is not searched for tests.",
                Location(name),
                "Let this user read the folder, or move it out of the project.",
            )


def find_files_without_tests(root: Path) -> list[str]:
    """Return files below ``tests/`` that are named like tests but have none of the keys of tests.

    The paths are relative to the project, sorted.
    """
    folder = root / TESTS_FOLDER
    if not regular_file.is_folder(folder):
        return []
    named = [
        path
        for path in _files(root, folder, lambda name: name.startswith(TEST_STORY_PREFIX) or "nlu" in name.lower())
        if _format(root, path) and not project_file.is_in_objects(path.name, partial(ProjectFolder(root).content, path))
    ]
    known = {*_with_keys(root, named, (*project_file.NLU_KEYS, *project_file.STORY_KEYS, *E2E_KEYS, *DOMAIN_KEYS))}
    return sorted(shown_path(path.relative_to(root)) for path in named if path not in known)


def find_empty(root: Path) -> list[str]:
    """Return the files below ``tests/`` that have the ending of tests and nothing in them, relative, sorted."""
    folder = root / TESTS_FOLDER
    if not regular_file.is_folder(folder):
        return []
    of_tests = _files(
        root, folder, lambda name: Path(name).suffix in _MAY_HOLD_TESTS and name != Path(E2E_CASES_FILE).name
    )
    empty = (path for path in of_tests if regular_file.is_file(path) and _is_empty(path))
    return [shown_path(path.relative_to(root)) for path in empty]


def _is_empty(path: Path) -> bool:
    """Whether a file holds nothing, or nothing but blanks and ends of lines."""
    try:
        if path.stat().st_size > _MOST_BLANKS:
            return False
        return is_blank(regular_file.read_regular(path, most=_MOST_BLANKS))
    except (OSError, regular_file.TooLargeError):
        return False


_MOST_BLANKS: Final = 1024


def is_blank(content: bytes) -> bool:
    """Whether the content of a file is nothing that anybody sees."""
    return not content.removeprefix(b"\xef\xbb\xbf").strip()


def find_files_not_looked_for(root: Path, keys: tuple[str, ...], read: Iterable[Path]) -> list[str]:
    """Return files below ``tests/`` that hold one of these kinds but have a name that no search for tests matches.

    What cannot be read is not among them, since nobody knows what it holds. The paths are relative to the project,
    sorted.

    Args:
        root: the project's folder.
        keys: the kinds.
        read: the files that are read.
    """
    found = _with_keys(root, _others(root, read), keys, unread=False)
    return sorted(shown_path(path.relative_to(root)) for path in found)


def _others(root: Path, read: Iterable[Path]) -> list[Path]:
    folder = root / TESTS_FOLDER
    known = {absolute_name(path) for path in read}
    found = _files(root, folder) if regular_file.is_folder(folder) else []
    return [path for path in found if absolute_name(path) not in known and path.suffix != MARKDOWN]


def find_unreadable(root: Path, read: Iterable[Path]) -> Iterator[Finding]:
    """Yield for each file in YAML or JSON below ``tests/`` that is not ``read`` and cannot be, why that is.

    Nobody knows whether it holds tests.
    """
    for path in _others(root, read):
        if path.suffix in YAML_SUFFIXES and _is_no_folder(path):
            folder = ProjectFolder(root)
            if folder.read(path) is None:
                yield from folder.findings
        elif path.suffix == JSON and _is_no_folder(path):
            yield from _not_json(root, path)


def _not_json(root: Path, path: Path) -> Iterator[Finding]:
    folder = ProjectFolder(root)
    content = folder.read_bytes(path)
    source = None if content is None else folder.decode(folder.name(path), content)
    yield from folder.findings
    file_format = _format(root, path)
    if source is None or is_blank(content or b"") or _OF_RASA in source.file_text or file_format is None:
        return
    if file_format.read is not None and file_format.holds == {"nlu"}:
        read = file_format.read(FormatInput(source, folder, file_format.holds))
        yield from (finding for finding in read.findings if finding.code == _NOT_JSON)


def find_e2e_cases(root: Path) -> list[Path]:
    """Return the files with end-to-end cases below ``tests/`` and ``e2e_tests/``, whatever their names.

    Conversations of Botium's also below ``spec/convo/``, where Botium looks for them.

    ``tests/e2e_test_cases.yml``, the default of ``rasa test e2e``, counts even without cases. Sorted by path.
    """
    default = root / E2E_CASES_FILE
    folders = [
        folder for name in (*E2E_FOLDERS, project_file.CONVO_FOLDER) if regular_file.is_folder(folder := root / name)
    ]
    below = [
        path
        for folder in folders
        for path in _files(root, folder, lambda name: _may_have_cases(name) or name.endswith(JSON))
        if not (_is_of_botium(root, path) and is_ignored(ProjectFolder(root), folder, path))
    ]
    paths = {*_with_cases(root, below), *([default] if regular_file.is_file(default) else [])}
    return sorted(paths, key=absolute_name)


def misspelt_cases(root: Path) -> Iterator[tuple[str, int, str]]:
    """Yield path, line and key of files of tests whose key for the cases is misspelt, so that nothing reads them."""
    folders = [root / name for name in (*E2E_FOLDERS, DU_FOLDER)]
    for folder in filter(regular_file.is_folder, folders):
        for path in _files(root, folder, _may_have_cases):
            try:
                content = regular_file.read_regular(path, most=_LARGEST, follow=False)
            except OSError:
                continue
            match = None if _CASES_LINE.search(content) else _MISSPELT_CASES.search(content)
            if match is not None:
                line = content.count(b"\n", 0, match.start()) + 1
                yield shown_path(path.relative_to(root)), line, match[1].decode("ascii")


def find_e2e_cases_not_looked_for(root: Path, named: Iterable[str]) -> list[str]:
    """Return files with end-to-end cases that are not run, relative to the project, sorted.

    Args:
        root: the project's folder.
        named: what the setting names (files, folders, ``file::case``). If it is empty, these are the files anywhere
            else in the project, but for the assistants below it.
    """
    places = [absolute_name(regular_file.file_and_case(path)[0]) for path in named]
    if places:
        paths = [path for path in find_e2e_cases(root) if not any(_is_at(path, place) for place in places)]
    else:
        looked_for = [absolute_name(root / name) for name in (*E2E_FOLDERS, project_file.CONVO_FOLDER)]
        candidates = _files(root, root, _may_have_cases, skip=_is_of_others)
        paths = _with_cases(
            root, [candidate for candidate in candidates if not any(_is_at(candidate, place) for place in looked_for)]
        )
    return sorted(shown_path(path.relative_to(root)) for path in paths)


def _is_of_others(folder: Path) -> bool:
    """Whether what is in a folder of the project is not the assistant's own."""
    try:
        written = folder.name == COVERAGE_FOLDER or any(
            map(regular_file.is_file, map(folder.joinpath, COVERAGE_FILES.values()))
        )
        return written or folder.name == DU_FOLDER or is_foreign(folder) or is_assistant(folder)
    except OSError:  # it cannot be read: :func:`find_unsearched` says so
        return True


def _is_at(path: Path, place: str) -> bool:
    return Path(absolute_name(path)).is_relative_to(place)


def _is_of_botium(root: Path, path: Path) -> bool:
    return _is_convo(path.name) or project_file.holds_convos(path.name, partial(ProjectFolder(root).content, path))


def _may_have_cases(name: str) -> bool:
    """Whether a file name may be that of end-to-end cases: a conversation of Botium's, or YAML, but neither the
    fixtures that files share nor what `turncheck suggest` proposes, which nobody has reviewed yet."""
    if name == project_file.SHARED_FILE or _TO_BE_REVIEWED.fullmatch(name):
        return False
    return (not name.startswith(".") and Path(name).suffix in YAML_SUFFIXES) or _is_convo(name)


def _is_convo(name: str) -> bool:
    """Whether a file name is that of a conversation of Botium's that is not to be skipped."""
    return name.endswith(project_file.CONVO) and not _is_left_out(name)


def _is_left_out(name: str) -> bool:
    return name.lower().startswith(("skip.", "skip-", "skip_", "."))


def _with_cases(root: Path, paths: Iterable[Path]) -> list[Path]:
    """Return the files with end-to-end cases. In ``e2e_tests/``, one that cannot be read counts: reading says why."""
    found = []
    for path in paths:
        content = ProjectFolder(root).read_bytes(path) if regular_file.is_file(path) else None
        is_convo = (
            content is not None
            and not _is_left_out(path.name)
            and project_file.holds_convos(path.name, partial(bytes, content))
        )
        if path.name.endswith(project_file.CONVO) or is_convo:
            found.append(path)
        if path.name.endswith((project_file.CONVO, JSON)) or is_convo:
            continue
        unread = (content is None or not _is_text(content)) and path.is_relative_to(root / E2E_FOLDERS[-1])
        if unread or (content is not None and _CASES_LINE.search(content)):
            found.append(path)
    return found


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _files(
    root: Path, start: Path, is_wanted: Callable[[str], bool] = bool, skip: Callable[[Path], bool] = is_foreign
) -> list[Path]:
    paths = (path for path, *_ in ProjectFolder(root).files([start], skip=skip) if is_wanted(path.name))
    return sorted(paths, key=absolute_name)


def _format(root: Path, path: Path) -> Format | None:
    found = recognised(path, partial(ProjectFolder(root).content, path))
    return None if found is None or found.read is None else found


def _with_keys(root: Path, paths: Iterable[Path], keys: tuple[str, ...], *, unread: bool = True) -> list[Path]:
    """Return the files that seem to hold one of these kinds. One that cannot be read counts: reading it says why.

    ``unread``: whether it does; not so where nothing reads it.
    """
    found = []
    for path in paths:
        file_format = _format(root, path) if _is_no_folder(path) else None
        if file_format is not None:
            source = ProjectFolder(root).read(path)
            if unread if source is None else not _kinds(root, file_format, source).isdisjoint(keys):
                found.append(path)
    return found


def _kinds(root: Path, file_format: Format, source: Source) -> frozenset[str]:
    """Return what a file holds: JSON may be anything, such as a tracker that tests of actions use."""
    kinds = file_format.kinds(source)
    if file_format.read is None or not source.path.endswith(JSON) or "nlu" not in kinds:
        return kinds
    parts = file_format.read(FormatInput(source, ProjectFolder(root), kinds))
    faults = {finding.code for finding in parts.findings if finding.severity == "error"}
    is_of_rasa = _OF_RASA in source.file_text
    has_sentences = bool(parts.nlu.examples) or bool(faults if is_of_rasa else faults - {_NOT_JSON})
    return kinds if has_sentences else kinds - {"nlu"}


_NOT_JSON: Final = "data-not-json"
_OF_RASA: Final = "rasa_nlu_data"
"""The key at the top of Rasa's JSON: what has it means to hold sentences, whatever is wrong with it."""


def _is_no_folder(path: Path) -> bool:
    """Whether there is a file, or a pipe or a device in the place of one."""
    return regular_file.is_there(path) and not regular_file.is_folder(path)


# The names in a project's Python code, and the code of its custom actions: read, never run.

_QUOTED: Final = re.compile(r"""(["'])([\w./ -]{1,200}?)\1""")
_CALLED: Final = re.compile(r"""\b(?:FollowupAction|ActionExecuted)\(\s*(?:\w+\s*=\s*)?["']([\w./ -]{1,200})["']""")
_LARGEST: Final = 1024 * 1024
_MOST_FILES: Final = 2000


class CodeNames(NamedTuple):
    """``quoted``: all short strings, including slots that an action reads; ``called``: actions that the code calls."""

    quoted: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()


def names_in_code(root: Path) -> CodeNames:
    """Search the ``*.py`` files below a folder; environments, links and files over 1 MiB are left out."""
    quoted: set[str] = set()
    called: set[str] = set()
    for _, text in texts_of_code(root):
        quoted.update(match[2] for match in _QUOTED.finditer(text))
        called.update(match[1] for match in _CALLED.finditer(text))
    return CodeNames(frozenset(quoted), frozenset(called))


def defines_class(root: Path, path: str) -> bool:
    """Whether the module of ``package.module.Class`` is below a folder and seems to define that name.

    It is not imported, and not read if it is a link out of the folder; it is then assumed to define the name.
    """
    *modules, name = path.split(".")
    if not modules or not all(part.isidentifier() for part in (*modules, name)):
        return False
    package = root.joinpath(*modules, "__init__.py")
    module = package if regular_file.is_file(package) else root.joinpath(*modules[:-1], f"{modules[-1]}.py")
    if not regular_file.is_file(module):
        return False
    if not module.resolve().is_relative_to(root.resolve()):
        return True
    try:
        text = regular_file.read_regular(module, most=_LARGEST, inside=root).decode("utf-8", "replace")
    except regular_file.TooLargeError:
        text = ""
    except OSError:
        return False
    return re.search(_BINDING.format(name=re.escape(name)), text, re.MULTILINE) is not None


_BINDING: Final = (
    r"^[ \t]*(?:class[ \t]+{name}\b|{name}[ \t]*[:=]|(?:from|import)\b.*(?:\b{name}\b|\*)|def[ \t]+__getattr__\b"
    r"|(?:\w+[ \t]+as[ \t]+)?{name}[ \t]*,?[ \t]*(?:#.*)?$)"
)
"""A line that may bind a name: a class, an assignment, an import or a line of a multi-line import."""


def code_of_actions(root: Path) -> dict[str, str]:
    """Return the code of each custom action by the name in its class, without comments, texts for readers and layout.

    A class of rasa-sdk returns its action's name in ``def name(self): return "action_x"``. What it calls in other
    modules is not examined.
    """
    found: dict[str, list[str]] = {}
    for _, node, name in _actions_in_code(root):
        try:
            found.setdefault(name, []).append(ast.unparse(_without_texts(node)))
        except RecursionError:
            continue
    return {name: "\n".join(sorted(classes)) for name, classes in found.items()}


def _without_texts(node: ast.ClassDef) -> ast.ClassDef:
    """Take out strings that are statements: docstrings, and code that is commented out so."""
    for part in ast.walk(node):
        body = getattr(part, "body", None)
        if isinstance(body, list):
            part.body = [one for one in body if not _is_text_alone(one)] or [ast.Pass()]  # type: ignore[attr-defined]
    return node


def _is_text_alone(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def action_classes(root: Path) -> dict[str, dict[str, str]]:
    """Return, for each class of a custom action, the name of the action by the module, ``actions.rooms``."""
    found: dict[str, dict[str, str]] = {}
    for path, node, name in _actions_in_code(root):
        parts = path.relative_to(root).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.setdefault(node.name, {})[module] = name
    return found


def _actions_in_code(root: Path) -> Iterator[tuple[Path, ast.ClassDef, str]]:
    for path, text in texts_of_code(root):
        if "def name" not in text:
            continue
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # the action server will report its fault
        for node in nodes:
            if isinstance(node, ast.ClassDef) and (name := _action_name(node)):
                yield path, node, name


def _action_name(node: ast.ClassDef) -> str | None:
    """Return the string that the method ``name`` returns, which may be an attribute of the class."""
    attributes: dict[str, ast.expr] = {}
    for part in node.body:
        if isinstance(part, ast.Assign):
            attributes.update((target.id, part.value) for target in part.targets if isinstance(target, ast.Name))
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "name":
            value = next((statement.value for statement in part.body if isinstance(statement, ast.Return)), None)
            if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
                value = attributes.get(value.attr)
            return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
    return None


def texts_of_code(root: Path) -> Iterator[tuple[Path, str]]:
    for path in islice(_python_files(root), _MOST_FILES):
        try:
            yield path, regular_file.read_regular(path, most=_LARGEST, follow=False).decode("utf-8", "replace")
        except OSError:
            continue  # a file that cannot be read has no names


def _python_files(root: Path) -> Iterator[Path]:
    """In the order of their paths, a folder's own files first."""
    for folder in own_folders(root):
        yield from (path for path in folder.entries if path.suffix == ".py" and not regular_file.is_link(path))
