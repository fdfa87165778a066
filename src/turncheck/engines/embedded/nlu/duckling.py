"""Rasa's DucklingEntityExtractor: dates, amounts and the like, found by a Duckling server over HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict
from urllib.parse import urlencode

from turncheck.engines.conversation import PredictedEntity
from turncheck.engines.embedded.nlu.batch import Batch, DucklingAccess, Training
from turncheck.messages.errors import UserError
from turncheck.web.addresses import HOW_TO_TRUST, Network, is_allowed, is_http, is_untrusted, origin_of, without_login
from turncheck.web.exchange import AnswerTooLargeError, Call, exchange, read_body

if TYPE_CHECKING:
    from collections.abc import Mapping

    import requests

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter


def noon_of(day: str) -> int:
    """Return noon (UTC) of a day written as ``2025-01-01``, in milliseconds since 1970."""
    return int(datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() * 1000)


_ANSWER_LIMIT: Final = 16 * 1024 * 1024
EXTRACTOR: Final = "DucklingEntityExtractor"
URL_VARIABLE: Final = "RASA_DUCKLING_HTTP_URL"
"""The variable whose address counts more than the pipeline's, as in Rasa."""


class _Server(TypedDict):
    url: str
    reference_time: int


@dataclass(frozen=True, slots=True)
class DucklingEntityExtractor:
    """Asks the server about every text. It is not trained; if the server does not answer, it is left out."""

    url: str
    parameters: Mapping[str, Any]
    reference_time: int
    network: Network = field(default=Network(), repr=False)

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self | None:
        """Call the server once; ``None``, with a note, if it must not be called or does not answer."""
        access = training.duckling or DucklingAccess()
        url = access.url or parameters["url"]
        reason = _why_not(url, access)
        if reason is None:
            extractor = cls(str(url).rstrip("/"), parameters, access.reference_time, access.network)
            reason = extractor.fault()
            if reason is None:
                return extractor
        training.leave_out(EXTRACTOR, reason)
        return None

    def fault(self) -> str | None:
        """Why the server cannot be used, or ``None``."""
        import requests

        from turncheck.web.timed import session

        try:
            with session(self.network) as one:
                self._ask(one, "tomorrow at 8")
        except (requests.RequestException, AnswerTooLargeError, ValueError, RecursionError) as error:
            return f"the Duckling server at {self.url} is not reachable: {_short(error)}"
        return None

    def process(self, batch: Batch) -> None:
        """Append what the server finds.

        Raises:
            UserError: it answered during training and no longer does.
        """
        import requests

        from turncheck.web.timed import session

        with session(self.network) as one:
            for text, entities in zip(batch.texts, batch.entities, strict=True):
                try:
                    entities.extend(self._ask(one, text) if text else ())
                except (requests.RequestException, AnswerTooLargeError, ValueError, RecursionError) as error:
                    raise UserError(
                        f"the Duckling server at {self.url} stopped answering: {_short(error)}",
                        hint="Start it again, or leave DucklingEntityExtractor out of the pipeline.",
                    ) from None

    def _ask(self, session: requests.Session, text: str) -> list[PredictedEntity]:
        dimensions = self.parameters["dimensions"]
        form = {
            "text": text,
            "locale": self.parameters["locale"],
            "tz": self.parameters["timezone"],
            "dims": json.dumps(dimensions),
            "reftime": self.reference_time,
        }
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        call = Call("POST", f"{self.url}/parse", kind, body=urlencode(form).encode())
        # A redirect is not followed: it could lead to a host that is not allowed.
        with exchange(session, call, self.parameters["timeout"]) as response:
            if response.status_code != 200:
                raise ValueError(f"it answered with status {response.status_code}")
            found = json.loads(read_body(response, _ANSWER_LIMIT))
        if not isinstance(found, list):
            raise ValueError("its answer is not one that Duckling gives")
        return [_entity(match) for match in found if not dimensions or _dimension(match) in dimensions]

    def save(self, members: MemberWriter) -> None:
        """Write the server's address."""
        members.json("server", {"url": self.url, "reference_time": self.reference_time})

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:
        """Read the server's address."""
        server = members.json("server", _Server)
        return cls(server["url"], parameters, server["reference_time"])


def _why_not(url: object, access: DucklingAccess) -> str | None:
    if not url:
        return "the pipeline gives it no url"
    if not is_http(str(url)):
        return f"{without_login(str(url))!r} is not the address of a server"
    named_by_project = access.url is None
    if named_by_project and not is_allowed(str(url), access.allowed_hosts):
        host = origin_of(str(url)).host
        return f"config.yml names the host {host!r}, which is not among the allowed hosts"
    return None


def _dimension(match: Any) -> Any:
    return match.get("dim") if isinstance(match, dict) else None


def _entity(match: Mapping[str, Any]) -> PredictedEntity:
    """Read one match of Duckling; the value of an interval is its two ends."""
    try:
        value = match["value"]
        if value.get("type") == "interval":
            resolved: Any = {"to": value.get("to", {}).get("value"), "from": value.get("from", {}).get("value")}
        else:
            resolved = value.get("value")
        extra = {"text": match.get("body", match.get("text")), "additional_info": value}
        return PredictedEntity(
            match["start"], match["end"], match["dim"], resolved, EXTRACTOR, confidence=1.0, extra=extra
        )
    except (KeyError, TypeError, AttributeError):
        raise ValueError("its answer is not one that Duckling gives") from None


def _short(error: Exception) -> str:
    if is_untrusted(error):
        return f"its certificate is not trusted ({HOW_TO_TRUST})"
    cause = str(error)
    return cause if len(cause) < 160 else f"{type(error).__name__}"
