"""The same causes however a change is measured: in shards, for several assistants, by any workers, in any order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from repository_at_work import commit_change
from test_causes_of_a_change import BOT, NLU, NOISE, RULES, WAITS, added, edited

from turncheck import api
from turncheck.cli import run_command_line
from turncheck.render.annotations import find_annotations
from turncheck.render.console import render_console
from turncheck.render.links import Links

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.conclude import Outcome

CHANGE = {
    **NOISE,
    **edited("data/rules.yml", WAITS),
    "data/nlu.yml": NLU.replace("    - hi my friend\n", "    - hi my friend\n    - hey you\n"),
}
"""A fault among harmless edits."""


def turncheck(*arguments: str | Path) -> int:
    return run_command_line([str(argument) for argument in arguments])


def causes_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_bytes())["causes"]
    return found


def test_shards_that_are_merged_name_the_causes_of_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_change(tmp_path, BOT, CHANGE)
    monkeypatch.chdir(tmp_path)
    flags = ("--base", "main", "--quiet")
    assert turncheck("run", ".", "--out", "one", *flags) == 1
    shards = [f"shard-{number}" for number in (1, 2)]
    for number, place in enumerate(shards, 1):
        assert turncheck("run", ".", "--shard", f"{number}/2", "--out", place, *flags) == 0

    assert turncheck("report", "merge", *shards, "--out", "merged", *flags) == 1

    assert causes_in(tmp_path / "merged") == causes_in(tmp_path / "one")
    assert [one["name"] for one in causes_in(tmp_path / "one")["tests"][0]["causes"]] == ["submit the address"]


def test_each_of_several_assistants_has_its_own_causes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = {f"bots/{bot}/{name}": text for bot in ("a", "b", "c") for name, text in BOT.items()}
    longer = added("data/rules.yml", "  - action: utter_wait\n")["data/rules.yml"]
    change = {"bots/a/data/rules.yml": CHANGE["data/rules.yml"], "bots/b/data/rules.yml": longer}
    commit_change(tmp_path, base, change)
    monkeypatch.chdir(tmp_path)

    assert (
        turncheck("run", "--project", "bots/*", "--base", "main", "--quiet", "--evaluations", "validate", "core") == 1
    )

    for bot, line in (("a", RULES.count("\n")), ("b", RULES.count("\n") + 1)):
        (cause,) = causes_in(tmp_path / "results" / "bots" / bot)["tests"][0]["causes"]
        assert (cause["name"], cause["location"]["path"]) == ("submit the address", "data/rules.yml")
        assert cause["location"]["line"] == line
    assert "causes" not in json.loads((tmp_path / "results" / "bots" / "c" / "report.json").read_bytes())


@pytest.mark.parametrize("turned", [False, True])
def test_neither_workers_nor_the_order_of_files_matter(
    turned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentences are in two files, whose names turn their order around."""
    head, *intents = NLU.split("- intent")
    halves = [f"{head}- intent{'- intent'.join(some)}" for some in (intents[:1], intents[1:])]
    names = ("data/y.yml", "data/z.yml")
    parts = dict(zip(names[::-1] if turned else names, halves, strict=True))
    commit_change(tmp_path, BOT, {**CHANGE, "data/nlu.yml": 'version: "3.1"\n', **parts})
    monkeypatch.chdir(tmp_path)

    found = [run(tmp_path, workers) for workers in (1, 2)]

    assert found[0] == found[1]
    assert [one["name"] for one in found[0]["tests"][0]["causes"]] == ["submit the address"]


def run(folder: Path, workers: int) -> dict[str, Any]:
    assert turncheck("run", ".", "--base", "main", "--quiet", "--workers", str(workers), "--out", "results") == 1
    return causes_in(folder / "results")


def test_every_output_names_the_cause_and_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_change(tmp_path, BOT, CHANGE)
    monkeypatch.chdir(tmp_path)
    outcome: Outcome = api.run(".", base="main", evaluations=("validate", "core"), workers=1)
    line = RULES.count("\n")
    place = f"data/rules.yml:{line}"

    files = {rendered.name: rendered.encoded.decode() for rendered in (*outcome.renderings(), *outcome.texts())}

    assert place in outcome.verdict.summary
    for name in ("comment.md", "summary.md", "junit.xml", "report.html", "comparison.json", "verdict.json"):
        assert "submit the address" in files[name], name
    for name in ("comment.md", "summary.md", "junit.xml"):
        assert place in files[name], name
    (worse,) = json.loads(files["comparison.json"])["stories"]["worse"]
    assert [(one["name"], one["proved"], one["location"]["line"]) for one in worse["causes"]] == [
        ("submit the address", True, line)
    ]
    marked = find_annotations(outcome.report, outcome.comparison)
    assert [one.line for one in marked if one.path == "data/rules.yml" and one.level == "error"] == [line]
    shown = render_console(outcome.report, outcome.comparison, outcome.verdict, Links())
    assert place in str(shown.content)


def test_every_output_names_what_makes_a_story_misunderstood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = "    - hi my friend\n"
    nlu = BOT["data/nlu.yml"]
    commit_change(
        tmp_path,
        BOT,
        {"data/nlu.yml": nlu.replace(drawn, drawn + "    - can you lend me a book\n    - lend me a book\n" * 4)},
    )
    monkeypatch.chdir(tmp_path)
    outcome: Outcome = api.run(".", base="main", evaluations=("validate", "core"), workers=1)
    place = f"data/nlu.yml:{nlu[: nlu.index(drawn)].count(chr(10)) + 2}"

    files = {rendered.name: rendered.encoded.decode() for rendered in (*outcome.renderings(), *outcome.texts())}

    (sentence,) = outcome.comparison.misunderstood
    assert [(cause.kind, cause.name) for cause in sentence.causes] == [("intents", "greet")]
    assert place in outcome.verdict.summary
    for name in ("comment.md", "summary.md", "junit.xml", "report.html"):
        assert place in files[name], name
    for line in (sentence.location, sentence.causes[0].location):
        (marked,) = [
            one
            for one in find_annotations(outcome.report, outcome.comparison)
            if line is not None and (one.path, one.line) == (line.path, line.line)
        ]
        assert place in marked.message
    assert place in str(render_console(outcome.report, outcome.comparison, outcome.verdict, Links()).content)
