"""What can be wrong with the export of a Kore.ai assistant."""

from typing import Final

from turncheck.messages.finding import Severity
from turncheck.validation.checks import FAILS, Check

SECTION: Final = "In the export of a Kore.ai assistant"
_ONLY_STRICT: Final = "It is only looked for with `--strict` or `strict: true`."


def _check(code: str, severity: Severity, title: str, text: str, details: str = "", *, about: tuple[str, ...]) -> Check:
    return Check(code, severity, FAILS[severity], "platform", title, text, details=details, about=about)


CHECKS: Final = (
    _check(
        "kore-not-an-export",
        "error",
        "A file is not the export of a Kore.ai assistant",
        "An export is JSON with the lists `dialogs` and `dialogComponents`, or the platform's `.zip` with such a file in"
        " it. Export the assistant again, or name another file.",
        "Nothing can be done with it: every command ends with 2.",
        about=("file",),
    ),
    _check(
        "kore-unresolved-task",
        "warning",
        "A sentence belongs to no task",
        "Its `taskId` names no intent of the export, so it is left out. Remove the sentence on the platform, or also"
        " export its task.",
        about=("place",),
    ),
    _check(
        "kore-unresolved-entity",
        "warning",
        "An annotation names no entity",
        "It has no `entityId`, or one that is not in the export; the annotation is left out, the others of its"
        " sentence are kept. Annotate the entity again on the platform, and export again.",
        about=("place",),
    ),
    _check(
        "kore-span-out-of-range",
        "error",
        "An annotation is outside its sentence",
        "`startIndex` and `endIndex` count from 0, the end exclusive; they must be within the sentence, and mark more"
        " than blanks. The annotation is left out, the others of its sentence are kept. Annotate the entity again.",
        "They count as JavaScript does: an emoji counts as two.",
        about=("place",),
    ),
    _check(
        "kore-span-overlap",
        "warning",
        "Annotations of a sentence overlap",
        "A word cannot be a part of two entities; none of the annotations is used. Annotate the sentence again.",
        about=("place",),
    ),
    _check(
        "kore-duplicate-sentence",
        "warning",
        "A sentence appears twice in an intent",
        "It teaches nothing new. Remove one of the two. Case and surrounding blanks make no difference.",
        about=("sentence", "intent"),
    ),
    _check(
        "kore-sentence-in-two-intents",
        "warning",
        "A sentence appears in two intents",
        "Whichever the assistant chooses, one of the two is wrong. Remove it from one of them.",
        about=("sentence", "intent"),
    ),
    _check(
        "kore-empty-sentence",
        "warning",
        "A sentence is empty",
        "It teaches nothing, and is left out. Remove it.",
        about=("place",),
    ),
    _check(
        "kore-utterances-not-exported",
        "warning",
        "The export lacks the utterances",
        "The assistant has more utterances than the export holds, and they were not asked for (`exportOptions.nlpData`)."
        " Export it again, with the utterances among the NLP data.",
        about=("place",),
    ),
    _check(
        "kore-language-not-supported",
        "warning",
        "There are sentences in a language that the assistant does not support",
        "They are never used. Enable the language on the platform, or remove its sentences.",
        about=("place",),
    ),
    _check(
        "kore-intent-without-utterances",
        "info",
        "A dialog has no utterances",
        "Only its name and its patterns lead to it, which the embedded engine does not reproduce: utterances that"
        " should reach it are not evaluated there. Add utterances, or test it on the platform.",
        about=("intent",),
    ),
    _check(
        "kore-dialog-stub",
        "info",
        "A dialog has not been built",
        "It has no nodes: users who reach it get no answer. Build it, or remove it.",
        about=("place",),
    ),
    _check(
        "kore-faq-disabled",
        "info",
        "An FAQ is disabled",
        "It is not among the assistant's intents. Enable it on the platform, if it should be.",
        about=("place",),
    ),
    _check(
        "kore-phrase-in-two-faqs",
        "warning",
        "A phrase appears in two FAQs",
        "Whichever the assistant answers, one of the two is wrong. Remove it from one of them.",
        about=("sentence", "intent"),
    ),
    _check(
        "kore-same-name",
        "warning",
        "Two intents have the same name",
        "Names are compared ignoring case, with `_` as a blank: a suite that expects one of them is ambiguous. Rename"
        " one of them.",
        about=("intent",),
    ),
    _check(
        "kore-unresolved-parent",
        "warning",
        "Small talk follows up a node that does not exist",
        "Its `parentId` names no node of the export, so nothing leads to it. Build it again on the platform.",
        about=("place",),
    ),
    _check(
        "kore-few-utterances",
        "warning",
        "A dialog has few utterances",
        "Fewer than five are not enough to understand what other users say, and cross-validation in five folds does"
        " not judge the dialog. Add some that differ as much as users do.",
        _ONLY_STRICT,
        about=("intent",),
    ),
    _check(
        "kore-nearly-the-same",
        "warning",
        "Sentences of two intents are nearly the same",
        "The assistant will confuse them. Make the difference visible in the sentences, or merge the intents.",
        _ONLY_STRICT,
        about=("sentence", "intent"),
    ),
    _check(
        "kore-name-unusual",
        "info",
        "A name is long or has special characters",
        "The platform's manual advises names of three to five plain words, none of which it ignores in sentences: its"
        " own engine reads them as patterns, and a `|` in a name cannot be written in a suite. Rename the task.",
        _ONLY_STRICT,
        about=("intent",),
    ),
)
