"""What plugins are written with: see docs/plugins.md. Everything here is a promise, as ``import turncheck`` is."""

from turncheck.ci.hosts import RegisteredHost
from turncheck.engines.base import Capabilities, Engine
from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location, Name
from turncheck.project.formats.format import Format, FormatInput, ParsedFile
from turncheck.project.model import Project
from turncheck.project.nlu_data import Example, NluData
from turncheck.registry import use_plugins
from turncheck.render.assistants import Run
from turncheck.render.outputs import Output
from turncheck.render.rendered import Rendered
from turncheck.report.model import EngineInfo, Report
from turncheck.report.plugin_figures import PluginFigure, counted, of_sentences
from turncheck.run.plugin_figures import Subject
from turncheck.settings.engines import RegisteredEngine
from turncheck.validation.checks import Check, Fault, check
from turncheck.validation.facts import Facts

__all__ = [
    "Capabilities",
    "Check",
    "Engine",
    "EngineInfo",
    "Example",
    "Facts",
    "Fault",
    "Format",
    "FormatInput",
    "Location",
    "Name",
    "NluData",
    "Output",
    "Parse",
    "ParsedFile",
    "PluginFigure",
    "PredictedEntity",
    "PredictedIntent",
    "Project",
    "RegisteredEngine",
    "RegisteredHost",
    "Rendered",
    "Report",
    "Run",
    "Subject",
    "UserError",
    "check",
    "counted",
    "of_sentences",
    "use_plugins",
]
