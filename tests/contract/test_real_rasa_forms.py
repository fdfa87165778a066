"""A real Rasa with forms and rules: the same verdict on stories that are broken in all ways; see test_real_rasa."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import shutil
from pathlib import Path

import pytest
from real_rasa import ROOT, Trained, assert_like_rasa, call, server, turncheck

pytestmark = pytest.mark.rasa

JWT_SECRET = "a-secret-of-the-test-with-32-bytes"


@pytest.fixture(scope="session")
def forms(rasa: str, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A recorded project without NLU data: forms, interruptions, rules, stories that are broken in all ways."""
    folder = tmp_path_factory.mktemp("forms") / "bot"
    shutil.copytree(ROOT / "tests" / "oracle" / "core" / "form_interrupt_rules" / "project", folder)
    results = folder.parent / "results"
    call(rasa, folder, "train", "--fixed-model-name", "forms")
    shared = ("--model", "models/forms.tar.gz", "--successes", "--no-plot", "--out", str(results))
    call(rasa, folder, "test", "core", "--e2e", "--stories", "tests", *shared)
    return Trained(folder, folder / "models" / "forms.tar.gz", results)


def jwt(role: str) -> str:
    """Sign a JSON Web Token with HMAC-SHA256 (RFC 7519)."""

    def part(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    head = part(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
    body = part(json.dumps({"user": {"username": "root", "role": role}}).encode())
    signature = hmac.new(JWT_SECRET.encode(), f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{part(signature)}"


def test_forms_and_broken_stories_are_judged_as_rasa_judges_them(rasa: str, forms: Trained, tmp_path: Path) -> None:
    arguments = ("--model", str(forms.model), "--jwt-secret", JWT_SECRET, "--jwt-method", "HS256")
    with server(rasa, forms.folder, *arguments) as (url, _):
        flags = ("--rasa-url", url, "--stories", str(forms.folder / "tests"))
        _, report = turncheck(forms.folder, tmp_path / "out", *flags, "--rasa-jwt", jwt("admin"))
        assert report.stopped is None
        assert_like_rasa(tmp_path / "out" / "rasa", forms.results, forms.folder)
        assert report.core is not None
        verdicts = {story.passed for story in report.core.stories}
        assert verdicts == {True, False}

        for wrong in (jwt("user"), "no.jwt.atall"):
            done, report = turncheck(forms.folder, tmp_path / "wrong", *flags, "--rasa-jwt", wrong)
            assert done.returncode == 2
            assert report.stopped is not None
            assert "refuses /status" in report.stopped


def test_rasa_trained_and_started_here_judges_the_same(rasa: str, forms: Trained, tmp_path: Path) -> None:
    before = {path.name for path in forms.folder.iterdir()}
    flags = ("--rasa-command", rasa, "--stories", str(forms.folder / "tests"))
    done, report = turncheck(forms.folder, tmp_path, *flags)
    assert report.stopped is None, done.stderr
    assert_like_rasa(tmp_path / "rasa", forms.results, forms.folder)
    assert {path.name for path in forms.folder.iterdir()} == before, "training leaves nothing in the project"
