"""Text of other people in Markdown is its own letters and nothing else."""

from __future__ import annotations

import html as html_entities
import re
import unicodedata
from collections.abc import Callable

import pytest
from github_markdown import ACTIVE, elements, links, text_outside_code, to_html
from hostile import HOSTILE
from hypothesis import example, given
from hypothesis import strategies as st

from turncheck.messages.plain_text import one_line, with_blanks
from turncheck.render.sinks.markdown import block, code, code_cell, link, marker, prose, ticked

texts = st.one_of(
    st.text(max_size=80),
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from([*HOSTILE, " ", "|", "`", "\\", "*", "<", "@", "/"]), max_size=6).map("".join),
)


COMMIT = re.compile(r"[0-9a-f]{7,40}", re.IGNORECASE)


def shown(html: str) -> str:
    return html_entities.unescape(re.sub(r"<[^>]*>", "", html))


@given(texts)
@example("a\\|b")
def test_a_code_span_shows_the_text_and_nothing_else(text: str) -> None:
    html = to_html(f"before {code(text)} after")

    assert elements(html) == ({"p": 1, "code": 1} if one_line(text, 160) else {"p": 1})
    assert shown(html).strip() == f"before {one_line(text, 160) or '–'} after"
    assert not ACTIVE.search(text_outside_code(html))


@given(texts, texts)
def test_a_cell_of_a_table_holds_the_text_and_the_table_keeps_its_shape(one: str, other: str) -> None:
    table = f"| a | b |\n|---|---|\n| {code_cell(one)} | {code_cell(other)} |\n| x | y |\n"

    html = to_html(table)

    plain = elements(to_html("| a | b |\n|---|---|\n| x | x |\n| x | y |\n"))
    assert elements(html) - elements("<code><code>") == plain
    cells = re.findall(r"<td>(.*?)</td>", html, re.DOTALL)
    assert [shown(cell) for cell in cells[:2]] == [one_line(one, 80) or "–", one_line(other, 80) or "–"]


@given(texts)
@example("`a`")
@example("a`` ` ``b")
@example("``")
@example("- `x`\\`y`@z")
@example("'`a`'b''c' '@d'")
@example("'a'`b`")
@example("`a`0123456`b`")
def test_ticked_prose_has_code_and_nothing_else(text: str) -> None:
    html = to_html(f"before {ticked(text)} after\n")

    assert set(elements(html)) <= {"p", "code"}
    assert not ACTIVE.search(text_outside_code(html))


def test_a_pair_of_backticks_makes_code() -> None:
    assert ticked("add `actions: read` to a_b") == "add `actions: read` to a\\_b"
    assert ticked("one ` alone") == "one \\` alone"


def test_a_name_that_a_sentence_quotes_is_code_too() -> None:
    assert ticked("'order_pizza' is worse, it's 'a b' now") == "`order_pizza` is worse, it's `a b` now"
    assert ticked("the bots' files and users' names") == "the bots' files and users' names"
    assert ticked("'a'`b` `c`'d'") == "'a'`b` `c`'d'", "code spans do not run into each other"


@given(texts)
@example("- ")
@example("1)")
@example("=")
@example("`0123456`0123456 0123456.")
def test_prose_has_no_markup_no_link_no_mention(text: str) -> None:
    html = to_html(f"{prose(text)}\n")

    assert set(elements(html)) <= {"p", "code"}
    assert all(COMMIT.fullmatch(span) for span in re.findall(r"<code>(.*?)</code>", html))
    assert not ACTIVE.search(text_outside_code(html))
    assert shown(html).replace("\u200b", "").strip() == (one_line(text, 400) or "–")


@pytest.mark.parametrize("show", [prose, ticked])
def test_a_commit_can_be_copied_and_is_no_link(show: Callable[[str], str]) -> None:
    assert show("the base (commit 1234abcd) is gone") == "the base (commit `1234abcd`) is gone"
    assert show("x" * 41 + " 123456 1234567g") == "x" * 41 + " 123456 1234567g", "these are no commits"


@given(texts)
@example("_www.")
@example("_0123456_")
@example("_gh-1")
def test_prose_within_emphasis_and_list_stays_there(text: str) -> None:
    html = to_html(f"- **said: {prose(text)}**\n- next\n")

    assert {**elements(html), "code": 0} == {"ul": 1, "li": 2, "strong": 1, "code": 0}


@given(texts, texts)
def test_a_block_is_closed_by_nothing_within(one: str, other: str) -> None:
    html = to_html(f"{block(one + chr(10) + other)}\n\nafter\n")

    assert elements(html) - elements("<code>") == {"pre": 1, "p": 1}


@given(texts, texts)
def test_a_link_leads_where_it_should(text: str, path: str) -> None:
    # Behind a word, as all of ours: first in a line "[`]: x`](y)" would define a link instead of being one.
    html = to_html(f"see {link(code(text), 'https://github.com/a/b/' + path)}\n")

    (target,) = links(html)
    assert target.startswith("https://github.com/a/b/")
    assert elements(html) - elements("<code>") == {"p": 1, "a": 1}


@given(texts)
def test_a_marker_is_one_hidden_comment(text: str) -> None:
    line = marker(text)

    assert re.fullmatch(r"<!-- turncheck:report id=[A-Za-z0-9._-]+ -->", line)
    assert "--" not in line[4:-3].strip()
    assert to_html(line).strip() == ""


def test_ten_megabytes_cost_nothing_and_are_cut() -> None:
    text = "`|@" * 3_500_000

    assert len(code(text)) < 1000
    assert len(prose(text)) < 4000
    assert len(block(text)) < 10_000


@pytest.mark.parametrize("text", ["\u202eevil\u202c", "a\u2066b\u2069", "\u200f", "\ufeff", "\U000e0041"])
def test_invisible_characters_that_turn_text_around_are_dropped(text: str) -> None:
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\ufeff\U000e0000-\U000e007f]", code(text))


def test_letters_that_need_joiners_and_emoji_stay_whole() -> None:
    assert code("می‌خواهم 👩‍👩‍👧") == "`می‌خواهم 👩‍👩‍👧`"


@given(st.text(max_size=30))
def test_whether_a_character_shows_does_not_depend_on_what_is_beside_it(text: str) -> None:
    cleaned = "".join(with_blanks(character, 1) for character in text)
    assert with_blanks(text, 30) == cleaned
    assert with_blanks(f"{text}\u202e\n", 32) == f"{cleaned} "
    assert not any(unicodedata.category(character) in {"Cc", "Cs", "Co", "Cn"} for character in cleaned)
