"""Reports of many cases: read and written piece by piece, equal to what they are in one piece."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import msgspec
import pytest
from golden_texts import Golden
from report_builder import example, report, story

from turncheck.messages.errors import UserError
from turncheck.publishing.files import FilesBelow, warnings_of_size
from turncheck.report.codec import LONGEST_INDENTED, decode, encode, file_of, json_pieces
from turncheck.report.model import Alternative, Report, StoryResult, WrittenStep


def many(number: int) -> Report:
    """A report of equal stories and sentences, whose steps were written back."""
    written = tuple(WrittenStep(step={"slot_was_set": [{"size": value}]}) for value in (1, 1.0, True, -0.0))
    stories = [
        msgspec.structs.replace(
            story(f"s{n}", "utter_a!utter_b", line=n + 1),
            steps=tuple(
                msgspec.structs.replace(step, confidence=1.0)
                for step in story("s", "utter_a!utter_b", line=n + 1).steps
            ),
            written=written,
        )
        for n in range(number)
    ]
    return report(stories=stories, examples=[example(f"hello {n}", "greet") for n in range(number)])


def test_what_cases_have_in_common_is_in_memory_once() -> None:
    one, other = _stories(decode(encode(many(2))))

    assert one.written[0] is other.written[0]
    assert one.steps[0].expected is other.steps[0].expected
    assert one.location.path is other.location.path


def test_a_report_read_case_by_case_is_the_one_that_was_written() -> None:
    made = many(3)

    assert decode(encode(made)) == made
    assert encode(decode(encode(made))) == encode(made)  # 1, 1.0 and true are equal, and are not the same


def test_a_damaged_case_is_refused_with_its_place_in_the_whole() -> None:
    broken = encode(many(2)).replace(b'"name": "s1"', b'"name": 1')

    with pytest.raises(UserError, match=r"Expected `str`, got `int` - at `\$\.core\.stories\[1\]\.name`"):
        decode(broken)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 999, 1000, 1001, 2500])
def test_the_pieces_of_a_document_are_its_json(number: int) -> None:
    made = many(number)

    assert b"".join(json_pieces(made)) == in_one_piece(made)


def test_a_long_text_is_a_text_in_pieces_too() -> None:
    made = report(name="x" * 5000)

    assert b"".join(json_pieces(made)) == in_one_piece(made)


@pytest.mark.slow
def test_a_very_large_document_is_never_in_one_piece() -> None:
    made = many(1)
    large = msgspec.structs.replace(made, core=made.core and msgspec.structs.replace(made.core, stories=many_wide()))

    pieces = file_of(large)

    assert max(map(len, islice(pieces, 1, None)), default=0) < LONGEST_INDENTED // 2
    assert b"".join(file_of(large)) == in_one_piece(large) + b"\n"


def in_one_piece(made: Report) -> bytes:
    """The JSON of a report, without the fields that are omitted if they are empty."""
    document = json.loads(msgspec.json.encode(made))
    kept = {key: value for key, value in document.items() if value or key not in Report.OMITTED_IF_EMPTY}
    return msgspec.json.encode(kept)


def many_wide() -> tuple[StoryResult, ...]:
    (wide,) = _stories(many(1))
    alternatives = tuple(Alternative(action="a" * 100, confidence=0.5) for _ in range(100))
    step = msgspec.structs.replace(wide.steps[0], alternatives=alternatives)
    return (msgspec.structs.replace(wide, steps=(step,)),) * 4000


def test_a_report_beyond_what_is_read_is_said_when_it_is_written(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "report.json").write_bytes(b"x" * 3 * 2**20)
    (tmp_path / "comparison.json").write_bytes(b"x" * 3 * 2**20)
    written = [tmp_path / "report.json", tmp_path / "comparison.json"]

    (warning,) = warnings_of_size(written, most=2**20)

    golden(warning)
    assert warnings_of_size(written) == []


def test_files_are_read_one_by_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    files = FilesBelow(tmp_path, [tmp_path / "a", tmp_path / "b"])
    (tmp_path / "b").write_text("later")

    assert list(files) == [("a", b"a"), ("b", b"later")]
    assert (len(files), list(files[1:])) == (2, [("b", b"later")])


def _stories(made: Report) -> tuple[StoryResult, ...]:
    assert made.core is not None
    return made.core.stories
