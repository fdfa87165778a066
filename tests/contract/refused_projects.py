"""Small projects, one for each error and refusal of ours: what Rasa 3.6.21 does with them is in ``oracle/refusals``.

Others are beside them that Rasa trains although something is wrong: those have warnings of ours.

A project is the healthy one with some files changed: a text in place of the file's, ``None`` for a file that is gone,
or a pair of what is replaced and by what.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

Change = str | bytes | None | tuple[str, str]

HEALTHY: Final = {
    "config.yml": """recipe: default.v1
assistant_id: bot
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: LogisticRegressionClassifier
policies:
- name: MemoizationPolicy
- name: RulePolicy
""",
    "domain.yml": """version: "3.1"
intents:
- greet
- bye
entities:
- city
slots:
  city:
    type: text
    mappings:
    - type: from_entity
      entity: city
actions:
- action_look
responses:
  utter_greet:
  - text: hi
  utter_bye:
  - text: bye
""",
    "data/nlu.yml": """version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - good day
    - hi from [Rome](city)
- intent: bye
  examples: |
    - see you
    - so long
""",
    "data/stories.yml": """version: "3.1"
stories:
- story: greets
  steps:
  - intent: greet
  - action: utter_greet
  - action: action_look
rules:
- rule: leaves
  steps:
  - intent: bye
  - action: utter_bye
""",
}


class Row(NamedTuple):
    """A project, and what is found in it.

    ``code``: the finding's; ``refusal``: words of the message with which our engine refuses to train. ``arguments``: of
    ``data validate``, Rasa's and ours; ``ours``: of ours alone.
    """

    name: str
    files: dict[str, Change]
    code: str = ""
    refusal: str = ""
    arguments: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()


def write(row: Row, folder: Path) -> None:
    """Write the files of a project into an empty folder."""
    changed = {name: _changed(name, change) for name, change in row.files.items()}
    for name, content in {**HEALTHY, **changed}.items():
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _changed(name: str, change: Change) -> str | bytes | None:
    if not isinstance(change, tuple):
        return change
    old, new = change
    assert old in HEALTHY[name], (name, old)
    return HEALTHY[name].replace(old, new, 1)


def _domain(code: str, old: str, new: str, name: str = "") -> Row:
    return Row(name or code, {"domain.yml": (old, new)}, code)


def _config(old: str, new: str, *, code: str = "", refusal: str = "", name: str = "") -> Row:
    return Row(name or code or refusal, {"config.yml": (old, new)}, code, refusal)


_SLOT: Final = "    type: text\n    mappings:\n    - type: from_entity\n      entity: city\n"
_FORM: Final = "forms:\n  order:\n    required_slots:\n    - city\n"
_END: Final = "responses:\n"
_CLASSIFIER: Final = "- name: LogisticRegressionClassifier\n"
_FEATURIZER: Final = "- name: CountVectorsFeaturizer\n"
_OTHER: Final = 'version: "3.1"\nnlu:\n'

READING: Final = (
    Row("domain-not-found", {"domain.yml": None}, "domain-not-found"),
    Row("config-not-found", {"config.yml": None}, "config-not-found"),
    Row("max-history-invalid", {}, "max-history-invalid", arguments=("--max-history", "0")),
    Row(
        "file-not-utf8",
        {"data/nlu.yml": HEALTHY["data/nlu.yml"].replace("good", "gö").encode("latin-1")},
        "file-not-utf8",
    ),
    Row("yaml-syntax", {"data/nlu.yml": ("- intent: bye", " - intent: bye")}, "yaml-syntax"),
    Row("yaml-syntax in the domain", {"domain.yml": ("- bye", "- [bye")}, "yaml-syntax"),
    Row("yaml-duplicate-key", {"data/nlu.yml": ("nlu:\n", "nlu: []\nnlu:\n")}, "yaml-duplicate-key"),
    Row("yaml-duplicate-key in the domain", {"domain.yml": (_END, "actions: []\nresponses:\n")}, "yaml-duplicate-key"),
    Row("schema-violation", {"data/nlu.yml": ("  examples: |", "  exampels: |")}, "schema-violation"),
    Row(
        "schema-violation in stories",
        {"data/stories.yml": ("- action: utter_greet", "- acton: utter_greet")},
        "schema-violation",
    ),
    Row(
        "schema-violation in the configuration",
        {"config.yml": ("policies:\n", "policies: x\nothers:\n")},
        "schema-violation",
    ),
    Row("value-unreadable", {"domain.yml": ("- text: bye", "- text: 2024-02-31")}, "value-unreadable"),
    Row("yaml-limit", {"data/deep.yml": "nlu: " + "[" * 3000 + "]" * 3000 + "\n"}, "yaml-limit"),
    Row("file-unreadable", {"config.yml": None, "config.yml/x.txt": "a folder\n"}, "file-unreadable"),
)
DOMAIN: Final = (
    _domain("intent-duplicate", "- bye\n", "- bye\n- bye\n"),
    _domain("action-duplicate", "- action_look\n", "- action_look\n- action_look\n"),
    _domain("slot-duplicate", "slots:\n", f"slots:\n  session_started_metadata:\n{_SLOT}"),
    _domain("entity-duplicate", "- city\n", "- city\n- city\n"),
    _domain("intent-trailing-colon", "- bye\n", "- bye:\n"),
    _domain("entity-trailing-colon", "- city\n", "- city:\n"),
    _domain("trigger-action-undefined", "- bye\n", "- bye:\n    triggers: action_none\n"),
    _domain("mapping-type-unknown", "type: from_entity", "type: from_entities"),
    _domain("mapping-key-missing", "      entity: city\n", ""),
    _domain("form-without-required-slots", _END, f"forms:\n  order:\n    ignored_intents: [greet]\n{_END}"),
    _domain("slot-type-unknown", "type: text", "type: string"),
    _domain("slot-key-unknown", "    type: text\n", "    type: text\n    colour: red\n"),
    _domain("slot-range-invalid", "    type: text\n", "    type: float\n    min_value: 2\n    max_value: 1\n"),
    _domain("section-empty", "- action_look\n", ""),
    Row(
        "legacy-project",
        {
            "config.yml": ("recipe: default.v1\nassistant_id: bot\n", ""),
            "domain.yml": HEALTHY["domain.yml"].replace('"3.1"', '"2.0"').replace(_SLOT, "    type: unfeaturized\n"),
            "data/nlu.yml": ('"3.1"', '"2.0"'),
            "data/stories.yml": ('"3.1"', '"2.0"'),
        },
        "legacy-project",
        ours=("--target", "3"),
    ),
    _domain("intent-malformed", "- bye\n", "- bye: yes\n"),
    _domain("entity-malformed", "- city\n", "- city:\n    roles: 7\n"),
    _domain("name-not-text", "  utter_bye:\n", "  7:\n  - text: seven\n  utter_bye:\n"),
    Row(
        "response-is-form",
        {
            "domain.yml": (_END, _FORM.replace("order", "utter_order") + _END),
            "data/more.yml": "responses:\n  utter_order:\n  - text: order\n"
            + _OTHER.replace('version: "3.1"\n', "")
            + "- intent: greet\n  examples: |\n    - hey\n",
        },
        "response-is-form",
    ),
    _domain("slot-any-influences", "    type: text\n", "    type: any\n    influence_conversation: true\n"),
    Row("domain-empty", {"domain.yml": 'version: "3.1"\n'}, "domain-empty"),
    _domain("intent-triggers-removed", "- bye\n", "- bye:\n    triggers: utter_bye\n"),
    _domain("mapping-conditions-empty", "      entity: city\n", "      entity: city\n      conditions:\n"),
    _domain("required-slots-empty", _END, f"forms:\n  order:\n    required_slots:\n{_END}"),
    _domain("form-slot-undefined", _END, _FORM.replace("city", "size") + _END),
    _domain(
        "mapping-form-undefined",
        "      entity: city\n",
        "      entity: city\n      conditions:\n      - active_loop: ordr\n",
    ),
    Row(
        "mapping-slot-not-required",
        {
            "domain.yml": HEALTHY["domain.yml"]
            .replace(
                _END,
                "  size:\n    type: text\n    mappings:\n    - type: from_text\n"
                + _FORM.replace("city", "size")
                + _END,
            )
            .replace("actions:\n- action_look\n  size", "  size")
            .replace("      entity: city\n", "      entity: city\n      conditions:\n      - active_loop: order\n"),
        },
        "mapping-slot-not-required",
    ),
)
DATA: Final = (
    Row("annotation-not-json", {"data/nlu.yml": ("[Rome](city)", "[Rome]{'entity': 'city'}")}, "annotation-not-json"),
    Row("annotation-invalid", {"data/nlu.yml": ("[Rome](city)", '[Rome]{"role": "from"}')}, "annotation-invalid"),
    Row("intent-name-invalid", {"data/nlu.yml": ("- intent: bye", "- intent: bye/a/b")}, "intent-name-invalid"),
    Row(
        "step-list-empty", {"data/stories.yml": ("  - action: action_look\n", "  - slot_was_set:\n")}, "step-list-empty"
    ),
    Row(
        "slot-named-undefined",
        {"data/stories.yml": ("  - action: action_look\n", "  - slot_was_set:\n    - size\n")},
        "slot-named-undefined",
    ),
    Row("action-not-in-domain", {"data/stories.yml": ("action_look", "action_lok")}, "action-not-in-domain"),
    Row(
        "form-not-in-domain",
        {"data/stories.yml": ("  - action: action_look\n", "  - active_loop: order\n")},
        "form-not-in-domain",
    ),
    Row(
        "data-key-unseen",
        {"data/more.yml": 'version: "3.1"\nstorys:\n- story: x\n  steps:\n  - intent: bye\n  - action: utter_bye\n'},
        "data-key-unseen",
    ),
    Row(
        "regex-invalid",
        {
            "data/more.yml": _OTHER + "- regex: number\n  examples: |\n    - [0-9{5}\n",
            "config.yml": (_FEATURIZER, f"- name: RegexFeaturizer\n{_FEATURIZER}"),
        },
        "regex-invalid",
        "is not a regular expression",
    ),
    Row(
        "keyword-not-regex",
        {
            "data/nlu.yml": ("- so long", "- so long :("),
            "config.yml": (_CLASSIFIER, "- name: KeywordIntentClassifier\n"),
        },
        "keyword-not-regex",
        "KeywordIntentClassifier takes training texts as regular expressions",
    ),
    Row("annotation-broken", {"data/nlu.yml": ("[Rome](city)", "[Rome](city")}, "annotation-broken"),
    Row("annotation-broken by a space", {"data/nlu.yml": ("[Rome](city)", "[Rome] (city)")}, "annotation-broken"),
    Row(
        "rule-contradiction",
        {
            "data/stories.yml": (
                "- rule: leaves",
                "- rule: greets\n  steps:\n  - intent: greet\n  - action: utter_bye\n- rule: leaves",
            )
        },
        "rule-contradiction",
        "Rules and stories contradict each other",
    ),
)
CONFIGURATION: Final = (
    _config(
        "- name: WhitespaceTokenizer",
        "- name: WhitespaceTokeniser",
        code="component-unknown",
        refusal="unknown pipeline component",
    ),
    _config("- name: MemoizationPolicy", "- name: MemoizationPolice", code="policy-unknown"),
    _config(
        f"- name: WhitespaceTokenizer\n{_FEATURIZER}",
        f"{_FEATURIZER}- name: WhitespaceTokenizer\n",
        code="component-order",
    ),
    _config("language: en", "language: ja", code="component-order", name="component-order of a language"),
    _config(
        "- name: RulePolicy\n",
        "- name: RulePolicy\n  core_fallback_action_name: action_sory\n",
        code="fallback-action-undefined",
        refusal="The fallback action",
    ),
    Row(
        "endpoint-url-missing",
        {"endpoints.yml": "action_endpoint:\n  ulr: http://localhost:5055/webhook\n"},
        "endpoint-url-missing",
    ),
    Row("endpoint-url-missing, nothing below", {"endpoints.yml": "action_endpoint: {}\n"}, "endpoint-url-missing"),
    Row("endpoint-unknown", {"endpoints.yml": "action_endpont:\n  url: http://localhost:5055\n"}, "endpoint-unknown"),
    _config(_CLASSIFIER, f"{_CLASSIFIER}  max_itre: 3\n", name="a parameter that the component does not have"),
    _config(
        "- name: RulePolicy\n",
        "- name: RulePolicy\n  core_fallback_treshold: 0.3\n",
        name="a parameter that the policy does not have",
    ),
    _config("policies:\n", "polices: []\npolicies:\n", name="a key that the configuration does not have"),
    _config(
        "policies:\n- name: MemoizationPolicy\n- name: RulePolicy\n",
        "policies: []\n",
        name="no policies",
    ),
    _config(
        _FEATURIZER,
        f"- name: LexicalSyntacticFeaturizer\n  features: [[low], [low]]\n{_FEATURIZER}",
        name="an even number of features around a token",
    ),
)
_WINDOWS: Final = f"- name: CRFEntityExtractor\n  features: {{}}\n{_CLASSIFIER}"
REFUSALS: Final = (
    Row(
        "forms without RulePolicy",
        {"domain.yml": (_END, _FORM + _END), "config.yml": ("- name: RulePolicy\n", "")},
        refusal="The domain has forms, and no RulePolicy is configured to run them",
    ),
    _config(
        _FEATURIZER, f"- name: WhitespaceTokenizer\n{_FEATURIZER}", refusal="the pipeline has more than one tokenizer"
    ),
    _config(
        "- name: WhitespaceTokenizer\n",
        "- name: WhitespaceTokenizer\n  token_pattern: '('\n",
        refusal="the token_pattern",
    ),
    _config(
        _FEATURIZER, f"{_FEATURIZER}  analyzer: letter\n", refusal="the analyzer of CountVectorsFeaturizer must be"
    ),
    _config(
        _FEATURIZER,
        f"{_FEATURIZER}  min_ngram: 3\n  max_ngram: 2\n",
        refusal="the n-grams of CountVectorsFeaturizer must go up",
    ),
    _config(
        _FEATURIZER,
        f"- name: LexicalSyntacticFeaturizer\n  features: [low]\n{_FEATURIZER}",
        refusal="the features of LexicalSyntacticFeaturizer must be a list of lists",
    ),
    _config(
        _FEATURIZER,
        f"- name: LexicalSyntacticFeaturizer\n  features: [[lows]]\n{_FEATURIZER}",
        refusal="LexicalSyntacticFeaturizer has no feature",
    ),
    _config(
        _CLASSIFIER, f"{_CLASSIFIER}  solver: newton\n", refusal="LogisticRegressionClassifier could not be trained"
    ),
    _config(
        _CLASSIFIER,
        f"{_CLASSIFIER}  max_iter: many\n",
        refusal="the parameter 'max_iter' of LogisticRegressionClassifier must be a number",
    ),
    _config(
        f"{_FEATURIZER}{_CLASSIFIER}",
        f"- name: LexicalSyntacticFeaturizer\n{_CLASSIFIER}",
        refusal="LogisticRegressionClassifier cannot learn",
    ),
    _config(
        _CLASSIFIER,
        _WINDOWS.format("[low]"),
        refusal="the features of CRFEntityExtractor must be a list of lists",
    ),
    _config(
        _CLASSIFIER,
        _WINDOWS.format("[[low], [low]]"),
        refusal="CRFEntityExtractor needs an odd number",
    ),
    _config(
        _CLASSIFIER,
        _WINDOWS.format("[[lows]]"),
        refusal="CRFEntityExtractor has no feature",
    ),
    _config(
        _CLASSIFIER,
        "- name: SklearnIntentClassifier\n",
        code="component-order",
        name="SklearnIntentClassifier needs dense features",
    ),
    _config(
        _CLASSIFIER,
        "- name: EmbeddingIntentClassifier\n",
        refusal="unknown pipeline component",
        name="a component that is gone",
    ),
    _config(
        _CLASSIFIER, "- name: MitieIntentClassifier\n", code="component-order", name="a component without its model"
    ),
    _config(
        "- name: WhitespaceTokenizer\n",
        "- name: LanguageModelTokenizer\n",
        code="component-unknown",
        refusal="the pipeline component",
        name="a component that is gone since Rasa 3",
    ),
)
_REGEX: Final = _OTHER + "- regex: number\n  examples: |\n    - [0-9{5}\n"
_NO_SENTENCES: Final[dict[str, Change]] = {"data/nlu.yml": None}
_NO_STORIES: Final[dict[str, Change]] = {"data/stories.yml": None}
_NO_POLICIES: Final = ("policies:\n- name: MemoizationPolicy\n- name: RulePolicy\n", "policies: []\n")
_NO_RULE_POLICY: Final = ("- name: RulePolicy\n", "")
_TWO_MESSAGES: Final[dict[str, Change]] = {
    "data/stories.yml": (
        "  - action: utter_bye\n",
        "  - action: utter_bye\n  - intent: greet\n  - action: utter_greet\n",
    )
}
_CONTRADICTION: Final[dict[str, Change]] = {
    "data/stories.yml": (
        "- rule: leaves",
        "- rule: greets\n  steps:\n  - intent: greet\n  - action: utter_bye\n- rule: leaves",
    )
}
_BAD_FALLBACK: Final = "- name: RulePolicy\n  core_fallback_action_name: action_sory\n"


def _read(name: str, files: dict[str, Change], *, config: tuple[str, str] | None = None, code: str = "") -> Row:
    """A fault, and whether the configuration has anything that reads it."""
    return Row(name, files if config is None else {**files, "config.yml": config}, code)


READ_OR_NOT: Final = (
    _read("a regex that nothing reads", {"data/more.yml": _REGEX}, code="pattern-unread"),
    _read(
        "a regex of a featurizer that reads none",
        {"data/more.yml": _REGEX},
        config=(_FEATURIZER, f"- name: RegexFeaturizer\n  use_regexes: false\n{_FEATURIZER}"),
        code="pattern-unread",
    ),
    _read(
        "a regex of no entity, and an extractor",
        {"data/more.yml": _REGEX},
        config=(_FEATURIZER, f"- name: RegexEntityExtractor\n{_FEATURIZER}"),
        code="pattern-unread",
    ),
    _read(
        "a regex of an entity, and an extractor",
        {"data/more.yml": _REGEX.replace("number", "city")},
        config=(_FEATURIZER, f"- name: RegexEntityExtractor\n{_FEATURIZER}"),
        code="regex-invalid",
    ),
    _read(
        "a regex, and a random field",
        {"data/more.yml": _REGEX},
        config=(_CLASSIFIER, f"{_CLASSIFIER}- name: CRFEntityExtractor\n"),
        code="pattern-unread",
    ),
    _read(
        "a regex, and Rasa's own pipeline",
        {"data/more.yml": _REGEX},
        config=(f"pipeline:\n- name: WhitespaceTokenizer\n{_FEATURIZER}{_CLASSIFIER}", ""),
        code="regex-invalid",
    ),
    _read(
        "a regex, and an empty pipeline",
        {"data/more.yml": _REGEX},
        config=(f"pipeline:\n- name: WhitespaceTokenizer\n{_FEATURIZER}{_CLASSIFIER}", "pipeline: []\n"),
        code="pattern-unread",
    ),
    _read(
        "a fallback action of policies that are not trained",
        _NO_STORIES,
        config=("- name: RulePolicy\n", _BAD_FALLBACK),
    ),
    _read(
        "a fallback action that is switched off",
        {},
        config=("- name: RulePolicy\n", f"{_BAD_FALLBACK}  enable_fallback_prediction: false\n"),
        code="fallback-action-undefined",
    ),
    _read(
        "a contradiction that is not looked for",
        _CONTRADICTION,
        config=("- name: RulePolicy\n", "- name: RulePolicy\n  check_for_contradictions: false\n"),
    ),
    _read("a contradiction without RulePolicy", _CONTRADICTION, config=_NO_RULE_POLICY),
    _read("a contradiction without policies", _CONTRADICTION, config=_NO_POLICIES),
    _read("a rule of two messages", _TWO_MESSAGES, code="rule-contradiction"),
    _read(
        "a rule of two messages that may have them",
        _TWO_MESSAGES,
        config=("- name: RulePolicy\n", "- name: RulePolicy\n  restrict_rules: false\n"),
    ),
    _read("a rule of two messages without RulePolicy", _TWO_MESSAGES, config=_NO_RULE_POLICY),
    _read("forms without policies", {"domain.yml": (_END, _FORM + _END)}, config=_NO_POLICIES),
    _read(
        "forms without RulePolicy and stories",
        {"domain.yml": (_END, _FORM + _END), **_NO_STORIES},
        config=_NO_RULE_POLICY,
    ),
    _read(
        "an unknown component without sentences",
        _NO_SENTENCES,
        config=("- name: WhitespaceTokenizer", "- name: WhitespaceTokeniser"),
    ),
    _read(
        "components in a wrong order without sentences",
        _NO_SENTENCES,
        config=(f"- name: WhitespaceTokenizer\n{_FEATURIZER}", f"{_FEATURIZER}- name: WhitespaceTokenizer\n"),
    ),
    _read(
        "two tokenizers without sentences",
        _NO_SENTENCES,
        config=(_FEATURIZER, f"- name: WhitespaceTokenizer\n{_FEATURIZER}"),
    ),
    _read("another language without sentences", _NO_SENTENCES, config=("language: en", "language: ja")),
    _read(
        "an unknown policy without stories",
        _NO_STORIES,
        config=("- name: MemoizationPolicy", "- name: MemoizationPolice"),
    ),
    _read(
        "features of a random field without entities",
        {"data/nlu.yml": ("[Rome](city)", "Rome")},
        config=(_CLASSIFIER, f"- name: CRFEntityExtractor\n  features: [[lows]]\n{_CLASSIFIER}"),
    ),
    _config(
        f"{_FEATURIZER}{_CLASSIFIER}",
        "- name: LexicalSyntacticFeaturizer\n  features: [[lows]]\n- name: KeywordIntentClassifier\n",
        refusal="LexicalSyntacticFeaturizer has no feature",
        name="features that no component uses",
    ),
    _read(
        "a form that is not there, without policies",
        {"data/stories.yml": ("  - action: action_look\n", "  - active_loop: order\n")},
        config=_NO_POLICIES,
        code="form-not-in-domain",
    ),
)
CONTROL: Final = Row("healthy", {})
ROWS: Final = (CONTROL, *READING, *DOMAIN, *DATA, *CONFIGURATION, *REFUSALS, *READ_OR_NOT)
