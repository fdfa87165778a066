"""The project's turncheck.yml."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.settings.file import read_settings_file


def test_without_a_file_nothing_is_set(tmp_path: Path) -> None:
    assert read_settings_file(tmp_path).values == {}


def test_keys_become_settings_and_paths_count_from_the_files_folder(tmp_path: Path) -> None:
    (tmp_path / "turncheck.yml").write_text(
        "folds: 3\nnlu: tests/nlu.yml\nfail-on: [errors]\n"
        "thresholds:\n- nlu.intents.f1 >= 0.8\nignore:\n- intent-unused\n"
    )

    read = read_settings_file(tmp_path)

    assert read.values == {
        "folds": 3,
        "nlu": str(tmp_path / "tests/nlu.yml"),
        "fail_on": ("errors",),
        "thresholds": ("nlu.intents.f1 >= 0.8",),
        "ignore": ("intent-unused",),
    }
    assert read.ignored == (("intent-unused", Location("turncheck.yml", 7, 3)),)


@pytest.mark.parametrize(
    "content",
    [
        "thresholds:\n- a.b >= 1\nmax-regression:\n- c.d: 0.1\n- |\n  e.f: 0.1\n  g.h: significant\n",
        "thresholds: [a.b >= 1]\n\n\nmax-regression:\n  c.d: 0.1\n  e.f: 0.1\n  g.h: significant\n",
    ],
)
def test_the_lines_of_the_gates_are_known_with_their_places(tmp_path: Path, content: str) -> None:
    (tmp_path / "turncheck.yml").write_text(content)

    read = read_settings_file(tmp_path)

    assert set(read.rules) == {*read.values["thresholds"], *read.values["max_regression"]}
    lines = content.splitlines()
    for rule, place in read.rules.items():
        assert place.line is not None
        assert lines[place.line - 1].strip(" -").removeprefix("thresholds: [").startswith(rule.partition(" ")[0])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"folds: [\n", "turncheck.yml:"),
        (b"- folds\n", "turncheck.yml:1:1: expected settings"),
        (b"folds: 3\nfolds: 4\n", "turncheck.yml:2"),
        (b"\nfolds: many\n", "turncheck.yml:2:1: key 'folds': expected a whole number"),
        (b"a: 1\nrasa-command: rm -rf /\n", "turncheck.yml:1:1: unknown key 'a'"),
        (b"rasa-command: rm -rf /\n", "turncheck.yml:1:1: 'rasa-command' cannot be set"),
        (b"\xff\xfe", "not UTF-8"),
        (b"strict: yes\n", "expected true or false, not 'yes'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "turncheck.yml").write_bytes(content)

    with pytest.raises(UserError) as caught:
        read_settings_file(tmp_path)

    assert said in str(caught.value)


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "outside.yml").write_text("evaluations: secret\n")
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "turncheck.yml").symlink_to(tmp_path / "outside.yml")

    with pytest.raises(UserError) as caught:
        read_settings_file(tmp_path / "bot")

    golden(caught.value)
    assert "secret" not in str(caught.value)


def test_a_folder_of_that_name_is_no_settings_file(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "turncheck.yml").mkdir()

    with pytest.raises(UserError) as refused:
        read_settings_file(tmp_path)
    golden(refused.value)


def test_a_list_of_codes_whose_entries_are_all_commented_out_leaves_nothing_out(tmp_path: Path) -> None:
    (tmp_path / "turncheck.yml").write_text("ignore:\n# - slot-unused\nstrict: true\n", encoding="utf-8")
    read = read_settings_file(tmp_path)
    assert read.ignored == ()
    assert read.values == {"strict": True}
