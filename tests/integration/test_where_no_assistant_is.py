"""A folder that is not an assistant names those below; a project of an older Rasa is told to be one before all else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.project.folder import assistants_below, assistants_in_words
from turncheck.project.reader import read_project

CONFIG = "recipe: default.v1\nassistant_id: bot\nlanguage: en\npipeline: []\npolicies: []\n"
DOMAIN = 'version: "3.1"\nintents: [greet]\n'
COMMANDS = [
    ["test"],
    ["test", "nlu"],
    ["test", "core"],
    ["test", "e2e"],
    ["train"],
    ["train", "nlu"],
    ["parse", "hello"],
    ["shell"],
    ["data", "split", "nlu"],
]


def write(name: str, content: str = "") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# --- several assistants ----------------------------------------------------------------------------------------------


@pytest.fixture
def monorepo() -> None:
    for bot in ("a", "b"):
        write(f"bots/{bot}/config.yml", CONFIG)
        write(f"bots/{bot}/domain.yml", DOMAIN)
    write("README.md", "# Bots")


@pytest.mark.usefixtures("monorepo")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_command_names_the_assistants_below(
    command: list[str], capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(command) == 2
    said = capsys.readouterr().err
    golden(said)
    assert "Name one: --project bots/a." in said


@pytest.mark.usefixtures("monorepo")
def test_run_names_them_as_one_would_type_it(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["run"]) == 2
    golden(capsys.readouterr().err, only="bots/a")
    Path("bots").rename("all")
    Path("repository").mkdir()
    Path("all").rename("repository/bots")
    assert run_command_line(["run", "repository"]) == 2
    golden(capsys.readouterr().err, only="repository/bots/a")


@pytest.mark.usefixtures("monorepo")
def test_validation_ends_as_rasas_and_names_them(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["data", "validate"]) == 1
    said = capsys.readouterr().out
    golden(said, only="bots/a")
    assert "--project bots/a" in said


def test_the_search_is_bounded_and_leaves_out_what_is_foreign(golden: Golden) -> None:
    write("x/y/bot/config.yml", CONFIG)
    write("x/y/bot/domain/one.yml", DOMAIN)
    write("x/y/bot/inner/config.yml", CONFIG)
    write("x/y/bot/inner/domain.yml", DOMAIN)
    for foreign in ("node_modules/p", ".git/p", "a/b/c/d/e"):
        write(f"{foreign}/config.yml", CONFIG)
        write(f"{foreign}/domain.yml", DOMAIN)
    write("service/config.yml", "port: 1")
    assert assistants_below(Path()) == [Path("x/y/bot")]
    for number in range(30):
        write(f"many/{number:02}/domain.yml", DOMAIN)
        write(f"many/{number:02}/data/nlu.yml")
    assert len(assistants_below(Path())) == 20
    golden(assistants_in_words([Path(name) for name in "abcdefg"]))


def test_an_empty_folder_and_a_half_written_assistant_are_not_above_others() -> None:
    write("bots/a/config.yml", CONFIG)
    write("bots/a/domain.yml", DOMAIN)
    write("domain.yml", DOMAIN)
    assert read_project(Path()).below == ()


# --- an older Rasa ---------------------------------------------------------------------------------------------------

SIGNS = {
    "templates": ("1.x", {"domain.yml": "intents: [greet]\ntemplates:\n  utter_hi:\n  - text: hi\n"}, "domain.yml:2"),
    "a list of forms": ("1.x", {"domain.yml": "intents: [greet]\nforms:\n- order_form\n"}, "domain.yml:2"),
    "triggers": ("1.x", {"domain.yml": "intents:\n- bye:\n    triggers: utter_bye\n"}, "domain.yml:3"),
    "unfeaturized": ("1.x", {"domain.yml": "slots:\n  a:\n    type: unfeaturized\n"}, "domain.yml:3"),
    "no mappings": ("2.x", {"domain.yml": 'version: "2.0"\nslots:\n  a:\n    type: text\n'}, "domain.yml:1"),
    "mappings in a form": (
        "2.x",
        {"domain.yml": 'version: "2.0"\nforms:\n  f:\n    required_slots:\n      a:\n      - type: from_text\n'},
        "domain.yml:1",
    ),
    "a template of a pipeline": (
        "1.x",
        {"config.yml": "language: en\npipeline: supervised_embeddings\n"},
        "config.yml:2",
    ),
    "old policies": (
        "1.x",
        {"config.yml": "policies:\n- name: MemoizationPolicy\n- name: KerasPolicy\n"},
        "config.yml:3",
    ),
    "old names": ("0.x", {"config.yml": "pipeline:\n- name: tokenizer_whitespace\n"}, "config.yml:2"),
    "Markdown": ("1.x", {"data/nlu.md": "<!-- ours -->\n## intent:greet\n- hello\n"}, "data/nlu.md:2"),
    "Markdown stories": (
        "1.x",
        {"data/stories.md": "## greeting\n* greet\n  - utter_hi\n"},
        "data/stories.md:1",
    ),
}


@pytest.mark.parametrize("sign", SIGNS)
def test_each_sign_of_an_older_rasa_is_found_at_its_place(sign: str, capsys: pytest.CaptureFixture[str]) -> None:
    version, files, place = SIGNS[sign]
    for name, content in {"config.yml": "language: en\n", "domain.yml": "intents: [greet]\n", **files}.items():
        write(name, content)
    run_command_line(["run", "--baseline", "none", "-q"])
    out = capsys.readouterr().out
    assert out.startswith(f"Rasa {version} project ({place}"), "the first line says it"
    report = json.loads(Path("results/report.json").read_text())
    first = report["validation"]["findings"][0]
    assert (first["code"], first["severity"]) == ("legacy-project", "info")
    assert place in first["message"]
    assert report["project"]["rasa_version"] == version
    assert report["project"]["rasa_signs"][0]["location"]["line"] == int(place.partition(":")[2])
    run_command_line(["data", "validate"])
    said = capsys.readouterr().out
    assert said.startswith(f"Rasa {version} project ({place}")
    assert "info[legacy-project]" in said
    assert "schema-violation" not in said, "what Rasa 3 refuses is that one finding"
    assert run_command_line(["data", "validate", "--target", "3"]) == 1
    assert "error[legacy-project]" in capsys.readouterr().out


OLDER = {
    "config.yml": "language: en\npipeline:\n- name: KeywordIntentClassifier\n"
    "policies:\n- name: MemoizationPolicy\n- name: MappingPolicy\n",
    "domain.yml": "intents: [greet, bye: {triggers: utter_bye}]\ntemplates:\n  utter_hi:\n  - hi\n  utter_bye:\n"
    "  - text: bye\nactions: [utter_hi, utter_bye]\n",
    "data/nlu.md": "## intent:greet\n- hello\n- good day\n## intent:bye\n- bye\n- so long\n",
    "data/stories.md": "## s\n* greet\n  - utter_hi\n",
    "tests/conversation_tests.md": "## t\n* greet: hello\n  - utter_hi\n* bye: so long\n  - utter_bye\n",
}


@pytest.mark.parametrize(
    "command",
    [
        ["run", "--baseline", "none", "--folds", "2"],
        ["test", "core"],
        ["test", "core", "--e2e"],
        ["test", "nlu", "--nlu", "data"],
        ["train"],
        ["train", "core"],
        ["train", "nlu"],
        ["parse", "hello"],
        ["data", "validate"],
        ["data", "split", "nlu"],
    ],
    ids=" ".join,
)
def test_each_command_takes_an_older_project(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in OLDER.items():
        write(name, content)
    assert run_command_line(command) == 0, capsys.readouterr().err


@pytest.mark.follows(page="rasa-1", sentence="Conversation tests are in `tests/conversation_tests.md`.")
def test_its_stories_are_judged_with_its_own_policies() -> None:
    for name, content in OLDER.items():
        write(name, content)
    assert run_command_line(["test", "core", "--e2e", "--json", "report.json", "--no-plot"]) == 0
    (story,) = json.loads(Path("report.json").read_text())["core"]["stories"]
    assert story["passed"]
    deciders = {step["predicted"]: step["policy"] for step in story["steps"] if step["kind"] == "action"}
    assert deciders["utter_bye"] == "MappingPolicy"
    assert story["location"]["path"] == "tests/conversation_tests.md"


def test_a_model_of_an_older_project_answers_like_the_project() -> None:
    for name, content in OLDER.items():
        write(name, content)
    assert run_command_line(["train"]) == 0
    model = next(Path("models").iterdir())
    assert run_command_line(["test", "core", "--model", str(model), "--json", "report.json", "--no-plot"]) == 0
    (story,) = json.loads(Path("report.json").read_text())["core"]["stories"]
    assert story["passed"]


@pytest.mark.parametrize(
    "files",
    [
        {"domain.yml": 'version: "3.1"\nintents: [greet]\ntemplates:\n  utter_hi:\n  - text: hi\n'},
        {"domain.yml": 'version: "3.1"\nslots:\n  a:\n    type: text\n'},
        {"config.yml": "recipe: default.v1\npolicies:\n- name: FormPolicy\n"},
        {"domain.yml": "slots:\n  a:\n    type: text\n  b:\n    type: text\n    mappings: []\n"},
        {
            "data/nlu.yml": "nlu:\n- intent: greet\n  examples: |\n    - hi\n",
            "data/old.md": "## intent:greet\n- hello\n",
        },
        {"data/README.md": "## How to write these files\n\n* one intent a file\n"},
    ],
    ids=str,
)
def test_a_slip_in_a_rasa_3_project_makes_it_no_older_one(files: dict[str, str]) -> None:
    for name, content in {"config.yml": CONFIG, "domain.yml": DOMAIN, **files}.items():
        write(name, content)
    assert read_project(Path()).older is None


MIXED = {
    "templates in a domain of 3.1": (
        {"domain.yml": 'version: "3.1"\nintents: [greet]\ntemplates:\n  utter_hi:\n  - text: hi\n'},
        "3.x",
        ("domain.yml:1:10", "domain.yml:3:1"),
    ),
    "Markdown beside a recipe": ({"data/nlu.md": "## intent:greet\n- hello\n"}, "3.x", ("data/nlu.md:1:1",)),
    "templates of 1.x beside YAML of 2.x": (
        {
            "config.yml": "language: en\n",
            "domain.yml": "intents: [greet]\ntemplates:\n  utter_hi:\n  - text: hi\n",
            "data/nlu.yml": 'version: "2.0"\nnlu:\n- intent: greet\n  examples: |\n    - hi\n',
        },
        "2.x",
        ("data/nlu.yml:1:10", "domain.yml:2:1"),
    ),
}


@pytest.mark.parametrize("mixed", MIXED)
def test_a_mixture_is_named_with_both_places(mixed: str, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    files, version, places = MIXED[mixed]
    for name, content in {"config.yml": CONFIG, "domain.yml": DOMAIN, **files}.items():
        write(name, content)
    run_command_line(["data", "validate"])
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith(f"Rasa {version} project (")
    golden(first)
    assert all(place in first for place in places)
    assert any("rasa-versions-mixed" in line and all(place in line for place in places) for line in rest)


def test_a_project_of_rasa_3_says_so_and_what_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    write("config.yml", CONFIG)
    write("domain.yml", DOMAIN)
    run_command_line(["run", "--baseline", "none", "-q"])
    assert capsys.readouterr().out.startswith("Rasa 3.x project (domain.yml:1:10: version '3.1'; and ")


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("bott", "Did you mean 'bot1'?"),
        ("other", "Assistants in '.': bot1, bots/two."),
        ("bots/tow", "Did you mean 'two'? Assistants in 'bots': bots/two."),
        ("nowhere/at/all", "Correct the path."),
    ],
)
def test_a_folder_that_is_not_there_leads_to_those_that_are(
    named: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("bot1", "bots/two"):
        (tmp_path / name).mkdir(parents=True)
        for file in ("config.yml", "domain.yml"):
            (tmp_path / name / file).write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["run", named]) == 2
    assert told in capsys.readouterr().err
