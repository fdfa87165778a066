"""The annotated `turncheck.yml` of the manual: every key is in it, each is explained, and it can be read as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from documentation import fences, pages

from turncheck.gates.rules import read_rules
from turncheck.report.model import GateSettings
from turncheck.settings.declared import default_of, options
from turncheck.settings.file import read_settings_file
from turncheck.settings.options import Settings
from turncheck.validation.catalogue import CHECKS

PAGE = (Path(__file__).parents[3] / "docs" / "settings.md").read_text(encoding="utf-8")
(WHOLE, *_) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FILE_KEYS = [name for name, option in options().items() if option.file_key]


SHOWN = [
    pytest.param(fence.text, id=f"{page.stem}-{number}")
    for page in pages()
    for number, fence in enumerate(fences(page))
    if fence.language == "yaml" and "${{" not in fence.text and page.stem != "findings"
    for keys in [yaml.safe_load(fence.text)]
    if fence.text.startswith("# turncheck.yml") or (isinstance(keys, dict) and keys.keys() <= {*FILE_KEYS})
]


def comment_above(key: str) -> str:
    lines = WHOLE.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith(f"{key}:"))
    above = []
    while place and lines[place - 1].startswith("# "):
        place -= 1
        above.append(lines[place])
    return " ".join(reversed(above))


def test_it_has_every_key_and_no_other() -> None:
    assert sorted(yaml.safe_load(WHOLE)) == sorted(FILE_KEYS)


def test_it_is_read_without_an_error(tmp_path: Path) -> None:
    (tmp_path / "turncheck.yml").write_text(WHOLE, encoding="utf-8")
    values = read_settings_file(tmp_path).values
    settings = Settings(**values)
    assert {name.replace("_", "-") for name in values} == set(FILE_KEYS)
    assert set(settings.ignore) <= CHECKS.keys()
    read_rules(GateSettings(thresholds=settings.thresholds, max_regression=settings.max_regression))


@pytest.mark.parametrize("text", SHOWN)
def test_settings_that_other_pages_show_are_ones_that_are_taken(text: str, tmp_path: Path) -> None:
    (tmp_path / "turncheck.yml").write_text(text, encoding="utf-8")
    settings = Settings(**read_settings_file(tmp_path).values)
    read_rules(GateSettings(thresholds=settings.thresholds, max_regression=settings.max_regression))


def test_defaults_are_shown_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "turncheck.yml").write_text(WHOLE, encoding="utf-8")
    values = read_settings_file(tmp_path).values
    for key in FILE_KEYS:
        default = default_of(key)
        if default in {None, ()}:
            assert re.search(r"\(default: |\(examples?\b", comment_above(key)), key
        elif key != "project":
            assert values[key.replace("-", "_")] == default, key


def test_every_key_is_explained_and_its_choices_are_named() -> None:
    for key in FILE_KEYS:
        above = comment_above(key)
        assert above, key
        for choice in options()[key].choices:
            assert re.search(rf"\b{choice}\b", above), (key, choice)


def test_no_key_that_only_a_flag_may_set_is_shown_as_one() -> None:
    for key in options().keys() - set(FILE_KEYS):
        assert f"\n{key}:" not in WHOLE
