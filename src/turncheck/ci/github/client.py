"""GitHub's REST API.

Rules for retries and limits: GitHub's "Rate limits for the REST API" and "Best practices for using the REST API".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from turncheck.ci.github.errors import SEES_PRIVATE, MissingPermissionError
from turncheck.ci.rest import PER_PAGE, SECONDARY_WAIT, NotFoundError, Request, RestClient, RestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import requests

_Kind = TypeVar("_Kind")


class GitHubClient(RestClient):
    """Asks the API of one GitHub; ``needs`` is the line under ``permissions:`` that a request takes."""

    host = "GitHub"
    accepts = "application/vnd.github+json"

    def credentials(self) -> dict[str, str]:
        return {"X-GitHub-Api-Version": "2022-11-28", **super().credentials()}

    def pages(
        self, path: str, kind: type[_Kind], *, key: str | None = None, needs: str | None = None, **parameters: Any
    ) -> Iterator[_Kind]:
        """Return every item of a list, page after page as ``Link`` names them; ``key`` where the list is in an object.

        Raises:
            RestError: as :meth:`get`; also for an answer that is not a list.
        """
        return super().pages(path, kind, key=key, needs=needs, per_page=PER_PAGE, **parameters)

    def message_of(self, document: Any) -> str:
        if not isinstance(document, dict):
            return ""
        errors = document.get("errors")
        listed = [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
        details = [str(error.get("message") or error.get("code") or "") for error in listed]
        return "; ".join(part for part in (str(document.get("message") or ""), *details[:3]) if part)

    def advised_wait(self, answer: requests.Response, message: str, attempt: int) -> float | None:
        after = answer.headers.get("retry-after", "")
        if after.isdecimal():
            return float(after)
        reset = answer.headers.get("x-ratelimit-reset", "")
        if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
            return max(1.0, float(reset) - self.patience.clock() + 1.0)
        if answer.status_code == 429 or "secondary rate limit" in message.lower():
            return float(SECONDARY_WAIT * 2**attempt)
        return None

    def refusal(self, status: int, message: str, trouble: str, request: Request) -> RestError:
        if status in {404, 410}:
            return NotFoundError(trouble, status=status, remedy=SEES_PRIVATE if status == 404 else None)
        if status == 401:
            return RestError(trouble, status=status, remedy="The token is wrong or has expired.")
        if status == 403 and "resource not accessible" in message.lower():
            return MissingPermissionError(trouble, needs=request.needs)
        return RestError(trouble, status=status)
