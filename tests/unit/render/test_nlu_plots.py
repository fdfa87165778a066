"""Pictures: which are drawn, what is in their cells, and what hostile labels do to them (nothing)."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from golden_texts import Golden
from nlu_fakes import ScriptedEngine, project_of

from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent
from turncheck.evaluations.nlu.judging import evaluate_held_out
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData
from turncheck.render.curves import CurvePoint, draw_curves
from turncheck.render.plots import matrix_of, nlu_plots
from turncheck.render.results import render_results
from turncheck.report.model import Nlu, ProjectInfo, Report, Source, Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

HOSTILE = ("$x^{$", "日本語 😀", "line\nbreak\x1b[31m", "::error::x", "a" * 300, "_hidden", "<img src=x>", "greet")


def report_of(labels: Sequence[str], *, wrong: str = "greet") -> Report:
    """Each label is expected twice and once taken for ``wrong``; each sentence has an entity that is found."""
    examples, answers = [], {}
    for place, label in enumerate(labels):
        for text, predicted in ((f"text {place} a", label), (f"text {place} b", wrong)):
            found = PredictedEntity(0, 4, "thing", "text", "CRFEntityExtractor", confidence=0.8)
            intent = PredictedIntent(predicted, 0.7)
            answers[text] = Parse(text, intent, (intent,), (found,))
            examples.append(Example(text, label, (EntityAnnotation(0, 4, "thing", "text"),)))
    engine = ScriptedEngine(answers, ("CRFEntityExtractor",))
    nlu = evaluate_held_out(project_of([]), engine, NluData(tuple(examples))).section
    return Report(
        tool=Tool(name="turncheck", version="1"),
        project=ProjectInfo(name="bot $1$"),
        source=Source(commit="0123456789abcdef"),
        seed=1,
        nlu=nlu,
    )


def size_of(png: str | bytes) -> tuple[int, int]:
    assert isinstance(png, bytes)
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.slow
def test_every_picture_of_rasa_is_drawn_whatever_the_labels_are() -> None:
    pictures = {plot.name: plot for plot in nlu_plots(report_of(HOSTILE))}
    assert sorted(pictures) == [
        "CRFEntityExtractor_confusion_matrix.png",
        "CRFEntityExtractor_histogram.png",
        "intent_confusion_matrix.png",
        "intent_histogram.png",
    ]
    for plot in pictures.values():
        assert plot.media_type == "image/png"
        assert size_of(plot.encoded)[0] > 300


@pytest.mark.slow
def test_the_same_report_gives_the_same_bytes() -> None:
    report = report_of(("greet", "bye"))
    assert [plot.content for plot in nlu_plots(report)] == [plot.content for plot in nlu_plots(report)]


@pytest.mark.slow
def test_with_150_intents_each_has_a_row_high_enough_for_its_name() -> None:
    labels = [f"intent_{place:03}" for place in range(150)]
    picture = next(iter(nlu_plots(report_of(labels, wrong=labels[0]))))
    # 8 points at 110 dots an inch are 12 dots; a row needs some air on top.
    assert size_of(picture.encoded)[1] / 150 > 18


def test_no_picture_without_an_evaluation() -> None:
    report = report_of(("greet", "bye"))
    empty = Report(tool=report.tool, project=report.project, seed=1)
    assert list(nlu_plots(empty)) == []


def nlu_of(report: Report) -> Nlu:
    assert report.nlu is not None
    return report.nlu


@pytest.mark.follows(page="rasa-3", sentence="The confusion matrix shows which intents are misclassified as others.")
def test_the_cells_of_a_matrix_are_all_that_was_counted() -> None:
    intents = nlu_of(report_of(("greet", "bye"))).intents
    assert intents is not None
    matrix = matrix_of(intents.report, intents.confusions)
    assert matrix.labels == ("bye", "greet")
    assert matrix.cells == {("greet", "greet"): 2, ("bye", "bye"): 1, ("bye", "greet"): 1}


def test_the_matrix_of_an_extractor_has_the_tokens_without_entity() -> None:
    scores = nlu_of(report_of(("greet", "bye"))).entities["CRFEntityExtractor"]
    matrix = matrix_of(scores.report, scores.confusions, outside=scores.tokens - 4)
    assert matrix.cells == {("thing", "thing"): 4, ("no_entity", "no_entity"): 8}


@pytest.mark.slow
def test_curves_are_a_pdf_and_a_png_that_do_not_change_from_one_drawing_to_the_next() -> None:
    curves = {"a$b$": [CurvePoint(10, 0.5, 0.1), CurvePoint(40, 0.8, 0.0)], "_c": [CurvePoint(10, 0.4, 0.2)]}
    once, again = draw_curves(curves), draw_curves(curves)
    assert [file.name for file in once] == ["nlu_model_comparison_graph.pdf", "nlu_model_comparison_graph.png"]
    assert once == again


@pytest.mark.slow
def test_histograms_and_matrices_are_drawn_without_matplotlib() -> None:
    draw = "[plot.encoded for plot in nlu_plots(report_of(('greet', 'bye')))]"
    code = f"import sys; from test_nlu_plots import nlu_plots, report_of; {draw}; sys.exit('matplotlib' in sys.modules)"
    paths = {"PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[:2]))}
    assert subprocess.run([sys.executable, "-c", code], env=os.environ | paths, check=False).returncode == 0


def test_hostile_text_changes_no_line_of_the_terminal_but_its_own() -> None:
    plain = render_results(report_of(("one", "two", "greet")))
    hostile = render_results(report_of((HOSTILE[2], HOSTILE[3], "greet")))
    assert len(plain.splitlines()) == len(hostile.splitlines())
    assert "\x1b" not in hostile
    assert not any(line.startswith("::") for line in hostile.splitlines())


def test_the_text_says_what_was_flattered(golden: Golden) -> None:
    assert "optimistic" not in render_results(report_of(("greet", "bye")))
    golden(render_results(flattered_by(3)), only="optimistic")


@pytest.mark.parametrize(
    ("trained", "how"),
    [(0, "held out"), (1, "some of them training sentences"), (4, "all of them training sentences")],
)
def test_sentences_that_were_trained_on_are_not_called_held_out(trained: int, how: str) -> None:
    printed = render_results(flattered_by(trained))
    assert f"(4 sentences, {how})" in printed
    assert ("held out" in printed) == (trained == 0)


def flattered_by(on_training_sentences: int) -> Report:
    """The report of test sentences of which so many were trained on."""
    report = report_of(("greet", "bye"))
    nlu = msgspec.structs.replace(nlu_of(report), on_training_sentences=on_training_sentences)
    return msgspec.structs.replace(report, nlu=nlu)
