"""Every place in the repository that names a version of turncheck: as a package, an image, a tag, a link, in prose."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from tools.release.place import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.release.place import Place

# A name, a version, or the variable of a template; no punctuation after it. Each part of a form has a maximum, so
# that a line of any length is gone through once.
_ANY = r"(?P<named>[$<{]\S{0,200}|[~\w](?:[\w.+/:-]{0,200}\w)?)"
_NUMBERED = r"(?P<named>v?\d+(?:\.\w+)*)"
_LINKED = r"(?P<named>v?\d+(?:\.\w+)*?)(?=\.(?:zip|tar)\b|\.?[^\w.]|\.?$)"
_PLACEHOLDER = re.compile(r"[$<{].*|(?!HEAD$)v?[A-Z][A-Z.-]*")
_COMPARED = r"(?:===?|~=|!=|<=?|>=?) ?v?\d[\w.*+]*"
_OURS = rf"{PACKAGE}/{PACKAGE}(?:\.git)?"
# Between the two keys of one mapping: lines of it, but no next entry of its list.
_BETWEEN = r"(?:(?!\n[ #]*- )[^{}]){0,200}?"
_KEY = rf"\b(?:rev|ref): *[\"']?{_ANY}"


@dataclass(frozen=True)
class Form:
    """A way to name a version."""

    pattern: re.Pattern[str]
    right: tuple[str, ...]
    """What may stand there, the usual one first; none: a requirement, which has to admit the version."""

    def fits(self, named: str, version: str) -> bool:
        """Whether what is named is this version, its major version, or whatever a reader puts in."""
        if not self.right:
            return _admits(named if named[0] in "=~!<>" else f"=={named}", version)
        return bool(_PLACEHOLDER.fullmatch(named)) or named in self._all(version)

    def expected(self, version: str) -> str:
        """Return what usually stands there for a version."""
        return self._all(version)[0] if self.right else f"=={version}"

    def _all(self, version: str) -> list[str]:
        major = version.partition(".")[0]
        return [right.format(version=version, tag=f"v{version}", major=f"v{major}") for right in self.right]


def _admits(requirement: str, version: str) -> bool:
    try:
        return SpecifierSet(requirement).contains(version, prereleases=True)
    except InvalidSpecifier:  # of which pip would make nothing either
        return False


def _form(pattern: str, *right: str) -> Form:
    return Form(re.compile(pattern, re.IGNORECASE), right)


_TAGS = ("{major}", "{tag}")
_REFS = ("refs/tags/{major}", "refs/tags/{tag}", *_TAGS)
_ENTRY = rf"\b(?:name|project|repository): *[\"']?{_OURS}\b"
_HOOKS = rf"\brepo: *[\"']?[\w:/.@-]{{0,200}}{_OURS}\b"
FORMS = (
    # An action, a component of GitLab, a source for pip; without a slash, the package as uvx takes it.
    _form(rf"[\w.:$/-]{{0,200}}/{PACKAGE}(?:\.git)?@{_ANY}", *_TAGS),
    _form(rf"(?<![\w/.-]){PACKAGE}(?:\[[\w, -]*\])?@(?P<named>v?\d[\w.]*|main|master|head)\b", "{version}"),
    _form(rf"\b{PACKAGE}/{PACKAGE}/[\w./-]{{1,200}}@{_ANY}", *_TAGS),
    # The comment that says of which version a commit is.
    _form(rf"[\w./-]{{0,200}}/{PACKAGE}@\S{{1,200}} +# *{_NUMBERED}", "{tag}"),
    _form(rf"{PACKAGE}/{PACKAGE}:{_ANY}", "{version}"),
    _form(rf"\b{PACKAGE}:(?P<named>v?\d+\.\d[\w.]*|latest)\b", "{version}"),
    _form(rf"\b{PACKAGE}(?:\[[\w, -]*\])? ?(?P<named>{_COMPARED}(?:, ?{_COMPARED})*)"),
    _form(rf"\b{PACKAGE} = \"(?P<named>(?:[=~!<>]{{1,3}} ?)?\d[\w.*]*)\""),
    _form(rf"[\"']{PACKAGE}[\"']: ?[\"'](?P<named>v?\d+\.\d[\w.]*)[\"']", "{version}"),
    _form(rf"\b{PACKAGE}[_-]version[\"']? ?[:=] ?[\"']?{_NUMBERED}", "{version}"),
    # An entry in a configuration of pre-commit, and in pipelines of Azure and GitLab: its two keys in either order.
    _form(rf"{_HOOKS}{_BETWEEN}{_KEY}", "{tag}"),
    _form(rf"{_KEY}{_BETWEEN}{_HOOKS}", "{tag}"),
    _form(rf"{_ENTRY}{_BETWEEN}{_KEY}", *_REFS),
    _form(rf"{_KEY}{_BETWEEN}{_ENTRY}", *_REFS),
    _form(rf"refs/tags/{_LINKED}", *_TAGS),
    _form(rf"{_OURS}/(?:blob|tree|raw|commits|releases/tag|releases/download|archive)/{_LINKED}", *_TAGS),
    _form(rf"raw\.githubusercontent\.com/{_OURS}/{_LINKED}", *_TAGS),
    _form(rf"/project/{PACKAGE}/{_NUMBERED}", "{version}"),
    _form(
        rf"\bgit clone\b(?=[^\n]{{0,200}}[/:]{PACKAGE}\b)[^\n]{{0,200}}? (?:--branch|-b)[ =]{_NUMBERED}",
        *reversed(_TAGS),
    ),
    _form(rf"\bgh release \w+ {_NUMBERED}", "{tag}"),
    _form(rf"\b{PACKAGE}-(?P<named>v?\d[\w.]*?)(?=-py3|\.tar\.gz)", "{version}"),
    _form(rf"\b{PACKAGE}-(?P<named>v\d+(?:\.\w+)*|\d+\.\d+[\w.]*)-(?!py3)[a-z]", "{tag}", "{version}", "{major}"),
    _form(rf"\"name\": ?\"{PACKAGE}\",\s*\"version\": ?\"(?P<named>[^\"]+)\"", "{version}"),
    # Prose, and what is shown of a run; the built-in engine has the version of the package.
    _form(rf"\b(?:{PACKAGE}|embedded)[`*_]* (?:version |release )?(?P<named>v?\d+\.\d+\.\d\w*)", "{version}", "{tag}"),
    _form(rf"\b{PACKAGE}[`*_]* (?:version |release )?(?P<named>v\d+(?:\.\d+)?)(?!\.?\w)", "{major}"),
    _form(rf"\b(?:version|release) (?P<named>v?\d+\.\d+\.\d\w*)[`*_]* of [`*_]*{PACKAGE}\b", "{version}", "{tag}"),
    # With a "v", as only our own tags are named.
    _form(r"\b(?:current|latest|newest) (?:version|release) is [`*_]*(?P<named>v\d+(?:\.\w+)*)", "{tag}"),
)


@dataclass(frozen=True)
class Mention:
    """A place that names a version, and in which form."""

    path: str
    line: int
    column: int
    written: str
    named: str
    form: Form


def mentions(place: Place, commit: str = "HEAD") -> Iterable[Mention]:
    """Return all mentions in the text files of a commit, or of the checkout (`""`).

    CHANGELOG.md is about earlier versions as well, and the data of tests is about any.
    """
    if not commit:
        return _found(place)
    known = place.git("rev-parse", commit)
    if known not in _OF_COMMITS:
        _OF_COMMITS[known] = tuple(_found(place, known))
    return _OF_COMMITS[known]


_OF_COMMITS: Final[dict[str, tuple[Mention, ...]]] = {}
"""What a commit names does not change, and a release asks for it at several steps."""


# One of them is in whatever a form finds. A name with a dot behind it is a module (`turncheck.api`) or a file, but for
# that of a repository. Looked for as one pattern: git goes through each line once for every pattern.
_WORDS = "|".join(
    (rf"{PACKAGE}($|[^.]|\.($|[^a-z]|git))", "embedded [0-9]", "refs/tags/v[0-9]", "gh release", "is [`*_]*v[0-9]")
)


def _found(place: Place, commit: str = "") -> Iterator[Mention]:
    where = (*filter(None, [commit]), "--", ".", ":!tests", ":!CHANGELOG.md")
    # The words are plain letters: to look for them in bytes takes a third of the time.
    found = place.git("grep", "-EInziC4", _WORDS, *where, env={"LC_ALL": "C"})
    for path, part in _by_file(_LINE.finditer(found)):
        text = "\n".join(line["text"] for line in part)
        yield from in_text(path.removeprefix(f"{commit}:" if commit else ""), text, int(part[0]["number"]))


# The path may have whatever a path may have, line ends as well. Between regions git writes a line of two dashes.
_LINE = re.compile(r"(?P<gap>--\n)?(?P<path>[^\0]+)\0(?P<number>\d+)\0(?P<text>[^\n]*)\n?")


def _by_file(lines: Iterable[re.Match[str]]) -> Iterator[tuple[str, list[re.Match[str]]]]:
    """git separates neither what is of two files nor, within one, what stands side by side."""
    part: list[re.Match[str]] = []
    for line in lines:
        if part and (line["gap"] or line["path"] != part[0]["path"]):
            yield part[0]["path"], part
            part = []
        part.append(line)
    if part:
        yield part[0]["path"], part


def in_text(path: str, text: str, first: int = 1) -> Iterator[Mention]:
    """Yield the mentions in a text whose first line has this number."""
    seen = set()
    for form in FORMS:
        for match in form.pattern.finditer(text):
            if match.end("named") in seen:  # a form within another one
                continue
            seen.add(match.end("named"))
            before = text[: match.start("named")]
            column = len(before) - before.rfind("\n") - 1
            written = " ".join(match[0].split())
            yield Mention(path, first + before.count("\n"), column, written, match["named"], form)
