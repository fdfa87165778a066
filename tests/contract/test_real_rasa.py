"""The engine ``rasa`` against a real Rasa 3.6.21, which is installed, trained and served here (``make test-rasa``).

What ours finds is held against what ``rasa test nlu`` and ``rasa test core`` write about the same model: the same
intents, the same entities, the same verdict on each story and each of its steps.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests
from action_servers import free_port
from python_3_10 import python_with

from turncheck.engines.rasa_server.client import Access, RasaClient, ServerError
from turncheck.engines.rasa_server.engine import describe
from turncheck.report.codec import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report

pytestmark = pytest.mark.rasa

ROOT = Path(__file__).parents[2]
START_SECONDS = 180
TOKEN = "a-token-of-the-test"
JWT_SECRET = "a-secret-of-the-test-with-32-bytes"
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
"""Of the pizzeria. DIET has few epochs: the entities it finds wrong, ours must find wrong too."""
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


@dataclass(frozen=True)
class Trained:
    """A project with its model and what ``rasa test`` wrote about it."""

    folder: Path
    model: Path
    results: Path


def environment() -> dict[str, str]:
    return {**os.environ, "RASA_TELEMETRY_ENABLED": "false", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}


@pytest.fixture(scope="session")
def rasa() -> str:
    """How Rasa is called; ``RASA_PYTHON`` may name the Python of an environment that has it already."""
    python = os.environ.get("RASA_PYTHON") or python_with("rasa", "-r", str(ROOT / "requirements" / "rasa.txt"))
    found = subprocess.run(
        [str(python), "-c", "import rasa; print(rasa.__version__)"], capture_output=True, text=True, check=False
    )
    assert found.stdout.strip() == "3.6.21", found.stderr
    return f"{python} -m rasa"


def call(rasa: str, folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [*rasa.split(), *arguments], cwd=folder, capture_output=True, text=True, check=False, env=environment()
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


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
def forms(rasa: str, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A recorded project without NLU data: forms, interruptions, rules, stories that are broken in all ways."""
    folder = tmp_path_factory.mktemp("forms") / "bot"
    shutil.copytree(ROOT / "tests" / "oracle" / "core" / "form_interrupt_rules" / "project", folder)
    results = folder.parent / "results"
    call(rasa, folder, "train", "--fixed-model-name", "forms")
    shared = ("--model", "models/forms.tar.gz", "--successes", "--no-plot", "--out", str(results))
    call(rasa, folder, "test", "core", "--e2e", "--stories", "tests", *shared)
    return Trained(folder, folder / "models" / "forms.tar.gz", results)


@contextmanager
def server(rasa: str, folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Serve; ready as soon as ``/version`` answers, which comes after the model is loaded."""
    port = free_port()
    log = folder.parent / f"server-{port}.log"
    credentials = folder.parent / "credentials.yml"
    credentials.write_text("rest:\n")
    words = [*rasa.split(), "run", "--enable-api", "-i", "127.0.0.1", "-p", str(port), "--credentials"]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*words, str(credentials), *arguments], cwd=folder, stdout=output, stderr=output, env=environment()
        ) as process,
    ):
        try:
            end = time.monotonic() + START_SECONDS
            while process.poll() is None and time.monotonic() < end:
                try:
                    if requests.get(f"http://127.0.0.1:{port}/version", timeout=2).ok:
                        yield f"http://127.0.0.1:{port}", process
                        return
                except requests.RequestException:
                    time.sleep(0.3)
            raise RuntimeError(f"Rasa did not start:\n{log.read_text()[-3000:]}")
        finally:
            process.kill()


@pytest.fixture(scope="session")
def pizzeria_server(rasa: str, pizzeria: Trained) -> Iterator[str]:
    with server(rasa, pizzeria.folder, "--model", str(pizzeria.model), "--auth-token", TOKEN) as (url, _):
        yield url


def turncheck(folder: Path, out: Path, *flags: str) -> tuple[subprocess.CompletedProcess[str], Report]:
    done = subprocess.run(
        [sys.executable, "-m", "turncheck", "run", str(folder), "--engine", "rasa", "--out", str(out), *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (out / "report.json").exists(), done.stderr
    return done, decode((out / "report.json").read_bytes())


def assert_like_rasa(ours: Path, theirs: Path, folder: Path) -> set[str]:
    """Every file that Rasa wrote is the one that we wrote: texts to the letter, figures but for the last digit."""
    # No policy here extracts entities: Rasa lists them all as missed by TEDPolicy, which is not configured.
    names = {path.name for path in theirs.iterdir()} - {"TEDPolicy_report.json", "TEDPolicy_errors.json"}
    for name in sorted(names):
        mine, real = (ours / name).read_text("utf-8"), (theirs / name).read_text("utf-8")
        if name.endswith("_report.json"):
            assert without_confusions(json.loads(mine)) == approximately(json.loads(real)), name
        else:
            assert mine == re.sub(rf"\((/private)?{re.escape(str(folder))}/", "(", real), name
    return names


def without_confusions(report: Any) -> Any:
    """Which of equally frequent confusions Rasa names an unstable sort decides; the files of errors hold them all."""
    if isinstance(report, dict):
        return {key: without_confusions(one) for key, one in report.items() if key != "confused_with"}
    return report


def approximately(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: approximately(one) for key, one in value.items() if key != "confused_with"}
    return pytest.approx(value, rel=1e-12) if isinstance(value, float) else value


def jwt(role: str) -> str:
    """Sign a JSON Web Token with HMAC-SHA256 (RFC 7519)."""

    def part(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    head = part(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
    body = part(json.dumps({"user": {"username": "root", "role": role}}).encode())
    signature = hmac.new(JWT_SECRET.encode(), f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{part(signature)}"


# --- the same verdicts -----------------------------------------------------------------------------------------------


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


def test_forms_and_broken_stories_are_judged_as_rasa_judges_them(rasa: str, forms: Trained, tmp_path: Path) -> None:
    arguments = ("--model", str(forms.model), "--jwt-secret", JWT_SECRET, "--jwt-method", "HS256")
    with server(rasa, forms.folder, *arguments) as (url, _):
        flags = ("--rasa-url", url, "--stories", str(forms.folder / "tests"))
        _, report = turncheck(forms.folder, tmp_path / "out", *flags, "--rasa-jwt", jwt("admin"))
        assert report.stopped is None
        assert_like_rasa(tmp_path / "out" / "rasa", forms.results, forms.folder)
        assert report.core is not None
        verdicts = {story.passed for story in report.core.stories}
        assert verdicts == {True, False}

        for wrong in (jwt("user"), "no.jwt.atall"):
            done, report = turncheck(forms.folder, tmp_path / "wrong", *flags, "--rasa-jwt", wrong)
            assert done.returncode == 2
            assert report.stopped is not None
            assert "refuses /status" in report.stopped


def test_rasa_trained_and_started_here_judges_the_same(rasa: str, forms: Trained, tmp_path: Path) -> None:
    before = {path.name for path in forms.folder.iterdir()}
    flags = ("--rasa-command", rasa, "--stories", str(forms.folder / "tests"))
    done, report = turncheck(forms.folder, tmp_path, *flags)
    assert report.stopped is None, done.stderr
    assert_like_rasa(tmp_path / "rasa", forms.results, forms.folder)
    assert {path.name for path in forms.folder.iterdir()} == before, "training leaves nothing in the project"


def test_cross_validation_trains_real_rasa_once_a_fold(rasa: str, tmp_path: Path) -> None:
    folder = tmp_path / "bot"
    shutil.copytree(ROOT / "tests" / "oracle" / "nlu" / "lr_crf_travel" / "project", folder)
    done, report = turncheck(folder, tmp_path / "out", "--rasa-command", rasa, "--folds", "2")
    assert report.stopped is None, done.stderr
    assert "trains 2 models, one per fold: about 2 times as long as" in done.stderr
    assert report.nlu is not None
    assert (report.nlu.mode, report.nlu.folds) == ("cross-validation", 2)
    assert {entry.fold for entry in report.nlu.predictions} == {0, 1}
    assert report.nlu.intents is not None
    assert report.nlu.intents.accuracy > 0.5
    assert report.nlu.entities["CRFEntityExtractor"].f1 > 0.3


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_wrong_token_is_refused(pizzeria_server: str) -> None:
    for token in ("wrong", None):
        with pytest.raises(ServerError, match="User is not authenticated"):
            describe(RasaClient(Access(pizzeria_server, token=token)))


def test_a_server_without_a_model_says_so(rasa: str, tmp_path: Path) -> None:
    (tmp_path / "empty" / "models").mkdir(parents=True)
    with (
        server(rasa, tmp_path / "empty") as (url, _),
        pytest.raises(ServerError, match="has no model loaded"),
    ):
        describe(RasaClient(Access(url)))


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
