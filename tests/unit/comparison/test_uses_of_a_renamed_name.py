"""Every use of a name that a change renamed in the domain alone is counted once, wherever it is written.

The bot uses each name in all the ways that there are; a line that has the name is a use of it.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Final

import pytest

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.process.screen import Console
from turncheck.report.model import Source
from turncheck.run.evaluated_project import report_of_project
from turncheck.run.inputs import Inputs
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.report.model import Report

FILES: Final = {
    "config.yml": """\
version: "3.1"
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
- name: FallbackClassifier
policies:
- name: RulePolicy
  core_fallback_action_name: action_bake
  enable_fallback_prediction: true
""",
    "domain.yml": """\
version: "3.1"
intents:
- greet
- order_pizza:
    use_entities:
    - amount
- deny
entities:
- amount
slots:
  portion:
    type: text
    mappings:
    - type: from_entity
      entity: amount
      intent: order_pizza
      conditions:
      - active_loop: pizza_form
        requested_slot: portion
  mood:
    type: text
    mappings:
    - type: custom
      action: action_bake
forms:
  pizza_form:
    ignored_intents:
    - order_pizza
    required_slots:
    - portion
responses:
  utter_ask_portion:
  - text: How much?
  utter_done:
  - text: "Your {portion} pizza"
    condition:
    - type: slot
      name: portion
      value: large
    buttons:
    - title: again
      payload: '/order_pizza{{"amount": "large"}}'
  - text: It is done
  utter_hi:
  - text: Hi
actions:
- action_bake
- action_mix
- validate_pizza_form
""",
    "data/nlu.yml": """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello there
    - good morning
- intent: deny
  examples: |
    - no thanks
    - never
- intent: order_pizza
  examples: |
    - i want a [large](amount) one
    - bring me a [small](amount) one
""",
    "data/archive/nlu.yml": """\
version: "3.1"
nlu:
- intent: order_pizza
  examples: |
    - one [more](amount) please
    - and [another](amount) one
""",
    "data/rules.yml": """\
version: "3.1"
rules:
- rule: submit
  condition:
  - active_loop: pizza_form
  - slot_was_set:
    - portion: large
  steps:
  - action: pizza_form
  - active_loop: null
  - action: action_bake
- rule: begin
  steps:
  - intent: order_pizza
    entities:
    - amount: large
  - action: pizza_form
  - active_loop: pizza_form
""",
    "data/stories.yml": """\
version: "3.1"
stories:
- story: done
  steps:
  - intent: deny
  - action: utter_done
  - slot_was_set:
    - portion: small
  - action: action_bake
""",
    "tests/test_stories.yml": """\
version: "3.1"
stories:
- story: orders
  steps:
  - {user: "i want a [large](amount) one", intent: order_pizza}
  - action: pizza_form
  - active_loop: pizza_form
  - slot_was_set:
    - portion: large
  - active_loop: null
  - action: action_bake
- story: denies
  steps:
  - user: |
      never
    intent: deny
  - action: utter_done
""",
    "tests/test_nlu.yml": """\
version: "3.1"
nlu:
- intent: order_pizza
  examples: |
    - a [huge](amount) one
""",
    "tests/e2e_test_cases.yml": """\
test_cases:
- test_case: hello
  steps:
  - user: never
  - utter: utter_done
- test_case: orders
  steps:
  - user: i want a large one
  - slot_was_set:
    - portion: large
""",
    "actions/actions.py": """\
from rasa_sdk.events import FollowupAction, SlotSet, ActiveLoop
class Bake(Action):
    def name(self):
        return "action_mix"
    def run(self, dispatcher, tracker, domain):
        a = tracker.get_slot("portion")
        b = tracker.slots["portion"]
        c = tracker.slots.get("portion")
        dispatcher.utter_message(response="utter_done")
        dispatcher.utter_message(template="utter_done")
        d = next(tracker.get_latest_entity_values("amount"), None)
        if tracker.get_intent_of_latest_message() == "order_pizza":
            return [FollowupAction("action_bake")]
        if tracker.latest_message["intent"]["name"] == "order_pizza":
            return [SlotSet(key="portion", value=1)]
        if tracker.active_loop.get("name") == "pizza_form":
            return [ActiveLoop("pizza_form")]
        return [SlotSet("portion", c)]
class ValidatePizzaForm(FormValidationAction):
    def name(self):
        return "validate_pizza_form"
    def validate_portion(self, value, dispatcher, tracker, domain):
        return {"portion": value}
""",
}
DEFINED: Final = {
    "slot": ("portion", "  portion:\n", "  portion_size:\n"),
    "intent": ("order_pizza", "- order_pizza:\n", "- order_a_pizza:\n"),
    "entity": ("amount", "entities:\n- amount\n", "entities:\n- amounts\n"),
    "response": ("utter_done", "  utter_done:\n", "  utter_finished:\n"),
    "action": ("action_bake", "actions:\n- action_bake\n", "actions:\n- action_bake_it\n"),
    "form": ("pizza_form", "  pizza_form:\n", "  meal_form:\n"),
}
"""Where each is defined, and how it is called then."""
SAID: Final = {("tests/test_nlu.yml", 3): ("tests/test_nlu.yml", 5)}
"""An intent of test sentences is found where its first sentence is."""
RETURNED: Final = {("actions/actions.py", 21)}
"""The name that a class returns is that of its action, which is listed in the domain."""


def measured(project: Path) -> Report:
    settings = Settings(project=str(project), evaluations=("validate", "core", "e2e"))
    inputs = Inputs(settings=settings, source=Source(), root="", environment={})
    return report_of_project(inputs, Console(quiet=True))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    project = tmp_path_factory.mktemp("base") / "bot"
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    report = measured(project)
    assert report.validation is not None
    assert report.validation.counts.error == 0
    return project, report


@pytest.mark.parametrize("kind", DEFINED)
def test_every_use_is_counted_once(kind: str, base: tuple[Path, Report], tmp_path: Path) -> None:
    old, before, after = DEFINED[kind]
    project = shutil.copytree(base[0], tmp_path / "bot")
    domain = (project / "domain.yml").read_text(encoding="utf-8")
    assert domain.count(before) == 1
    (project / "domain.yml").write_text(domain.replace(before, after), encoding="utf-8")

    comparison = compare(measured(project), Present(base[1], "git"))

    new = [one for one in comparison.new_findings if f"'{old}'" in one.message]
    (error,) = new
    places = [(place.path, place.line) for place in (error.location, *error.others)]
    assert sorted(places) == sorted(_uses(project, kind, old))
    assert str(len(places)) in error.message


def _uses(project: Path, kind: str, name: str) -> set[tuple[str, int]]:
    """The lines that have a name; of a slot, also as a part of the name of what belongs to it."""
    found = set()
    apart = r"" if kind == "slot" else r"(?![A-Za-z_])"
    for file in FILES:
        for number, text in enumerate((project / file).read_text(encoding="utf-8").splitlines(), 1):
            if re.search(rf"{name}(?!_size){apart}", text) and (file, number) not in RETURNED:
                found.add(SAID.get((file, number), (file, number)))
    return found


def test_sentences_in_markdown_are_one_use(tmp_path: Path) -> None:
    """Nothing says where an intent's header is: its first sentence is the place, and no other one is another use."""
    before = {
        "config.yml": "language: en\npipeline: supervised_embeddings\npolicies:\n- name: MemoizationPolicy\n",
        "domain.yml": "intents:\n- greet\n- lend\nresponses:\n  utter_hi:\n  - text: Hi\nactions:\n- utter_hi\n",
        "data/nlu.md": "## intent:greet\n- hello\n- hey\n\n## intent:lend\n- lend me one\n- borrow it\n- a book\n",
        "data/stories.md": "## greet\n* greet\n  - utter_hi\n\n## lend\n* lend\n  - utter_hi\n",
    }
    reports = []
    for side, domain in (("base", before["domain.yml"]), ("head", before["domain.yml"].replace("- lend", "- borrow"))):
        for name, text in {**before, "domain.yml": domain}.items():
            (tmp_path / side / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / side / name).write_text(text, encoding="utf-8")
        reports.append(measured(tmp_path / side))

    (error,) = (one for one in compare(reports[1], Present(reports[0], "git")).new_findings if one.severity == "error")

    assert [str(place) for place in (error.location, *error.others)] == ["data/nlu.md:6:3", "data/stories.md:6:1"]
