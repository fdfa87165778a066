"""The inputs of each training, and nothing else of the project, so that nothing else can influence what is learnt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from turncheck.dialogue.domain import DialogueDomain
from turncheck.project.model import Config, Project

if TYPE_CHECKING:
    from turncheck.project.rasa_version import RasaVersion


def nlu_inputs(project: Project) -> Project:
    """Return what language understanding learns from: sentences, synonyms, patterns and the pipeline."""
    config = project.config
    return Project(
        root=project.root.absolute(),
        name="",
        nlu=project.nlu,
        config=Config(language=config.language, pipeline=config.pipeline, location=config.location),
        rasa=_without_signs(project.rasa),
        kore=project.kore,
    )


def policy_inputs(project: Project) -> tuple[Project, DialogueDomain]:
    """Return what policies learn from: stories, rules, their own configuration, and the domain without its texts.

    Of the sentences they only know the retrieval intents, which are in the second value.
    """
    whole, config = project.domain, project.config
    responses = {name: replace(response, variations=()) for name, response in whole.responses.items()}
    learnt = Project(
        root=project.root.absolute(),
        name="",
        domain=replace(whole, responses=responses),
        stories=project.stories,
        rules=project.rules,
        config=Config(policies=config.policies, location=config.location),
        rasa=_without_signs(project.rasa),
    )
    domain = replace(DialogueDomain.of(project), domain=learnt.domain)
    return learnt, domain


def _without_signs(version: RasaVersion | None) -> RasaVersion | None:
    return None if version is None else replace(version, signs=(), others=())
