"""Botium's suites on a Rasa server and on a Kore.ai assistant behind its webhook, judged as far as these say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from fake_bot import Call, FakeBot, Reply
from fake_bot import serving as serving_bot
from fake_rasa import FakeRasa
from fake_rasa import serving as serving_rasa
from in_process import turncheck
from printed import passed_tests

EXPORT = Path(__file__).parents[1] / "oracle" / "kore" / "exports" / "tea_shop" / "botDefinition.json"
RASA = {
    "domain.yml": 'version: "3.1"\nintents: [greet, order]\nresponses:\n  utter_greet: [{text: (utter_greet)}]\n',
    "config.yml": "recipe: default.v1\nlanguage: en\npipeline: []\npolicies: []\n",
    "tests/lists.utterances.txt": "UTT_GREET\ngreet all\ngreet them\n",
    "tests/greet.convo.txt": (
        "greet\n\n#me\nUTT_GREET\n\n#bot\n(UTTER_GREET)\nINTENT greet\nINTENT_CONFIDENCE 80\n!ENTITIES city\n\n"
        "#end\nBOT_CONSUMED\n"
    ),
    "tests/other.convo.txt": "other\n\n#me\ngreet all\n\n#bot\nINTENT order\n",
    "tests/city.convo.txt": "city\n\n#me\ngreet all\n\n#bot\nENTITIES city\n",
}
KORE = {
    "tests/first.pconvo.txt": "first\n\n#me\ntwo bags please\n\n#bot\nWhich city?\n",
    "tests/order.convo.txt": "order\n\n#include first\n\n#me\nOslo\n\n#bot\nTEXT_CONTAINS_ANY to Oslo|to Rome\n",
    "tests/price.convo.txt": "price\n\n#include first\n\n#me\nOslo\n\n#bot\n!to Oslo\n",
    "tests/heard.convo.txt": "heard\n\n#me\ntwo bags please\n\n#bot\nINTENT Order Tea\n",
    "tests/where.convo.txt": "where\n\n#me\ntwo bags please\n\n#bot\nENTITIES City\n",
}
WEBHOOK = "bot: {kind: kore-webhook}\n"


def _written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _run(folder: Path, *flags: str) -> dict[str, Any]:
    done = turncheck("run", ".", "--no-cache", "--baseline", "none", "--out", "out", *flags, cwd=folder)
    path = folder / "out" / "report.json"
    assert path.exists(), done.stderr
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return report


def _ends(report: dict[str, Any]) -> dict[str, str]:
    return {case["name"]: case["outcome"] for case in report["e2e"]["cases"]}


def test_a_rasa_server_says_what_it_understood(tmp_path: Path) -> None:
    _written(tmp_path, RASA)

    with serving_rasa(FakeRasa()) as rasa:
        report = _run(tmp_path, "--engine", "rasa", "--rasa-url", rasa.url)

    assert _ends(report) == {
        "greet/UTT_GREET-L1": "passed",
        "greet/UTT_GREET-L2": "passed",
        "other": "failed",
        "city": "failed",
    }
    other = next(case for case in report["e2e"]["cases"] if case["name"] == "other")
    assert (other["steps"][0]["actual"], other["steps"][0]["location"]["line"]) == ("greet", 7)


@pytest.fixture
def tea_shop(tmp_path: Path) -> Path:
    _written(tmp_path, KORE)
    shutil.copy(EXPORT, tmp_path)
    return tmp_path


def _webhook(call: Call) -> Reply:
    """Answer as version 2 of the webhook channel: a user's second message is taken for the city."""
    user, text = call.body["from"]["id"], call.body["message"]["val"]
    said = "Which city?" if text == "two bags please" else f"I send two bags to {text}."
    data = [
        {"type": "text", "val": said, "createdOn": "2026-11-26T12:00:00.000Z", "messageId": "ms-1"},
        {"type": "template", "val": {"template_type": "button", "buttons": []}, "messageId": "ms-2"},
    ]
    return Reply({"to": user, "from": "st-1", "data": data, "_v": "v2", "endOfTask": False, "sessionId": "s-1"})


def test_a_kore_assistant_is_talked_to_through_its_webhook(tea_shop: Path) -> None:
    (tea_shop / "turncheck.yml").write_text(WEBHOOK, "utf-8")

    with serving_bot(FakeBot(_webhook)) as bot:
        url = f"{bot.url}/chatbot/v2/webhook/st-1"
        report = _run(tea_shop, "--engine", "http", "--bot-url", url, "--bot-token", "a.jwt.token")
        commanded = turncheck("test", "e2e", "--engine", "http", "--bot-url", url, "--bot-token", "a.b.c", cwd=tea_shop)

    assert _ends(report) == {"order": "passed", "price": "failed", "heard": "skipped", "where": "skipped"}
    reasons = {case["name"]: case["reason"] for case in report["e2e"]["cases"] if case["outcome"] == "skipped"}
    assert "`intent` under `bot:` names where" in reasons["heard"]
    assert "which entities were found" in reasons["where"]
    assert passed_tests(commanded.stdout) == {"End-to-end cases": "1/2"}
    assert {(call.path, call.headers["Authorization"]) for call in bot.calls} == {
        ("/chatbot/v2/webhook/st-1", "Bearer a.jwt.token"),
        ("/chatbot/v2/webhook/st-1", "Bearer a.b.c"),
    }
    talks = [call.body["from"]["id"] for call in bot.calls if call.body["message"]["val"] == "two bags please"]
    assert len(set(talks)) == len(talks)


def test_conversations_that_only_the_platform_could_hold_are_not_run_and_count_as_tests(tea_shop: Path) -> None:
    report = _run(tea_shop)

    (left_out,) = [one for one in report["skipped"] if one["evaluation"] == "e2e"]
    assert "--engine http" in left_out["reason"]
    assert not left_out.get("no_tests")
