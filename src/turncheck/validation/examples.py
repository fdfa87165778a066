"""The NLU examples: repetition, balance, annotations, synonyms, lookup tables."""

from __future__ import annotations

import re
from collections import Counter
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from turncheck.messages.finding import Name
from turncheck.messages.phrasing import count as counted
from turncheck.project.config import is_custom, short_name
from turncheck.project.nlu_data import EntityAnnotation, Example, Lookup, is_dropped, whitespace_words, word_borders
from turncheck.validation.checks import own_check
from turncheck.validation.findings import found, gathered, places_of
from turncheck.validation.places import Places
from turncheck.validation.similarity import normalised, shown, splits_word, word_spans
from turncheck.validation.unused import learning_extractors, pretrained_entities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project
    from turncheck.validation.facts import Facts


CHECKS: Final = (
    own_check(
        "annotation-misaligned",
        "warning",
        "An annotation does not begin or end where a token does",
        "Extractors label whole tokens; Rasa drops or widens this one while training. Move the brackets to the ends"
        " of words.",
        "- I want [pizza](dish)s",
        "- I want [pizzas](dish)",
        matters_always=True,
        needs=("config",),
        about=("entity", "place"),
    ),
    own_check(
        "example-duplicate",
        "info",
        "The same example appears twice in one intent",
        "Rasa keeps one. Remove the other.",
        "- hello\n- hello",
        "- hello\n- hi there",
        about=("sentence", "intent"),
    ),
    own_check(
        "intent-few-examples",
        "warning",
        "An intent has few examples, and a similar intent has many",
        "Its sentences share most of their words with those of a much larger intent, which will win. Write more"
        " examples.",
        "- intent: order          # 60 examples\n- intent: cancel_order   # 3 examples, of the same words",
        "- intent: order          # 60 examples\n- intent: cancel_order   # 15 examples, varied",
        needs=("nlu",),
        about=("intent",),
    ),
    own_check(
        "class-imbalance",
        "warning",
        "The largest intents dwarf the smallest",
        "A classifier learns to prefer what is frequent. Write examples for the small intents, or thin out the large"
        " ones.",
        "- intent: faq      # 400 examples\n- intent: goodbye  # 2 examples",
        "- intent: faq      # 60 examples\n- intent: goodbye  # 12 examples",
        needs=("nlu",),
        about=("section",),
    ),
    own_check(
        "value-not-annotated",
        "warning",
        "A value that is annotated elsewhere is not annotated here",
        "The extractor learns from this sentence that it is not an entity. Annotate it, or annotate it nowhere. Not"
        " reported are words that are far more often plain than annotated, and intents with ten or more examples none"
        " of which has the entity: there the word means something else.",
        "- a [large](size) pizza\n- make it large",
        "- a [large](size) pizza\n- make it [large](size)",
        about=("value", "place"),
    ),
    own_check(
        "value-in-several-entities",
        "warning",
        "The same words are annotated as different entities",
        "Only the context can distinguish them. Use one entity with roles, or write examples that show the difference.",
        "- from [Rome](departure)\n- [Rome](destination)",
        '- from [Rome]{"entity": "city", "role": "departure"}',
        about=("value", "entity"),
    ),
    own_check(
        "synonym-unreached",
        "warning",
        "A synonym is never reached",
        "No example annotates its text, and no RegexEntityExtractor finds it by a lookup table or a regex: nothing, or"
        " only what an extractor learned from other words, extracts it; or the pipeline has no EntitySynonymMapper.",
        "- synonym: large\n  examples: |\n    - humongous",
        "- synonym: large\n  examples: |\n    - humongous\n- intent: order\n  examples: |\n    - a [humongous](size)"
        " pizza",
        needs=("nlu", "config"),
        about=("synonym", "section"),
    ),
    own_check(
        "synonym-chain",
        "warning",
        "A synonym points at a value that is itself a synonym",
        "Only one step is followed: the result is the intermediate value. Point both at the final value.",
        "- synonym: big\n  examples: |\n    - huge\n- synonym: large\n  examples: |\n    - big",
        "- synonym: large\n  examples: |\n    - huge\n    - big",
        about=("synonym",),
    ),
    own_check(
        "lookup-entry-unseen",
        "info",
        "Entries of a lookup table occur in no example",
        "Entries that occur in no example are never seen in training. Use some of the entries in annotated examples.",
        "- lookup: city\n  examples: |\n    - Reykjavik",
        "- lookup: city\n  examples: |\n    - Reykjavik\n- intent: inform\n  examples: |\n    - I live in"
        " [Reykjavik](city)",
        needs=("nlu",),
        about=("lookup",),
    ),
    own_check(
        "lookup-entry-never-found",
        "warning",
        "Entries of a lookup table begin or end with a sign",
        "Entries are looked up between borders of words (`\\b`), not between a sign and a blank. Set"
        " `use_word_boundaries: false`, or leave the sign out unless it is a letter's mark.",
        "- lookup: language\n  examples: |\n    - c++",
        "- regex: language\n  examples: |\n    - c\\+\\+",
        needs=("nlu", "config"),
        about=("lookup",),
    ),
)


_IMBALANCE: Final = 20
"""How many times larger the largest intent may be than the smallest."""
_FEW: Final = 10
_MUCH_LARGER: Final = 4
_OVERLAP: Final = 0.5
_BARE_LIMIT: Final = 3
"""A value that is unannotated more than this many times as often as annotated is a common word."""
_LONGEST_VALUE: Final = 20
"""Number of words; a longer annotated value is a sentence, and is not looked for elsewhere."""
_TELLING: Final = 10
"""An intent with this many examples, none of them with the entity, does not use it: the word means another thing."""


def check_repeated_in_intent(facts: Facts) -> Iterator[Finding]:
    """The same example twice in one intent."""
    nlu = facts.project.nlu
    seen: set[tuple[str, str | None]] = set()
    again = [*nlu.duplicates]
    for example in nlu.examples:
        if (example.text, example.intent) in seen:
            again.append(example)
        seen.add((example.text, example.intent))
    for example in again:
        yield found(
            "example-duplicate",
            f"The example '{shown(example.text)}' appears more than once in '{example.intent}'.",
            example.location,
            about=(Name("sentence", example.text), Name("intent", example.intent or "")),
        )


def check_alignment(facts: Facts) -> Iterator[Finding]:
    """Annotations that do not begin and end where the tokenizer's words do.

    Words are those of WhitespaceTokenizer if the pipeline has it with its defaults, as Rasa's extractors judge, else
    runs of word characters. Not judged if words are not separated by spaces, nor for custom tokenizers.
    """
    project = facts.project
    pipeline = project.config.pipeline or ()
    names = {short_name(component.name) for component in pipeline}
    by_whitespace = [component for component in pipeline if short_name(component.name) == "WhitespaceTokenizer"]
    is_own = not by_whitespace and any(is_custom(part.name) or _splits_otherwise(part.name) for part in pipeline)
    if "JiebaTokenizer" in names or is_own or _is_spaceless(project):
        return
    is_plain = bool(by_whitespace) and not any(component.parameters.get("token_pattern") for component in by_whitespace)
    places = Places(project)
    for example in project.nlu.examples:
        if not example.entities:
            continue
        borders = _borders(example.text) if is_plain else None
        for entity in example.entities:
            if _is_misaligned(example.text, entity, borders):
                value = example.text[entity.start : entity.end]
                words = f"'{shown(value)}' ({entity.entity}) in '{shown(example.text)}'"
                finding = found(
                    "annotation-misaligned",
                    f"{words} does not begin and end where words do.",
                    places.in_example(example, entity.start),
                    about=(Name("entity", entity.entity),),
                )
                is_lost = borders is not None and all(map(is_dropped, value.split()))
                yield replace(finding, hint=_LOST_WORDS) if is_lost else finding


_LOST_WORDS: Final = (
    "Rasa's WhitespaceTokenizer takes words of Korean, Chinese or Japanese letters for emoji and drops them, so that no"
    " entity is learnt from them. Use a tokenizer of the language."
)
_TOKENIZERS: Final = frozenset({"SpacyTokenizer", "MitieTokenizer", "ConveRTTokenizer", "LanguageModelTokenizer"})
"""Rasa's tokenizers beside WhitespaceTokenizer whose words are runs of word characters, more or less."""


def _splits_otherwise(name: str) -> bool:
    """Whether a component is a tokenizer that Rasa does not have: a patched Rasa may, and it knows its language."""
    known = short_name(name)
    return known.endswith("Tokenizer") and known not in _TOKENIZERS


def _borders(text: str) -> tuple[set[int], set[int]]:
    """Where words begin, and where words end."""
    borders = word_borders(whitespace_words(text), text)
    return {start for start, _ in borders}, {end for _, end in borders}


def _is_misaligned(text: str, entity: EntityAnnotation, borders: tuple[set[int], set[int]] | None) -> bool:
    if borders is not None:
        starts, ends = borders
        return entity.start not in starts or entity.end not in ends
    value = text[entity.start : entity.end]
    return splits_word(text, entity.start) or splits_word(text, entity.end) or value != value.strip()


_SPACELESS: Final = frozenset({"zh", "ja", "th", "km", "lo", "my"})


def _is_spaceless(project: Project) -> bool:
    """Whether words of its language are not separated by spaces: of ``zh-TW`` and ``zh_Hans`` as of ``zh``."""
    language = project.config.language
    return isinstance(language, str) and re.split("[-_]", language.casefold())[0] in _SPACELESS


def check_balance(facts: Facts) -> Iterator[Finding]:
    """Intents that are dwarfed by the largest, and small ones with a large neighbour that uses the same words."""
    examples = facts.project.nlu.examples
    groups: dict[str, list[Example]] = {}
    for example in examples:
        if example.base_intent:
            groups.setdefault(example.base_intent, []).append(example)
    if len(groups) < 2:
        return
    largest = max(groups, key=lambda name: len(groups[name]))
    small = [name for name in groups if len(groups[name]) * _IMBALANCE <= len(groups[largest])]
    if small:
        smallest = min(small, key=lambda name: len(groups[name]))
        yield found(
            "class-imbalance",
            f"The intent '{largest}' has {counted(len(groups[largest]), 'example')}, {_listed(small, groups)}.",
            groups[smallest][0].location,
            subject="the sizes of all intents",
            about=(Name("section", "intents"),),
        )
    yield from _small_beside_large(groups)


def _listed(small: Sequence[str], groups: dict[str, list[Example]]) -> str:
    shown = ", ".join(f"'{name}' {len(groups[name])}" for name in small[:5])
    return f"{shown} and {len(small) - 5} more as few" if len(small) > 5 else shown


def _small_beside_large(groups: dict[str, list[Example]]) -> Iterator[Finding]:
    vocabulary: dict[str, set[str]] = {}
    for name, examples in groups.items():
        for example in examples:
            for word in normalised(example.text):
                vocabulary.setdefault(word, set()).add(name)
    common = max(2, len(groups) // 4)
    for name, examples in groups.items():
        if len(examples) >= _FEW:
            continue
        words = {word for example in examples for word in normalised(example.text)}
        telling = {word for word in words if len(vocabulary[word]) <= common}
        shared = Counter(other for word in telling for other in vocabulary[word] if other != name)
        near = [
            other
            for other, count in shared.items()
            if count >= _OVERLAP * len(words) and len(groups[other]) >= _MUCH_LARGER * len(examples)
        ]
        if near:
            other = max(near, key=lambda candidate: (shared[candidate], candidate))
            yield found(
                "intent-few-examples",
                f"The intent '{name}' has {counted(len(examples), 'example')}, and shares most of its words with"
                f" '{other}', which has {len(groups[other])}.",
                examples[0].location,
                subject=name,
                about=(Name("intent", name),),
            )


def _as_several(
    words: tuple[str, ...],
    held: Mapping[str, Sequence[tuple[Example, int]]],
    numbers: Counter[str],
    places: Places,
) -> Iterator[Finding]:
    """A value that is annotated as one entity here and as another there.

    A token may be several at once: ``[FRA][{"entity": "city"}, {"entity": "airport"}]``.
    """
    (usual, _), *others = numbers.most_common()  # of equally many the last by name, however files are ordered
    if not others:
        return
    as_usual = {(id(example), start) for example, start in held[usual]}
    for name, _ in others:
        instead = [(example, start) for example, start in held[name] if (id(example), start) not in as_usual]
        if not instead:
            continue
        # Each sentence is described once: one with thousands of annotations takes as long as all of them.
        first = min({id(one): one for one, _ in instead}.values(), key=attrgetter("place_in_order"))
        example, start = min((one for one in instead if one[0] is first), key=itemgetter(1))
        yield found(
            "value-in-several-entities",
            f"'{shown(' '.join(words))}' is annotated as '{name}' here, and as '{usual}' elsewhere.",
            places.in_example(example, start),
            about=(Name("value", " ".join(words)), *(Name("entity", entity) for entity in numbers)),
        )


def check_values(facts: Facts) -> Iterator[Finding]:
    """Values that are annotated here and unannotated there, and values that are annotated as different entities."""
    project = facts.project
    examples = project.nlu.examples
    places = Places(project)
    annotated: dict[tuple[str, ...], dict[str, list[tuple[Example, int]]]] = {}
    for example in examples:
        for entity in example.entities:
            if words := normalised(example.text[entity.start : entity.end]):
                annotated.setdefault(words, {}).setdefault(entity.entity, []).append((example, entity.start))
    entities = {
        words: Counter({name: len(held[name]) for name in sorted(held, reverse=True)})
        for words, held in annotated.items()
    }
    for words, held in annotated.items():
        yield from _as_several(words, held, entities[words], places)
    foreign = _intents_without(examples)
    bare: dict[tuple[str, ...], list[tuple[Example, int]]] = {}
    lengths: dict[str, int] = {}
    for words in entities:
        if len(words) <= _LONGEST_VALUE:
            lengths[words[0]] = max(lengths.get(words[0], 0), len(words))
    for example in examples:
        for words, start in _bare_values(example, entities, lengths):
            bare.setdefault(words, []).append((example, start))
    for words, occurrences in bare.items():
        if len(occurrences) <= _BARE_LIMIT * entities[words].total():
            entity_name = entities[words].most_common(1)[0][0]
            for example, start in occurrences:
                if entity_name in foreign.get(_base(example), ()):
                    continue
                yield found(
                    "value-not-annotated",
                    f"'{' '.join(words)}' is annotated as '{entity_name}' elsewhere, but not in"
                    f" '{shown(example.text)}'.",
                    places.in_example(example, start),
                    about=(Name("value", " ".join(words)),),
                )


def _intents_without(examples: Sequence[Example]) -> dict[str, set[str]]:
    """By intent: the entities that none of its many examples has."""
    sizes = Counter(map(_base, examples))
    held: dict[str, set[str]] = {}
    for example in examples:
        held.setdefault(_base(example), set()).update(entity.entity for entity in example.entities)
    every = set().union(*held.values())
    return {intent: every - held[intent] for intent, size in sizes.items() if size >= _TELLING}


def _base(example: Example) -> str:
    return (example.intent or "").partition("/")[0]


def _bare_values(
    example: Example, entities: dict[tuple[str, ...], Counter[str]], lengths: dict[str, int]
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The longest known values among the words that no annotation covers, each with where it begins."""
    spans = word_spans(example.text)
    free = _uncovered(spans, example.entities)
    position = 0
    while position < len(spans):
        size = min(lengths.get(spans[position][0], 0), free[position])
        while size and tuple(word for word, _, _ in spans[position : position + size]) not in entities:
            size -= 1
        if size:
            yield tuple(word for word, _, _ in spans[position : position + size]), spans[position][1]
        position += size or 1


def _uncovered(spans: Sequence[tuple[str, int, int]], entities: Iterable[EntityAnnotation]) -> list[int]:
    """By word: the number of consecutive words, from it on, without an annotation."""
    waiting = sorted(((entity.start, entity.end) for entity in entities), reverse=True)
    covered: list[bool] = []
    reach = 0
    for _, start, end in spans:
        while waiting and waiting[-1][0] < end:
            reach = max(reach, waiting.pop()[1])
        covered.append(start < reach)
    rows = [0] * len(spans)
    for position in reversed(range(len(spans))):
        if not covered[position]:
            rows[position] = 1 + (rows[position + 1] if position + 1 < len(spans) else 0)
    return rows


def _matching(project: Project, named: set[str]) -> tuple[bool, bool, bool]:
    """Whether the pipeline extracts what lookup tables list, what regexes of annotated entities match, and anything."""
    pipeline = project.config.pipeline or ()
    anything = bool(pretrained_entities(project.config)) or any(is_custom(component.name) for component in pipeline)
    matching = [c.parameters for c in pipeline if short_name(c.name) == "RegexEntityExtractor"]
    has_pattern = any(regex.name in named for regex in project.nlu.regexes)
    by_table = any(parameters.get("use_lookup_tables", True) for parameters in matching)
    return by_table, has_pattern and any(p.get("use_regexes", True) for p in matching), anything


def check_synonyms(facts: Facts) -> Iterator[Finding]:
    """Synonyms that nothing extracts, that no component maps, or that point at each other."""
    project = facts.project
    nlu = project.nlu
    pipeline = project.config.pipeline
    if nlu.synonyms and pipeline and not any(short_name(c.name) == "EntitySynonymMapper" for c in pipeline):
        yield found(
            "synonym-unreached",
            "There are synonyms, and no EntitySynonymMapper in the pipeline that would use them.",
            nlu.synonyms[0].location,
            about=(Name("section", "synonyms"),),
        )
    annotated = {e.text[a.start : a.end].casefold() for e in nlu.examples for a in e.entities}
    named = {entity.entity for example in nlu.examples for entity in example.entities}
    listed = {element.casefold() for table in nlu.lookups if table.name in named for element in table.elements}
    by_table, by_pattern, anything = _matching(project, named)
    learning = learning_extractors(pipeline or ()) if named else []
    values = {synonym.synonym.casefold(): str(synonym.value) for synonym in nlu.synonyms}
    for synonym in nlu.synonyms:
        text = synonym.synonym.casefold()
        value = str(synonym.value).casefold()
        if text == value:
            continue
        if text not in annotated and not (by_table and text in listed) and not by_pattern and not anything:
            then = ", so nothing extracts it"
            if learning:
                then = f": whether {learning[0]} extracts it depends on what it learned from other words"
            yield found(
                "synonym-unreached",
                f"No example annotates the synonym '{synonym.synonym}' for '{synonym.value}'{then}.",
                synonym.location,
                about=(Name("synonym", synonym.synonym),),
            )
        onward = values.get(value)
        if onward is not None and onward.casefold() != value:
            yield found(
                "synonym-chain",
                f"'{synonym.synonym}' stands for '{synonym.value}', which is itself a synonym for '{onward}'.",
                synonym.location,
                about=(Name("synonym", synonym.synonym),),
            )


def check_lookups(facts: Facts) -> Iterator[Finding]:
    """Lookup entries that occur in no example, one finding per table, in however many pieces it is written."""
    project = facts.project
    if not project.nlu.lookups:
        return
    yield from _never_found(project)
    if _is_spaceless(project) or _within_words(project):
        yield from _unseen_within(project)
        return
    longest = max((len(normalised(e)) for table in project.nlu.lookups for e in table.elements), default=0)
    phrases: set[tuple[str, ...]] = set()
    for example in project.nlu.examples:
        words = normalised(example.text)
        for start in range(len(words)):
            phrases.update(words[start : start + size] for size in range(1, min(longest, 6) + 1))
    for tables in gathered((table.name, table) for table in project.nlu.lookups).values():
        entries = [element for table in tables for element in table.elements]
        unseen = sorted(e for e in entries if 0 < len(normalised(e)) <= 6 and normalised(e) not in phrases)
        if unseen:
            yield _about_entries("lookup-entry-unseen", "occur in no example", tables, entries, unseen)


def _about_entries(
    code: str, fault: str, tables: Sequence[Lookup], entries: Sequence[str], faulty: Sequence[str]
) -> Finding:
    """A fault of some entries of a lookup table, which may stand in several places."""
    name = tables[0].name
    return found(
        code,
        f"{len(faulty)} of {len(entries)} entries of the lookup '{name}' {fault}:"
        f" {', '.join(faulty[:3])}{' …' if len(faulty) > 3 else ''}.",
        tables[0].location,
        others=places_of(tables[1:]),
        subject=name,
        about=(Name("lookup", name),),
    )


_READ_TABLES: Final = frozenset({"RegexFeaturizer", "RegexEntityExtractor"})
_BORDERED: Final = re.compile(r"\w(?:.*\w)?", re.DOTALL)
"""What has a border of a word on both sides if blanks are around it."""


def _never_found(project: Project) -> Iterator[Finding]:
    """Yield the entries that no component finds in a sentence: between a sign and a blank no word begins or ends."""
    pipeline = project.config.pipeline or ()
    readers = [one for one in pipeline if short_name(one.name) in _READ_TABLES]
    if _within_words(project) or not any(one.parameters.get("use_lookup_tables") is not False for one in readers):
        return
    for tables in gathered((table.name, table) for table in project.nlu.lookups).values():
        entries = [element for table in tables for element in table.elements]
        lost = sorted(entry for entry in entries if entry.strip() and not _BORDERED.fullmatch(entry.strip()))
        if lost:
            fault = "are not found between blanks, since they begin or end with a sign"
            yield _about_entries("lookup-entry-never-found", fault, tables, entries, lost)


def _within_words(project: Project) -> bool:
    """Whether a lookup table also matches inside of words."""
    pipeline = project.config.pipeline or ()
    return any(component.parameters.get("use_word_boundaries") is False for component in pipeline)


def _unseen_within(project: Project) -> Iterator[Finding]:
    """Yield the same where an entry may be anywhere in an example."""
    text = "\n".join(example.text.casefold() for example in project.nlu.examples)
    for tables in gathered((table.name, table) for table in project.nlu.lookups).values():
        entries = [element for table in tables for element in table.elements]
        unseen = sorted(entry for entry in entries if entry.strip() and entry.casefold() not in text)
        if unseen:
            yield _about_entries("lookup-entry-unseen", "occur in no example", tables, entries, unseen)
