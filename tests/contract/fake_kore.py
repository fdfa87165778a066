"""Stands in for Kore.ai's platform at the network's edge: keeps suites and runs, checks tokens, judges suites.

That it answers as the platform does is held by the transcripts in ``oracle/kore/api`` (``test_kore_client.py``).
What is understood: ``intents`` says it of each utterance. Faults are given by the test.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import hmac
import io
import json
import threading
import time
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json = Any
BOT = "st-0b5e7a52-1f0c-5a7e-9d1c-2f4f5d6b7a80"
CLIENT = "cs-turncheck"
SECRET = "the-secret-of-the-app"
LIMITED = {
    "errors": [{"msg": "Rate limit for this API has been reached. Please try again after some time.", "code": 429}]
}


@dataclass(frozen=True)
class Raw:
    """An answer byte by byte; ``cut``: the connection is closed instead of it."""

    content: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    cut: bool = False


def answer(status: int, body: Json, **headers: str) -> Raw:
    """An answer of JSON; names of headers with ``_`` for ``-``."""
    more = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Raw(json.dumps(body).encode(), status, (("Content-Type", "application/json"), *more))


def refusal(status: int, msg: str, code: int | None = None) -> Raw:
    """An error in the platform's shape."""
    return answer(status, {"errors": [{"msg": msg, "code": status if code is None else code}]})


@dataclass
class Call:
    """What was asked."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Suite:
    """A suite as it was imported, and its runs by their ids."""

    id: str
    description: str
    content: bytes
    kind: str
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class FakeKore:
    """The platform's state. ``polls``: so often a run is under way before it has ended.

    ``published``: what the published version understands otherwise. ``takes_notes``: whether a run keeps the notes that
    are sent with it; ``None``: they are refused (the documentation has none). ``notes_there``: those that somebody
    wrote there afterwards. ``one_at_a_time``: a second run is refused while one is under way. ``goes_on``: a run that
    is deleted goes on.

    ``engines``: the scores of each engine (``fm``, ``ml``, ``faq``) by utterance and intent, where the documentation
    has them. ``bots``: the linked bot of an intent of a universal bot. ``page``: the most suites of a page, whatever
    the limit. ``built_in_everywhere``: its own suite is on every page.
    """

    intents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    traits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    published: dict[str, tuple[str, ...]] = field(default_factory=dict)
    engines: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    bots: dict[str, str] = field(default_factory=dict)
    suites: dict[str, Suite] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    links: dict[str, bytes] = field(default_factory=dict)
    export: dict[str, Json] = field(default_factory=dict)
    takes_notes: bool | None = False
    notes: str = ""
    notes_there: str = ""
    is_published: bool = True
    one_at_a_time: bool = False
    goes_on: bool = False
    fails: tuple[str, ...] = ()
    ends_as: str = "completed"
    polls: int = 1
    deletes: bool = True
    page: int = 0
    built_in_everywhere: bool = False
    bot_files: dict[str, Json] | None = None
    fault: Callable[[Call], Raw | None] = lambda _call: None
    url: str = ""
    calls: list[Call] = field(default_factory=list)
    tokens: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, call: Call) -> Raw:
        """Answer one call."""
        self.calls.append(call)
        if (given := self.fault(call)) is not None:
            return given
        parts = [unquote(part) for part in call.path.split("/")[1:]]
        if parts[0] == "files":
            return self._file(call, parts)
        if (locked := self._locked(call, parts)) is not None:
            return locked
        match parts:
            case ["api", "v1.1", "rest", "bot", _, "findIntent"]:
                version = "inDevelopment" if call.query["fetchConfiguredTasks"] == "true" else "published"
                return answer(200, self.understood(call.body["input"], call.body["streamName"], version))
            case ["api", "public", "uploadfile"]:
                number = f"file-{len(self.files)}"
                assert call.body["fileContext"] == b"bulkImport"
                self.files[number] = (call.body["file name"], call.body["file"])
                return answer(200, {"fileId": number})
            case ["api", "public", "bot" | "stream", _, *rest]:
                return self._of_bot(call, rest)
            case _:
                return refusal(404, "Not Found")

    def _locked(self, call: Call, parts: list[str]) -> Raw | None:
        claims = claims_of(call.headers.get("auth", ""))
        if claims is None or claims.get("appId") != CLIENT or not claims.get("sub"):
            return refusal(401, "Invalid SDK credentials", 4002)
        if "exp" in claims and claims["exp"] < time.time():
            return refusal(401, "Invalid JWT token", 4002)
        if claims not in self.tokens:
            self.tokens.append(claims)
        names_a_bot = parts[:3] in (["api", "public", "bot"], ["api", "public", "stream"]) or "rest" in parts
        bot = parts[4 if "rest" in parts else 3] if names_a_bot else BOT
        return None if bot == BOT else refusal(401, "Invalid SDK credentials", 4002)

    def _of_bot(self, call: Call, rest: list[str]) -> Raw:  # noqa: PLR0911 - one a call of the API
        method = call.headers.get("x-http-method-override", call.method).upper()
        match method, rest:
            case "GET", ["testsuite"]:
                return answer(200, self._list(call.query))
            case "POST", ["testsuite", "import"]:
                return self._import(call.body)
            case "POST", ["export"]:
                self.export = {"_id": f"ber-{len(self.calls)}", "polls": self.polls, "type": call.body["exportType"]}
                return answer(200, {**self._export_state("pending"), "createdOn": "2026-01-05T13:06:16.309Z"})
            case "GET", ["export", "status"]:
                return answer(200, self._export())
            case _, ["testsuite", name, *_] if name not in self.suites:
                return refusal(400, "Test Suite not found")
            case "POST", ["testsuite", name, "run"]:
                return self._begun(name, call.body)
            case "POST", ["testsuite", name, "export"]:
                link = self._link("suite.json", self.suites[name].content)
                body = {"downloadUrl": link, "name": name, "description": self.suites[name].description}
                return answer(200, body)
            case "DELETE", _ if call.method == "DELETE" and not self.deletes:
                return refusal(405, "Method Not Allowed")
            case "DELETE", ["testsuite", name]:
                del self.suites[name]
                return answer(200, {"message": "Test suite deleted successfully"})
            case _, ["testsuite", name, run, *_] if run not in self.suites[name].runs:
                return refusal(400, "Test Result not found.")
            case "GET", ["testsuite", name, run, "status"]:
                return answer(200, self._status(self.suites[name].runs[run]))
            case "DELETE", ["testsuite", name, run]:
                runs = self.suites[name].runs
                self.suites[name].runs = {key: one for key, one in runs.items() if key != run or self.goes_on}
                return answer(200, {"message": "Test result deleted successfully"})
            case _:
                return refusal(405, "Method Not Allowed")

    # --- suites -------------------------------------------------------------------------------------------------------

    def _list(self, query: dict[str, str]) -> Json:
        members: dict[str, Json] = {}
        for name, suite in self.suites.items():
            runs = [
                {"_id": number, "version": run["version"]}
                | (run["list"] if run["polls"] <= 0 and self.ends_as == "completed" else {})
                for number, run in suite.runs.items()
            ]
            members[suite.id] = {
                "testSuiteType": "custom",
                "name": name,
                "description": suite.description,
                "results": runs,
            }
        built_in = {"AllMlUtterances": {"testSuiteType": "prebuilt", "results": []}}
        if not self.built_in_everywhere:
            members |= built_in
        skip, limit = int(query.get("skip", "0")), self.page or int(query.get("limit", "10"))
        shown = dict(list(members.items())[skip : skip + limit])
        more = skip + limit < len(members)
        return {"count": len(members), "moreAvailable": more, **(built_in if self.built_in_everywhere else {}), **shown}

    def _import(self, body: Json) -> Raw:
        if body["fileName"] not in self.files:
            return refusal(400, "Invalid file")
        exists = body["name"] in self.suites
        if exists == (body["importType"] == "new"):
            return refusal(400, "Test Suite already exists" if exists else "Test Suite not found")
        file_name, content = self.files[body["fileName"]]
        suite = self.suites.get(body["name"]) or Suite(f"ts-{len(self.calls)}", "", b"", "")
        suite.description, suite.content, suite.kind = body["description"], content, body["fileType"]
        self.suites[body["name"]] = suite
        told = {"_id": suite.id, "name": body["name"], "description": suite.description, "streamId": BOT}
        told |= {"language": "en", "fileId": body["fileName"], "createdOn": "2026-01-05T17:43:43.927Z", "__v": 0}
        return answer(200, {**told, "fileName": file_name})

    def _status(self, run: dict[str, Any]) -> Json:
        run["polls"] -= 1
        total = run["count"]
        if run["polls"] >= 0:
            return {"status": "running", "totalUtterances": total, "utterance_ran": total // 2, "percentage": 50.0}
        if self.ends_as != "completed":
            return {"status": self.ends_as, "message": "System error"}
        return {"status": "completed", "utterance_count": total, "result": run["result"]}

    def _judged(self, name: str, number: str, version: str) -> dict[str, Any]:
        """Judge dialogs, several alternatives, and entities by equality; write the CSV."""
        counts = dict.fromkeys(("TP", "TN", "FP", "FN"), 0)
        rows = []
        failed = entities = matched_entities = 0
        cases = _cases(self.suites[name])
        for case in cases:
            if case["input"] in self.fails:
                failed += 1
                continue
            prefix, _, traits = case.get("intent", "").partition("trait:")
            named = traits.split("||") if traits else prefix.split("|")
            wanted = {folded(one) for one in named if folded(one) not in {"", "none"}}
            found = (self.traits if traits else self._intents(version)).get(case["input"], ())
            right = wanted <= set(map(folded, found)) if traits else set(map(folded, found)) <= wanted
            kind = ("TP" if right else "FP") if found else "FN" if wanted else "TN"
            counts[kind] += 1
            matched = f"trait: {'||'.join(found)}" if traits else "|".join(found) or "None"
            head = [case["input"], case.get("intent", ""), matched, "", "Configured", RESULTS[kind]]
            listed = case.get("entities") or [{"entityName": "", "entityValue": ""}]
            for entity in listed:
                value = self.entities.get(case["input"], {}).get(entity["entityName"], "none")
                value = "||".join(value) if isinstance(value, list) else str(value)
                is_there = kind in {"TP", "TN"} and value == entity["entityValue"]
                entities += bool(entity["entityName"])
                matched_entities += bool(entity["entityName"]) and is_there
                told = [entity["entityName"], entity["entityValue"], value, str(is_there).upper()]
                rows.append(head + (told if entity["entityName"] else [""] * 4))
        table = io.StringIO()
        writer = csv.writer(table, quoting=csv.QUOTE_ALL, lineterminator="\n")
        notes = self.notes_there or self.notes or "two\nlines"
        writer.writerows([["Bot Name:", "Tea Shop"], ["Report name:", name], ["Notes:", notes], []])
        writer.writerow(COLUMNS)
        writer.writerows(rows)
        tp, tn, fp, fn = counts.values()
        precision, recall = tp / (tp + fp) if tp + fp else 0, tp / (tp + fn) if tp + fn else 0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0
        numbers = {**counts, "success": tp + tn, "failure": fp + fn + failed, "failedUtteranceCount": failed}
        numbers |= {"totalEntitiesCount": entities, "matchedEntitiesCount": matched_entities, "failedEntitiesCount": 0}
        traits = ("traitSuccess", "traitFailure", "totalTraitsCount", "matchedTraitsCount")
        shares = {"f1_score": f"{f1:.2f}", "precision": f"{precision:.2f}", "recall": f"{recall:.2f}"}
        result = {"status": "completed", "isPartialFailure": failed > 0, "runType": version, **shares}
        result |= {"startTime": "2026-01-05T17:43:43.927Z", "endTime": "2026-01-05T17:44:10.100Z"}
        link = self._link(f"{number}.csv", table.getvalue().encode())
        result |= {"fileUrl": link, "results": {**numbers, **dict.fromkeys(traits, 0)}}
        return {"count": len(cases), "result": result, "list": {"results": numbers, **shares}}

    # --- the rest -----------------------------------------------------------------------------------------------------

    def _intents(self, version: str) -> dict[str, tuple[str, ...]]:
        return {**self.intents, **self.published} if version == "published" else self.intents

    def understood(self, text: str, name: str, version: str = "inDevelopment") -> Json:
        """What Find Intent answers."""
        found = self._intents(version).get(text, ())
        winners = [
            {"intent": one, "taskId": f"dg-{n}", "activityType": "dialog", "state": "configured", "score": 11643.33 - n}
            for n, one in enumerate(found)
        ]
        entities = [{"field": field, "value": value} for field, value in self.entities.get(text, {}).items()]
        result = ("failintent", "successintent", "ambiguousintent")[min(len(found), 2)]
        response: dict[str, Any] = {
            "usedtime": 313,
            "bot": name,
            "botid": BOT,
            "input": [text],
            "language": "en",
            "traits": {trait: {"score": 0.9} for trait in self.traits.get(text, ())},
            "nlProcessing": {"originalInput": text, "canonical": text},
            "result": result,
            "finalResolver": {"ranking": self._ranking(text), "winningIntent": winners, "entities": entities},
        }
        for intent, scores in self.engines.get(text, {}).items():
            for engine, score in scores.items():
                key, named = ("faqScore", "primaryQuestion") if engine == "faq" else ("score", "task")
                part = response.setdefault(engine, {"definitive": []})
                part["definitive"].append({named: intent, key: score})
        request = {"input": text, "streamName": name}
        return {"request": request, "response": response, "streamId": BOT, "streamName": name, "name": name}

    def _begun(self, name: str, body: Json) -> Raw:
        """Begin a run; refuse notes, a version that is not there, and a second run at a time, as a platform may."""
        if "notes" in body and self.takes_notes is None:
            return refusal(400, "Unknown parameter notes")
        if body["version"] == "published" and not self.is_published:
            return refusal(400, "The bot is not published")
        if self.one_at_a_time and any(run["polls"] >= 0 for one in self.suites.values() for run in one.runs.values()):
            return refusal(400, "Another batch test is in progress")
        number = f"tr-{len(self.calls)}"
        self.notes = body.get("notes", "") if self.takes_notes else ""
        run = {"version": body["version"], "polls": self.polls, **self._judged(name, number, body["version"])}
        self.suites[name].runs[number] = run
        return answer(200, {"status": "accepted", "requestId": number})

    def _ranking(self, text: str) -> list[Json]:
        """Each intent with its linked bot, as the documented ``scoring`` names it."""
        named = ((one, self.bots[one]) for one in self.intents.get(text, ()) if one in self.bots)
        return [{"intent": one, "totalScore": 1.0, "scoring": {"botname": bot}} for one, bot in named]

    def _export_state(self, status: str) -> Json:
        shared = {"exportType": self.export["type"], "requestType": "Botexport", "_id": self.export["_id"], "__v": 0}
        return {"status": status, "streamId": BOT, **shared}

    def _export(self) -> Json:
        self.export["polls"] -= 1
        if self.export["polls"] >= 0:
            return self._export_state("pending")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, value in (BOT_FILES if self.bot_files is None else self.bot_files).items():
                archive.writestr(name, json.dumps(value))
        state = self._export_state("success")
        link = self._link("bot.zip", packed.getvalue())
        return {"botId": state.pop("streamId"), **state, "downloadURL": link, "fileId": "f", "fileSize": "947"}

    def _link(self, name: str, content: bytes) -> str:
        self.links[name] = content
        return f"{self.url}/files/first/{name}?sig=NEVER-SHOW"

    def _file(self, call: Call, parts: list[str]) -> Raw:
        """A signed link redirects once; who opens it shows no token."""
        assert "auth" not in call.headers
        if parts[1] == "first":
            assert call.query["sig"] == "NEVER-SHOW"
            return Raw(b"", 302, (("Location", f"{self.url}/files/second/{parts[2]}"),))
        return Raw(self.links[parts[2]], 200, (("Content-Type", "application/octet-stream"),))


RESULTS = {"TP": "True Positive", "TN": "True Negative", "FP": "False Positive", "FN": "False Negative"}
COLUMNS = (
    *("Utterance", "ExpectedIntent", "MatchedIntent", "Parent Intent", "Task State", "Result Type"),
    *("Entity Name", "Expected EntityValue", "Matched EntityValue", "Entity Result"),
)
BOT_FILES = {
    "botDefinition.json": {"sentences": [], "localeData": {"en": {"name": "Tea Shop"}}},
    "config.json": {
        "name": "Tea Shop",
        "envVariables": [{"key": "apiKey", "value": "NEVER-SHOW", "variableType": "env", "scope": "app"}],
    },
}


def _cases(suite: Suite) -> list[dict[str, Any]]:
    """The cases of a suite; of a CSV without those entities that have rows of their own."""
    if not suite.content:
        return []
    if suite.kind == "csv":
        return [row for row in csv.DictReader(io.StringIO(suite.content.decode())) if row["input"]]
    return list(json.loads(suite.content)["testCases"])


def folded(name: str) -> str:
    """A name as the platform compares it."""
    return " ".join(name.replace("_", " ").split()).casefold()


def claims_of(token: str) -> dict[str, Any] | None:
    """Check a token's signature and return what it says, ``None`` where it is not one of ours."""
    try:
        head, claims, signature = token.split(".")
        content = f"{head}.{claims}".encode()
        expected = hmac.new(SECRET.encode(), content, hashlib.sha256).digest()
        if decoded(head)["alg"] != "HS256" or base64.urlsafe_b64decode(f"{signature}==") != expected:
            return None
        return decoded(claims)
    except (ValueError, KeyError):
        return None


def decoded(part: str) -> dict[str, Any]:
    """Return a part of a token."""
    value: dict[str, Any] = json.loads(base64.urlsafe_b64decode(f"{part}=="))
    return value


class _Handler(BaseHTTPRequestHandler):
    kore: FakeKore
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = _body(headers.get("content-type", ""), content)
        given = self.kore.answer(Call(self.command, address.path, query, headers, body))
        if given.cut:
            self.close_connection = True
            return
        try:
            self.send_response(given.status)
            for name, value in (*given.headers, ("Content-Length", str(len(given.content)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(given.content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - named by the standard library

    def log_message(self, *_: Any) -> None:
        pass


def _body(media: str, content: bytes) -> Any:
    if not media.startswith("multipart/form-data"):
        return json.loads(content) if content else None
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {media}\r\n\r\n".encode() + content)
    fields: dict[str, Any] = {}
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        fields[name] = part.get_payload(decode=True)
        if part.get_filename():
            fields["file name"] = part.get_filename()
    return fields


@contextmanager
def serving(kore: FakeKore) -> Iterator[FakeKore]:
    """Serve on a loopback port; ``url`` says which."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"kore": kore}))
    server.daemon_threads = True
    kore.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield kore
    finally:
        server.shutdown()
        server.server_close()
