"""What a command printed, read again."""

import re


def passed_tests(shown: str) -> dict[str, str]:
    """How many of each kind of test passed: ``{"Stories": "9/10"}``."""
    return {row[1]: row[2] for row in re.finditer(r"^(.+?) passed +(\d+/\d+)\b", shown, re.MULTILINE)}
