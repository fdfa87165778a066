"""Domain files: contents, merging, faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turncheck.project.model import MappingCondition
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.project.model import Domain, Project

DOMAIN = """version: "3.1"
intents:
- greet
- inform: {use_entities: [city, date]}
- deny: {use_entities: false}
- affirm: {use_entities: [city], ignore_entities: []}
- faq: {ignore_entities: [city]}
entities:
- city: {roles: [from, to], groups: ['1']}
- date
- noise: {influence_conversation: false}
slots:
  city:
    type: text
    influence_conversation: false
    mappings:
    - {type: from_entity, entity: city, role: to, intent: inform, not_intent: [a, b]}
    - type: from_intent
      value: 5
      intent: [x]
      conditions:
      - {active_loop: trip_form, requested_slot: city}
      - active_loop: null
  size:
    type: categorical
    values: [small, 2, null, true]
    initial_value: small
    mappings: [{type: custom, action: action_size}]
  share: {type: float, min_value: 0, max_value: 2.5, mappings: []}
forms:
  trip_form: {required_slots: [city, size], ignored_intents: deny}
  old_form:
responses:
  utter_greet:
  - text: Hi
  - {text: Hello, channel: slack, condition: [{type: slot, name: size, value: small}]}
actions:
- action_size
- action_save: {send_domain: false}
- validate_form
- validate_other: {send_domain: false}
- action_all: {send_domain: true}
e2e_actions: [Bye!]
session_config: {session_expiration_time: 0, carry_over_slots_to_new_session: false}
"""


def project(root: Path, **files: str) -> Project:
    for name, text in {"config_yml": "language: en\n", **files}.items():
        path = root / name.replace("__", "/").replace("_yml", ".yml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_project(root)


def healthy(root: Path, **files: str) -> Domain:
    read = project(root, **files)
    assert read.findings == ()
    return read.domain


def test_all_sections_are_read(tmp_path: Path) -> None:
    domain = healthy(tmp_path, domain_yml=DOMAIN)
    assert [(one.name, one.use_entities, one.ignore_entities) for one in domain.intents.values()] == [
        ("greet", True, ("noise",)),
        ("inform", ("city", "date"), ("noise",)),
        ("deny", False, ("noise",)),
        ("affirm", ("city",), ()),
        ("faq", True, ("city",)),
    ]
    city = domain.entities["city"]
    assert (city.roles, city.groups, str(city.location)) == (("from", "to"), ("1",), "domain.yml:9:3")
    slot = domain.slots["city"]
    assert (slot.type, slot.influence_conversation, str(slot.location)) == ("text", False, "domain.yml:13:3")
    entity, intent = slot.mappings
    assert (entity.type, entity.entity, entity.role, entity.intents) == ("from_entity", "city", "to", ("inform",))
    assert (entity.not_intents, str(entity.location)) == (("a", "b"), "domain.yml:17:7")
    assert (intent.value, intent.intents) == (5, ("x",))
    assert intent.conditions == (MappingCondition("trip_form", "city"), MappingCondition(None))
    size = domain.slots["size"]
    assert (size.values, size.initial_value, size.mappings[0].action) == (
        ("small", 2, None, True),
        "small",
        "action_size",
    )
    share = domain.slots["share"]
    assert (share.min_value, share.max_value, share.values) == (0, 2.5, None)
    assert domain.forms["trip_form"].required_slots == ("city", "size")
    assert domain.forms["trip_form"].ignored_intents == ("deny",)
    assert domain.forms["old_form"].required_slots == ()
    greet = domain.responses["utter_greet"]
    assert [one.text for one in greet.variations] == ["Hi", "Hello"]
    assert greet.variations[1].channel == "slack"
    assert greet.variations[1].conditions == ({"type": "slot", "name": "size", "value": "small"},)
    assert str(greet.variations[1].location) == "domain.yml:36:5"
    assert {one.name: one.send_domain for one in domain.actions.values()} == {
        "action_size": False,
        "action_save": False,
        "validate_form": True,
        "validate_other": False,
        "action_all": True,
    }
    assert domain.end_to_end_actions == ("Bye!",)
    assert domain.session.session_expiration_time == 0
    assert domain.session.carry_over_slots_to_new_session is False


def test_files_of_a_folder_are_merged_as_rasa_merges_them(tmp_path: Path) -> None:
    domain = healthy(
        tmp_path,
        domain__a_yml="intents: [b, {a: {use_entities: []}}]\nforms: {form: null}\nresponses: {utter_x: [{text: o}]}\n"
        "e2e_actions: [z, a]\nactions: [one]\n",
        domain__b_yml="intents: [c, a]\nactions: [two, form]\nresponses: {utter_y: [{text: y}], utter_x: [{text: n}]}\n"
        "e2e_actions: [m]\nsession_config: {session_expiration_time: 5}\n",
        domain__sub__c_yml="entities: [e]\n",
        domain__other_yml="unrelated: true\n",
    )
    assert list(domain.intents) == ["c", "a", "b"]
    assert domain.intents["a"].use_entities is False
    assert list(domain.actions) == ["two", "one"]
    assert list(domain.responses) == ["utter_y", "utter_x"]
    assert domain.responses["utter_x"].variations[0].text == "o"
    assert domain.end_to_end_actions == ("a", "m", "z")
    assert domain.session.session_expiration_time == 5
    assert list(domain.entities) == ["e"]
    assert str(domain.entities["e"].location) == "domain/sub/c.yml:1:12"
    assert str(domain.location) == "domain"


def test_responses_of_nlu_files_join_the_domain_and_win(tmp_path: Path) -> None:
    domain = healthy(
        tmp_path,
        domain_yml="responses: {utter_a: [{text: old}], utter_b: [{text: b}]}\n",
        data__r_yml="responses:\n  utter_a:\n  - text: new\n  utter_faq/x:\n  - text: x\n",
    )
    assert {name: one.variations[0].text for name, one in domain.responses.items()} == {
        "utter_a": "new",
        "utter_b": "b",
        "utter_faq/x": "x",
    }
    assert str(domain.responses["utter_faq/x"].location) == "data/r.yml:4:3"


@pytest.mark.parametrize("text", ["", "intents:\n", "intents: []\nslots: {}\n", "# nothing\n"])
def test_a_domain_may_be_empty(tmp_path: Path, text: str) -> None:
    assert healthy(tmp_path, domain_yml=text).is_empty


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("intents: greet\n", "1:10"),
        ("intents: [5]\n", "1:11"),
        ("intents: [{a: b}]\n", "1:15"),
        ("entities: {a: b}\n", "1:11"),
        ("slots: [a]\n", "1:8"),
        ("slots: {a: text}\n", "1:12"),
        ("slots: {a: {type: 5}}\n", "1:19"),
        ("slots: {a: {type: text, mappings: {type: x}}}\n", "1:35"),
        ("slots: {a: {type: text, mappings: [x]}}\n", "1:36"),
        ("slots: {a: {type: float, min_value: x, mappings: []}}\n", "1:37"),
        ("slots: {a: {type: text, influence_conversation: maybe, mappings: []}}\n", "1:49"),
        ("forms: [a]\n", "1:8"),
        ("forms: {a: {required_slots: {b: []}}}\n", "1:29"),
        ("responses: {utter_a: hello}\n", "1:22"),
        ("responses: {utter_a: [hello]}\n", "1:23"),
        ("actions: {a: b}\n", "1:10"),
        ("e2e_actions: 5\n", "1:14"),
        ("session_config: 5\n", "1:17"),
        ("- a\n", "1:1"),
        ("hello\n", "1:1"),
    ],
)
def test_a_wrong_type_is_named_with_its_place_and_the_rest_is_read(tmp_path: Path, text: str, place: str) -> None:
    read = project(tmp_path, domain_yml=text + ("version: '3.1'\n" if ":" in text else ""), data__n_yml="nlu: []\n")
    assert [(one.code, str(one.location), one.severity) for one in read.findings] == [
        ("schema-violation", f"domain.yml:{place}", "error")
    ]
    assert read.findings[0].hint
    assert read.config.language == "en"


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("forms:\n  trip\n  hotel\n", "forms"),
        ("forms: [trip, hotel]\n", "forms"),
        ("slots:\n- trip\n- hotel\n", "slots"),
        ("intents: trip hotel\n", "intents"),
        ("actions:\n  trip\n  hotel\n", "actions"),
    ],
)
def test_names_that_stand_where_definitions_should_are_known(text: str, section: str, tmp_path: Path) -> None:
    (tmp_path / "domain.yml").write_text(f'version: "3.1"\n{text}', encoding="utf-8")
    project = read_project(tmp_path)
    assert {"trip", "hotel"} <= {str(name) for name in getattr(project.domain, section)}
    assert "schema-violation" in {finding.code for finding in project.findings}
