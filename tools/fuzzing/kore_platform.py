"""The answers of Kore.ai's platform, spoiled: what the engine makes of them, and the commands about what is there."""

from __future__ import annotations

import io
import json
import random
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tools.fuzzing.servers import Answer, answering, mutated
from tools.fuzzing.trial import PLANTED, Trial, as_json, without_network

from turncheck.evaluations.batch.suites import SuiteRun, evaluate_suites
from turncheck.messages.errors import IncompleteError, UserError
from turncheck.platforms.kore.commands import delete_suite, export_suite, list_suites, print_status, pull_bot, run_suite
from turncheck.platforms.kore.engine.client import Access, Clock, KoreClient
from turncheck.platforms.kore.engine.engines import KoreEngines
from turncheck.platforms.kore.engine.platform import Platform
from turncheck.process.environment import Secret
from turncheck.process.screen import Console
from turncheck.project.batch.model import ExpectedEntity, Suite, SuiteCase
from turncheck.project.reader import read_project
from turncheck.render.batch_csv import render_batch_csv
from turncheck.render.results import render_results
from turncheck.report.codec import encode
from turncheck.report.model import ProjectInfo
from turncheck.run.report_of import report_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import requests

API = Path(__file__).parents[2] / "tests" / "oracle" / "kore" / "api"
LINK = f"https://files.test/x?sig={PLANTED}.link"
SUITE = Suite(
    "s",
    "s.json",
    (
        SuiteCase("two bags to Oslo", ("Order Tea",), entities=(ExpectedEntity("City", ("Oslo",)),)),
        SuiteCase("stop it", ("Cancel Order",)),
        SuiteCase("so urgent", ("Urgent",), is_trait=True),
    ),
)
FIND_INTENT = (*("find_intent", "find_intent_ambiguous", "find_intent_none", "find_intent_faq", "find_intent_traits"),)
PATHS = {
    "findIntent": FIND_INTENT,
    "uploadfile": ("upload",),
    "import": ("import", "import_refused"),
    "run": ("run",),
    "testsuite": ("list",),
    "export": ("bot_export", "export"),
    "status": ("status_running", "status_completed", "status_partial", "status_failed", "bot_export_status"),
}
OTHERS = ("delete_suite", "delete_405", "bad_credentials", "expired_token", "rate_limit_429", "rate_limit_body_only")


def _transcripts() -> dict[str, Any]:
    read = (json.loads(path.read_text("utf-8")) for path in sorted(API.glob("*.json")))
    return {one["name"]: one["response"] for one in read}


def _zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("botDefinition.json", "{}")
        variables = [{"key": "k", "value": f"{PLANTED}.variable"}]
        archive.writestr("config.json", json.dumps({"name": "x", "envVariables": variables}))
    return packed.getvalue()


def answer_to(request: requests.PreparedRequest, told: dict[str, Any], dice: random.Random) -> Answer:
    """What the platform would answer, or something like it."""
    address = urlsplit(request.url or "")
    if address.hostname == "files.test":
        files = ((API / "report.csv").read_bytes(), _zip(), b'{"testCases": []}')
        return mutated(Answer(200, dice.choice(files)), None, dice)
    names = PATHS.get(address.path.rpartition("/")[2], OTHERS)
    response = told[dice.choice(OTHERS if dice.random() < 0.05 else names)]
    body = json.loads(json.dumps(response["body"]).replace("https://files.example/", f"{LINK}&"))
    return mutated(Answer.json(body, response["status"]), body, dice)


def ask(place: Path, dice: random.Random) -> str:
    """Judge the suite, or run one of the commands; return what is shown and written."""
    time = [0.0]

    def sleep(seconds: float) -> None:
        time[0] += seconds

    access = Access("https://kore.test", "st-1", "cs-1", Secret(f"{PLANTED}.secret"))
    client = KoreClient(access, clock=Clock(lambda: time[0], sleep))
    platform, screen = Platform(client, bot_name="Tea Shop"), Console(stream=io.StringIO())
    engines = KoreEngines(read_project(place), platform, dice.choice(("find-intent", "batch")))
    with tempfile.TemporaryDirectory(dir=place) as name:
        out = Path(name)
        tasks = (
            list_suites,
            partial(run_suite, name="s", wait=dice.random() < 0.8, csv=out / "r.csv"),
            partial(print_status, name="s", run="tr-1", csv=None),
            partial(export_suite, name="s", out=out / "s.json"),
            partial(delete_suite, name="s", run=None),
            partial(pull_bot, out=out),
        )
        if dice.random() < 0.5:
            return _judged(engines, screen)
        try:
            told = dice.choice(tasks)(platform, screen)
        except UserError as error:
            return str(error)
        config = out / "config.json"
        written = config.read_text("utf-8") if config.exists() else ""
        return "\n".join((*told.lines, json.dumps(told.json), written))


def _judged(engines: KoreEngines, screen: Console) -> str:
    try:
        batch = evaluate_suites(engines, [SUITE], SuiteRun(), screen)
    except IncompleteError as error:
        if error.finished is None:
            return str(error)
        batch = error.finished
    report = report_of(ProjectInfo(name="x"), 0, engine=engines.info(), batch=batch)
    table = render_batch_csv(report, batch.suites[0], "x.csv")
    return "\n".join((render_results(report), str(table.content), encode(report).decode()))


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield calls that get such answers."""
    told = _transcripts()
    (place / "s.json").write_text('{"testCases": []}')
    while True:
        seed = chance.random()

        def check(seed: float = seed) -> str:
            dice = random.Random(seed)
            with without_network(), answering(lambda request: answer_to(request, told, dice)):
                return ask(place, dice)

        yield Trial(check, as_json(seed=seed))
