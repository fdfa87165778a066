"""Bitbucket's REST API, version 2.0: comments of pull requests, Code Insights reports and their annotations.

Sources: "Pullrequests" and "Reports" in its reference; "Code Insights" in its documentation: 1,000 annotations of a
report, 100 in a request.
"""

from __future__ import annotations

import hashlib
import html
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from turncheck.ci.comment import Written
from turncheck.ci.host import Target, exact_commit
from turncheck.ci.rest import NotFoundError, RefusedError, Request, RestClient, RestError
from turncheck.ci.tarball import Listed, single_files
from turncheck.messages.plain_text import one_line
from turncheck.render.sinks.markdown import code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from turncheck.ci.host import Check, CommitFiles
    from turncheck.render.annotations import Annotation, Level


# Markdown as Bitbucket takes it: without any HTML, which it shows as text.
#
# A hidden line is the definition of a link that nothing refers to; what GitHub folds is under a bold line.

_LITERAL: Final = (
    r"(?P<literal>^ *(?P<fence>`{3,})\n(?s:.*?)\n *(?P=fence)$|(?<!`)(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`))"
)
"""Code blocks and spans, whose content is shown literally."""
_COMMENT: Final = re.compile(r"<!-- (.*?) -->")
_HIDDEN: Final = re.compile(r"\[//\]: # \((.*?)\)")
_SUMMARY: Final = re.compile(r"<details(?: open)?>\s*<summary>(?P<summary>(?s:.*?))</summary>")
_BREAK: Final = re.compile(r"<br ?/?>")
_TAG: Final = re.compile(r"</?(?:details|summary|sub|sup|b|strong|i|em|p|div|span|kbd)(?: [^<>]*)?>")
_CODE: Final = re.compile(r"<code>(.*?)</code>")
_BOLD: Final = re.compile(r"</?(?:b|strong)>")


def to_bitbucket(body: str) -> str:
    """Return a comment in Bitbucket's dialect."""
    head, _, rest = body.partition("\n")
    hidden = " ".join(_COMMENT.findall(head))
    if hidden:
        head = f"[//]: # ({hidden})\n"
    rest = _outside_code(_SUMMARY, lambda match: f"**{_plain(match['summary'])}**", rest)
    for pattern, shown in ((_COMMENT, ""), (_BREAK, " · "), (_TAG, "")):
        rest = _outside_code(pattern, lambda _, shown=shown: shown, rest)  # type: ignore[misc]
    return f"{head}\n{rest}" if rest or hidden else body


def _outside_code(pattern: re.Pattern[str], shown: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace the matches of a pattern outside code."""
    either = re.compile(f"{_LITERAL}|{pattern.pattern}", re.MULTILINE)
    return either.sub(lambda match: match["literal"] or shown(match), text)


def from_bitbucket(body: str) -> str:
    """Return a comment with its hidden first line as other hosts have it."""
    head, _, rest = body.partition("\n")
    found = _HIDDEN.match(head)
    if found is None:
        return body
    words = re.split(r" (?=turncheck:)", found[1])
    return "".join(f"<!-- {one} -->" for one in words) + f"\n{rest.removeprefix(chr(10))}"


def _plain(summary: str) -> str:
    shown = _TAG.sub("", _BOLD.sub("", summary)).strip().strip("*")  # escaped text in code is not a tag
    return _CODE.sub(lambda match: code(html.unescape(match[1])), shown)


MOST: Final = 1_000
BATCH: Final = 100
_DEEPEST: Final = 20
"""Folders within each other that are listed."""
_NEEDS_COMMENTS: Final = "the scope `pullrequest:write`"
_NEEDS_REPORTS: Final = "the scope `repository`"
_LONGEST_TITLE: Final = 450
_LONGEST_DETAILS: Final = 2_000
_LONGEST_SUMMARY: Final = 450
_SEVERITIES: Final[Mapping[Level, str]] = {"error": "HIGH", "warning": "MEDIUM", "notice": "LOW"}


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all answers; other keys are ignored."""


class _User(_Answer, frozen=True, kw_only=True):
    uuid: str = ""


class _Content(_Answer, frozen=True, kw_only=True):
    raw: str | None = None


class _Link(_Answer, frozen=True, kw_only=True):
    href: str = ""


class _Links(_Answer, frozen=True, kw_only=True):
    html: _Link | None = None


class _Comment(_Answer, frozen=True, kw_only=True):
    id: int
    content: _Content | None = None
    user: _User | None = None
    deleted: bool = False
    links: _Links | None = None


class _Commit(_Answer, frozen=True, kw_only=True):
    hash: str


class _Entry(_Answer, frozen=True, kw_only=True):
    type: str = ""
    path: str = ""
    attributes: list[str] | str = []
    """The description of the API has one of them, its answers a list."""

    def listed(self) -> Listed | None:
        """Return it as what it is in a commit; ``None`` for a folder whose content is listed, too."""
        attributes = {self.attributes} if isinstance(self.attributes, str) else set(self.attributes)
        if self.type != "commit_file":
            is_deepest = self.path.strip("/").count("/") + 1 >= _DEEPEST
            return Listed(self.path, left_out=True) if is_deepest else None
        return Listed(self.path, is_link="link" in attributes, left_out="subrepository" in attributes)


class _Branch(_Answer, frozen=True, kw_only=True):
    name: str


class _Tip(_Answer, frozen=True, kw_only=True):
    target: _Commit


class _Side(_Answer, frozen=True, kw_only=True):
    branch: _Branch
    commit: _Commit | None = None


class _PullRequest(_Answer, frozen=True, kw_only=True):
    id: int
    source: _Side
    destination: _Side


class BitbucketClient(RestClient):
    """Asks Bitbucket's API; without a token through the proxy of a pipeline, which signs what is sent."""

    host = "Bitbucket"

    def message_of(self, document: Any) -> str:
        error = document.get("error") if isinstance(document, dict) else None
        if not isinstance(error, dict):
            return ""
        return "; ".join(str(part) for part in (error.get("message"), error.get("detail")) if part)

    def refusal(self, status: int, message: str, trouble: str, request: Request) -> RestError:
        if status == 403:
            return RefusedError(trouble, status=status, remedy=f"The token needs {request.needs or _NEEDS_COMMENTS}.")
        return super().refusal(status, message, trouble, request)

    def following(self, page: Any, answer_links: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        url = page.get("next") if isinstance(page, dict) else None
        return str(url) if url else None


class BitbucketRepository:
    """One repository, ``workspace/slug``."""

    def __init__(self, client: BitbucketClient, repository: str) -> None:
        self.client = client
        self._path = f"/repositories/{quote(repository, safe='/{}', errors='replace')}"

    def pull_request(self, number: int) -> Target:
        """Return a pull request.

        Raises:
            RestError: it cannot be had.
        """
        found = self.client.get(f"{self._path}/pullrequests/{number}", _PullRequest)
        head = found.source.commit.hash if found.source.commit else ""
        return Target(found.id, head, found.destination.branch.name)

    def comments(self, number: int) -> PullRequestComments:
        """Return the comments of a pull request."""
        return PullRequestComments(self.client, f"{self._path}/pullrequests/{number}/comments")

    def merge_base(self, branch: str, head: str) -> str | None:
        """Return where a commit left a branch; ``None`` if Bitbucket does not know them.

        Commits are compared, since the name of a branch may be that of a tag, too.

        Raises:
            RestError: it could not be asked.
        """
        try:
            name = quote(branch, safe="/", errors="replace")
            tip = exact_commit(branch) or self.client.get(f"{self._path}/refs/branches/{name}", _Tip).target.hash
            return self.client.get(f"{self._path}/merge-base/{quote(f'{head}..{tip}', safe='.')}", _Commit).hash
        except NotFoundError:
            return None

    def files_of(self, commit: str) -> AbstractContextManager[CommitFiles]:
        """Return a commit's files in a temporary folder; those of submodules are left out.

        The API has no archive; source: "Source" in its reference.
        """
        path = f"{self._path}/src/{quote(commit, safe='')}"

        def fetch(name: str, file: BinaryIO, limit: int) -> None:
            self.client.download(f"{path}/{quote(name, errors='replace')}", file, limit, needs=_NEEDS_REPORTS)

        entries = self.client.pages(
            f"{path}/", _Entry, key="values", needs=_NEEDS_REPORTS, max_depth=_DEEPEST, pagelen=BATCH
        )
        return single_files((one for entry in entries if (one := entry.listed()) is not None), fetch)

    def report(self, check: Check) -> int:
        """Put a report with its annotations beside a commit; return how many annotations it has.

        Raises:
            RestError: it could not be made, or not all annotations got there.
        """
        identity = f"turncheck-{hashlib.sha256(check.key.encode(errors='replace')).hexdigest()[:12]}"
        path = f"{self._path}/commit/{check.commit}/reports/{identity}"
        body = {
            "title": one_line(f"turncheck: {check.key}", _LONGEST_TITLE),
            "details": one_line(check.title, _LONGEST_DETAILS),
            "report_type": "TEST",
            "reporter": "turncheck",
            "result": "PASSED" if check.passed else "FAILED",
            **({"link": check.details_url} if check.details_url else {}),
        }
        with suppress(NotFoundError):
            self.client.delete(path, needs=_NEEDS_REPORTS)  # annotations of an earlier run would stay
        self.client.put(path, body, needs=_NEEDS_REPORTS)
        placed = [_annotation(identity, number, one) for number, one in enumerate(check.annotations[:MOST], 1)]
        for start in range(0, len(placed), BATCH):
            batch = placed[start : start + BATCH]
            self.client.post(f"{path}/annotations", batch, list, needs=_NEEDS_REPORTS)
        return len(placed)


class PullRequestComments:
    """The comments of one pull request."""

    def __init__(self, client: BitbucketClient, path: str) -> None:
        self._client = client
        self._path = path

    def all(self) -> Iterator[Written]:
        listed = self._client.comments(self._path, _Comment, key="values", needs=_NEEDS_COMMENTS, pagelen=BATCH)
        return (_written(one) for one in listed if not one.deleted)

    def post(self, body: str) -> Written:
        content = {"content": {"raw": to_bitbucket(body)}}
        return _written(self._client.post(self._path, content, _Comment, needs=_NEEDS_COMMENTS))

    def change(self, one: Written, body: str, newer: Written | None = None) -> None:  # noqa: ARG002
        self._client.put(f"{self._path}/{one.id}", {"content": {"raw": to_bitbucket(body)}}, needs=_NEEDS_COMMENTS)

    def delete(self, one: Written) -> None:
        self._client.delete(f"{self._path}/{one.id}", needs=_NEEDS_COMMENTS)

    def author(self) -> str:
        """Who the token speaks for; "" where it may not ask: then it is found out by posting."""
        try:
            return self._client.get("/user", _User, needs="the scope `account`").uuid
        except RestError as error:
            if error.status in {401, 403, 404}:  # a token of a repository belongs to no account that could be asked for
                return ""
            raise


def _annotation(identity: str, number: int, one: Annotation) -> dict[str, Any]:
    placed = {"path": one.path, **({"line": max(1, one.line)} if one.line is not None else {})} if one.path else {}
    return {
        "external_id": f"{identity}-{number}",
        "annotation_type": "BUG" if one.level == "error" else "CODE_SMELL",
        "summary": one_line(f"{one.title}: {one.message}", _LONGEST_SUMMARY),
        "details": one_line(one.message, _LONGEST_DETAILS),
        "severity": _SEVERITIES[one.level],
        **placed,
    }


def _written(comment: _Comment) -> Written:
    url = comment.links.html.href if comment.links and comment.links.html else ""
    body = (comment.content.raw if comment.content else None) or ""
    return Written(comment.id, comment.user.uuid if comment.user else "", from_bitbucket(body), url)
