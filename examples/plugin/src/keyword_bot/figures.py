"""A metric of any report, and an evaluation that asks the engine."""

from collections.abc import Mapping

from turncheck.plugins import PluginFigure, Report, Subject, counted, of_sentences

GREETINGS = ("hello", "hi", "good morning")


def sure(report: Report) -> PluginFigure:
    """The share of test sentences that are understood with a confidence of 0.8 or more."""
    predictions = report.nlu.predictions if report.nlu else ()
    return of_sentences(
        (one.predicted.confidence >= 0.8 for one in predictions), better="higher", label="Sentences understood surely"
    )


def greetings(subject: Subject) -> Mapping[str, PluginFigure]:
    """How many greetings are understood as one intent."""
    nlu = subject.engine.nlu
    if nlu is None:
        return {"understood": counted(None, better="higher", kind="count")}
    intents = [parse.intent.name for parse in nlu.parse(GREETINGS)]
    most = max(intents.count(intent) for intent in intents)
    return {"understood": counted(most, better="higher", kind="count", label="Greetings understood alike")}
