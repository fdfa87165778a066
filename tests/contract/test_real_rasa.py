"""The engine ``rasa`` against a real Rasa 3.6.21, which is installed, trained and served here (``make test-rasa``).

What ours finds is held against what ``rasa test nlu`` and ``rasa test core`` write about the same model: the same
intents, the same entities, the same verdict on each story and each of its steps.

One model a file, since one process runs a file: each is trained once, and two at the same time.
"""

from __future__ import annotations

import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from real_rasa import ROOT, Trained, assert_like_rasa, call, server, turncheck

from turncheck.engines.rasa_server.client import Access, RasaClient
from turncheck.engines.rasa_server.conversation import describe
from turncheck.engines.remote import ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.rasa

TOKEN = "a-token-of-the-test"
TRAINED_MODEL = """\
recipe: default.v1
assistant_id: pizzeria
language: en
pipeline:
- name: WhitespaceTokenizer
- name: RegexFeaturizer
- name: LexicalSyntacticFeaturizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
  epochs: 20
  random_seed: 1
  run_eagerly: true
  constrain_similarities: true
  number_of_transformer_layers: 0
- name: LogisticRegressionClassifier
- name: CRFEntityExtractor
- name: EntitySynonymMapper
- name: FallbackClassifier
  threshold: 0.3
  ambiguity_threshold: 0.05
policies:
- name: MemoizationPolicy
  max_history: 5
- name: RulePolicy
"""
"""Of the pizzeria. DIET has few epochs: the entities it finds wrong, ours must find wrong too. It runs eagerly, since
tracing its graph takes half a minute in each process that loads the model."""
ODD_STORIES = """
  - story: a message with its text alone
    steps:
      - intent: order_pizza
      - action: order_form
      - user: |
          one more [diavola](pizza)
      - action: utter_order_placed
  - story: an entity without its value
    steps:
      - intent: inform
        entities:
          - pizza
          - size: null
      - action: order_form
"""
"""Of the pizzeria, beside its own: what the server's check of its input refuses in the shape of Rasa's own stories."""


@pytest.fixture(scope="session")
def pizzeria(rasa: str, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The example: sentences with entities, stories with texts, end-to-end cases."""
    folder = tmp_path_factory.mktemp("pizzeria") / "bot"
    shutil.copytree(ROOT / "examples" / "pizzeria", folder)
    (folder / "config.yml").write_text(TRAINED_MODEL)
    with (folder / "tests" / "test_stories.yml").open("a") as file:
        file.write(ODD_STORIES)
    results = folder.parent / "results"
    call(rasa, folder, "train", "--augmentation", "0", "--fixed-model-name", "pizzeria")
    shared = ("--model", "models/pizzeria.tar.gz", "--successes", "--no-plot", "--out", str(results))
    with ThreadPoolExecutor() as at_once:
        tests = (
            ("nlu", "--nlu", "tests/test_nlu.yml"),
            ("core", "--e2e", "--stories", "tests/test_stories.yml"),
        )
        list(at_once.map(lambda test: call(rasa, folder, "test", *test, *shared), tests))
    return Trained(folder, folder / "models" / "pizzeria.tar.gz", results)


@pytest.fixture(scope="session")
def pizzeria_server(rasa: str, pizzeria: Trained) -> Iterator[str]:
    with server(rasa, pizzeria.folder, "--model", str(pizzeria.model), "--auth-token", TOKEN) as (url, _):
        yield url


def test_intents_entities_and_stories_are_judged_as_rasa_judges_them(
    pizzeria: Trained, pizzeria_server: str, tmp_path: Path
) -> None:
    done, report = turncheck(pizzeria.folder, tmp_path, "--rasa-url", pizzeria_server, "--rasa-token", TOKEN)
    assert report.stopped is None, done.stderr
    names = assert_like_rasa(tmp_path / "rasa", pizzeria.results, pizzeria.folder)
    assert {"intent_report.json", "CRFEntityExtractor_report.json"} <= names
    assert {"intent_errors.json", "intent_successes.json", "successful_test_stories.yml"} <= names
    assert report.engine is not None
    assert (report.engine.version, report.engine.model) == ("3.6.21", "pizzeria.tar.gz")
    assert report.e2e is not None
    assert len(report.e2e.cases) == report.e2e.passed + report.e2e.failed > 0
    assert report.e2e.passed > 0, "a conversation by the REST channel"


def test_a_wrong_token_is_refused(pizzeria_server: str) -> None:
    for token in ("wrong", None):
        with pytest.raises(ServerError, match="User is not authenticated"):
            describe(RasaClient(Access(pizzeria_server, token=token)))


def test_a_server_that_is_killed_leaves_what_was_finished(rasa: str, pizzeria: Trained, tmp_path: Path) -> None:
    sentences = "".join(f"    - order a pizza number {number}\n" for number in range(2000))
    many = tmp_path / "test_many.yml"
    greeting = "- intent: greet\n  examples: |\n    - hello\n"
    many.write_text(f"nlu:\n- intent: order_pizza\n  examples: |\n{sentences}{greeting}")
    with server(rasa, pizzeria.folder, "--model", str(pizzeria.model), "--debug") as (url, process):
        log = pizzeria.folder.parent / f"server-{url.rpartition(':')[2]}.log"

        def kill_in_the_middle() -> None:
            while log.read_bytes().count(b"order a pizza number") < 20 and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL)

        killer = threading.Thread(target=kill_in_the_middle, daemon=True)
        killer.start()
        done, report = turncheck(pizzeria.folder, tmp_path / "out", "--rasa-url", url, "--nlu", str(many))
    assert done.returncode == 2
    assert report.stopped is not None
    assert "refuses the connection or cuts it" in report.stopped
    assert report.nlu is not None
    assert 0 < report.nlu.examples < 2001
    assert any(remark.startswith("Not run: ") for remark in report.nlu.remarks)
    assert {entry.evaluation for entry in report.skipped} >= {"core", "e2e"}
