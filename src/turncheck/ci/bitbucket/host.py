"""Bitbucket's pipelines: what the variables of a step say.

Source: "Variables and secrets" in the documentation of Bitbucket Pipelines.
"""

from __future__ import annotations

import hashlib
import html
import re
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self
from urllib.parse import quote

import msgspec
from msgspec import Struct

from turncheck.ci import host
from turncheck.ci.base_files import Listed, single_files
from turncheck.ci.comment import StickyComment, Written
from turncheck.ci.rest import (
    ASKING,
    PUBLISHING,
    NotFoundError,
    RefusedError,
    Request,
    RestClient,
    RestError,
    RetryBudget,
)
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import one_line
from turncheck.render.sinks.markdown import code
from turncheck.web.addresses import Network, is_same_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from turncheck.process.environment import Secret
    from turncheck.render.annotations import Annotation, Level


# Bitbucket's REST API, version 2.0: comments of pull requests, Code Insights reports and their annotations.

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
    match = _HIDDEN.match(head)
    if match is None:
        return body
    words = re.split(r" (?=turncheck:)", match[1])
    return "".join(f"<!-- {word} -->" for word in words) + f"\n{rest.removeprefix(chr(10))}"


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
            return RefusedError(trouble, status=status, hint=f"The token needs {request.needs or _NEEDS_COMMENTS}.")
        return super().refusal(status, message, trouble, request)

    def following(self, page: Any, answer_links: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        url = page.get("next") if isinstance(page, dict) else None
        return str(url) if url else None


class BitbucketRepository:
    """One repository, ``workspace/slug``."""

    def __init__(self, client: BitbucketClient, repository: str) -> None:
        self.client = client
        self._path = f"/repositories/{quote(repository, safe='/{}', errors='replace')}"

    def pull_request(self, number: int) -> host.Target:
        """Return a pull request.

        Raises:
            RestError: it cannot be had.
        """
        pull_request = self.client.get(f"{self._path}/pullrequests/{number}", _PullRequest)
        head = pull_request.source.commit.hash if pull_request.source.commit else ""
        return host.Target(pull_request.id, head, pull_request.destination.branch.name)

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
            tip = host.exact_commit(branch) or self.client.get(f"{self._path}/refs/branches/{name}", _Tip).target.hash
            return self.client.get(f"{self._path}/merge-base/{quote(f'{head}..{tip}', safe='.')}", _Commit).hash
        except NotFoundError:
            return None

    def files_of(self, commit: str) -> AbstractContextManager[host.CommitFiles]:
        """Return a commit's files in a temporary folder; those of submodules are left out.

        The API has no archive; source: "Source" in its reference.
        """
        path = f"{self._path}/src/{quote(commit, safe='')}"

        def fetch(name: str, file: BinaryIO, limit: int) -> None:
            self.client.download(f"{path}/{quote(name, errors='replace')}", file, limit, needs=_NEEDS_REPORTS)

        entries = self.client.pages(
            f"{path}/", _Entry, listed="values", needs=_NEEDS_REPORTS, max_depth=_DEEPEST, pagelen=BATCH
        )
        return single_files((one for entry in entries if (one := entry.listed()) is not None), fetch)

    def report(self, check: host.Check) -> int:
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
        placed = [
            _annotation(identity, number, annotation) for number, annotation in enumerate(check.annotations[:MOST], 1)
        ]
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
        listed = self._client.comments(self._path, _Comment, listed="values", needs=_NEEDS_COMMENTS, pagelen=BATCH)
        return (_written(comment) for comment in listed if not comment.deleted)

    def post(self, body: str) -> Written:
        content = {"content": {"raw": to_bitbucket(body)}}
        return _written(self._client.post(self._path, content, _Comment, needs=_NEEDS_COMMENTS))

    def change(self, written: Written, body: str, newer: Written | None = None) -> None:  # noqa: ARG002
        self._client.put(f"{self._path}/{written.id}", {"content": {"raw": to_bitbucket(body)}}, needs=_NEEDS_COMMENTS)

    def delete(self, written: Written) -> None:
        self._client.delete(f"{self._path}/{written.id}", needs=_NEEDS_COMMENTS)

    def author(self) -> str:
        """Who the token speaks for; "" where it may not ask: then it is found out by posting."""
        try:
            return self._client.get("/user", _User, needs="the scope `account`").uuid
        except RestError as error:
            if error.status in {401, 403, 404}:  # a token of a repository belongs to no account that could be asked for
                return ""
            raise


def _annotation(identity: str, number: int, annotation: Annotation) -> dict[str, Any]:
    placed = (
        {"path": annotation.path, **({"line": max(1, annotation.line)} if annotation.line is not None else {})}
        if annotation.path
        else {}
    )
    return {
        "external_id": f"{identity}-{number}",
        "annotation_type": "BUG" if annotation.level == "error" else "CODE_SMELL",
        "summary": one_line(f"{annotation.title}: {annotation.message}", _LONGEST_SUMMARY),
        "details": one_line(annotation.message, _LONGEST_DETAILS),
        "severity": _SEVERITIES[annotation.level],
        **placed,
    }


def _written(comment: _Comment) -> Written:
    url = comment.links.html.href if comment.links and comment.links.html else ""
    body = (comment.content.raw if comment.content else None) or ""
    return Written(comment.id, comment.user.uuid if comment.user else "", from_bitbucket(body), url)


# The addresses of a repository's pages on Bitbucket.


class BitbucketPages(Struct, frozen=True):
    """Addresses below a repository's page (``https://bitbucket.org/acme/bots``)."""

    repository_url: str

    def file(self, commit: str, path: str, line: int | None) -> str:
        """Address of a file in a commit, and of a line in it."""
        fragment = f"#lines-{line}" if line is not None else ""
        return f"{self.repository_url}/src/{commit}/{quote(path, errors='replace')}{fragment}"

    def commit(self, commit: str) -> str:
        """Address of a commit."""
        return f"{self.repository_url}/commits/{commit}"

    def run(self, run_id: str) -> str:
        """Address of a run of a pipeline."""
        return f"{self.repository_url}/pipelines/results/{run_id}"


_API: Final = "https://api.bitbucket.org/2.0"
_PROXIED_API: Final = "http://api.bitbucket.org/2.0"
_PROXY: Final = "http://localhost:29418"
"""Of a pipeline's step: it signs requests for Code Insights, which go to it as plain http."""
_PATIENCE_WITH_PROXY: Final = 10.0
"""It runs beside the step; if nothing answers, there is none."""
_HOW: Final = "set the secured variable `BITBUCKET_TOKEN` to an access token with the scope `pullrequest:write`"


class _PipelineProxy(Network):
    """Reaches the API through the proxy of the step, and nothing else."""

    def proxies(self, url: str) -> dict[str, str]:
        return {"http": _PROXY} if is_same_server(url, _PROXIED_API) else {}


class Bitbucket(host.JobHost):
    """Bitbucket, asked from a step of a pipeline."""

    name = "Bitbucket"
    mark = "BITBUCKET_BUILD_NUMBER"
    server_variables = ("BITBUCKET_API_URL",)
    full_history_hint = "`clone: depth: full`"
    keeps_files_by = "`artifacts`"
    token_variables = ("BITBUCKET_TOKEN",)
    annotates_by_check = True
    comment_limit = 30_000
    """Bitbucket takes 32,768 characters."""

    @classmethod
    def of_repository(cls, repository: str, token: Secret | None, environment: Mapping[str, str]) -> Self:
        """Return Bitbucket about a repository that is named as WORKSPACE/REPOSITORY, from anywhere."""
        kept = {
            name: value
            for name, value in environment.items()
            if not name.startswith("BITBUCKET_") or name in {"BITBUCKET_TOKEN", "BITBUCKET_API_URL"}
        }
        origin = f"https://bitbucket.org/{repository}"
        return cls.of({**kept, "BITBUCKET_REPO_FULL_NAME": repository, "BITBUCKET_GIT_HTTP_ORIGIN": origin}, token)

    @property
    def run(self) -> host.Run:
        variables = self.variables
        pages, number = self.pages, variables.text("BITBUCKET_BUILD_NUMBER")
        return host.Run(
            repository=variables.text("BITBUCKET_REPO_FULL_NAME"),
            commit=variables.commit("BITBUCKET_COMMIT"),
            ref=variables.branch("BITBUCKET_BRANCH") or None,
            run_id=number or None,
            url=pages.run(number) if pages else None,
            workspace=variables.folder("BITBUCKET_CLONE_DIR"),
            stamp=variables.stamp("BITBUCKET_BUILD_NUMBER", "BITBUCKET_STEP_RUN_NUMBER"),
            of_a_change=bool(variables.text("BITBUCKET_PR_ID")),
        )

    @property
    def pages(self) -> BitbucketPages | None:
        url = self.variables.address("BITBUCKET_GIT_HTTP_ORIGIN")
        if url is None:
            return None
        scheme, _, rest = url.partition("://")  # the variable has http, the pages are under https
        return BitbucketPages(f"https://{rest}" if scheme == "http" and rest.startswith("bitbucket.org/") else url)

    @cached_property
    def _repository(self) -> BitbucketRepository | None:
        return self._repository_within(ASKING)

    @cached_property
    def _published_in(self) -> BitbucketRepository | None:
        return self._repository_within(PUBLISHING)

    def _repository_within(self, seconds: float) -> BitbucketRepository | None:
        variables = self.variables
        repository = variables.text("BITBUCKET_REPO_FULL_NAME")
        if self.token is None or not repository:
            return None
        api = variables.address("BITBUCKET_API_URL") or _API
        return BitbucketRepository(
            BitbucketClient(api, self.token, RetryBudget(seconds), Network.of(variables.given)), repository
        )

    def _told(self) -> BitbucketRepository:
        if self._published_in is None:
            raise host.HostError("Bitbucket cannot be queried without a token", hint=f"To allow it, {_HOW}.")
        return self._published_in

    # --- what is compared with ---------------------------------------------------------------------------------------

    def base(self, warn: Callable[[str, host.HostError], None]) -> host.Base | None:  # noqa: ARG002
        """Return the target of the pull request: pipelines of one merge it into the branch before they start."""
        target = self.variables.branch("BITBUCKET_PR_DESTINATION_BRANCH")
        tip = self.variables.commit("BITBUCKET_PR_DESTINATION_COMMIT")
        return host.Base(target, head="HEAD", tip=tip) if target else None

    def merge_base(self, branch: str, head: str) -> str | None:
        """Return where ``head`` left ``branch``; a merge that only this step has made stands for the pull request."""
        heads = dict.fromkeys(one for one in (head, self.run.commit) if one)
        asked = self._repository
        found = (asked.merge_base(branch, one) for one in heads) if asked is not None else ()
        return next((commit for commit in found if commit is not None), None)

    def clone_address(self) -> host.CloneAddress | None:
        url = self.pages.repository_url if self.pages else None
        return host.CloneAddress(f"{url}.git", host.login_with("x-token-auth", self.token)) if url else None

    def files_of(self, commit: str) -> AbstractContextManager[host.CommitFiles] | None:
        return self._repository.files_of(commit) if self._repository else None

    # --- where it is said --------------------------------------------------------------------------------------------

    def target(self) -> host.Target | str:
        number = self.variables.number("BITBUCKET_PR_ID")
        if number is None:
            return "this pipeline belongs to no pull request"
        if self._repository is None:
            return f"there is no token to write it with: {_HOW}"
        return host.Target(number, self.run.commit or "", self.variables.branch("BITBUCKET_PR_DESTINATION_BRANCH"))

    @property
    def needs_token(self) -> str:
        return _HOW if self.token is None else ""

    def target_of_number(self, number: int) -> host.Target:
        return self._told().pull_request(number)

    def comment(self, target: host.Target, marker: str, *, passed: bool) -> StickyComment:  # noqa: ARG002
        return StickyComment(self._told().comments(target.number), marker)

    def check(self, check: host.Check) -> host.Checked:
        """Publish a Code Insights report on the commit, with its annotations: with a token, else through the step's
        proxy."""
        repository, name = self._published_in, self.variables.text("BITBUCKET_REPO_FULL_NAME")
        if check.commit is None or not name:
            return host.Checked(False, "no Code Insights report: its commit is not known")
        if repository is None:
            client = BitbucketClient(_PROXIED_API, None, RetryBudget(_PATIENCE_WITH_PROXY), _PipelineProxy())
            repository = BitbucketRepository(client, name)
        kept, found = repository.report(check), len(check.annotations)
        return host.Checked(True, f"the report holds {MOST} of {count(found, 'annotation')}" if kept < found else "")
