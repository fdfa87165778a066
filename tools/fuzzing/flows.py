"""Mutated flows, and what stands beside them: domain, tests, configuration, results of dialogue understanding tests."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from tools.fuzzing.mutations import mutate
from tools.fuzzing.project_files import ROOT, check
from tools.fuzzing.trial import Trial

from turncheck.evaluations.coverage import coverage_item
from turncheck.evaluations.e2e.imported_commands import import_commands
from turncheck.messages.errors import UserError
from turncheck.platforms.rasa.flows.consistency import Checked
from turncheck.platforms.rasa.flows.facts import FlowFacts
from turncheck.platforms.rasa.flows.more_checks import findings_of
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project
from turncheck.validation.facts import ProjectTests, gather
from turncheck.yaml_tree.source import EscapeError, YamlSource
from turncheck.yaml_tree.tree import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project

EXAMPLE: Final = ROOT / "examples" / "appointment"
_EVERYTHING: Final = b"""\
flows:
  everything:
    name: everything at once
    description: Every kind of step, and every key that is known.
    if: slots.a and context.b = "c" or not {"d" 'e'} contains slots.f
    always_include_in_prompt: true
    run_pattern_completed: false
    nlu_trigger:
    - intent: ask
    - intent: {name: tell, confidence_threshold: 0.5}
    persisted_slots: [a, f]
    steps:
    - collect: a
      id: first
      utter: utter_other
      ask_before_filling: true
      reset_after_flow_ends: false
      force_slot_filling: true
      rejections:
      - if: slots.a < 3 and slots.a matches "^[0-9]+$"
        utter: utter_no
      next:
      - if: slots.f is not null
        then:
        - set_slots:
          - f: null
          - a: "text"
          next: first
      - if: slots.f contains "x"
        then: last
      - else:
        - call: an_agent
          exit_if: [slots.f = "done"]
          next: last
    - call: a_tool
      mcp_server: a_server
      mapping: {input: [{param: a, slot: a}], output: [{slot: f, value: result.f}]}
    - noop: true
      next: [{if: slots.a, then: END}, {else: last}]
    - action: action_check
      id: last
    - link: everything_else
  everything_else:
    description: The other flow.
    steps:
    - call: everything
    - action: "{{context.utter}}"
"""
_RESULTS: Final = {
    "du.yml": b"""\
passed: ['a.yml::one']
failed: ['a.yml::two']
steps:
- {test_case: 'a.yml::two', user: hello, expected: [SetSlot(a, 1)], predicted: {x: [StartFlow(b)]}}
figures:
  start flow: {total: 3, tp: 1, fp: 2, fn: 0}
""",
    "du.txt": b"""\
------ test_case: a.yml::two ------
== failure starting at user message 'hello'.
-- EXPECTED --   | -- PREDICTED --
SetSlot(a, 1)    | StartFlow(b)

a.yml::one
start flow (total count: 3):
  tp: 1 fp: 2 fn: 0
""",
}
_INPUTS_OF_A_PROJECT: Final = 50
_RESULTS_SHARE: Final = 0.1
_WHOLE_SHARE: Final = 0.03
_KEPT: Final = (".yml", ".py")
_TESTS: Final = ("tests/e2e_test_cases.yml", "dialogue_understanding_tests/booking.yml")


def example() -> dict[str, bytes]:
    """The files of the example of flows by name, and one with every kind of step."""
    paths = (path for path in sorted(EXAMPLE.rglob("*")) if path.suffix in _KEPT and "results" not in path.parts)
    return {**{str(path.relative_to(EXAMPLE)): path.read_bytes() for path in paths}, "data/more.yml": _EVERYTHING}


def read(project: Project, cases: tuple[E2ECase, ...], path: str, content: bytes) -> str:
    """Read a file of flows, in place of the one that a project has there, and hold its tests against it."""
    try:
        document = parse_yaml(YamlSource(path, content.decode("utf-8", "replace")))
    except EscapeError as error:
        return str(error)
    files = tuple(one._replace(document=document) if one.path == path else one for one in project.files)
    facts = FlowFacts(gather(replace(project, files=files), tests=ProjectTests(cases=cases)))
    said = [f"{one.location}: {one.message}" for one in findings_of(facts)]
    checked = Checked(facts)
    held = checked.consistency
    steps = [coverage_item(*step, is_telling=False).digest for step in checked.steps(None)]
    found = [*(one.lacks for one in held.inconsistent), *(one.meaning for one in held.conditions)]
    return "\n".join([*said, *found, *steps])


def results(name: str, content: bytes) -> str:
    """Read what `rasa test du` might have left."""
    try:
        return str(import_commands([(name, content.decode("utf-8", "replace"))], ()))
    except UserError as error:
        return str(error)


def trials(chance: Random, place: Path) -> Iterator[Trial]:
    """Yield a project with one file mutated, or results, again and again; it is below ``place`` during the trial."""
    files = example()
    pool = [*files.values(), *_RESULTS.values()]
    flows = [path for path in files if path.startswith("data")]
    others = [path for path in files if path.endswith(".yml") and path not in flows]
    folder, bare = place / "project", place / "bare"
    while True:
        for one, paths in ((folder, list(files)), (bare, [path for path in files if path not in _TESTS])):
            shutil.rmtree(one, ignore_errors=True)
            for path in paths:
                (one / path).parent.mkdir(parents=True, exist_ok=True)
                (one / path).write_bytes(files[path])
        project = read_project(bare)
        cases = read_cases(folder, [folder / path for path in _TESTS]).cases
        for _ in range(_INPUTS_OF_A_PROJECT):
            kind = chance.random()
            if kind < _RESULTS_SHARE:
                name = chance.choice(sorted(_RESULTS))
                content = mutate(_RESULTS[name], pool, chance)
                yield Trial(partial(results, name, content), partial(_keep, {name: content}))
            elif kind < _RESULTS_SHARE + _WHOLE_SHARE:
                path = chance.choice(flows + others)
                (folder / path).write_bytes(mutate(files[path], pool, chance))
                run = partial(check, folder, Random(chance.random()))
                yield Trial(run, lambda kept: shutil.copytree(folder, kept, dirs_exist_ok=True))
                (folder / path).write_bytes(files[path])
            else:
                path = chance.choice(flows)
                content = mutate(files[path], pool, chance)
                yield Trial(partial(read, project, cases, path, content), partial(_keep, {path: content}))


def _keep(files: dict[str, bytes], kept: Path) -> None:
    for path, content in files.items():
        (kept / path).parent.mkdir(parents=True, exist_ok=True)
        (kept / path).write_bytes(content)
