"""What the machine refuses says nothing of the project: no finding, no verdict, exit code 2."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from in_process import turncheck

from turncheck.engines.embedded.nlu import crf
from turncheck.process import regular_file

CONFIG = """\
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: LogisticRegressionClassifier
- name: CRFEntityExtractor
policies:
- name: RulePolicy
"""
DOMAIN = 'version: "3.1"\nintents: [greet, bye]\nentities: [city]\nresponses:\n  utter_hi: [{text: hi}]\n'
RULES = 'version: "3.1"\nrules:\n- {rule: hi, steps: [{intent: greet}, {action: utter_hi}]}\n'


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    sentences = {
        intent: "".join(f"    - {intent} from [Oslo](city) {n}\n" for n in range(6)) for intent in ("greet", "bye")
    }
    nlu = "".join(f"- intent: {intent}\n  examples: |\n{texts}" for intent, texts in sentences.items())
    files = {"config.yml": CONFIG, "domain.yml": DOMAIN, "data/nlu.yml": f'version: "3.1"\nnlu:\n{nlu}'}
    for name, text in {**files, "data/rules.yml": RULES}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def test_a_model_that_cannot_be_stored_is_no_error_in_the_data(bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = crf._opened
    monkeypatch.setattr(crf, "_opened", lambda content: opened(content[:48]))

    done = turncheck("run", ".", "--out", "out", "--json", "report.json", "--no-cache", cwd=bot)

    assert done.returncode == 2, done.stdout
    report = json.loads((bot / "report.json").read_text("utf-8"))
    assert report["stopped"]
    assert [one["code"] for one in report["validation"]["findings"] if one["severity"] == "error"] == []


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("name", ["domain.yml", "nlu.yml", "config.yml", "rules.yml"])
def test_a_file_that_the_machine_does_not_open_is_no_error_in_it(
    bot: Path, monkeypatch: pytest.MonkeyPatch, code: int, name: str
) -> None:
    ensured = regular_file._ensure_regular

    def refusing(status: os.stat_result, path: str) -> None:
        if Path(path).name == name:
            raise OSError(code, os.strerror(code), path)
        ensured(status, path)

    monkeypatch.setattr(regular_file, "_ensure_regular", refusing)

    assert turncheck("data", "validate", "--project", ".", cwd=bot).returncode == 2
