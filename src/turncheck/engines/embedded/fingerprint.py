"""The files that a model was trained on: it fits a project if nothing that training reads has changed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turncheck.project.model import Project


def project_fingerprint(project: Project) -> str:
    """Return a digest of the texts of domain, data and configuration, by path."""
    digest = hashlib.sha256()
    for file in sorted(project.files, key=lambda file: file.path):
        if file.role == "endpoints":
            continue  # the address of an action server has no influence on training
        text = "" if file.source is None else file.source.text
        digest.update(f"{file.path}\0{hashlib.sha256(text.encode()).hexdigest()}\n".encode())
    return digest.hexdigest()
