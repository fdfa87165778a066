"""What is meant as an annotation and not read as one; and brackets that are meant as such."""

import time
from pathlib import Path

import pytest

from turncheck.project.formats.annotations import parse_annotations
from turncheck.project.reader import read_nlu, read_project, read_stories
from turncheck.validation.annotation_slips import slips_in, swallows
from turncheck.validation.facts import ProjectTests
from turncheck.validation.pipeline import validate

NAMES = frozenset({"tamaño", "size", "city", "pickup time"})

SLIPS = [
    "quiero una [grande](tamaño",
    "quiero una [grande]tamaño)",
    "quiero una [grande] (tamaño)",
    "quiero una [grande] (tamaño",
    "quiero una [grande] tamaño)",
    "quiero una grande](tamaño)",
    "quiero una [grande(tamaño)",
    "quiero una [grande(tamaño)]",
    "quiero una (grande)[tamaño]",
    "quiero una (tamaño)[grande]",
    "(city) [لاہور] میں",
    "a ( Size )[big] one",
    "quiero una (grande)(tamaño)",
    "quiero una [grande] [tamaño]",
    "quiero una [grande]（tamaño）",
    "quiero una [grande] (Tamaño:xl)",
    "quiero una [grande]()",
    "quiero una [](tamaño)",
    "quiero una []()",
    "quiero una [grande](:xl)",
    'a [big]{"entity": "size"',
    'a [big] {"entity": "size"}',
    "a [big]{}",
    'a [big][{"entity": "size"}',
    'a big]{"entity": "size"}',
    "a {big}(size)",
    "a [[big]](size)",
    "a [[big](size)](size)",
    "a [big](size one from [Rome](city)",
    "a [in [Rome](city)",
    "at [six] (pickup time)",
    "a [big](size) one and a [small](size",
]

NO_SLIPS = [
    "a (note)[big] one",
    "quiero una [grande](tamaño)",
    'a [big]{"entity": "size", "role": "x"} one',
    'a [big][{"entity": "size"}, {"entity": "city"}] one',
    "he said [sic] so",
    "call me (maybe)",
    "call me [later] (maybe)",
    "([sic] he said so)",
    "(see [1])",
    "[1] (2) [3]",
    "what is your size (in cm)?",
    "my size :)",
    "hello :-] (again)",
    "fine [ok]:)",
    "the array a[0] (of size n)",
    "a size (city) map",
    "{size}",
    '/inform{"entity": "size"}',
    "[unclosed",
    "(unclosed",
    "a ] b",
]


def is_slip(written: str) -> bool:
    text, entities = parse_annotations(written)
    return any(True for _ in slips_in(text, NAMES)) or any(swallows(text, entity) for entity in entities)


@pytest.mark.parametrize("written", SLIPS)
def test_a_slip_is_found(written: str) -> None:
    assert is_slip(written)


@pytest.mark.parametrize("written", NO_SLIPS)
def test_ordinary_brackets_are_left_alone(written: str) -> None:
    assert not is_slip(written)


@pytest.mark.bench
@pytest.mark.parametrize("piece", ["]a)", "[", "] (", "[a(", "]("])
def test_a_line_of_brackets_takes_time_by_its_length(piece: str) -> None:
    def seconds(number: int) -> float:
        begin = time.process_time()
        list(slips_in(piece * number, NAMES))
        return time.process_time() - begin

    assert seconds(200_000) < 100 * max(seconds(20_000), 0.01), "ten times as long, and not ten times ten"


def write(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_slips_are_warnings_of_a_run_and_notes_beside_rasa(tmp_path: Path) -> None:
    write(tmp_path, "config.yml", "recipe: default.v1\nassistant_id: a\nlanguage: es\npipeline: []\npolicies: []\n")
    write(tmp_path, "domain.yml", 'version: "3.1"\nintents: [pedir]\nentities: [tamaño]\n')
    nlu = "nlu:\n- intent: pedir\n  examples: |\n    - una [grande](tamaño)\n    - la [grande] (tamaño) por favor\n"
    write(tmp_path, "data/nlu.yml", nlu)
    stories = write(
        tmp_path,
        "tests/test_stories.yml",
        "stories:\n- story: s\n  steps:\n  - user: una [x](tamaño\n    intent: pedir\n",
    )
    sentences = write(tmp_path, "tests/nlu.yml", "nlu:\n- intent: pedir\n  examples: |\n    - una [x]tamaño)\n")
    tests = ProjectTests(read_stories([stories], tmp_path)[0], read_nlu([sentences], tmp_path)[0].examples)
    project = read_project(tmp_path)
    found = validate(project, tests=tests)
    slips = [finding for finding in found.findings if finding.code == "annotation-broken"]
    assert [(str(slip.location), slip.severity) for slip in slips] == [
        ("data/nlu.yml:5:10", "warning"),
        ("tests/nlu.yml:4:7", "warning"),
        ("tests/test_stories.yml:4:5", "warning"),
    ]
    beside = validate(project, tests=tests, drop_in=True)
    assert {finding.severity for finding in beside.findings if finding.code == "annotation-broken"} == {"info"}
    effects = [
        fails
        for finding, fails in zip(beside.findings, beside.fails, strict=True)
        if finding.code == "annotation-broken"
    ]
    assert set(effects) == {"never"}
