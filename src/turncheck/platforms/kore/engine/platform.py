"""The platform's public API: one method per call, and methods that wait until something there has ended."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from msgspec.structs import replace

from turncheck.messages.errors import UserError
from turncheck.platforms.kore.engine import answers
from turncheck.platforms.kore.engine.client import (
    KoreCancelledError,
    KoreClient,
    KoreFaultError,
    KoreRefusedError,
    KoreRunError,
    Question,
    shown,
)
from turncheck.process.screen import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from turncheck.platforms.kore.engine.answers import ExportState, Figures, RunState, StoredSuite, Understood

VERSIONS: Final = {"in-development": "inDevelopment", "published": "published"}
"""The versions of an assistant: in settings, and in the platform's batch API."""
_FIND_SECONDS: Final = 30.0
"""For one utterance: the platform answers in a fraction of a second."""
_PAGE: Final = 50
_MOST_PAGES: Final = 1000
_LEAST_PAUSE, _MOST_PAUSE = 1.0, 10.0
"""Seconds between two queries of a state: the longer it takes, the less often."""
_EXPORTED: Final[dict[str, list[str]]] = {
    "settings": ["botSettings"],
    "tasks": ["botTask", "knowledgeGraph", "smallTalk"],
    "nlpData": ["utterances", "patterns", "traits", "rules", "concepts", "synonyms", "nlpSettings"],
}
"""What an export must contain. Without the NLP data it would look like that of an assistant without any."""


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """A completed run. ``report``: the link to its CSV; ``is_partial``: something could not be evaluated.

    ``started`` and ``ended``: as the platform writes times. ``notes``: those that it keeps beside the result.
    """

    suite: str
    id: str
    figures: Figures
    report: str | None = field(repr=False)
    is_partial: bool = False
    started: str = ""
    ended: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Platform:
    """One assistant on the platform. ``version``: ``in-development`` or ``published``.

    ``bot_name``: the assistant's name in Find Intent. ``timeout``: seconds that a run, or an export, may take.
    """

    client: KoreClient
    version: str = "in-development"
    bot_name: str = ""
    timeout: float = 3600.0
    bot: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the path of the assistant."""
        object.__setattr__(self, "bot", f"/api/public/bot/{_in_path(self.client.access.bot_id, 'bot id')}")

    # --- one utterance ------------------------------------------------------------------------------------------------

    def find_intent(self, text: str, parent: tuple[str, ...] = ()) -> Understood:
        """Understand an utterance, in the context of its parent intents (topmost first).

        Raises:
            KoreError, KoreRefusedError, KoreFaultError: as ``KoreClient.ask``.
        """
        is_in_development = self.version == "in-development"
        body = {"input": text, "streamName": self.bot_name}
        if parent:
            body["parentIntent"] = "||".join(parent)
        path = f"/api/v1.1/rest/bot/{_in_path(self.client.access.bot_id, 'bot id')}/findIntent"
        query = {"fetchConfiguredTasks": "true" if is_in_development else "false", "sync": "true"}
        question = Question("POST", path, "understand an utterance", body, query, seconds=_FIND_SECONDS)
        return self.client.ask(question, answers.read_understood)

    # --- suites -------------------------------------------------------------------------------------------------------

    def suites(self) -> list[StoredSuite]:
        """Return the suites on the platform, its own ones too.

        A page may hold fewer than requested, and its own suites may be on every page: the next page begins after the
        team's suites that came so far, or, if none were among them, after all that came.

        Raises:
            KoreFaultError: there are more pages than any assistant has.
        """
        found: dict[str, StoredSuite] = {}
        skip = 0
        for _ in range(_MOST_PAGES):
            query = {"skip": str(skip), "limit": str(_PAGE)}
            question = Question("GET", f"{self.bot}/testsuite", "list its suites", query=query)
            page = self.client.ask(question, answers.read_suites)
            for suite in page.suites:
                found.setdefault(suite.id, suite)
            if page.is_last or not page.suites:
                return list(found.values())
            own = sum(not suite.is_built_in for suite in found.values())
            skip = own if own > skip else skip + len(page.suites)
        raise KoreFaultError(f"the list of suites has not ended after {_MOST_PAGES:,} pages")

    def store(self, name: str, description: str, file_name: str, content: bytes, delimiter: str = ",") -> bool:
        """Upload a suite's file, and return whether the suite is new; an existing one of this name is replaced.

        Raises:
            KoreError, KoreRefusedError, KoreFaultError: as ``KoreClient.ask``.
        """
        exists = any(suite.name == name and not suite.is_built_in for suite in self.suites())
        kind = "csv" if file_name.lower().endswith((".csv", ".tsv", ".txt")) else "json"
        form = _form({"fileContext": "bulkImport", "fileExtension": kind}, file_name, content)
        upload = Question("POST", "/api/public/uploadfile", "take a suite's file", content=form)
        file_id = self.client.ask(upload, answers.read_file_id)
        body = {
            "fileName": file_id,
            "fileType": kind,
            "importType": "update" if exists else "new",
            "delimiter": delimiter,
            "name": name,
            "description": description,
        }
        path = f"{self.bot}/testsuite/import"
        question = Question("POST", path, f"import the suite '{name}'", body, is_repeatable=exists)
        self.client.ask(question, answers.read_imported)
        return not exists

    def run(self, suite: str, notes: str = "") -> str:
        """Start a run of a suite, and return its id.

        The documented call has no notes. They are sent along, for a platform that takes them; one that refuses such a
        call is asked again without.
        """
        body = {"version": VERSIONS[self.version]}
        path, what = f"{self._suite(suite)}/run", f"run the suite '{suite}'"
        question = Question("POST", path, what, body, is_repeatable=False)
        if notes:
            try:
                return self.client.ask(replace(question, json={**body, "notes": notes}), answers.read_accepted)
            except KoreRefusedError as error:
                if error.status != 400 or error.is_gone:
                    raise
        return self.client.ask(question, answers.read_accepted)

    def cancel(self, suite: str, run: str) -> None:
        """Cancel a run that is under way: it is deleted, since no public call only cancels.

        Raises:
            KoreRunError: it has ended, or goes on all the same.
        """
        what = f"the run '{run}' of the suite '{suite}'"
        state = self.status(suite, run)
        if not state.is_under_way:
            raise KoreRunError(f"{what} has ended as '{shown(state.status, 100)}': there is nothing to cancel")
        self.delete(suite, run)
        try:
            after = self.status(suite, run)
        except KoreRefusedError as error:
            if error.is_gone:
                return
            raise
        if after.is_under_way:
            raise KoreRunError(f"{what} goes on, although it was deleted", hint="Cancel it there, in Batch Testing.")
        if after.is_completed:
            raise KoreRunError(f"{what} was completed before it could be cancelled")

    def status(self, suite: str, run: str) -> RunState:
        """Return the state of a run."""
        path = f"{self._suite(suite)}/{_in_path(run, 'run')}/status"
        what = f"say the state of the run '{run}' of the suite '{suite}'"
        return self.client.ask(Question("GET", path, what, pace=f"status {run}"), answers.read_state)

    def completed(self, suite: str, run: str, say: Callable[[str], None]) -> CompletedRun:
        """Wait until a run has ended, and return its result.

        Raises:
            KoreRunError: it was not completed, or takes too long.
        """
        return self.completed_by(self.ended(suite, run, say), suite, run)

    @staticmethod
    def completed_by(state: RunState, suite: str, run: str) -> CompletedRun:
        """Return the result of a run that ended with this state.

        Raises:
            KoreRunError: it was not completed.
        """
        if not state.is_completed or state.figures is None:
            why = f"the platform's run '{run}' of the suite '{suite}' ended as '{shown(state.status, 100)}'"
            error = KoreCancelledError if state.is_cancelled else KoreRunError
            raise error(f"{why}: {shown(state.message)}" if state.message else why)
        return CompletedRun(
            suite, run, state.figures, state.report, state.is_partial, state.started, state.ended, state.notes
        )

    def ended(self, suite: str, run: str, say: Callable[[str], None]) -> RunState:
        """Wait until a run has ended, and return its state; ``say`` is called with the progress.

        Raises:
            KoreRunError: it takes too long.
        """
        answer: object = None
        pause = self._pauses(f"the run '{run}' of the suite '{suite}'")
        while (state := self._state(suite, run, is_known=answer is not None)).is_under_way:
            answer = answer or ()
            if state.total is not None and (state.ran, state.total) != answer:
                answer = (state.ran, state.total)
                say(f"The platform has run {state.ran or 0:,} of {state.total:,} utterances.")
            next(pause)
        return state

    def _state(self, suite: str, run: str, *, is_known: bool) -> RunState:
        """The state of a run; one that was known to be under way and is gone counts as cancelled."""
        try:
            return self.status(suite, run)
        except KoreRefusedError as error:
            if is_known and error.is_gone:
                return answers.RunState("cancelled", message="it was deleted before it ended")
            raise

    def report_of(self, run: CompletedRun) -> bytes:
        """Return the CSV of a run.

        Raises:
            KoreRunError: it is not available.
        """
        what = f"the CSV of the run '{run.id}'"
        if run.report is None:
            raise KoreRunError(f"the platform gives no link to {what}")
        return self.client.download(run.report, what)

    def export(self, suite: str) -> bytes:
        """Return a suite as the platform exports it."""
        question = Question("POST", f"{self._suite(suite)}/export", f"export the suite '{suite}'", {})
        return self.client.download(self.client.ask(question, answers.read_link), f"the suite '{suite}'")

    def delete(self, suite: str, run: str | None = None) -> str:
        """Delete a suite, or one run of it, and return what the platform says.

        Older versions of the platform do not support ``DELETE``: they get a ``POST`` that says so.
        """
        path = self._suite(suite) + ("" if run is None else f"/{_in_path(run, 'run')}")
        what = f"delete the suite '{suite}'" if run is None else f"delete the run '{run}' of the suite '{suite}'"
        question = Question("DELETE", path, what)
        try:
            return self.client.ask(question, answers.read_message)
        except KoreRefusedError as error:
            if error.status != 405:
                raise
        override = replace(question, method="POST", json={}, headers={"X-HTTP-Method-Override": "delete"})
        return self.client.ask(override, answers.read_message)

    # --- the assistant itself -----------------------------------------------------------------------------------------

    def bot_export(self, say: Callable[[str], None]) -> bytes:
        """Have the assistant exported, and return the zip.

        Raises:
            KoreRunError: it fails, or takes too long.
        """
        body = {
            "exportType": "published" if self.version == "published" else "latest",
            "exportOptions": _EXPORTED,
            "allTasks": True,
        }
        question = Question("POST", f"{self.bot}/export", "export the assistant", body)
        begun = self.client.ask(question, answers.read_export)
        look = Question("GET", f"{self.bot}/export/status", "say the state of the export", pace="export")
        say("The platform exports the assistant.")
        pause = self._pauses("the export of the assistant")
        while _is_unfinished(state := self.client.ask(look, answers.read_export), begun):
            next(pause)
        return self._exported(state)

    def _exported(self, state: ExportState) -> bytes:
        if state.status.lower() != "success" or state.link is None:
            raise KoreRunError(f"the platform could not export the assistant: it answers '{shown(state.status, 100)}'")
        return self.client.download(state.link, "the export")

    # --- pieces -------------------------------------------------------------------------------------------------------

    def _pauses(self, what: str) -> Iterator[None]:
        """Wait a little at every step, each time longer.

        Raises:
            KoreRunError: when the time is up.
        """
        clock = self.client.clock
        begin = clock.now()
        while True:
            elapsed = clock.now() - begin
            pause = min(max(_LEAST_PAUSE, elapsed / 30), _MOST_PAUSE)
            if elapsed + pause > self.timeout:
                raise KoreRunError(
                    f"{what} has not ended within {duration(self.timeout)}",
                    hint="It goes on there. Give it more time with --kore-timeout.",
                )
            clock.sleep(pause)
            yield

    def _suite(self, name: str) -> str:
        return f"{self.bot}/testsuite/{_in_path(answers.BUILT_IN.get(name, name), 'suite')}"


def _is_unfinished(state: ExportState, begun: ExportState) -> bool:
    """Whether this is the export that was started, still running; one that was requested earlier may have ended."""
    is_another = bool(begun.id and state.id and state.id != begun.id)
    return is_another or state.status.lower() in {"pending", "inprogress", "running", "accepted"}


def _in_path(name: str, what: str) -> str:
    """Return a name as part of an address."""
    if not name.strip() or name in {".", ".."}:
        raise UserError(f"'{name}' cannot be the name of a {what}")
    return quote(name, safe="")


def _form(fields: dict[str, str], file_name: str, content: bytes) -> tuple[str, bytes]:
    """Return media type and bytes of a form with a file (RFC 7578)."""
    boundary = f"turncheck-{uuid.uuid4().hex}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    safe = "".join(sign if sign.isalnum() or sign in "._- " else "_" for sign in file_name)
    head = f'Content-Disposition: form-data; name="file"; filename="{safe}"\r\nContent-Type: application/octet-stream'
    body = b"".join([*parts, f"--{boundary}\r\n{head}\r\n\r\n".encode(), content, f"\r\n--{boundary}--\r\n".encode()])
    return f"multipart/form-data; boundary={boundary}", body
