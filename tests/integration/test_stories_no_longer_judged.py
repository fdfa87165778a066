"""A change after which the stories cannot be judged: what the base tested is gone, whatever the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from repository_at_work import Repository, change

_TURN = "  - or:\n    - intent: greet\n    - intent: leave\n    - intent: order\n  - action: utter_greet\n"
_STEPS = "  steps:\n  - intent: greet\n  - action: utter_greet\n"
_FILES = {
    "config.yml": "recipe: default.v1\nlanguage: en\nassistant_id: small\npipeline:\n- name: KeywordIntentClassifier\n"
    "policies:\n- name: MemoizationPolicy\n",
    "domain.yml": 'version: "3.1"\nintents: [greet, leave, order]\nresponses:\n  utter_greet: [{text: Hello}]\n',
    "data/nlu.yml": 'version: "3.1"\nnlu:\n'
    + "".join(
        f"- intent: {name}\n  examples: |\n    - {name}\n    - {name} now\n" for name in ("greet", "leave", "order")
    ),
    "data/stories.yml": 'version: "3.1"\nstories:\n- story: hello\n' + _STEPS,
    "tests/test_stories.yml": 'version: "3.1"\nstories:\n- story: test\n' + _STEPS,
}
_POLICY = ("config.yml", "- name: MemoizationPolicy\n")
_STORY = ("data/stories.yml", "- story: hello\n")


def _write(folder: Path) -> None:
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("place", "new"),
    [
        pytest.param(_STORY, f"- story: survey\n  steps:\n{_TURN * 11}- story: hello\n", id="too many ways"),
        pytest.param(_POLICY, "- name: own.policies.Careful\n", id="a policy of the project"),
        pytest.param(_POLICY, "- name: MemoizationPolicy\n- name: own.policies.Careful\n", id="one more"),
        pytest.param(_POLICY, "- name: MemoizationPolicy\n- name: Careful\n", id="a policy that Rasa does not know"),
        pytest.param(_POLICY, "- name: MemoizationPolicy\n- name: FormPolicy\n", id="a policy of Rasa 2"),
    ],
)
def test_stories_that_only_the_base_can_judge_are_gone(
    place: tuple[str, str], new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, old = place
    repository = Repository(tmp_path, monkeypatch)

    def edit(folder: Path) -> None:
        (folder / name).write_text(_FILES[name].replace(old, new))

    change(repository, _write, edit)
    code, _ = repository.judged("--fail-on", "new-errors", "new-failures")
    verdict = json.loads(Path("results/verdict.json").read_text())
    outcomes = {gate["name"]: gate["outcome"] for gate in verdict["gates"]}
    assert (code, outcomes["gone-tests"]) == (1, "failed"), outcomes
