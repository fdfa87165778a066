"""A real Rasa that is trained once per fold, and one without a model; see test_real_rasa."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from real_rasa import ROOT, server, turncheck

from turncheck.comparison.metrics import metrics_of
from turncheck.engines.rasa_server.client import Access, RasaClient
from turncheck.engines.rasa_server.conversation import describe
from turncheck.engines.remote import ServerError

pytestmark = pytest.mark.rasa


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
    assert metrics_of(report)["nlu.entities.CRFEntityExtractor.f1"].value > 0.3


def test_a_server_without_a_model_says_so(rasa: str, tmp_path: Path) -> None:
    (tmp_path / "empty" / "models").mkdir(parents=True)
    with (
        server(rasa, tmp_path / "empty") as (url, _),
        pytest.raises(ServerError, match="has no model loaded"),
    ):
        describe(RasaClient(Access(url)))
