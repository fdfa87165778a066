"""Write docs/findings.md from the registry of checks. A test keeps them equal."""

from pathlib import Path

from turncheck.validation.manual import manual

if __name__ == "__main__":
    page = Path(__file__).parents[1] / "docs" / "findings.md"
    page.write_text(manual(), encoding="utf-8")
    print(page)
