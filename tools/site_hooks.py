"""What the documentation site has beside mkdocs: links to the repository, pictures for telephones, names of parts."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

REPOSITORY = "https://github.com/turncheck/turncheck/blob/main/"
_SOURCE = '<a class="md-header__button" href="https://github.com/turncheck/turncheck">GitHub</a>'

_DOCS = Path(__file__).parents[1] / "docs"
_REPORTS = Path(__file__).parent / "pictures" / "first-pull-request"
_PICTURE = re.compile(r'<img alt="[^"]*" src="(?P<name>[\w-]+)\.png" />')
_SEARCH = 'data-md-component="search" role="dialog"'
_EMPTY_HEADER = re.compile(r"<th( [^>]*)?></th>")
_CODE_OR_OUTSIDE = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]*`)|\]\(\.\./(?P<target>[^)\s]+)\)", re.DOTALL | re.MULTILINE
)


_LISTS = frozenset({"cli.md", "findings.md", "report.md", "settings.md", "architecture.md", "glossary.md"})
"""Pages to look something up in: whoever searches for a word wants the page that explains it first."""
_HEADER_END = re.compile(r"(?=</nav>\s*</header>)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page's text with absolute addresses for what is not part of the site. Code stays as it is."""
    page.meta["search"] = {"boost": 0.5 if page.file.src_uri in _LISTS else 2}
    return _CODE_OR_OUTSIDE.sub(_absolute, markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Return a page whose pictures open at full size and fit telephones.

    Its search dialog has a name, which the theme's template lacks, and no header cell is empty. The header leads to the
    repository; the theme's own link would fetch figures from there.
    """
    return _HEADER_END.sub(_SOURCE, _named(_PICTURE.sub(_picture, output)), count=1)


def on_post_template(output_content: str, **_: Any) -> str:
    """Return the page for addresses that do not exist, which has the dialog, too."""
    return _named(output_content)


_PAGES: list[Any] = []
"""The pages, in the order of the navigation."""


def on_nav(nav: Any, **_: Any) -> None:
    """Remember the pages of this build."""
    _PAGES[:] = nav.pages


def on_post_build(config: Any, **_: Any) -> None:
    """Write what pages lead to, and what language models look for.

    The reports of the example; a list of the pages (llms.txt), and all texts in one (llms-full.txt).
    """
    site, address = Path(config.site_dir), config.site_url
    for path in _REPORTS.glob("*.html.gz"):
        (site / _REPORTS.name).mkdir(exist_ok=True)
        (site / _REPORTS.name / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    about = f"# {config.site_name}\n\n> {config.site_description}\n"
    listed = "\n".join(f"- [{_title(page)}]({address}{page.url})" for page in _PAGES)
    agents = f"For coding agents: {REPOSITORY}AGENTS.md"
    (site / "llms.txt").write_text(f"{about}\n{agents}\n\n## Pages\n\n{listed}\n", "utf-8")
    texts = "\n\n".join(f"<!-- {address}{page.url} -->\n\n{page.markdown.strip()}" for page in _PAGES)
    (site / "llms-full.txt").write_text(f"{about}\n{texts}\n", "utf-8")


def _title(page: Any) -> str:
    heading = re.search(r"^# (.+)$", page.markdown, re.MULTILINE)
    return heading[1] if heading else str(page.title)


def _picture(match: re.Match[str]) -> str:
    """Return a picture that leads to itself, drawn anew for narrow windows if there is such a drawing."""
    name, narrow = f"{match['name']}.png", f"{match['name']}-narrow.png"
    if not (_DOCS / narrow).exists():
        return f'<a href="{name}">{match[0]}</a>'
    source = f'<source media="(max-width: 37.5em)" srcset="{narrow}" />'
    return f'<a href="{name}"><picture>{source}{match[0]}</picture></a>'


def _named(html: str) -> str:
    return _EMPTY_HEADER.sub(r"<td\1></td>", html.replace(_SEARCH, f'{_SEARCH} aria-label="Search"'))


def _absolute(match: re.Match[str]) -> str:
    return match[0] if match["code"] else f"]({REPOSITORY}{match['target']})"
