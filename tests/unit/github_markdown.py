"""What GitHub makes of Markdown: its own parser's fork, then a sanitizer with its list of what may stay."""

from __future__ import annotations

import re
from collections import Counter

import cmarkgfm
import nh3
from cmarkgfm.cmark import Options

_TAGS = """
    h1 h2 h3 h4 h5 h6 br b i strong em a pre code img tt div ins del sup sub p ol ul table thead tbody tfoot blockquote
    dl dt dd kbd q samp var hr ruby rt rp li tr td th s strike summary details input
"""
_SCHEMES = ("http", "https", "mailto")
_ATTRIBUTES = "align alt border colspan rowspan height width title open start dir"
_ALLOWED = {
    "a": {"href"},
    "img": {"src"},
    "input": {"type", "checked", "disabled"},
    "*": {*_ATTRIBUTES.split()},
}


def to_html(markdown: str) -> str:
    """Render as GitHub does, as far as the parser and the sanitizer go."""
    html: str = cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)
    return nh3.clean(html, tags={*_TAGS.split()}, attributes=_ALLOWED, url_schemes={*_SCHEMES}, link_rel=None)


def elements(html: str) -> Counter[str]:
    """How many elements of each kind there are."""
    return Counter(re.findall(r"<([a-z][a-z0-9]*)", html))


def links(html: str) -> list[str]:
    """Where the links lead."""
    return re.findall(r'<a href="([^"]*)"', html)


def text_outside_code(html: str) -> str:
    """The text in which GitHub looks for mentions, issue numbers and addresses."""
    return re.sub(r"<[^>]*>", "", re.sub(r"(?s)<(code|pre|a)\b.*?</\1>", "", html))


ACTIVE = re.compile(r"@\w|(?<![\w&])#\d|\bGH-\d|https?://|\bwww\.|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
"""What GitHub would turn into a mention or a link of its own."""
