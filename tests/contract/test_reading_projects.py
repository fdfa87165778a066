"""Reading against what real Rasa 3.6.21 reads: its recorded table of annotations, healthy projects, public corpora."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turncheck.project.formats.annotations import AnnotationError, parse_annotations
from turncheck.project.nlu_data import EntityAnnotation
from turncheck.project.reader import read_nlu, read_project, read_stories
from turncheck.project.testfiles import find_test_stories

ORACLE = Path(__file__).parent.parent / "oracle"
SHARED = Path(__file__).parents[3] / "shared"

TABLE: list[dict[str, Any]] = json.loads((ORACLE / "nlu/table_annotation/expected.json").read_text("utf-8"))["rows"]
ERRORS = {"SchemaValidationError": "annotation-invalid", "InvalidEntityFormatException": "annotation-not-json"}


def as_rasa(entity: EntityAnnotation) -> dict[str, Any]:
    record = {"start": entity.start, "end": entity.end, "value": entity.value, "entity": entity.entity}
    optional = {"role": entity.role, "group": entity.group}
    return {**record, **{key: value for key, value in optional.items() if value is not None}}


@pytest.mark.parametrize("row", TABLE, ids=[row["example"] for row in TABLE])
def test_annotations_are_read_as_rasa_reads_them(row: dict[str, Any]) -> None:
    if "exception" in row:
        with pytest.raises(AnnotationError) as raised:
            parse_annotations(row["example"])
        assert raised.value.code == ERRORS[row["exception"].partition(":")[0]]
    else:
        text, entities = parse_annotations(row["example"])
        assert (text, [as_rasa(entity) for entity in entities]) == (row["plain_text"], row["entities"])


def test_nlu_files_of_every_form_are_read_as_rasa_reads_them() -> None:
    case = ORACLE / "reading" / "all_nlu_forms"
    expected = json.loads((case / "expected.json").read_text("utf-8"))
    project = read_project(case / "project")
    assert project.findings == ()
    assert [
        {
            "text": one.text,
            "intent": one.intent,
            "entities": [as_rasa(entity) for entity in one.entities],
            "metadata": one.metadata,
        }
        for one in project.nlu.examples
    ] == expected["examples"]
    assert {one.synonym: one.value for one in project.nlu.synonyms} == expected["synonyms"]
    assert sorted([one.name, one.pattern] for one in project.nlu.regexes) == expected["regexes"]
    assert [[one.name, list(one.elements)] for one in project.nlu.lookups] == expected["lookups"]
    domain = project.domain
    responses = {
        name: [dict(one.content) for one in domain.responses[name].variations] for name in expected["responses"]
    }
    assert responses == expected["responses"]
    names = {
        "intents": list(domain.intents),
        "entities": sorted(domain.entities),
        "slots": list(domain.slots),
        "forms": list(domain.forms),
        "actions": list(domain.actions),
        "e2e_actions": list(domain.end_to_end_actions),
    }
    assert names == expected["domain"]
    blocks = [(one.name, one.location.path) for one in (*project.stories, *project.rules)]
    recorded = [(name, path) for name, path in expected["blocks"]]  # Rasa splits a story at "or" and checkpoints
    assert blocks == list(dict.fromkeys(recorded))


def healthy_projects(oracle: Path) -> list[Path]:
    """Return those on which real Rasa validates, trains and tests without refusing."""
    return [
        *(path for path in oracle.glob("core/*/project") if not path.parent.name.startswith("train_error_")),
        *oracle.glob("conversations/*/project"),
        *(path.parent for path in oracle.glob("nlu/*/project/domain.yml") if "sklearn_sparse_only" not in path.parts),
        *oracle.glob("validate/bot_rasa_init/project"),
    ]


def all_healthy_projects() -> list[Any]:
    """Return those of this repository, then those that are only beside it (the public bots)."""
    own = {path.relative_to(ORACLE) for path in healthy_projects(ORACLE)}
    beside = {path.relative_to(SHARED / "oracle") for path in healthy_projects(SHARED / "oracle")} - own
    return [*(ORACLE / path for path in sorted(own)), *(SHARED / "oracle" / path for path in sorted(beside))]


@pytest.mark.parametrize("root", all_healthy_projects(), ids=lambda root: "/".join(root.parts[-3:-1]))
def test_a_healthy_project_reads_without_findings(root: Path) -> None:
    project = read_project(root)
    assert project.findings == ()
    assert project.unreadable == frozenset()
    assert project.calm is None
    assert project.nlu.examples or project.stories or project.rules
    _, findings = read_stories(find_test_stories(root), root)
    assert findings == ()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded public bots are not beside this checkout")
def test_the_public_bots_are_among_them() -> None:
    assert len(all_healthy_projects()) == 58


CORPORA = {
    "banking77/train": (10003, 77),
    "banking77/test": (3080, 77),
    "nlupp_banking/train": (1867, 757),
    "nlupp_banking/test": (204, 156),
    "snips/train": (13784, 7),
    "snips/test": (700, 7),
}


@pytest.mark.skipif(not (SHARED / "corpora").is_dir(), reason="the public corpora are not beside this checkout")
@pytest.mark.parametrize("name", CORPORA)
def test_a_public_corpus_reads_without_findings(name: str) -> None:
    path = SHARED / "corpora" / f"{name}.yml"
    nlu, findings = read_nlu([path], path.parent)
    assert findings == ()
    assert (len(nlu.examples) + len(nlu.duplicates), len({one.intent for one in nlu.examples})) == CORPORA[name]
    lines = path.read_text("utf-8").splitlines()
    for example in nlu.examples[::97]:
        place = example.location
        assert place.line is not None
        assert place.column is not None
        assert parse_annotations(lines[place.line - 1][place.column - 1 :])[0] == example.text


FAULTY = {
    "config_bad_yaml": "yaml-syntax config.yml:4",
    "yaml_bad_indent": "yaml-syntax domain.yml:75",
    "yaml_bad_indent_stories": "yaml-syntax data/stories.yml:22",
    "yaml_tab": "yaml-syntax domain.yml:6",
    "yaml_duplicate_key_domain": "yaml-duplicate-key domain.yml:97",
    "yaml_duplicate_key_nlu": "yaml-duplicate-key data/nlu.yml:60",
    "domain_missing": "domain-not-found domain.yml:None",
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_fault_is_found_in_the_line_that_rasa_names(case: str) -> None:
    project = read_project(ORACLE / "validate" / case / "project")
    found = [f"{one.code} {one.location.path}:{one.location.line}" for one in project.findings]
    assert found == [FAULTY[case]]


@pytest.mark.parametrize("case", sorted((ORACLE / "validate").glob("*/project")), ids=lambda path: path.parent.name)
def test_every_fault_of_a_recorded_project_is_at_a_line_that_is_there(case: Path) -> None:
    project = read_project(case)
    for finding in project.findings:
        place = finding.location
        if place.line is not None:
            lines = (case / place.path).read_bytes().splitlines()
            assert 1 <= place.line <= max(1, len(lines)), finding  # an empty file has a first line, too
