"""The wheel and the sdist as they are uploaded: what is in them, and what the package's page shows."""

from __future__ import annotations

import email
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import jsonschema
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.notices import notices

ROOT = Path(__file__).parents[2]
SCHEMAS = [
    *("calibration", "comparison", "e2e_test_cases", "report", "turncheck.quarantine", "turncheck", "verdict"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder, seed=6, mask=0o022, zone="UTC")
    return folder


def build(source: Path, folder: Path, *, seed: int, mask: int, zone: str) -> None:
    environment = {**os.environ, "TZ": zone, "PYTHONHASHSEED": str(seed), "SOURCE_DATE_EPOCH": "1893456000"}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, env=environment, umask=mask)


def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


def page(built: Path) -> str:
    """The long description."""
    with wheel(built) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = email.message_from_bytes(archive.read(metadata))
    assert message["Description-Content-Type"] == "text/markdown"
    return message.get_payload(decode=True).decode()  # type: ignore[union-attr]  # it has one part


def test_the_schemas_come_with_the_wheel_and_say_where_they_are(built: Path) -> None:
    with wheel(built) as archive:
        names = [name for name in archive.namelist() if name.startswith("turncheck/schemas/")]
        assert sorted(names) == [f"turncheck/schemas/{name}.schema.json" for name in SCHEMAS]
        for name in names:
            schema = json.loads(archive.read(name))
            file = name.rpartition("/")[2]
            assert schema == json.loads((ROOT / "docs" / file).read_text("utf-8"))
            assert schema["$id"] == f"https://raw.githubusercontent.com/turncheck/turncheck/main/docs/{file}"
            jsonschema.Draft202012Validator.check_schema(schema)


def test_they_are_found_by_importlib_in_an_installed_wheel(built: Path) -> None:
    (path,) = built.glob("*.whl")
    code = (
        "import json, sys, importlib.resources as r; sys.path.insert(0, sys.argv[1])\n"
        "file = r.files('turncheck') / 'schemas' / 'report.schema.json'\n"
        "print(json.loads(file.read_text('utf-8'))['title'])"
    )
    done = subprocess.run([sys.executable, "-IS", "-c", code, str(path)], capture_output=True, text=True, check=True)

    assert done.stdout == "turncheck report\n"


def test_the_package_page_has_no_relative_link_or_picture(built: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page(built), flags=re.DOTALL | re.MULTILINE)

    targets = re.findall(r"\]\(([^)\s]*)|(?:src|href)=\"([^\"]*)", text)
    addresses = [first or second for first, second in targets]
    assert len(addresses) > 8
    assert [address for address in addresses if not address.startswith("https://")] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]*)", text)
    assert pictures
    assert all(one.startswith("https://raw.githubusercontent.com/turncheck/turncheck/main/docs/") for one in pictures)


def test_what_the_page_links_to_in_the_repository_is_there(built: Path) -> None:
    prefix = r"https://(?:github\.com/turncheck/turncheck/blob|raw\.githubusercontent\.com/turncheck/turncheck)/main/"
    paths = re.findall(rf"{prefix}([^)\s\"#]*)", page(built))

    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_sdist_has_what_builds_the_package_and_no_readme_of_another_folder(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "hatch_build.py", "templates/body.md.j2"} <= names
    assert [name for name in names if name.endswith("README.md")] == ["README.md"]
    top = {name.partition("/")[0] for name in names}
    assert top <= {
        *(
            "src",
            "templates",
            "skills",
            "page",
            "docs",
            "README.md",
            "CHANGELOG.md",
            "LICENSE",
            "pyproject.toml",
            "hatch_build.py",
        ),
        *("PKG-INFO", ".gitignore"),
    }


def test_the_image_is_built_from_what_the_wheel_needs() -> None:
    """What the wheel includes by force must be in the image's folder, or it cannot be built there."""
    copied = (ROOT / "Dockerfile").read_text("utf-8")

    assert re.search(r"^COPY .*\bhatch_build\.py\b", copied, re.MULTILINE)
    assert "COPY docs/*.schema.json /turncheck/docs/" in copied
    assert "COPY skills /turncheck/skills" in copied
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert {"!hatch_build.py", "!docs/*.schema.json", "!skills"} <= set(ignored)


def test_two_builds_are_the_same_bytes_wherever_and_whenever(built: Path, tmp_path: Path) -> None:
    source, mask = tmp_path / "elsewhere" / "deeper", 0o077
    names = ["src", "templates", "skills", "page", "docs", "README.md", "CHANGELOG.md", "LICENSE"]
    for name in [*names, "pyproject.toml", "hatch_build.py", ".gitignore"]:
        ignored = shutil.ignore_patterns("__pycache__", "node_modules", ".lock")
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)
    for file in source.rglob("*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
        file.chmod(file.stat().st_mode & ~mask)
    build(source, source / "dist", seed=3, mask=mask, zone="Asia/Tokyo")

    first, second = (
        {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
        for folder in (built, source / "dist")
    )
    assert len(first) == 2
    assert first == second


def test_the_notices_name_everything_that_turncheck_needs() -> None:
    needed = closure("turncheck")
    text = notices(importlib.metadata.distribution(name) for name in needed)

    assert len(needed) >= 30
    for name in needed:
        version = importlib.metadata.version(name)
        assert re.search(
            rf"^{re.escape(name)} {re.escape(version)}\nLicence: \S", text, re.MULTILINE | re.IGNORECASE
        ), name
    assert text.count("--- LICEN") >= len(needed) * 2 // 3, "most packages bring their licence's text"


def closure(package: str) -> set[str]:
    """The packages that one needs here, directly or not."""
    found: set[str] = set()
    todo = [package]
    while todo:
        for line in importlib.metadata.requires(todo.pop()) or []:
            requirement = Requirement(line)
            name = canonicalize_name(requirement.name)
            if name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                found.add(name)
                todo.append(name)
    return found


def test_the_page_script_is_made_of_this_repository_alone() -> None:
    """What the notices say of it."""
    package = json.loads((ROOT / "page" / "package.json").read_text("utf-8"))
    imported = {
        name
        for file in (ROOT / "page" / "src").rglob("*.ts")
        for name in re.findall(r'\bfrom "([^"]+)";$', file.read_text("utf-8"), re.MULTILINE)
    }

    assert "dependencies" not in package
    assert imported
    assert [name for name in imported if not name.startswith(".")] == []
