"""What a change renamed (an intent, entity, slot, response, action, form or flow), and what still has the old name."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from turncheck.comparison.consistent_tests import findings_beside
from turncheck.comparison.model import Renamed
from turncheck.messages.finding import SEVERITIES, Finding, Location, Name
from turncheck.messages.phrasing import count, nearest
from turncheck.report.model import CoverageItem, FindingCounts, Report, Validation

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.changes import FindingChange


KINDS: Final = ("intents", "entities", "slots", "responses", "actions", "forms", "flows")
_IN_STEPS: Final = frozenset({"responses", "actions", "forms"})
"""Kinds of which a new name in the place of an old one is to be used in its stead, whatever it does now."""
_MOST_NAMES: Final = 200
"""If more names of a kind than this are gone, it is a different project."""
_WORDS: Final = re.compile(r"[^\W_]+")
_PREFIX: Final = re.compile(r"(utter|action|validate)_(?=.)")
"""What a name begins with because of its kind."""
_COMMON: Final = 0.5
"""An intent was renamed if the Jaccard index of the old and the new one's training sentences is at least this."""


def renamed_names(base: Report, head: Report) -> tuple[Renamed, ...]:
    """Return the items whose old name only the base has and whose new name only this side has; each name occurs once.

    Two names mean the same item if the content is the same, if they share half of their training sentences (intents;
    entities share those that they are annotated in), if one fills the slots that the other did (entities), or if the
    new name is close to the old one and to no other that is gone. What became several (``utter_greet``, now
    ``utter_greet_en`` and ``utter_greet_fr``) was not renamed to any of them, nor any of several that became one.
    """
    found: list[Renamed] = []
    replaced = _replaced(base, head, ("slots",))
    times = Counter(replaced.values())
    replaced = {old: new for old, new in replaced.items() if times[new] == 1}
    for kind in KINDS:
        if kind in base.coverage and kind in head.coverage:
            before = {item.name: item for item in base.coverage[kind].items}
            after = {item.name: item for item in head.coverage[kind].items}
            gone = {name: item for name, item in before.items() if name not in after}
            new = {name: item for name, item in after.items() if name not in before}
            sentences = (_sentences(base), _sentences(head)) if kind == "intents" else ({}, {})
            sentences = (_annotated(base), _annotated(head)) if kind == "entities" else sentences
            pairs = {}
            if gone and new and max(len(gone), len(new)) <= _MOST_NAMES:
                pairs = _pairs(gone, new, *sentences, replaced if kind == "entities" else {})
            places = {name: item.location for name, item in after.items()}
            if kind == "intents" and sentences[0]:
                places = _defined(head, kind)
                no_longer = _defined(base, kind).keys() - places.keys() - pairs.keys()
                pairs |= _moved(no_longer, places.keys() - pairs.values(), base, head)
                keys = _became_keys(pairs, base, head)
                pairs |= keys
                places = _places_of_keys(head) | places
            found += [Renamed(kind=kind, old=old, new=name, location=places[name]) for old, name in pairs.items()]
    return (*found, *_word_lists(base, head))


def _word_lists(base: Report, head: Report) -> Iterator[Renamed]:
    """Lookup tables and patterns with the same words; the name of a synonym is the value that its words stand for."""
    for kind in ("lookups", "regexes"):
        before, after = ({one.name: one for one in side.word_lists if one.kind == kind} for side in (base, head))
        gone = {name: one.digest for name, one in before.items() if name not in after}
        new = {name: one.digest for name, one in after.items() if name not in before}
        for old, name in _same(gone, new).items():
            yield Renamed(kind=kind, old=old, new=name, location=after[name].location)


def renamed_on_both(base: Report, head: Report, renamed: Iterable[Renamed]) -> tuple[Renamed, ...]:
    """Return what is ``renamed`` and, with it, the stories and rules that have only another name.

    Their steps may have the new names of what is ``renamed``, as well.
    """
    renamed = tuple(renamed)
    called = {(rename.kind, rename.old): rename.new for rename in renamed}
    blocks = []
    for kind in ("stories", "rules"):
        if kind in base.coverage and kind in head.coverage:
            before = {item.name: item for item in base.coverage[kind].items}
            after = {item.name: item for item in head.coverage[kind].items}
            gone = {name: item for name, item in before.items() if name not in after}
            new = {name: item for name, item in after.items() if name not in before}
            pairs = _same({n: item.content for n, item in gone.items()}, {n: item.content for n, item in new.items()})
            gone_names = {name: _names_now(item, called) for name, item in gone.items() if name not in pairs}
            new_names = {name: _names_now(item, {}) for name, item in new.items() if name not in pairs.values()}
            alike = _same(gone_names, new_names)
            pairs |= {old: name for old, name in alike.items() if gone_names[old] != _names_now(gone[old], {})}
            blocks += [
                Renamed(kind=kind, old=old, new=name, location=after[name].location) for old, name in pairs.items()
            ]
    return (*renamed, *blocks)


def _names_now(block: CoverageItem, called: Mapping[tuple[str, str], str]) -> tuple[int, tuple[str, ...]]:
    """How many steps a story or rule has, and what its intents and actions are called now."""
    return len(block.steps), tuple(sorted(now_called(Name("event", name), called).name for name in block.names))


def now_called(name: Name, called: Mapping[tuple[str, str], str]) -> Name:
    """Return a name of the base as this side has it; ``called``: the new names by kind and old name."""
    whole, slash, key = name.name.partition("/") if name.kind == "intent" else (name.name, "", "")
    for kind in _KINDS_OF_NAME.get(name.kind) or _KINDS_OF_PART.get(name.kind, ()):
        if (new := called.get((kind, name.name))) is not None:
            return Name(name.kind, new)
        if (new := called.get((kind, whole))) is not None:
            return Name(name.kind, f"{new}{slash}{key}")
    return name


def message_of(finding: Finding, renamed: Sequence[Renamed]) -> str:
    """Return a finding's message; a name in it that this change replaced is shown with the current one."""
    named = {(kind, name.name) for name in finding.names for kind in _KINDS_OF_NAME.get(name.kind, ())}
    now = [
        rename for rename in renamed if (rename.kind, rename.old) in named and (rename.kind, rename.new) not in named
    ]
    if not now:
        return finding.message
    changes = " and ".join(f"'{rename.old}' was renamed to '{rename.new}'" for rename in now)
    return f"{finding.statement} {changes} in this change."


def _pairs(
    gone: Mapping[str, CoverageItem],
    new: Mapping[str, CoverageItem],
    sentences_before: Mapping[str, frozenset[str]],
    sentences_after: Mapping[str, frozenset[str]],
    replaced: Mapping[str, str],
) -> dict[str, str]:
    pairs = _same({name: item.content for name, item in gone.items()}, {n: item.content for n, item in new.items()})
    pairs = {old: name for old, name in pairs.items() if _names_the_same(gone[old], new[name])}
    if not sentences_before:  # those of an intent say which name it has now
        pairs = {old: name for old, name in pairs.items() if not _is_split(old, new)}
    for old, examples in sentences_before.items():
        if old in gone and old not in pairs:
            left = [name for name in new if name not in pairs.values()]
            best = max(left, key=lambda name: _common(examples, sentences_after.get(name, frozenset())), default=None)
            if best is not None and _common(examples, sentences_after.get(best, frozenset())) >= _COMMON:
                pairs[old] = best
    pairs |= {
        old: name
        for old, name in replaced.items()
        if old in gone and name in new and not (_is_paired(old, pairs) or _is_paired(name, pairs))
    }
    left_gone = [name for name in gone if name not in pairs]
    left_new = [name for name in new if name not in pairs.values()]
    for old in left_gone:
        near = [name for name in nearest(old, left_new, len(left_new)) if nearest(name, left_gone) == (old,)]
        near = [name for name in near if not (_says_less_than_half(old, name) or _is_split(name, gone))]
        if len(near) == 1 and not _is_split(old, new):
            pairs[old] = near[0]
    return pairs


def _names_the_same(one: CoverageItem, other: CoverageItem) -> bool:
    """Whether two items name the same others; what has the name of the item may have got its new one, too."""
    return other.names in {one.names, tuple(sorted(other.name if name == one.name else name for name in one.names))}


def _is_paired(name: str, pairs: Mapping[str, str]) -> bool:
    return name in pairs or name in pairs.values()


def _replaced(base: Report, head: Report, kinds: Iterable[str]) -> dict[str, str]:
    """The names in whose place another one stands, wherever they stood: in rules and stories, in slots' mappings.

    An item counts that has as many steps as before, and of whose names one is another. One name may stand in the place
    of several.
    """
    instead: dict[str, set[str]] = defaultdict(set)
    for kind in kinds:
        if kind in base.coverage and kind in head.coverage:
            after = {item.name: item for item in head.coverage[kind].items}
            for item in base.coverage[kind].items:
                now = after.get(item.name)
                if now is None:
                    continue
                gone, new = set(item.names) - set(now.names), set(now.names) - set(item.names)
                is_one = len(gone) == len(new) == 1 and len(item.steps) == len(now.steps)
                for name in gone:
                    instead[name].add(min(new) if is_one and (item.steps or item.content == now.content) else "")
    return {old: min(names) for old, names in instead.items() if len(names) == 1 and min(names)}


def _defined(report: Report, kind: str) -> dict[str, Location]:
    """The names of a kind and their places, including intents that only have training sentences."""
    places = _places_of(report, kind)
    if kind == "intents":
        for sentence in report.training_sentences:
            places.setdefault(sentence.intent.partition("/")[0], sentence.location)
    return places


def _moved(gone: Iterable[str], names: Iterable[str], base: Report, head: Report) -> dict[str, str]:
    """Intents that are gone and that another one replaces, whose name was already there: it got their sentences.

    At least half of the sentences belong to the other one now, and these are most of what it has: one that two intents
    were merged into was there before.
    """
    before, after = _sentences(base), _sentences(head)
    pairs: dict[str, str] = {}
    for old in sorted(gone):
        examples = before.get(old, frozenset())
        left = sorted(set(names) - set(pairs.values()))
        shared = {name: len(examples & after[name] - before.get(name, frozenset())) for name in left if name in after}
        best = max(shared, key=lambda name: shared[name], default=None)
        if best is None or shared[best] < _COMMON * len(examples):
            continue
        if shared[best] > _COMMON * len(after[best]):
            pairs[old] = best
    return pairs


def _became_keys(pairs: Mapping[str, str], base: Report, head: Report) -> dict[str, str]:
    """Intents that are keys of a retrieval intent now (``faq_hours``, now ``faq/hours``), or that were such keys.

    Their sentences say so, as for :func:`_moved`; and of keys that are other keys now (``faq/wifi``, ``faq/internet``).
    """
    before, after = (_sentences_of_keys(report) for report in (base, head))
    gone = {name: texts for name, texts in before.items() if name not in after and name.partition("/")[0] not in pairs}
    new = {name: texts for name, texts in after.items() if name not in before}
    with_text: dict[str, set[str]] = defaultdict(set)
    for name, texts in new.items():
        for text in texts:
            with_text[text].add(name)
    found: dict[str, str] = {}
    for old, texts in sorted(gone.items()):
        shared = Counter(name for text in texts for name in with_text.get(text, ()) if "/" in name or "/" in old)
        best = max(shared, key=lambda name: (shared[name], name), default=None)
        if best is not None and shared[best] >= _COMMON * max(len(texts), len(new[best])):
            found[old] = best
            for text in new[best]:
                with_text[text].discard(best)
    return found


def _places_of_keys(report: Report) -> dict[str, Location]:
    """The first sentence of each key of a retrieval intent."""
    places: dict[str, Location] = {}
    for sentence in report.training_sentences:
        places.setdefault(sentence.intent, sentence.location)
    return places


def _sentences_of_keys(report: Report) -> dict[str, frozenset[str]]:
    """The sentences of each intent, those of a retrieval intent by its keys."""
    texts: dict[str, set[str]] = defaultdict(set)
    for sentence in report.training_sentences:
        texts[sentence.intent].add(sentence.text)
    return {intent: frozenset(of_intent) for intent, of_intent in texts.items()}


def _is_split(old: str, new: Iterable[str]) -> bool:
    """Whether several new names say what the old one says, and more: ``utter_greet_en`` and ``utter_greet_fr``."""
    words = _WORDS.findall(old)
    return sum(_in_order(words, _WORDS.findall(name)) for name in new) > 1


def _says_less_than_half(one: str, other: str) -> bool:
    """Whether one of two names has less than half the words of the other: ``utter_did_that_help``, ``utter_help``."""
    numbers = [max(1, len(_WORDS.findall(_PREFIX.sub("", name)))) for name in (one, other)]
    return 2 * min(numbers) < max(numbers)


def _in_order(words: Sequence[str], among: Iterable[str]) -> bool:
    left = iter(among)
    return all(word in left for word in words)


def _same(gone: Mapping[str, Hashable], new: Mapping[str, Hashable]) -> dict[str, str]:
    """Names whose content is the same, if no other name of the kind has that content."""
    times = Counter(gone.values()), Counter(new.values())
    by_content = {content: name for name, content in new.items()}
    return {
        name: by_content[content]
        for name, content in gone.items()
        if content != "" and all(counted[content] == 1 for counted in times)
    }


def _sentences(report: Report) -> dict[str, frozenset[str]]:
    texts: dict[str, set[str]] = defaultdict(set)
    for sentence in report.training_sentences:
        texts[sentence.intent.partition("/")[0]].add(sentence.text)
    return {intent: frozenset(of_intent) for intent, of_intent in texts.items()}


def _annotated(report: Report) -> dict[str, frozenset[str]]:
    """The sentences with each entity."""
    texts: dict[str, set[str]] = defaultdict(set)
    for sentence in report.training_sentences:
        for entity in sentence.entities:
            texts[entity].add(sentence.text)
    return {entity: frozenset(with_it) for entity, with_it in texts.items()}


def _common(one: Iterable[str], other: Iterable[str]) -> float:
    ours, theirs = frozenset(one), frozenset(other)
    return len(ours & theirs) / max(1, len(ours | theirs))


# Names that a change renamed or removed and that are still used: one error for each, with all its places.
#
# Each use of an undefined name is a finding of its own, by kind and file, at the level that ``rasa data validate``
# gives it: some are warnings, others notes. Comparing with the base shows that all of them are one mistake of this
# change, which breaks what worked; so they are listed as one.

_WITHOUT_EXAMPLES: Final = "intent-without-examples"
_USES: Final = frozenset(
    {
        *("action-not-in-domain", "action-undefined", "fallback-action-undefined", "mapping-action-undefined"),
        *("response-undefined", "listed-response-undefined", "retrieval-response-missing"),
        *("form-not-in-domain", "mapping-form-undefined"),
        *("slot-undefined", "form-slot-undefined", "condition-slot-undefined", "response-variable-undefined"),
        "mapping-requested-slot-undefined",
        *("entity-undefined", "used-entity-undefined", "button-entity-undefined", "mapping-entity-undefined"),
        *("intent-not-in-domain", "story-intent-undefined", "ignored-intent-undefined", "button-intent-undefined"),
        *("mapping-intent-undefined", "selector-intent-undefined"),
        *("test-action-undefined", "test-intent-undefined", "test-name-undefined", "e2e-unknown-name"),
        "code-name-undefined",
        *("flow-flow-undefined", "flow-action-undefined", "flow-response-undefined", "flow-slot-undefined"),
        *("flow-intent-undefined", "flow-router-intent-undefined"),
        *("flow-question-missing", "flow-payload-undefined"),
        *("flow-test-cannot-pass", "flow-test-names-nothing"),
    }
)
"""The codes of findings that say: this name is used, and nothing defines it."""
_UNUSED: Final = frozenset(
    {
        *("action-unused", "response-unused", "form-unused", "slot-unused", "entity-unused", "intent-unused"),
        *("flow-response-unused", "flow-slot-unused"),
        _WITHOUT_EXAMPLES,
    }
)
"""The codes of findings that say: this name is defined, and nothing uses it. The other side of the same mistake."""
_OTHER_SIDE: Final = _UNUSED | {"mapping-slot-not-required"}
"""Those that follow from a rename while something keeps the old name: a form requires that, not the new one."""
_CLASS: Final = "class"
"""What names the action that a class of the project defines: it is left over, too, if the action is not used."""
_KINDS_OF_NAME: Final[Mapping[str, tuple[str, ...]]] = {
    "intent": ("intents",),
    "entity": ("entities",),
    "slot": ("slots",),
    "form": ("forms", "actions"),
    "response": ("responses",),
    "action": ("actions", "responses", "forms"),
    _CLASS: ("actions",),
    "flow": ("flows",),
}
"""What a finding's names name, and the kinds of items of a project that each may mean."""
_KINDS_OF_PART: Final[Mapping[str, tuple[str, ...]]] = {
    "story": ("stories", "rules"),
    "rule": ("rules", "stories"),
    "event": ("intents", "actions", "responses", "forms"),
    "name": KINDS,
    "lookup": ("lookups",),
    "regex": ("regexes",),
}
"""Likewise of what a finding is about, or stands in, beside these."""
_REMOVED: Final = "removed"
_RENAMED: Final = "new"
"""What the names of a finding about a broken reference are: the one that is gone, and the one in its place."""
_ADVICE: Final = "Use the new name there, too, or keep the old one."
_ADVICE_REMOVED: Final = "Remove what uses it, too, or keep it."


def broken_references(finding: FindingChange) -> tuple[str, ...]:
    """Return the names that such a finding is about, including the new name after a rename; none for other findings."""
    return tuple(name.name for name in finding.names if name.kind in {_REMOVED, _RENAMED})


def validation_beside(report: Report, base: Report) -> Validation | None:
    """Return the findings with one error for each name that the change renamed or removed and that is still used.

    The same goes for an intent whose examples the change all removed, and for what is suppressed: a comment that leaves
    out a warning leaves out what is an error of this change. ``None`` if every finding stays as it is.
    """
    section = report.validation
    if section is None:
        return None
    gone = _gone(base, report)
    now = {(name.kind, name.old): name.new for name in renamed_names(base, report)} if any(gone.values()) else {}
    instead = _instead(base, report) if any(gone.values()) else {}
    before = base.validation.findings if base.validation is not None else ()
    unused = frozenset(name for one in before if one.code in _UNUSED for name in _names(one))
    left_behind = {name: belongs for name, belongs in _left_behind(now, base, report).items() if name not in unused}

    def reported(findings: Sequence[Finding]) -> tuple[Finding, ...]:
        lost = [_of_lost_examples(finding, base, report) for finding in findings]
        return _with_one_for_each_name(lost, gone, now, left_behind, instead)

    findings = reported(section.findings)
    if of_change := tuple(findings_beside(base, report)):
        findings = tuple(sorted((*findings, *of_change), key=lambda finding: finding.order))
    suppressed = None if section.suppressed is None else reported(section.suppressed)
    if (findings, suppressed) == (section.findings, section.suppressed):
        return None
    counted = {severity: sum(finding.severity == severity for finding in findings) for severity in SEVERITIES}
    counts = FindingCounts(error=counted["error"], warning=counted["warning"], info=counted["info"])
    return msgspec.structs.replace(section, findings=findings, suppressed=suppressed, counts=counts)


class _LeftBehind(NamedTuple):
    """A response or action that belongs to a slot or form by its name: the kind and old name of that, and its place."""

    kind: str
    old: str
    location: Location


def _places_of(report: Report, kind: str) -> dict[str, Location]:
    return {item.name: item.location for item in report.coverage[kind].items} if kind in report.coverage else {}


def _left_behind(now: Mapping[tuple[str, str], str], base: Report, head: Report) -> dict[str, _LeftBehind]:
    """Return, by its name, what still belongs to the old name of a renamed slot or form.

    A form asks for a slot with ``utter_ask_SLOT`` or ``utter_ask_FORM_SLOT`` (or such an action), and is validated by
    ``validate_FORM``. What has its counterpart under the new name is not meant.
    """
    there = _places_of(head, "actions") | _places_of(head, "responses")
    forms, slots = (sorted({*_places_of(base, kind), *_places_of(head, kind)}) for kind in ("forms", "slots"))
    found: dict[str, _LeftBehind] = {}
    for (kind, old), new in now.items():
        patterns = {"slots": ["{}", *(f"{form}_{{}}" for form in forms)], "forms": [f"{{}}_{slot}" for slot in slots]}
        asked = [f"{prefix}_ask_{pattern}" for pattern in patterns.get(kind, ()) for prefix in ("utter", "action")]
        for pattern in (*asked, *(["validate_{}"] if kind == "forms" else [])):
            name = pattern.format(old)
            if name in there and pattern.format(new) not in there:
                found[name] = _LeftBehind(kind, old, there[name])
    return found


def _with_one_for_each_name(
    findings: Sequence[Finding],
    gone: Mapping[str, frozenset[str]],
    now: Mapping[tuple[str, str], str],
    left_behind: Mapping[str, _LeftBehind],
    instead: Mapping[tuple[str, str], str],
) -> tuple[Finding, ...]:
    """Return the findings with one for each name that is gone; ``now``: the new names of those that were renamed.

    ``left_behind``: what belongs to those by its name. ``instead``: the names that stand in the place of others.
    """
    if not any(gone.values()):
        return tuple(findings)
    missing = [_missed(finding, gone) for finding in findings if not _is_class(finding)]
    told = {*now, *missing}
    uses: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    others: list[Finding] = []
    for finding in findings:
        missed = _missed(finding, gone)
        if _is_class(finding) and missed not in told:
            missed = None  # the code of an action that is not wanted any more
        missed = missed or next(
            (left_behind[name][:2] for name in _names(finding) if finding.code in _UNUSED and name in left_behind), None
        )
        if missed is None:
            others.append(finding)
        else:
            uses[missed].append(finding)
    replaced = frozenset(now[missed] for missed in uses if missed in now)
    before = {new: old for (_, old), new in now.items()}
    left = [
        _still_unused(finding, before)
        for finding in others
        if not (finding.code in _OTHER_SIDE and _names(finding) & replaced)
    ]
    parts = []
    for (kind, name), found in uses.items():
        # While a form requires the slot by its old name, that is how it asks for it, too.
        is_asked = kind == "forms" or any(finding.code == "form-slot-undefined" for finding in found)
        more = [one.location for one in left_behind.values() if one[:2] == (kind, name) and is_asked]
        parts.append(_as_one(name, now.get((kind, name)), instead.get((kind, name)), found, more))
    return tuple(sorted((*left, *parts), key=lambda finding: finding.order))


def _of_lost_examples(finding: Finding, base: Report, head: Report) -> Finding:
    """An intent that had examples on the base and has none now can never be predicted: this change caused that."""
    if finding.code != _WITHOUT_EXAMPLES or base.validation is None or "intents" not in base.coverage:
        return finding
    names = _names(finding) & {item.name for item in base.coverage["intents"].items}
    before = [_names(one) for one in base.validation.findings if one.code == _WITHOUT_EXAMPLES]
    if not names or not all(before) or any(names & lacked for lacked in before):
        return finding  # a report of an earlier version does not say which intents have none
    name = min(names)
    to = _moved([name], _sentences(head).keys() - _sentences(base).keys(), base, head).get(name)
    lost = f"lost all its examples to '{to}'" if to is not None else "lost all its examples"
    message = f"The intent '{name}' has {lost} in this change and can never be predicted."
    hint = "Bring them back, or remove the intent."
    if to is not None:
        hint = f"If it is to be called '{to}', rename it in the domain, too."
    gone = (Name(_REMOVED, name),)
    return replace(finding, severity="error", message=message, hint=hint, names=gone, suggestion="", about=gone)


def _gone(base: Report, head: Report) -> dict[str, frozenset[str]]:
    """The names of each kind that only the base defines, whatever sentences are left; or of which none is left."""
    gone: dict[str, frozenset[str]] = {}
    for kind in KINDS:
        if kind in base.coverage and kind in head.coverage:
            listed = _places_of(base, kind).keys() - _places_of(head, kind).keys()
            gone[kind] = frozenset(listed | (_defined(base, kind).keys() - _defined(head, kind).keys()))
    if "intents" in gone:
        keys = _places_of_keys(base).keys() - _places_of_keys(head).keys()
        gone["intents"] |= {key for key in keys if "/" in key and key.partition("/")[0] not in gone["intents"]}
    return gone


def _missed(finding: Finding, gone: Mapping[str, frozenset[str]]) -> tuple[str, str] | None:
    """The kind and name of what the change removed, if that is the name that the finding reports as undefined."""
    if finding.code not in _USES:
        return None
    for name in finding.names:
        for kind in _KINDS_OF_NAME.get(name.kind, ()):
            if name.name in gone.get(kind, ()):
                return kind, name.name
    return None


def _is_class(finding: Finding) -> bool:
    return any(name.kind == _CLASS for name in finding.names)


def _names(finding: Finding) -> frozenset[str]:
    return frozenset(name.name for name in finding.names if name.kind in _KINDS_OF_NAME)


def _still_unused(finding: Finding, before: Mapping[str, str]) -> Finding:
    """An item that is unused under its new name should hardly be removed: whoever renamed it wanted to keep it."""
    old = next((before[name] for name in _names(finding) if name in before), None)
    if finding.code not in _UNUSED or old is None:
        return finding
    return replace(finding, hint=f"It was called '{old}' before this change: use the new name where it belongs.")


def _instead(base: Report, head: Report) -> dict[tuple[str, str], str]:
    """The new name that stands, by kind and name, wherever one that is gone stood in stories and rules."""
    replaced = _replaced(base, head, ("rules", "stories"))
    places = {kind: (_places_of(base, kind), _places_of(head, kind)) for kind in _IN_STEPS}
    return {
        (kind, old): new
        for kind, (before, after) in places.items()
        for old, new in replaced.items()
        if old in before and old not in after and new in after and new not in before
    }


def _as_one(
    old: str, new: str | None, instead: str | None, findings: Sequence[Finding], more: Iterable[Location]
) -> Finding:
    """All uses of a name as one finding; uses in the data come before those in code and in tests."""
    of_tests, of_code = ("test-", "e2e-", "flow-test-"), "code-"
    first = min(findings, key=lambda one: (one.code.startswith(of_tests), one.code.startswith(of_code), one.order))
    found = [location for finding in (first, *findings) for location in (finding.location, *finding.others)]
    locations = _distinct([*found, *more])
    uses = f"{count(len(locations), 'use')} {'keeps' if len(locations) == 1 else 'keep'}"
    if new is not None:
        message, hint = f"'{old}' was renamed to '{new}' in this change; {uses} the old name.", _ADVICE
    elif instead is not None:
        new = instead
        message, hint = f"'{old}' was replaced by '{new}' in this change; {uses} the old name.", _ADVICE
    else:
        message, hint = f"'{old}' was removed in this change; {uses} its name.", _ADVICE_REMOVED
    rest = sorted(locations[1:], key=lambda place: place.sort_key)
    names = (Name(_REMOVED, old), *((Name(_RENAMED, new),) if new is not None else ()))
    return replace(
        first,
        severity="error",
        message=message,
        hint=hint,
        others=tuple(rest),
        names=names,
        suggestion="",
        about=(Name(_REMOVED, old),),
    )


def _distinct(items: Iterable[Location]) -> list[Location]:
    return list(dict.fromkeys(items))
