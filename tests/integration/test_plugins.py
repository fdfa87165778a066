"""The example plugin, and plugins with mistakes: installed packages add to turncheck only if somebody names them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from golden_texts import Golden

import turncheck
from turncheck.cli import run_command_line
from turncheck.registry import GROUPS, installed_plugins, plugins_in_use, use_plugins
from turncheck.report.codec import decode, encode
from turncheck.report.model import Report

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
NAME = "turncheck-keyword-bot"
BOT = {
    "config.yml": "pipeline:\n- name: WhitespaceTokenizer\n- name: KeywordIntentClassifier\n",
    "domain.yml": "intents: [greet, order]\nresponses:\n  utter_hi:\n  - text: HELLO THERE\n",
    "data/nlu.yml": 'nlu:\n- {intent: greet, examples: "- hello\\n- hi"}\n- {intent: order, examples: "- a pizza"}\n',
    "data/rules.yml": "rules:\n- {rule: hi, steps: [{intent: greet}, {action: utter_hi}]}\n- {rule: o, steps: [{intent:"
    " order}, {action: utter_hi}]}\n",
    "tests/test_nlu.yml": 'nlu:\n- {intent: greet, examples: "- hello you"}\n'
    '- {intent: order, examples: "- one pizza"}\n',
}


def installed(site: Path, name: str, entry_points: dict[str, dict[str, str]], **modules: str) -> None:
    """Put a package on a path as pip does."""
    information = site / f"{name.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{one} = {value}\n" for one, value in entries.items())
        for group, entries in entry_points.items()
    ]
    (information / "entry_points.txt").write_text("\n".join(lines))
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text)


@pytest.fixture(autouse=True)
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small assistant in the current folder, and the example on the path."""
    for name, content in BOT.items():
        (tmp_path / "bot" / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / "bot" / name).write_text(content)
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed(tmp_path / "site", declared["name"], declared["entry-points"])
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.syspath_prepend(EXAMPLE / "src")
    monkeypatch.chdir(tmp_path / "bot")
    yield tmp_path / "bot"
    use_plugins(())


def run(*flags: str) -> int:
    use_plugins(())
    return run_command_line(["run", "--baseline", "none", "--quiet", "--out", "../results", *flags])


def report() -> Report:
    return decode(Path("../results/report.json").read_bytes())


def test_its_check_metric_evaluation_and_engine_take_part_and_are_named() -> None:
    assert run("--plugins", NAME, "--engine", "keyword", "--thresholds", "plugin.sure >= 0.9") == 0
    written = report()
    assert [(one.name, one.version) for one in written.plugins] == [(NAME, "1.0")]
    assert set(written.plugins[0].provides) == {
        "engine keyword",
        "check response-shouts",
        "metric sure",
        "evaluation greetings",
    }
    assert written.validation is not None
    shouting = next(one for one in written.validation.findings if one.code == "response-shouts")
    assert (shouting.severity, str(shouting.location)) == ("warning", "domain.yml:3:3")
    assert [(name.kind, name.name) for name in shouting.about] == [("response", "utter_hi")]
    assert written.engine is not None
    assert written.engine.name == "keyword"
    assert written.metrics["plugin.sure"].value == 1.0
    assert written.metrics["plugin.sure"].sentences == (True, True)
    assert written.metrics["plugin.greetings.understood"].evaluation == "greetings"
    assert "Sentences understood surely" in Path("../results/summary.md").read_text(encoding="utf-8")


def test_nothing_of_it_takes_part_unless_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    written = json.loads(Path("../results/report.json").read_bytes())
    assert not {"plugins", "metrics"} & written.keys()
    assert "response-shouts" not in Path("../results/report.json").read_text(encoding="utf-8")
    assert run("--engine", "keyword") == 2
    assert "keyword" in capsys.readouterr().err


def test_a_file_of_a_change_cannot_name_it(bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    (bot / "turncheck.yml").write_text(f"plugins: {NAME}\n")
    assert run() == 2
    golden(capsys.readouterr().err, only="turncheck.yml")
    assert plugins_in_use() == ()


def test_a_threshold_of_a_metric_that_nobody_measures_is_refused(
    capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run("--thresholds", "plugin.sure >= 0.9") == 2
    golden(capsys.readouterr().err, only="'plugin.sure")


def test_only_the_named_evaluations_run() -> None:
    assert run("--plugins", NAME, "--evaluations", "nlu") == 0
    assert set(report().metrics) == {"plugin.sure"}
    assert run("--plugins", NAME, "--evaluations", "nlu", "greetings") == 0
    assert set(report().metrics) == {"plugin.sure", "plugin.greetings.understood"}


def test_other_plugins_are_a_change_of_settings_and_its_figures_are_compared_without_it() -> None:
    with_it = turncheck.run(".", plugins=NAME, engine="keyword", baseline="none").report
    without = turncheck.run(".", engine="embedded", baseline="none").report
    assert plugins_in_use() == ()  # the second run named none
    changed = turncheck.compare(without, with_it).comparison.settings_changed
    assert ("plugins", "none", f"{NAME} 1.0") in {(one.name, one.base, one.value) for one in changed}

    worse = msgspec.structs.replace(
        with_it, seed=7, metrics={"plugin.sure": figure(with_it, (False, True)), "plugin.greetings.understood": count()}
    )
    outcome = turncheck.compare(with_it, worse, max_regression={"plugin.sure": 0.1})
    deltas = {one.name: one for one in outcome.comparison.metrics if one.name.startswith("plugin.")}
    sampled, counted = deltas["plugin.sure"], deltas["plugin.greetings.understood"]
    assert (sampled.judgement, counted.judgement) == ("noise", "worse")
    assert sampled.significance is not None
    assert sampled.significance.method == "mcnemar"
    assert not outcome.verdict.passed


def figure(of: Report, sentences: tuple[bool, ...]) -> Any:
    return msgspec.structs.replace(of.metrics["plugin.sure"], sentences=sentences, value=0.5)


def count() -> Any:
    from turncheck.plugins import counted

    return counted(0, better="higher", kind="count")


def test_a_report_that_contradicts_its_sentences_is_refused(golden: Golden) -> None:
    whole = turncheck.run(".", plugins=NAME, baseline="none").report
    for forged in (
        msgspec.structs.replace(whole.metrics["plugin.sure"], value=0.123),
        msgspec.structs.replace(whole.metrics["plugin.sure"], sentences=(True,)),
    ):
        with pytest.raises(turncheck.UserError, match="contradicts itself"):
            decode(encode(msgspec.structs.replace(whole, metrics={"plugin.sure": forged})))
    renamed = msgspec.structs.replace(whole, metrics={"nlu.intents.f1": whole.metrics["plugin.sure"]})
    with pytest.raises(turncheck.UserError) as refused:
        decode(encode(renamed))
    golden(refused.value)


FAULTS: dict[str, tuple[dict[str, dict[str, str]], str, str]] = {
    "raises at import": ({"turncheck.checks": {"x": "faulty:x"}}, "raise RuntimeError('no')", "cannot be loaded"),
    "is not there": ({"turncheck.checks": {"x": "faulty:x"}}, "", "cannot be loaded"),
    "of another type": ({"turncheck.engines": {"x": "faulty:x"}}, "x = 3", "of the type builtins.int"),
    "has a name of ours": (
        {"turncheck.checks": {"intent-unused": "faulty:x"}},
        (
            "from turncheck.plugins import check\n"
            "x = check('intent-unused', 'info', title='', text='', about=('place',))(lambda facts: [])"
        ),
        "so has turncheck itself",
    ),
    "an unknown group": ({"turncheck.check": {"x": "faulty:x"}}, "x = 3", "does not have"),
    "nothing of turncheck": ({"console_scripts": {"x": "faulty:x"}}, "x = 3", "adds nothing to turncheck"),
    "a check about nothing": (
        {"turncheck.checks": {"x": "faulty:x"}},
        "from turncheck.plugins import check\nx = check('x', 'info', title='', text='')(lambda facts: [])",
        "does not say what a finding of it is about",
    ),
    "a check that raises": (
        {"turncheck.checks": {"x": "faulty:x"}},
        (
            "from turncheck.plugins import check\n"
            "x = check('x', 'info', title='', text='', about=('place',))(lambda facts: 1 / 0)"
        ),
        "check 'x' failed: ZeroDivisionError",
    ),
    "a metric that raises": (
        {"turncheck.metrics": {"x": "faulty:x"}},
        "def x(report): return report.nothing",
        "metric 'x' failed: AttributeError",
    ),
    "a metric that is a number": ({"turncheck.metrics": {"x": "faulty:x"}}, "def x(report): return 3", "type int"),
    "too few verdicts": (
        {"turncheck.metrics": {"x": "faulty:x"}},
        "from turncheck.plugins import of_sentences\ndef x(report): return of_sentences([True], better='higher')",
        "judges 1 sentences; the report has 2",
    ),
    "an engine without a module": (
        {"turncheck.engines": {"x": "faulty:x"}},
        "from turncheck.plugins import RegisteredEngine\nx = RegisteredEngine('nowhere')",
        "engine 'x' failed: ModuleNotFoundError",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_plugin_is_said_to_be_its_own(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries, module, words = FAULTS[fault]
    installed(tmp_path / "other", "faulty", entries, faulty=module)
    monkeypatch.syspath_prepend(tmp_path / "other")
    monkeypatch.delitem(__import__("sys").modules, "faulty", raising=False)
    engine = ["--engine", "x"] if "turncheck.engines" in entries else []
    assert run("--plugins", "faulty", *engine) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


def test_a_package_that_is_not_installed_is_refused_with_those_that_are(
    capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert NAME in installed_plugins()
    assert run("--plugins", "turncheck-keyword-bto") == 2
    error = capsys.readouterr().err
    assert "'turncheck-keyword-bto'" in error
    golden(error)
    assert NAME in error


def test_the_other_doors_take_a_format_an_output_and_a_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bot: Path
) -> None:
    module = """
from turncheck.plugins import *
class Lines:
    def __init__(self, path):
        self.path = path
    def locate(self, index):
        return Location(self.path, index + 1, 1)
def read(opened):
    origin, lines = Lines(opened.source.path), opened.source.text.splitlines()
    pairs = [line.split("\\t") for line in lines]
    examples = (Example(text, intent, origin=origin, index=n) for n, (intent, text) in enumerate(pairs))
    return ParsedFile(NluData(tuple(examples)))
TABS = Format("tabs", lambda path, _: path.suffix == ".tabs", frozenset({"nlu"}), read)
LINES = Output(lambda bots, rules: Rendered("lines.txt", "text/plain", bots.runs[0].report.project.name + "\\n"))
HOST = RegisteredHost("doors", "Loom", ("LOOM",))
class Loom:
    @staticmethod
    def detect(environment, token):
        raise UserError("found the loom")
"""
    entries = {
        "turncheck.formats": {"tabs": "doors:TABS"},
        "turncheck.outputs": {"lines": "doors:LINES"},
        "turncheck.hosts": {"loom": "doors:HOST"},
    }
    installed(tmp_path / "doors", "doors", entries, doors=module)
    monkeypatch.syspath_prepend(tmp_path / "doors")
    assert run("--plugins", "doors", "--output-format", "lines") == 0
    assert Path("../results/lines.txt").read_text(encoding="utf-8") == "bot\n"
    (bot / "data" / "more.tabs").write_text("greet\tgood day\n")
    assert run("--plugins", "doors", "--evaluations", "nlu") == 0
    nlu = report().nlu
    assert nlu is not None
    assert ("good day", "data/more.tabs:1:1") in {(one.text, str(one.location)) for one in nlu.training}
    monkeypatch.setenv("LOOM", "1")
    assert run("--plugins", "doors") == 2
    assert run() == 0
    assert run("--output-format", "lines") == 2


def test_every_door_is_on_the_page() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    assert [group for group in GROUPS if f"`{group}`" not in page] == []
