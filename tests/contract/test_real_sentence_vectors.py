"""Sentence vectors of the real all-MiniLM-L6-v2, held against what sentence-transformers 6.2.0 computes with it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors

UPSTREAM = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of model.safetensors as sentence-transformers/all-MiniLM-L6-v2 publishes it."""

COMPUTED = {
    "": [-0.118838, -0.018233, 0.035949, -0.023038, 0.037717, 0.048589, -0.018427, -0.001826],
    "I want to top up my card.": [
        -0.039359,
        0.005471,
        0.038209,
        0.007078,
        0.005532,
        0.025892,
        0.124506,
        0.030036,
    ],
    "Wo ist meine Karte?": [-0.043695, -0.090441, 0.045974, 0.002211, 0.0591, -0.01741, -0.010360, 0.023593],
    "我的卡在哪里": [0.016412, -0.094893, 0.033357, -0.062220, 0.062913, 0.084362, -0.070846, -0.021996],
    "🙂 card!!": [-0.035903, 0.017147, -0.003926, 0.046487, 0.086746, 0.146468, 0.013886, 0.025945],
    "don't  stop\tnow": [-0.028799, -0.055240, 0.038419, 0.014670, -0.002623, -0.013935, -0.055476, 0.019941],
    "word " * 400: [
        -0.008123,
        -0.025397,
        -0.075984,
        0.053637,
        -0.039011,
        -0.032156,
        0.012853,
        0.012854,
    ],
}
"""Each fiftieth component, as ``SentenceTransformer(folder).encode(text)`` gives it; of the last 256 tokens."""


@pytest.fixture(scope="module")
def vectors() -> SentenceVectors:
    return SentenceVectors.installed()


def test_the_weights_are_the_published_ones(vectors: SentenceVectors) -> None:
    assert vectors.digest == UPSTREAM


def test_vectors_are_those_of_sentence_transformers(vectors: SentenceVectors) -> None:
    computed = vectors.of(list(COMPUTED))
    assert computed.shape == (len(COMPUTED), 384)
    assert computed[:, ::50] == pytest.approx(np.array(list(COMPUTED.values())), abs=2e-6)


FILES = {
    "config.yml": "pipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n- name: DIETClassifier\n",
    "domain.yml": "intents: [refund, parcel]\n",
    "data/nlu.yml": """
nlu:
- intent: refund
  examples: |
    - give me my money back
    - can you repay what it cost
    - I should be reimbursed
    - return the payment
    - my money back at once
    - how is a payment returned
- intent: parcel
  examples: |
    - where is my parcel
    - has the package been shipped
    - when will it be delivered
    - track the delivery
    - my parcel is late
    - when is the shipment here
""",
}


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("bot")
def test_words_that_no_example_has_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    for text, intent in (("refund, please!", "refund"), ("did mail arrive?", "parcel")):
        assert run_command_line(["parse", "--vectors", "--quiet", "--format", "jsonl", text]) == 0
        assert json.loads(capsys.readouterr().out)["intent"]["name"] == intent


def test_a_run_names_them_and_is_the_same_with_any_number_of_workers(bot: Path) -> None:
    reports = []
    for workers in ("1", "2"):
        flags = ["--folds", "2", "--workers", workers, "--fail-on", "none", "--baseline", "none", "--no-cache"]
        assert run_command_line(["run", "--vectors", *flags, "--evaluations", "nlu", "--quiet"]) == 0
        report = json.loads((bot / "results" / "report.json").read_text("utf-8"))
        reports.append({name: part for name, part in report.items() if name not in {"timings", "source"}})
    assert reports[0] == reports[1]
    assert f"sentence vectors (all-MiniLM-L6-v2, {UPSTREAM[:12]})" in reports[0]["engine"]["substitutions"][0]["used"]
    assert reports[0]["nlu"]["intents"]["accuracy"] > 0.8


def test_a_model_trained_with_them_is_taken_where_they_are_asked_for(
    bot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["train", "nlu", "--vectors", "--quiet"]) == 0
    for flags, trains in (["--vectors"], False), ([], True):
        capsys.readouterr()
        assert run_command_line(["parse", *flags, "where is my parcel"]) == 0
        assert ("No model fits" in capsys.readouterr().err) == trains
