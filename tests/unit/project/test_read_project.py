"""A whole project: defaults, configuration, endpoints, CALM, and files that cannot be read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st

from turncheck.project.reader import KNOWN, read_nlu, read_project, read_stories
from turncheck.validation.before_training import unreadable_parts
from turncheck.validation.pipeline import validate
from turncheck.yaml_tree.tree import YamlMapping

if TYPE_CHECKING:
    from turncheck.project.model import Project

FILES = {
    "domain.yml": "intents: [greet]\nresponses: {utter_greet: [{text: Hi}]}\n",
    "config.yml": "language: en\npipeline:\n- name: WhitespaceTokenizer\npolicies: []\n",
    "endpoints.yml": "action_endpoint: {url: 'http://localhost:5055/webhook', token: '${TOKEN}'}\n",
    "data/nlu.yml": "nlu:\n- intent: greet\n  examples: |\n    - hello\n",
    "data/stories.yml": "stories:\n- story: s\n  steps:\n  - intent: greet\n  - action: utter_greet\n",
    "data/rules.yml": "rules:\n- rule: r\n  steps:\n  - intent: greet\n  - action: utter_greet\n",
    "tests/test_stories.yml": "stories:\n- story: t\n  steps:\n  - user: hello\n    intent: greet\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "bot"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def codes(project: Project) -> list[tuple[str, str, str]]:
    return [(one.code, str(one.location), one.severity) for one in project.findings]


def contents(project: Project) -> tuple[int, ...]:
    domain = project.domain
    return len(domain.intents), len(project.nlu.examples), len(project.stories), len(project.rules)


def test_a_project_is_read_from_rasas_default_paths(root: Path) -> None:
    project = read_project(root)
    assert codes(project) == []
    assert contents(project) == (1, 1, 1, 1)
    assert (project.name, project.calm, project.unreadable) == ("bot", None, frozenset())
    assert [one.name for one in project.config.pipeline or ()] == ["WhitespaceTokenizer"]
    assert project.config.policies == ()
    assert str(project.config.keys["policies"]) == "config.yml:4:1"
    assert project.endpoints["action_endpoint"].parameters["token"] == "${TOKEN}"
    assert str(project.nlu.examples[0].location) == "data/nlu.yml:4:7"


def test_every_file_that_was_read_comes_with_its_tree(root: Path) -> None:
    project = read_project(root)
    assert [(one.path, one.role, sorted(one.kinds)) for one in project.files] == [
        ("domain.yml", "domain", []),
        ("data/nlu.yml", "data", ["nlu"]),
        ("data/rules.yml", "data", ["rules"]),
        ("data/stories.yml", "data", ["stories"]),
        ("config.yml", "config", []),
        ("endpoints.yml", "endpoints", []),
    ]
    assert all(isinstance(one.mapping, YamlMapping) for one in project.files)


def test_test_stories_are_no_training_data(root: Path) -> None:
    assert [one.name for one in read_project(root).stories] == ["s"]


def test_given_paths_count_from_the_current_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root.parent / "other.yml").write_text("intents: [a, b]\n", encoding="utf-8")
    monkeypatch.chdir(root.parent)
    project = read_project(
        Path("bot"), domain=Path("other.yml"), data=[Path("bot/data/nlu.yml"), Path("bot/data/rules.yml")]
    )
    assert codes(project) == []
    assert contents(project) == (2, 1, 0, 1)
    assert str(project.domain.location) == "../other.yml"
    assert str(project.nlu.examples[0].location) == "data/nlu.yml:4:7"


def test_a_folder_domain_counts_where_there_is_no_domain_file(root: Path) -> None:
    (root / "domain").mkdir()
    (root / "domain.yml").rename(root / "domain" / "all.yml")
    assert contents(read_project(root))[0] == 1


def test_what_is_missing_is_named(root: Path) -> None:
    (root / "domain.yml").unlink()
    (root / "config.yml").unlink()
    (root / "endpoints.yml").unlink()
    project = read_project(root)
    assert codes(project) == [
        ("config-not-found", "config.yml", "error"),
        ("domain-not-found", "domain.yml", "error"),
    ]
    assert contents(project) == (0, 1, 1, 1)


def test_a_given_path_that_is_missing_gives_way_to_the_default_as_in_rasa(root: Path) -> None:
    project = read_project(root, domain=root / "x.yml", config=root / "y.yml", data=[root / "data", root / "z"])
    assert codes(project) == [
        ("path-not-found", "x.yml", "warning"),
        ("path-not-found", "y.yml", "warning"),
        ("data-not-found", "z", "warning"),
    ]
    assert contents(project) == (1, 1, 1, 1)


def test_a_missing_data_folder_is_no_fault_by_itself(root: Path) -> None:
    (root / "data").rename(root / "elsewhere")
    assert codes(read_project(root)) == [("data-not-found", "data", "warning")], "there is some elsewhere"
    shutil.rmtree(root / "elsewhere")
    assert codes(read_project(root)) == []


OLDER_DATA = {
    "sentences.json": '{"rasa_nlu_data": {"common_examples": [{"text": "hi", "intent": "greet"}]}}',
    "talks.md": '## a talk\r\n\r\n* greet{"a": 1}\r\n    - utter_hi\r\n',
    "nested/talks.md": "# all\n## a talk\n> start\n* greet OR bye\n - utter_hi\n\n## b\n> x\n* bye\n  - utter_bye\n",
}
NO_DATA = {
    "README.md": "## How to\n* Install it\n  - with pip\n\n## Use\n* read\n* write\n",
    "package.json": '{"name": "bot"}',
    "talks.md": "### greet\n* greet\n  - utter_hi\n",
}


@pytest.mark.parametrize("name", OLDER_DATA)
def test_data_as_rasa_0_wrote_it_is_found_beside_the_data_folder(tmp_path: Path, name: str) -> None:
    for file, content in {**NO_DATA, name: OLDER_DATA[name]}.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content, encoding="utf-8")
    (tmp_path / "data").mkdir()
    (finding,) = [one for one in read_project(tmp_path).findings if one.code == "data-not-found"]
    assert f"`data: [{name.partition('/')[0]}]` in turncheck.yml" in finding.message
    (tmp_path / "domain.yml").write_text("intents: [greet]\nresponses: {utter_hi: [{text: Hi}]}\n", encoding="utf-8")
    codes_found = {one.code for one in validate(read_project(tmp_path)).findings}
    assert codes_found.isdisjoint({"intent-without-examples", "intent-unused", "response-unused"}), "none is read"


def test_lists_of_other_texts_are_no_data(tmp_path: Path) -> None:
    for file, content in NO_DATA.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    assert not [one for one in read_project(tmp_path).findings if one.code == "data-not-found"]


def test_importers_are_named_as_ignored(root: Path) -> None:
    (root / "config.yml").write_text("language: en\nimporters:\n- name: MultiProjectImporter\n", encoding="utf-8")
    project = read_project(root)
    assert codes(project) == [("importers-ignored", "config.yml:2:1", "info")]
    assert "MultiProjectImporter" in project.findings[0].message


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ("pipeline: x\n", "1:11"),
        ("pipeline: [WhitespaceTokenizer]\n", "1:12"),
        ("pipeline: [{name: 5}]\n", "1:12"),
        ("policies: {name: x}\n", "1:11"),
        ("language: 5\n", "1:11"),
        ("language: [en]\n", "1:11"),
        ("- a\n", "1:1"),
        ("hello\n", "1:1"),
    ],
)
def test_wrong_types_in_the_configuration_are_named(root: Path, config: str, place: str) -> None:
    (root / "config.yml").write_text(config, encoding="utf-8")
    project = read_project(root)
    assert codes(project) == [("schema-violation", f"config.yml:{place}", "error")]
    assert contents(project) == (1, 1, 1, 1)


@pytest.mark.parametrize("text", ["hello\n", "- a\n", "action_endpoint: 5\n"])
def test_wrong_types_in_the_endpoints_are_named(root: Path, text: str) -> None:
    (root / "endpoints.yml").write_text(text, encoding="utf-8")
    assert [code for code, _, _ in codes(read_project(root))] == ["schema-violation"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("action_endpoints:\n  url: http://a\n", [("endpoint-unknown", "endpoints.yml:1:1", "warning")]),
        ("nlg: {}\nAction-Endpoint:\n  url: http://a\n", [("endpoint-unknown", "endpoints.yml:2:1", "warning")]),
        ("action_endpoint: {}\n", [("endpoint-url-missing", "endpoints.yml:1:1", "warning")]),
        ("action_endpoint:\n  url:\n", [("endpoint-url-missing", "endpoints.yml:1:1", "warning")]),
        ("action_endpoint:\n  token: a\n  uri: b\n", [("endpoint-url-missing", "endpoints.yml:3:3", "warning")]),
        ("action_endpoint:\n  url: b\n  heders: {}\n", [("endpoint-unknown", "endpoints.yml:3:3", "warning")]),
        ("action_endpoint:\n", []),
        ("action_endpoint:\n  actions_module: actions\n", []),
        ("".join(f"{name}:\n  type: x\n" for name in KNOWN if name != "action_endpoint"), []),
        ("concurrency: {}\nmcp_servers: {}\nmy_own: {}\n5: {}\n", []),
    ],
)
def test_slips_of_the_pen_in_the_endpoints_are_named(root: Path, text: str, found: list[tuple[str, str, str]]) -> None:
    (root / "endpoints.yml").write_text(text, encoding="utf-8")
    assert codes(read_project(root)) == found


# --- CALM ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("config.yml", "recipe: default.v1\npolicies:\n- name: FlowPolicy\n", "config.yml:3:3"),
        ("config.yml", "pipeline:\n- name: SingleStepLLMCommandGenerator\n", "config.yml:2:3"),
        ("config.yml", "pipeline:\n- name: a.b.CompactLLMCommandGenerator\n", "config.yml:2:3"),
        ("config.yml", "pipeline:\n- name: NLUCommandAdapter\n", "config.yml:2:3"),
        ("data/flows.yml", "flows:\n  transfer:\n    steps: []\n", "data/flows.yml:1:1"),
    ],
)
def test_a_calm_project_is_recognised_and_still_read(root: Path, name: str, text: str, place: str) -> None:
    (root / name).write_text(text, encoding="utf-8")
    project = read_project(root)
    assert project.calm is not None
    assert place in project.calm
    assert contents(project) == (1, 1, 1, 1)
    assert codes(project) == []


# --- files that cannot be read ---------------------------------------------------------------------------------------

ROLES = {"domain.yml": {"domain"}, "config.yml": {"config"}, "endpoints.yml": {"endpoints"}}
PARTS = {**ROLES, "data/nlu.yml": {"nlu"}, "data/stories.yml": {"stories"}, "data/rules.yml": {"stories"}}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize(
    ("added", "code", "column"),
    [
        (b"\tx: 1\n", "yaml-syntax", 1),
        (b"  bad: [\n", "yaml-syntax", None),
        (b"x: {}\nx: {}\n", "yaml-duplicate-key", 1),
        (b"x: \xff\n", "file-not-utf8", 4),
        (b"x: caf\xe9\n", "file-not-utf8", 7),
        (b"x: \x00\n", "yaml-syntax", 4),
        (b"x: " + b"[" * 5000 + b"\n", "yaml-limit", None),
        (b"x: C:\\users\n", "yaml-syntax", 6),
        (b"x: \xed\xa0\x80\n", "file-not-utf8", 4),
    ],
)
def test_a_broken_file_is_a_finding_and_the_rest_is_read(
    root: Path, name: str, added: bytes, code: str, column: int | None
) -> None:
    path = root / name
    lines = path.read_bytes().count(b"\n")
    path.write_bytes(path.read_bytes() + added)
    project = read_project(root)
    (finding,) = project.findings
    assert (finding.code, finding.severity, finding.location.path) == (code, "error", name)
    assert finding.location.line is not None
    assert finding.location.line >= lines
    assert column is None or finding.location.column == column
    assert finding.message
    assert finding.hint
    assert project.unreadable == PARTS[name]
    others = [part for part in PARTS if part not in (name, "config.yml", "endpoints.yml")]
    count = sum(value > 0 for value in contents(project))
    assert count >= len(others)


def test_a_file_in_utf_16_is_named(root: Path) -> None:
    (root / "data" / "nlu.yml").write_text(FILES["data/nlu.yml"], encoding="utf-16")
    project = read_project(root)
    assert codes(project) == [("file-not-utf8", "data/nlu.yml:1:1", "error")]
    assert "nlu" in project.unreadable


def test_a_file_of_a_hundred_megabytes_is_named_and_not_read(root: Path) -> None:
    with (root / "data" / "big.yml").open("wb") as file:
        file.write(b"nlu:\n")
        file.truncate(100_000_000)
    project = read_project(root)
    (finding,) = project.findings
    assert (finding.code, finding.location.path) == ("file-too-large", "data/big.yml")
    assert "100,000,000" in finding.message
    assert finding.hint
    assert contents(project) == (1, 1, 1, 1)
    assert project.unreadable == {"nlu", "stories"}


@pytest.mark.parametrize("name", ["config.yml", "endpoints.yml"])
def test_a_folder_in_place_of_a_file_is_named(root: Path, name: str) -> None:
    (root / name).unlink()
    (root / name).mkdir()
    project = read_project(root)
    (finding,) = project.findings
    assert (finding.code, finding.severity, finding.location.path) == ("file-unreadable", "error", name)
    assert "folder" in finding.message
    assert finding.hint
    assert project.unreadable == ROLES[name]


def test_a_folder_named_like_a_data_file_is_named_and_read_as_rasa_does(root: Path) -> None:
    (root / "data" / "nlu.yml").rename(root / "data" / "x.yml")
    (root / "data" / "nlu.yml").mkdir()
    (root / "data" / "x.yml").rename(root / "data" / "nlu.yml" / "x.yml")
    project = read_project(root)
    assert codes(project) == [("file-is-folder", "data/nlu.yml:1:1", "warning")]
    assert contents(project) == (1, 1, 1, 1)


def test_a_domain_file_that_is_a_folder_is_named_and_read_as_rasa_does(root: Path) -> None:
    (root / "domain.yml").rename(root / "x.yml")
    (root / "domain.yml").mkdir()
    (root / "x.yml").rename(root / "domain.yml" / "x.yml")
    project = read_project(root)
    assert codes(project) == [("file-is-folder", "domain.yml:1:1", "warning")]
    assert contents(project) == (1, 1, 1, 1)


def test_a_file_without_permission_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # the tests may run as root, whom nothing is refused
    project = read_project(root)
    assert {one.code for one in project.findings} == {"file-unreadable"}
    assert all("Permission denied" in one.message and one.hint for one in project.findings)


@pytest.mark.parametrize("name", ["domain.yml", "config.yml", "endpoints.yml", "data/nlu.yml", "data/sub"])
def test_a_symbolic_link_out_of_the_project_is_named_and_not_followed(root: Path, name: str) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "secret.yml").write_text("nlu:\n- intent: greet\n  examples: |\n    - the secret\n", encoding="utf-8")
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(outside if name == "data/sub" else outside / "secret.yml")
    project = read_project(root)
    assert codes(project) == [("file-outside-project", f"{name}:1:1", "error")]
    assert project.findings[0].hint
    assert "secret" not in [one.text for one in project.nlu.examples]
    assert all(one.text != "the secret" for one in project.nlu.examples)


def test_a_data_folder_that_leads_out_of_the_project_is_not_followed(root: Path) -> None:
    (root / "data").rename(root.parent / "elsewhere")
    (root / "data").symlink_to(root.parent / "elsewhere")
    project = read_project(root)
    assert codes(project) == [("file-outside-project", "data:1:1", "error")]
    assert contents(project) == (1, 0, 0, 0)
    assert project.unreadable == {"nlu", "stories"}


def test_a_symbolic_link_inside_the_project_is_followed_once(root: Path) -> None:
    (root / "shared").mkdir()
    (root / "data" / "nlu.yml").rename(root / "shared" / "nlu.yml")
    (root / "data" / "linked").symlink_to(root / "shared")
    (root / "shared" / "loop").symlink_to(root / "data")
    project = read_project(root)
    assert codes(project) == []
    assert contents(project) == (1, 1, 1, 1)
    assert project.nlu.examples[0].location.path == "data/linked/nlu.yml"


def test_the_folders_above_many_files_are_followed_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[str] = []
    real = os.path.realpath

    def follow(path: str | Path, *, strict: bool = False) -> str:
        followed.append(str(path))
        return real(path, strict=strict)

    monkeypatch.setattr("os.path.realpath", follow)
    asked = []
    for files in (5, 50):
        for number in range(files):
            (root / "data" / f"more_{number}.yml").write_text(f'version: "3.1"\nnlu:\n- intent: more_{number}\n')
        followed.clear()
        read_project(root)
        asked.append(len(followed))

    assert asked[0] == asked[1]


def test_a_link_to_nowhere_is_named(root: Path) -> None:
    (root / "config.yml").unlink()
    (root / "config.yml").symlink_to("gone.yml")
    assert [code for code, _, _ in codes(read_project(root))] == ["file-unreadable"]


def test_a_named_pipe_does_not_block(root: Path) -> None:
    os.mkfifo(root / "data" / "pipe.yml")
    project = read_project(root)
    assert codes(project) == [("file-not-regular", "data/pipe.yml:1:1", "warning")]


@pytest.mark.parametrize("target", ["gone.yml", "link.yml"])
def test_a_link_to_nowhere_or_to_itself_among_the_data_is_passed_by_as_rasa_does(root: Path, target: str) -> None:
    (root / "data" / "link.yml").symlink_to(target)
    project = read_project(root)
    assert codes(project) == [("file-not-regular", "data/link.yml:1:1", "warning")]
    assert contents(project) == (1, 1, 1, 1)
    assert project.unreadable == frozenset()


def test_a_link_to_nowhere_in_the_folder_of_the_domain_is_left_out_with_a_warning(root: Path) -> None:
    (root / "domain").mkdir()
    (root / "domain.yml").rename(root / "domain" / "domain.yml")
    (root / "domain" / "link.yml").symlink_to("gone.yml")
    project = read_project(root)
    assert codes(project) == [("domain-file-unread", "domain/link.yml:1:1", "warning")]
    assert contents(project) == (1, 1, 1, 1)


def test_empty_endpoints_a_byte_order_mark_and_windows_line_ends_are_fine(root: Path) -> None:
    (root / "endpoints.yml").write_bytes(b"")
    for name in ("domain.yml", "config.yml"):
        (root / name).write_bytes(b"\xef\xbb\xbf" + (root / name).read_bytes().replace(b"\n", b"\r\n"))
    nlu = root / "data" / "nlu.yml"
    nlu.write_bytes(b"\xef\xbb\xbfversion: '3.1'\r\n" + nlu.read_bytes().replace(b"\n", b"\r\n"))
    project = read_project(root)
    assert codes(project) == []
    assert contents(project) == (1, 1, 1, 1)
    assert str(project.nlu.examples[0].location) == "data/nlu.yml:5:7"
    assert str(project.domain.intents["greet"].location) == "domain.yml:1:11"


def test_a_data_key_right_behind_a_byte_order_mark_is_unseen_by_rasa_and_that_is_said(
    root: Path, golden: Golden
) -> None:
    nlu = root / "data" / "nlu.yml"
    nlu.write_bytes(b"\xef\xbb\xbf" + nlu.read_bytes())
    project = read_project(root)
    assert codes(project) == [("data-key-unseen", "data/nlu.yml:1:1", "error")]
    golden(project.findings[0].hint)
    assert dict(project.misnamed_files) == {"data/nlu.yml": "nlu"}


@pytest.mark.parametrize(("key", "meant"), [('"nlu"', "nlu"), ("'stories'", "stories"), ('"rules" ', "rules")])
def test_a_data_key_in_quotes_is_unseen_by_rasa_and_the_quotes_are_said_to_be_why(
    root: Path, key: str, meant: str, golden: Golden
) -> None:
    (root / "data" / "more.yml").write_text(f'version: "3.1"\n{key}:\n- story: x\n', encoding="utf-8")
    project = read_project(root)
    assert codes(project) == [("data-key-unseen", "data/more.yml:2:1", "error")]
    assert f" {meant}: " in project.findings[0].hint
    golden(project.findings[0].message, project.findings[0].hint)
    assert not unreadable_parts(project), "as in Rasa, the rest is trained"
    assert contents(project) == (1, 1, 1, 1)


def test_a_data_key_in_quotes_beside_one_that_is_read_is_said_if_it_is_lost(root: Path) -> None:
    more = root / "data" / "more.yml"
    more.write_text('"nlu":\n- intent: more\n  examples: |\n    - more\nstories: []\n', encoding="utf-8")
    assert codes(read_project(root)) == [("data-key-unseen", "data/more.yml:1:1", "error")]
    assert not unreadable_parts(read_project(root))
    more.write_text('"nlu":\n- intent: more\n  examples: |\n    - more\nresponses: {}\n', encoding="utf-8")
    assert codes(read_project(root)) == []  # Rasa reads the whole file for its responses


def test_a_domain_in_quotes_is_no_training_data(root: Path) -> None:
    (root / "data" / "domain.yml").write_text('"intents": [more]\n"responses": {}\n', encoding="utf-8")
    assert codes(read_project(root)) == []


def test_a_file_without_any_data_key_is_named(root: Path) -> None:
    (root / "data" / "more.yml").write_text("remarks:\n- story: x\n", encoding="utf-8")
    (root / "data" / "notes.txt").write_text("nlu:\n", encoding="utf-8")
    assert codes(read_project(root)) == [("file-without-data", "data/more.yml:1:1", "info")]


@pytest.mark.parametrize(
    ("key", "meant"), [("storys", "stories"), ("nul", "nlu"), ("rule", "rules"), ("response", "responses")]
)
def test_a_data_key_that_is_misspelt_is_an_error_that_says_what_is_meant(
    root: Path, key: str, meant: str, golden: Golden
) -> None:
    (root / "data" / "typo.yml").write_text(f'version: "3.1"\n{key}:\n- story: x\n', encoding="utf-8")
    project = read_project(root)
    assert codes(project) == [("data-key-unseen", "data/typo.yml:2:1", "error")]
    golden(project.findings[0].message)
    assert dict(project.misnamed_files) == {"data/typo.yml": meant}


@given(data=st.binary(max_size=200), name=st.sampled_from(sorted(PARTS)))
def test_no_bytes_whatever_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / "data").mkdir()
    start = {"data/nlu.yml": b"nlu:\n", "data/stories.yml": b"stories:\n", "data/rules.yml": b"rules:\n"}.get(name, b"")
    (root / name).write_bytes(start + data)
    read_project(root)


WORDS = (
    "nlu: stories: rules: intents: slots: responses: forms: entities: actions: pipeline: policies: - intent: examples: "
    "| > story: rule: steps: action: text: name: type: mappings: or: slot_was_set: active_loop: checkpoint: user: bot: "
    "condition: metadata: version: a b 5 null true {} [] 'x' lookup: regex: synonym: session_config: use_entities: "
    "conditions: [a](b) <<: &a *a"
)
pieces = st.lists(st.sampled_from([*WORDS.split(), "\n", "\n  ", "\n    ", "\n- "]), max_size=40)


@given(pieces, st.sampled_from(sorted(PARTS)))
def test_no_arrangement_of_keys_and_values_raises(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], name: str
) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / "data").mkdir()
    start = {"data/nlu.yml": "nlu:", "data/stories.yml": "stories:", "data/rules.yml": "rules:"}.get(name, "")
    (root / name).write_text(start + " ".join(words), encoding="utf-8")
    project = read_project(root)
    for example in project.nlu.examples:
        assert example.location.line is not None


def test_other_data_may_be_read_apart(root: Path) -> None:
    stories, findings = read_stories([root / "tests"], root)
    assert findings == ()
    assert [(one.name, str(one.location)) for one in stories] == [("t", "tests/test_stories.yml:2:3")]
    (root / "x.md").write_text("## intent:greet\n- hi\n", encoding="utf-8")
    nlu, findings = read_nlu([root / "data" / "nlu.yml", root / "gone.yml", root / "x.md"], root)
    assert [one.text for one in nlu.examples] == ["hello", "hi"], "what is named is read, whatever Rasa it is for"
    assert [one.code for one in findings] == ["data-not-found"]


def test_a_file_full_of_one_fault_does_not_drown_the_others(root: Path) -> None:
    steps = "".join("  - wrong\n" for _ in range(1000))
    (root / "data" / "stories.yml").write_text(f"stories:\n- story: s\n  steps:\n{steps}- 5\n", encoding="utf-8")
    (root / "config.yml").write_text("language: 5\n", encoding="utf-8")
    project = read_project(root)
    assert len(project.findings) == 202
    assert project.findings[0].location.path == "config.yml"
    assert "801 more" in project.findings[-1].message


def test_thousands_of_keys_that_stand_twice_end_the_reading_of_a_file(root: Path) -> None:
    (root / "domain.yml").write_text("a: 1\n" * 100_000, encoding="utf-8")
    found = codes(read_project(root))
    assert {code for code, _, _ in found} == {"yaml-duplicate-key", "yaml-limit"}
    assert len(found) == 201


def test_json_that_is_no_nlu_data_is_passed_by_or_named(root: Path) -> None:
    data = root / "data"
    (data / "broken.json").write_text('{"rasa_nlu_data": {\n "common_examples": [],}}', encoding="utf-8")
    (data / "deep.json").write_text('{"rasa_nlu_data": ' + "[" * 100_000, encoding="utf-8")
    (data / "mentions.json").write_text('["rasa_nlu_data"]', encoding="utf-8")
    (data / "other.json").write_text("{}", encoding="utf-8")
    findings = read_project(root).findings
    assert [(one.code, one.location.path) for one in findings] == [
        ("data-not-json", "data/broken.json"),
        ("data-not-json", "data/deep.json"),
        ("format-not-read", "data/mentions.json"),
        ("file-without-data", "data/other.json"),
    ]
    assert findings[0].location.line == 2


def test_training_data_in_markdown_are_named_and_other_texts_are_not(root: Path) -> None:
    data = root / "data"
    (data / "nlu.md").write_text("## intent:greet\n- hello\n", encoding="utf-8")
    (data / "stories.md").write_text("## happy path\n* greet\n  - utter_greet\n", encoding="utf-8")
    (data / "README.md").write_text("# Data\n\n## Intents\n\n* greet\n  - hello\n", encoding="utf-8")
    (data / "notes.txt").write_text("## intent:greet\n", encoding="utf-8")
    (root / "config.yml").write_text("recipe: default.v1\n", encoding="utf-8")
    findings = read_project(root).findings
    assert [(one.code, one.severity, one.location.path) for one in findings] == [
        ("format-not-read", "warning", "data/nlu.md"),
        ("format-not-read", "warning", "data/stories.md"),
    ]


@pytest.mark.parametrize("content", [b"intents: [\n", b"intents: []\nintents: []\n", b"intents:\n- caf\xe9\n"])
def test_a_file_of_a_domain_folder_that_cannot_be_read_is_passed_by_as_in_rasa(root: Path, content: bytes) -> None:
    (root / "domain").mkdir()
    (root / "domain.yml").rename(root / "domain" / "a.yml")
    (root / "domain" / "b.yml").write_bytes(content)
    project = read_project(root)
    assert [(one.code, one.severity, one.location.path) for one in project.findings] == [
        ("domain-file-unread", "warning", "domain/b.yml")
    ]
    assert project.unreadable == frozenset()
    assert project.domain.intents


def test_a_file_of_a_domain_folder_with_a_newer_version_is_read_all_the_same(root: Path) -> None:
    (root / "domain").mkdir()
    (root / "domain.yml").rename(root / "domain" / "a.yml")
    (root / "domain" / "b.yml").write_text('version: "4.0"\nintents:\n- newer\n', encoding="utf-8")
    project = read_project(root)
    assert [(one.code, one.severity) for one in project.findings] == [("version-too-high", "warning")]
    assert "newer" in project.domain.intents
    assert "version-too-high" in {finding.code for finding in validate(project, drop_in=True).findings}
    assert not [finding for finding in validate(project, drop_in=True).findings if finding.severity == "error"]


@pytest.mark.parametrize("written", ["names.txt", "bot/names.txt", "bots/bot/names.txt", "./names.txt"])
@pytest.mark.parametrize("kind", ["markdown", "yaml"])
def test_a_file_of_a_lookup_table_counts_from_where_rasa_is_started(tmp_path: Path, written: str, kind: str) -> None:
    bot = tmp_path / "bots" / "bot"
    (bot / "data").mkdir(parents=True)
    (bot / "names.txt").write_text("Ada\nGrace\n", encoding="utf-8")
    data = {
        "markdown": ("nlu.md", f"## lookup:name\n{written}\n"),
        "yaml": ("nlu.yml", f"nlu:\n- lookup: name\n  examples: |\n    - {written}\n"),
    }
    name, text = data[kind]
    (bot / "data" / name).write_text(text, encoding="utf-8")
    for other in ("elsewhere/names.txt", "bots/names.txt", "../names.txt", "/names.txt"):
        (bot / "data" / f"other{Path(name).suffix}").write_text(text.replace(written, other), encoding="utf-8")
        tables = read_project(bot).nlu.lookups
        assert sorted(table.elements for table in tables if len(table.elements) > 1) == [("Ada", "Grace")], other
