"""A pull request as teams open them: forty edited sentences, two intents that begin to collide, a story that breaks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from report_builder import (
    BASE_COMMIT,
    case,
    coverage,
    example,
    finding,
    report,
    story,
    training,
    with_changes,
)

from turncheck.ci.github.context import GitHubPages
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.render.links import Links
from turncheck.render.wording.gates import judge
from turncheck.report.model import GateSettings, ProjectInfo, Skipped, Substitution

if TYPE_CHECKING:
    from turncheck.comparison.model import Comparison
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import NluPrediction, Report

LINKS = Links(
    pages=GitHubPages("https://github.com/acme/bots"),
    commit="2" * 40,
    base_commit="1" * 40,
    run_url="https://github.com/acme/bots/actions/runs/78",
    artifact_url="https://github.com/acme/bots/actions/runs/78/artifacts/5",
)

_SENTENCES = {
    "check_balance": "how much is on my account|what is my balance|show my balance please|do I have money left",
    "transfer_money": "send 20 euros to Anna|transfer money to my savings|move 50 to my other account|pay my rent",
    "block_card": "block my card|my card was stolen|I lost my card|freeze the credit card",
    "greet": "hello|good morning|hi there|hey",
}
_OLD = [
    ("what is my current balance", "check_balance"),
    ("how much money do I have", "check_balance"),
    ("send money to my brother", "transfer_money"),
    ("please transfer 100 euros", "transfer_money"),
    ("my card is gone", "block_card"),
    ("hello", "greet"),
]
_NEW = [
    ("how much can I move to my savings", "transfer_money"),
    ("what is left after paying my rent", "transfer_money"),
    ("how much is left for the transfer", "transfer_money"),
]


def _examples(wrong: dict[str, str]) -> list[NluPrediction]:
    examples = []
    line = 3
    for intent, texts in _SENTENCES.items():
        for suffix in ("", " now", " thanks"):
            for text in texts.split("|"):
                line += 1
                full = text + suffix
                near = [(6, 0.91), (8, 0.84)] if full in wrong and wrong[full] == "transfer_money" else []
                amount = [(full.index("20"), full.index("20") + 8, "amount")] if "20" in full else []
                examples.append(
                    example(full, intent, wrong.get(full), line=line, confidence=0.71, near=near, entities=amount)
                )
    return examples


def base_report() -> Report:
    """The base branch: all stories pass, one sentence is wrong."""
    return report(
        examples=_examples({"pay my rent now": "check_balance"}),
        sentences=training(*_OLD),
        stories=[
            story("check the balance", "utter_balance", "action_listen", line=2),
            story("transfer with confirmation", "utter_ask_amount", "utter_confirm", "action_transfer", line=12),
            story("block a stolen card", "action_block_card", "utter_blocked", line=24),
            story("small talk", "utter_greet!utter_default", line=33),
        ],
        cases=[
            case("user pays a friend", "utter_ask_amount", "utter_done", line=4),
            case("user has no money", "utter_too_little!utter_done", line=15),
        ],
        findings=[finding("unused-response", "The response utter_old is used nowhere.", "warning", line=41)],
        covered={
            **coverage("intents", check_balance=("a", True), transfer_money=("b", True), greet=("c", True)),
            **coverage("responses", utter_balance=("a", True), utter_fees=("b", False)),
        },
        commit=BASE_COMMIT,
        name="bank",
        root="bots/bank",
        entity_scores=0.871,
    )


def head_report(**changes: object) -> Report:
    """The pull request."""
    pulled = {
        text + suffix: "transfer_money"
        for text in ("how much is on my account", "what is my balance", "do I have money left")
        for suffix in ("", " now", " thanks")
    }
    made = report(
        examples=_examples(pulled),
        sentences=training(*_OLD, *_NEW),
        stories=[
            story("check the balance", "utter_balance!utter_ask_amount", "action_listen", line=2),
            story("transfer with confirmation", "utter_ask_amount", "utter_confirm", "action_transfer", line=12),
            story("block a stolen card", "action_block_card", "utter_blocked", line=24),
            story("small talk", "utter_greet", line=33),
        ],
        cases=[
            case("user pays a friend", "utter_ask_amount", "utter_done", line=4),
            case("user has no money", "utter_too_little!utter_done", line=15),
        ],
        findings=[
            finding("missing-response", "The response utter_fees_detail is used but not defined.", line=52),
        ],
        covered={
            **coverage(
                "intents",
                check_balance=("a", True),
                transfer_money=("x", True),
                greet=("c", True),
                ask_fees=("d", False),
            ),
            **coverage("responses", utter_balance=("a", True), utter_fees=("y", False)),
        },
        name="bank",
        root="bots/bank",
        entity_scores=0.871,
        skipped=[Skipped(evaluation="batch", reason="the project has no batch suites")],
        substitutions=[
            Substitution(component="DIETClassifier", used="a linear model and a CRF", reason="no TensorFlow here"),
            Substitution(component="custom.Sentiment", used=None, reason="custom components are not run"),
        ],
        settings=GateSettings(
            fail_on=("errors", "new-failures"),
            thresholds=("nlu.intents.f1 >= 0.85",),
            max_regression=("nlu.intents.f1: 0.01 significant", "nlu.entities.DIETClassifier.f1: 0.02"),
        ),
        **changes,  # type: ignore[arg-type]  # passed on as they are
    )
    return with_changes(made, timings={"core": 1.5, "core[0]": 0.25, "e2e": 12.345, "e2e[1]": 6.5})


@cache
def pull_request(root: str = "bots/bank", name: str = "bank") -> tuple[Report, Comparison, Verdict]:
    """Report, comparison and verdict of the pull request, for an assistant at this place of the repository.

    Nobody can change them: all tests may have the same ones.
    """
    head = with_changes(head_report(), project=ProjectInfo(name=name, root=root, file="turncheck.yml"))
    comparison = compare(head, Present(base_report(), "artifact", run_id="55", passed_over="2 expired"))
    return head, comparison, judge(head, comparison, head.settings)
