"""What a change may try to pass with worse results, and what is said of it: a table of attempts.

Each row is a repository with a base and a change, measured as on a pull request without a host: ``turncheck run`` in
the checkout of the change, the base from git.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from turncheck.cli import run_command_line
from turncheck.process.screen import Console
from turncheck.render.console import render_console
from turncheck.run.prepare import baseline_finder, prepare
from turncheck.run.run import run_and_conclude

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.conclude import Outcome

_INTENTS = {
    "greet": ("hello", "hi there", "good morning", "hey you", "good evening"),
    "order": ("a pizza please", "I want a pizza", "bring me one pizza", "pizza with cheese", "order a pizza"),
    "leave": ("bye", "see you later", "goodbye then", "until tomorrow", "so long"),
}
_NLU = 'version: "3.1"\nnlu:\n' + "".join(
    f"- intent: {intent}\n  examples: |\n" + "".join(f"    - {text}\n" for text in texts)
    for intent, texts in _INTENTS.items()
)
_DOMAIN = """version: "3.1"
intents: [greet, order, leave]
responses:
  utter_greet: [{text: Hello}]
  utter_order: [{text: Coming}]
  utter_leave: [{text: Bye}]
"""
_STORIES = 'version: "3.1"\nstories:\n' + "".join(
    f"- story: {name}\n  steps:\n  - intent: {name}\n  - action: utter_{name}\n" for name in _INTENTS
)
_TESTS = 'version: "3.1"\nstories:\n' + "".join(
    f"- story: test {name}\n  steps:\n  - user: |\n      {texts[0]}\n    intent: {name}\n  - action: utter_{name}\n"
    for name, texts in _INTENTS.items()
)
_CONFIG = """recipe: default.v1
language: en
assistant_id: small
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
  epochs: 100
- name: FallbackClassifier
  threshold: 0.3
policies:
- name: MemoizationPolicy
- name: RulePolicy
- name: TEDPolicy
  max_history: 5
  epochs: 100
"""
_BASE = {
    "domain.yml": _DOMAIN,
    "config.yml": _CONFIG,
    "data/nlu.yml": _NLU,
    "data/stories.yml": _STORIES,
    "tests/test_stories.yml": _TESTS,
}
_ONLY_DATA: Mapping[str, Any] = {"evaluations": ("validate",)}
"""What is not about figures is seen without any training."""


@dataclass(frozen=True)
class Attempt:
    """What a change does, and what must be said in the comment, the summary, the terminal and the page.

    ``base`` and ``change`` are files by path (``None``: removed); ``given`` are flags. ``says``: what every document
    says; ``silent``: what none says; ``title``: how the comment's title begins; ``findings``: messages of findings.
    """

    name: str
    change: Mapping[str, str | None]
    says: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    title: str = ""
    findings: tuple[str, ...] = ()
    base: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=lambda: _ONLY_DATA)
    folder: str = ""

    def __str__(self) -> str:
        return self.name


def _git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)


def _write(folder: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _commit(top: Path, files: Mapping[str, str | None], message: str) -> None:
    _write(top, files)
    _git(top, "init", "-q")
    _git(top, "add", "-A")
    _git(top, "commit", "-q", "-m", message)


def _outcome(folder: Path, attempt: Attempt) -> Outcome:
    """Measure the change against its base."""
    top = folder / "repository"
    _commit(top, {f"{attempt.folder}{name}": text for name, text in _BASE.items()} | dict(attempt.base), "base")
    _git(top, "checkout", "-q", "-b", "change")
    _commit(top, attempt.change, "change")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        prepared = prepare({"workers": 1, **attempt.given}, {})
        screen = Console(quiet=True)
        return run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen)


def _documents(outcome: Outcome) -> dict[str, str]:
    """What people read, by its name."""
    comment, summary = outcome.texts()[::-1]
    page = next(one for one in outcome.documents() if one.name == "report.html")
    terminal = render_console(outcome.report, outcome.comparison, outcome.verdict, outcome.links)
    texts = {"comment": comment, "summary": summary, "terminal": terminal, "page": page}
    return {name: _plain(one.encoded.decode("utf-8")) for name, one in texts.items()}


def _plain(text: str) -> str:
    """Without the markup of names, which differs between the documents."""
    for markup in ("`", "'", "&#x27;", "&#39;", "<code>", "</code>", "<wbr>", "\\"):
        text = text.replace(markup, "")
    return text.replace("&gt;", ">")


def _check(tmp_path: Path, attempt: Attempt) -> Outcome:
    outcome = _outcome(tmp_path, attempt)
    documents = _documents(outcome)
    for name, text in documents.items():
        for said in attempt.says:
            assert _plain(said) in text, f"the {name} does not say {said!r}:\n{text[:6000]}"
        for unsaid in attempt.silent:
            assert _plain(unsaid) not in text, f"the {name} says {unsaid!r}:\n{text[:6000]}"
    assert outcome.report.validation is not None
    found = [one.message for one in outcome.report.validation.findings if one.severity != "info"]
    assert set(attempt.findings) <= set(found), found
    titles = [line for line in documents["comment"].splitlines() if line.startswith("### ")]
    assert titles[0].removeprefix("### ").startswith(attempt.title), titles
    return outcome


# --- rules that change -----------------------------------------------------------------------------------------------

_RULES = "This change alters the rules it is judged by"


def _settings(name: str, text: str, *says: str, **more: Any) -> Attempt:
    """A setting that the change's ``turncheck.yml`` alters."""
    given = {"evaluations": ("validate",), **more.pop("given", {})}
    return Attempt(name, {"turncheck.yml": text}, (_RULES, *says), given=given, **more)


_OTHER_CONFIG = {"config_for_tests.yml": _CONFIG.replace("DIETClassifier\n  epochs: 100", "KeywordIntentClassifier")}
_OTHER_DOMAIN = {"domain_for_tests.yml": _DOMAIN}
_NEW_RULES = (
    _settings(
        "another configuration",
        "config: config_for_tests.yml\n",
        "config from the usual places to config_for_tests.yml",
        findings=("'config.yml' exists, and 'config_for_tests.yml' is measured in its place.",),
        base=_OTHER_CONFIG,
    ),
    _settings(
        "another domain",
        "domain: domain_for_tests.yml\n",
        "domain from the usual places to domain_for_tests.yml",
        findings=("'domain.yml' exists, and 'domain_for_tests.yml' is measured in its place.",),
        base=_OTHER_DOMAIN,
    ),
    _settings("other training data", "data: data/nlu.yml\n", "data from the usual places to data/nlu.yml"),
    _settings(
        "other test sentences",
        "nlu: tests/some.yml\n",
        "nlu from the usual places to tests/some.yml",
        base={"tests/some.yml": _NLU},
    ),
    _settings(
        "other test stories",
        "stories: tests/test_stories.yml\n",
        "stories from the usual places to tests/test_stories.yml",
    ),
    _settings("fewer folds", "folds: 2\n", "folds from 5 to 2"),
    _settings("another seed", "seed: 7\n", "seed from 42 to 7"),
    _settings("another day", "today: 2024-02-29\n", "today from 2025-01-01 to 2024-02-29"),
    _settings(
        "fewer evaluations",
        "evaluations: [validate]\n",
        "evaluations from validate, core to validate",
        base={"turncheck.yml": "evaluations: [validate, core]\n"},
        given={"evaluations": None},
    ),
    _settings("slots in any order", "slot-order: any\n", "slot-order from strict to any"),
    _settings("mutants", "strength: changed\n", "strength from off to changed"),
    _settings("time for mutants", "strength-budget: 1\n", "strength-budget from 60 to 1"),
    _settings("noise", "robustness: true\n", "robustness from false to true"),
    _settings(
        "another version at Kore.ai", "kore-version: published\n", "kore-version from in-development to published"
    ),
    _settings("another artifact", "artifact-name: mine\n", "artifact-name from turncheck to mine"),
    _settings(
        "a rule that goes away with its file",
        "",
        "folds from 9 to 5",
        base={"turncheck.yml": "folds: 9\n"},
    ),
    _settings(
        "another assistant",
        "project: decoy\n",
        "project from bot to decoy",
        base={f"decoy/{name}": text for name, text in _BASE.items()} | {"turncheck.yml": "project: bot\n"},
        folder="bot/",
    ),
)
_SAME_RULES = (
    Attempt("no settings at all", {"data/more.yml": _NLU.replace("hello", "hallo")}, silent=(_RULES,)),
    Attempt(
        "the same settings in a file of the top",
        {"bot/data/stories.yml": _STORIES + "# more\n"},
        silent=(_RULES,),
        base={"turncheck.yml": "project: bot\nfolds: 3\nfail-on: [errors]\n"},
        folder="bot/",
    ),
    Attempt(
        "flags, which hold for both sides",
        {"turncheck.yml": "folds: 2\nseed: 7\n"},
        silent=(_RULES,),
        given={**_ONLY_DATA, "folds": 3, "seed": 1, "today": "2024-01-01"},
    ),
    Attempt("what is no rule", {"turncheck.yml": "comment: never\nworkers: 1\n"}, silent=(_RULES,)),
    Attempt(
        "the usual places by their names",
        {"turncheck.yml": "config: ./config.yml\ndomain: domain.yml\ndata: [data]\n"},
        silent=(_RULES, "is measured in its"),
    ),
)


@pytest.mark.parametrize("attempt", [*_NEW_RULES, *_SAME_RULES], ids=str)
def test_rules_that_change_are_said(attempt: Attempt, tmp_path: Path) -> None:
    given = {name: value for name, value in attempt.given.items() if value is not None}
    _check(tmp_path, Attempt(**{**vars(attempt), "given": given}))


def test_another_choice_of_assistants_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = {f"{folder}/{name}": text for folder in ("one", "two") for name, text in _BASE.items()}
    _commit(tmp_path, {**folders, "turncheck.yml": "projects: [one, two]\n"}, "base")
    _git(tmp_path, "checkout", "-q", "-b", "change")
    _commit(tmp_path, {"turncheck.yml": "projects: [one]\naccept-gone: [two]\n"}, "change")
    monkeypatch.chdir(tmp_path)

    run_command_line(["run", "--evaluations", "validate", "--out", "results"])

    comment = (tmp_path / "results" / "comment.md").read_text(encoding="utf-8")
    assert "`projects` from `one, two` to `one`" in comment
    assert "> - `one`: `projects`" in comment.partition("### ")[0]
    assert "projects from 'one, two' to one" in capsys.readouterr().out


# --- errors that are silenced ----------------------------------------------------------------------------------------

_SUPPRESSED = "This change suppresses errors that the base does not"
_BROKEN = _STORIES + "- story: broken\n  steps:\n  - intent: nlu_fallback\n  - action: action_nope{}\n"
_QUIET = _BROKEN.format("   # turncheck: ignore action-not-in-domain")
_RUN: Mapping[str, Any] = {"evaluations": ("validate", "core")}
_SILENCED = (
    Attempt(
        "a comment beside the error that the change introduces",
        {"data/stories.yml": _QUIET},
        (f"{_SUPPRESSED} (1)", "action_nope", "data/stories.yml:18", "1 error newly suppressed"),
        title="⚠️ Passed, but an error is newly suppressed",
        given=_RUN,
    ),
    Attempt(
        "a comment beside an error of the base, which is not fixed",
        {"data/stories.yml": _QUIET},
        (f"{_SUPPRESSED} (1)",),
        base={"data/stories.yml": _BROKEN.format("")},
        title="⚠️ Passed, but an error is newly suppressed",
        given=_RUN,
    ),
    Attempt(
        "a comment on the line above",
        {
            "data/stories.yml": _BROKEN.format("").replace(
                "  - action: action_nope", "  # turncheck: ignore action-not-in-domain\n  - action: action_nope"
            )
        },
        (f"{_SUPPRESSED} (1)",),
        title="⚠️ Passed, but an error is newly suppressed",
        given=_RUN,
    ),
    Attempt(
        "a code in the settings",
        {"data/stories.yml": _BROKEN.format(""), "turncheck.yml": "ignore: [action-not-in-domain]\n"},
        (f"{_SUPPRESSED} (1)", _RULES, "ignore from none to action-not-in-domain"),
        title="⚠️ Passed, but an error is newly suppressed",
        given=_RUN,
    ),
    Attempt(
        "a second error under the code of the base's settings",
        {"data/stories.yml": _QUIET + "- story: worse\n  steps:\n  - intent: greet\n  - action: action_never\n"},
        (f"{_SUPPRESSED} (1)", "action_never"),
        base={"data/stories.yml": _BROKEN.format(""), "turncheck.yml": "ignore: [action-not-in-domain]\n"},
        title="⚠️ Passed, but an error is newly suppressed",
        given=_RUN,
    ),
    Attempt(
        "a suppressed error that only moves down",
        {"data/stories.yml": _QUIET.replace("stories:\n", "stories:\n# one\n# two\n")},
        silent=(_SUPPRESSED,),
        base={"data/stories.yml": _QUIET},
        title="✅ Passed",
        given=_RUN,
    ),
    Attempt(
        "a suppressed error that moves to another file",
        {"data/stories.yml": _STORIES, "data/more.yml": 'version: "3.1"\nstories:' + _QUIET.partition("stories:")[2]},
        silent=(_SUPPRESSED,),
        base={"data/stories.yml": _QUIET},
        given=_ONLY_DATA,
    ),
    Attempt(
        "a suppressed warning where warnings fail the run",
        {"domain.yml": f"{_DOMAIN}  utter_idle: [{{text: Idle}}]  # turncheck: ignore response-unused\n"},
        ("This change suppresses warnings that the base does not (1)", "1 warning newly suppressed"),
        given={**_ONLY_DATA, "fail_on_warnings": True},
    ),
    Attempt(
        "a comment beside the use of a name that the change takes away",
        {
            "domain.yml": _DOMAIN.replace("utter_leave:", "utter_farewell:"),
            "data/stories.yml": _STORIES.replace("utter_leave", "utter_leave  # turncheck: ignore response-undefined"),
        },
        (f"{_SUPPRESSED} (1)", "utter_leave was renamed to utter_farewell in this change; 1 use keeps the old name"),
        base={"tests/test_stories.yml": _TESTS.replace("utter_leave", "utter_greet")},
        given=_ONLY_DATA,
        title="⚠️ Passed, but an error is newly suppressed",
    ),
    Attempt(
        "a code in the settings, and an intent that loses its sentences",
        {
            "data/nlu.yml": _NLU.partition("- intent: leave")[0],
            "turncheck.yml": "ignore: [intent-without-examples]\n",
        },
        (f"{_SUPPRESSED} (1)", "The intent leave has lost all its examples in this change"),
        given=_ONLY_DATA,
        title="⚠️ Passed, but an error is newly suppressed",
    ),
    Attempt(
        "the gate for teams that want it hard",
        {"data/stories.yml": _QUIET},
        ("new-suppressions", "1 error newly suppressed"),
        title="❌ Failed",
        given={**_RUN, "fail_on": ("errors", "new-suppressions")},
    ),
)


@pytest.mark.parametrize("attempt", _SILENCED, ids=str)
def test_errors_that_are_silenced_are_said(attempt: Attempt, tmp_path: Path) -> None:
    outcome = _check(tmp_path, attempt)
    if attempt.says:
        comment = outcome.texts()[1].encoded.decode("utf-8")
        assert comment.index("This change suppresses") < comment.index("### ")
    may_fail = {"new-suppressions", "something-was-tested"}
    assert {gate.name for gate in outcome.verdict.gates if gate.fails} <= may_fail


# --- tests that are put in quarantine --------------------------------------------------------------------------------

_STORIES_ONLY: Mapping[str, Any] = {"evaluations": ("validate", "core"), "fail_on": ("new-failures",)}
_BREAKS = {"data/stories.yml": _STORIES.replace("action: utter_order", "action: utter_leave")}


def _quarantined(name: str = "test order", days: int = 30, expect: str = "flaky") -> str:
    until = datetime.now(UTC).date() + timedelta(days=days)
    return f"- case: {name}\n  because: slow\n  owner: ana\n  until: {until}\n  expect: {expect}\n"


_QUARANTINE = "turncheck.quarantine.yml"
_ORDERS, _GREETS = (
    f'version: "3.1"\nstories:\n- story: one\n  steps:\n  - intent: {intent}\n  - action: {action}\n'
    for intent, action in (("order", "utter_order"), ("greet", "utter_leave"))
)
"""Two tests of one name: the second one fails on the base, and is in quarantine there."""
_IN_TWO_FILES = {
    "tests/test_a.yml": _GREETS,
    "tests/test_b.yml": _ORDERS,
    _QUARANTINE: _quarantined("tests/test_a.yml::one", expect="failing"),
}
_QUARANTINED = (
    Attempt(
        "an entry of the change itself",
        {**_BREAKS, _QUARANTINE: _quarantined()},
        (_RULES, "quarantine from nothing to test order: flaky until", "1 story newly fails"),
        title="❌ Failed",
        given=_STORIES_ONLY,
    ),
    Attempt(
        "an entry of the base under another name",
        {**_BREAKS, _QUARANTINE: _quarantined("test order")},
        (_RULES, "1 story newly fails"),
        base={_QUARANTINE: _quarantined("test greet")},
        title="❌ Failed",
        given=_STORIES_ONLY,
    ),
    Attempt(
        "a test that takes the name of the quarantined one",
        {
            **_BREAKS,
            "tests/test_stories.yml": _TESTS.replace("test greet", "test x")
            .replace("test order", "test greet")
            .replace("test x", "test order"),
        },
        ("1 story newly fails", "the quarantine of test greet does not count: this change edits, moves or adds it"),
        base={_QUARANTINE: _quarantined("test greet")},
        title="❌ Failed",
        given=_STORIES_ONLY,
    ),
    Attempt(
        "files that are exchanged, so that the entry names the test that the change breaks",
        {**_BREAKS, "tests/test_a.yml": _ORDERS, "tests/test_b.yml": _GREETS},
        ("does not count: this change edits, moves or adds it",),
        base=_IN_TWO_FILES,
        title="❌ Failed",
        given=_STORIES_ONLY,
    ),
    Attempt(
        "a test in place of the quarantined one",
        {**_BREAKS, "tests/test_a.yml": _ORDERS, "tests/test_b.yml": None},
        ("does not count: this change edits, moves or adds it",),
        base=_IN_TWO_FILES,
        title="❌ Failed",
        given=_STORIES_ONLY,
    ),
    Attempt(
        "a later day for an entry that has expired",
        {**_BREAKS, _QUARANTINE: _quarantined(days=30)},
        (_RULES, "1 story newly fails"),
        base={_QUARANTINE: _quarantined(days=-1)},
        title="❌ Failed",
        given=_STORIES_ONLY,
    ),
    Attempt(
        "an entry that the base has",
        {**_BREAKS},
        ("1 story in quarantine fails",),
        silent=(_RULES, "newly fails"),
        base={_QUARANTINE: _quarantined()},
        title="✅ Passed",
        given=_STORIES_ONLY,
    ),
    Attempt(
        "an entry that the change removes",
        {**_BREAKS, _QUARANTINE: None},
        ("1 story newly fails",),
        silent=(_RULES,),
        base={_QUARANTINE: _quarantined()},
        title="❌ Failed",
        given=_STORIES_ONLY,
    ),
    Attempt(
        "entries about a test that does not exist, and beyond the longest time",
        {_QUARANTINE: _quarantined("test oder") + _quarantined(days=200)},
        findings=("No test is called 'test oder'. Did you mean 'test order'?",),
        title="❌ Failed",
        given={**_STORIES_ONLY, "fail_on": ("errors",)},
    ),
)


@pytest.mark.parametrize("attempt", _QUARANTINED, ids=str)
def test_a_quarantine_is_what_the_base_says(attempt: Attempt, tmp_path: Path) -> None:
    _check(tmp_path, attempt)


# --- figures that got worse ------------------------------------------------------------------------------------------

_NLU_ONLY: Mapping[str, Any] = {"evaluations": ("validate", "nlu")}
_WORSE_FIGURES = "Other figures that are worse:"


def _examples(number: int) -> str:
    """The training data with more sentences of the same kinds, so that a change can be more than noise."""
    lines = [
        f"- intent: {intent}\n  examples: |\n" + "".join(f"    - {text} {word}\n" for text in texts for word in words)
        for intent, texts in _INTENTS.items()
        for words in [("now", "today", "again", "please")[:number]]
    ]
    return 'version: "3.1"\nnlu:\n' + "".join(lines)


_WORSE = (
    Attempt(
        "a fallback that follows nearly everything",
        {"config.yml": _CONFIG.replace("threshold: 0.3", "threshold: 0.995")},
        ("no longer understood (threshold",),
        silent=(_WORSE_FIGURES,),
        base={"data/nlu.yml": _examples(3)},
        given=_NLU_ONLY,
    ),
    Attempt(
        "less of the assistant under test",
        {
            "tests/test_stories.yml": "\n".join(_TESTS.splitlines()[:-6]) + "\n",
            "turncheck.yml": "accept-gone: [test leave]",
        },
        ("'test leave'",),
        silent=(_WORSE_FIGURES, "figure worse"),
        given=_RUN,
    ),
    Attempt(
        "nothing that is worse",
        {"data/nlu.yml": _NLU + "    - farewell\n"},
        silent=(_WORSE_FIGURES, "figure worse"),
        given=_NLU_ONLY,
    ),
)


@pytest.mark.parametrize("attempt", _WORSE, ids=str)
def test_figures_that_are_worse_are_said(attempt: Attempt, tmp_path: Path) -> None:
    _check(tmp_path, attempt)


# --- changes that the engine cannot see ------------------------------------------------------------------------------

_CANNOT = "the embedded engine cannot judge that"
_UNSEEN = "1 change of the configuration that the embedded engine cannot judge"
_UNSEEN_TITLE = "⚠️ Passed, but a change cannot be judged"


def _configured(name: str, old: str, new: str, *says: str, **more: Any) -> Attempt:
    """A change of ``config.yml`` that this engine does not read."""
    changed = more.get("base", {}).get("config.yml", _CONFIG).replace(old, new, 1)
    texts = (*says, _CANNOT, more.pop("headline", _UNSEEN))
    return Attempt(name, {"config.yml": changed}, texts, title=more.pop("title", _UNSEEN_TITLE), given=_RUN, **more)


_IGNORED = (
    _configured(
        "a recipe that is not run",
        "recipe: default.v1",
        "recipe: graph.v1",
        "config.yml:1",
        "recipe: graph.v1 was added to the configuration",
    ),
    _configured(
        "epochs of the classifier",
        "DIETClassifier\n  epochs: 100",
        "DIETClassifier\n  epochs: 1",
        "config.yml:8",
        f"epochs of DIETClassifier was changed from 100 to 1; {_CANNOT}",
    ),
    _configured(
        "epochs of a policy",
        "max_history: 5\n  epochs: 100",
        "max_history: 5\n  epochs: 1",
        "config.yml:16",
        f"epochs of TEDPolicy was changed from 100 to 1; {_CANNOT}",
    ),
    _configured(
        "a parameter that is new",
        "DIETClassifier\n",
        "DIETClassifier\n  drop_rate: 0.9\n",
        "config.yml:8",
        "drop_rate of DIETClassifier was set to",
    ),
    _configured(
        "a parameter that is gone",
        "DIETClassifier\n  epochs: 100",
        "DIETClassifier",
        "config.yml:7",
        "epochs of DIETClassifier was removed",
    ),
    _configured(
        "features that only Rasa's own classifier reads",
        "- name: CountVectorsFeaturizer\n",
        "- name: CountVectorsFeaturizer\n  analyzer: char_wb\n  max_ngram: 4\n",
        "analyzer of CountVectorsFeaturizer was set to",
        "max_ngram of CountVectorsFeaturizer was set to",
        headline="2 changes of the configuration that the embedded engine cannot judge",
        title="⚠️ Passed, but changes cannot be judged",
    ),
    _configured(
        "a featurizer that only Rasa's own classifier reads",
        "- name: CountVectorsFeaturizer\n",
        "- name: CountVectorsFeaturizer\n- name: RegexFeaturizer\n",
        "config.yml:7",
        "RegexFeaturizer was added to the configuration",
    ),
    _configured(
        "epochs, and the class with its module",
        "DIETClassifier\n  epochs: 100",
        "rasa.nlu.classifiers.diet_classifier.DIETClassifier\n  epochs: 1",
        "epochs of rasa.nlu.classifiers.diet_classifier.DIETClassifier was changed from",
    ),
    _configured(
        "what a policy sees of a turn",
        "max_history: 5\n",
        "featurizer: [{name: MaxHistoryTrackerFeaturizer, max_history: 5, state_featurizer: [{name: mine.Own}]}]\n",
        "config.yml:15",
        "featurizer of TEDPolicy was set to",
    ),
    _configured(
        "a policy of one's own",
        "policies:\n",
        "policies:\n- name: mine.Policy\n",
        "mine.Policy was added to the configuration",
        title="❌ Failed",  # nothing stands in for it, so that stories are no longer run
    ),
    _configured(
        "who reads the training data",
        "assistant_id: small\n",
        "assistant_id: small\nimporters:\n- name: mine.Importer\n",
        "config.yml:5",
        "mine.Importer was added to the configuration",
    ),
    _configured(
        "who no longer reads the training data",
        "importers:\n- name: mine.Importer\n",
        "",
        "mine.Importer was removed from the configuration",
        base={"config.yml": f"importers:\n- name: mine.Importer\n{_CONFIG}"},
    ),
    _configured(
        "a component that is left out here, and goes away",
        "- name: custom.Sentiment\n",
        "",
        "config.yml:6",
        "custom.Sentiment was removed from the configuration",
        base={"config.yml": _CONFIG.replace("- name: CountV", "- name: custom.Sentiment\n- name: CountV")},
    ),
)
_READ = (
    Attempt("a threshold that is read", {"config.yml": _CONFIG.replace("0.3", "0.31")}, silent=(_CANNOT,), given=_RUN),
    Attempt(
        "a history that is read",
        {"config.yml": _CONFIG.replace("max_history: 5", "max_history: 6")},
        silent=(_CANNOT,),
        given=_RUN,
    ),
    Attempt("a comment that moves everything", {"config.yml": f"# ours\n{_CONFIG}"}, silent=(_CANNOT,), given=_RUN),
    Attempt("another spelling", {"config.yml": _CONFIG.replace("epochs: 100", "epochs:   100")}, silent=(_CANNOT,)),
)


@pytest.mark.parametrize("attempt", [*_IGNORED, *_READ], ids=str)
def test_what_the_engine_cannot_see_is_said_beside_the_verdict(attempt: Attempt, tmp_path: Path) -> None:
    _check(tmp_path, attempt)
