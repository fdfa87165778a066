"""The page of sentences that are followed is the one made from the marks on tests; a wrong mark is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import Golden
from tools.make_followed_page import PAGE, ROOT, Mark, followed_page, marks_of


def test_the_page_is_the_one_made_from_the_marks() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == followed_page(marks_of(ROOT / "tests")), "run: .venv/bin/python tools/make_followed_page.py"


def write_test(folder: Path, *decorators: str, name: str = "test_it") -> Path:
    tests = folder / "tests"
    tests.mkdir()
    lines = ["import pytest", *decorators, f"def {name}() -> None: ...", ""]
    (tests / "test_some.py").write_text("\n".join(lines), encoding="utf-8")
    return tests


def test_each_mark_of_a_test_is_a_row(tmp_path: Path, golden: Golden) -> None:
    tests = write_test(
        tmp_path,
        '@pytest.mark.follows(page="rasa-3", sentence="The second | one.")',
        '@pytest.mark.follows(page="rasa-3", sentence="The first one.")',
    )
    marks = marks_of(tests)
    assert marks == [
        Mark("rasa-3", "The first one.", "tests/test_some.py", "test_it"),
        Mark("rasa-3", "The second | one.", "tests/test_some.py", "test_it"),
    ]
    page = followed_page(marks)
    golden(page, only="[test_it](test_some.py")
    assert "| The second \\| one. | [test_it](test_some.py) |" in page
    assert page.count("\n## ") == 1


def test_tests_of_one_sentence_share_its_row() -> None:
    marks = [Mark("rasa-3", "One.", "tests/test_a.py", "test_x"), Mark("rasa-3", "One.", "tests/test_b.py", "test_y")]
    assert "| One. | [test_x](test_a.py)<br>[test_y](test_b.py) |" in followed_page(marks)


@pytest.mark.parametrize(
    ("decorator", "fault"),
    [
        ('page="rasa-9", sentence="One."', "names the page 'rasa-9'"),
        ('page="rasa-3"', "takes page= and sentence="),
        ('"rasa-3", "One."', "takes page= and sentence="),
        ('page="rasa-3", sentence=""', "takes literal texts"),
        ('page="rasa-3", sentence=ONE', "takes literal texts"),
    ],
)
def test_a_mark_that_cannot_become_a_row_is_refused(tmp_path: Path, decorator: str, fault: str) -> None:
    tests = write_test(tmp_path, f"@pytest.mark.follows({decorator})")
    with pytest.raises(SyntaxError, match=fault):
        marks_of(tests)


def test_a_mark_on_what_is_no_test_is_refused(tmp_path: Path) -> None:
    tests = write_test(tmp_path, '@pytest.mark.follows(page="rasa-3", sentence="One.")', name="helper")
    with pytest.raises(SyntaxError, match="stands on no test"):
        marks_of(tests)
