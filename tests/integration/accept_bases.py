"""Write the table of bases anew: python tests/integration/accept_bases.py; then look at the difference."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from test_base_of_a_change import HOSTS, ROWS, TABLE, CheckOuts, build, described

from turncheck.ci.base import BaseSearch
from turncheck.ci.git import find_checkout
from turncheck.ci.hosts import find_host
from turncheck.settings.options import Settings

HEAD = """# The base of a change: hosts, checkouts, tricks

| host | checkout | trick | base | branch, or why there is none |
|---|---|---|---|---|
"""

if __name__ == "__main__":
    lines = []
    with tempfile.TemporaryDirectory() as holder:
        built = build(Path(holder) / "built" / "acme" / "bots")
        checkouts = CheckOuts(built, Path(holder))
        for row in ROWS:
            host_name, checkout, trick = row
            server, job = checkouts.make(checkout, trick)
            os.chdir(job)
            host = find_host(HOSTS[host_name](server, job), None)
            base = BaseSearch(Settings(), find_checkout(job), host, lambda _what, _error: None).find()
            os.chdir(holder)
            lines.append(described(row, base, server) + "\n")
    TABLE.write_text(HEAD + "".join(lines))
