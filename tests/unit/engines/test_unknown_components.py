"""Components and policies nobody knows: the message itself names what was probably meant."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from small_project import write_project

from turncheck.commands.validate import FORMATS, Request, run_data_validate

C = "config.yml"


@pytest.mark.parametrize(
    ("written", "meant", "code"),
    [
        ("CountVectorsFeaturiser", "CountVectorsFeaturizer", "component-unknown"),
        ("LogisticRegressionClasifier", "LogisticRegressionClassifier", "component-unknown"),
        ("logisticregressionclassifier", "LogisticRegressionClassifier", "component-unknown"),
        ("DIET", "DIETClassifier", "component-unknown"),
        ("Rules", "RulePolicy", "policy-unknown"),
        ("RulesPolicy", "RulePolicy", "policy-unknown"),
    ],
)
def test_in_every_output_the_message_on_an_unknown_component_names_a_near_one(
    tmp_path: Path, written: str, meant: str, code: str
) -> None:
    old = "DIETClassifier" if code == "component-unknown" else "RulePolicy"
    folder = write_project(tmp_path, (C, old, written))
    for output_format in FORMATS:
        output = io.StringIO()
        run_data_validate(Request(project=folder), output_format=output_format, output=output)
        assert code in output.getvalue()
        assert f"'{meant}'" in output.getvalue(), output_format
