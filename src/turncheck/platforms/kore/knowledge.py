"""What an export holds besides dialogs: FAQs, small talk, traits, entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.platforms.kore import model
from turncheck.platforms.kore.faults import Fault, Place, shown
from turncheck.project.nlu_data import WholeLabelExample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from turncheck.yaml_tree.json_tree import JsonFile, Step


class KnowledgeReader:
    """Reads the questions, small talk and traits of one language.

    ``examples`` are their training sentences, ``disabled`` the questions that are switched off.
    """

    def __init__(self, file: JsonFile, prefix: tuple[Step, ...], language: str) -> None:
        self.examples: list[WholeLabelExample] = []
        self.faults: list[Fault] = []
        self.disabled: list[str] = []
        self._file = file
        self._prefix = prefix
        self._language = language
        self._origin = model.Texts(file)

    def _is_ours(self, record: Mapping[str, Any]) -> bool:
        return model.clean(record.get("language")) in {"", self._language}

    def _teach(self, text: str, intent: str, path: tuple[Step, ...]) -> None:
        self.examples.append(WholeLabelExample(text, intent, (), None, self._origin, self._origin.add(path)))

    # --- questions ----------------------------------------------------------------------------------------------------

    def questions(self, data: Any) -> Iterator[model.KoreIntent]:
        """Yield the FAQs that are not disabled, each named after its question."""
        for number, task in model.records(data):
            if self._is_ours(task):
                path = (*self._prefix, "knowledgeTasks", number, "faqs", "faqs")
                for index, record in model.records(model.mapping(task.get("faqs")).get("faqs")):
                    yield from self._question(record, (*path, index))

    def _question(self, record: Mapping[str, Any], path: tuple[Step, ...]) -> Iterator[model.KoreIntent]:
        question = model.clean(record.get("question"))
        if not question:
            return
        if record.get("faqStatus") is False:
            self.disabled.append(question)
            message = f"The FAQ {shown(question)} is disabled; it is left out."
            self.faults.append(Fault("kore-faq-disabled", message, Place(self._file, (*path, "question"))))
            return
        self._teach(question, question, (*path, "question"))
        examples = 1
        for index, other in model.records(record.get("alternateQuestions")):
            if text := model.clean(other.get("question")):
                self._teach(text, question, (*path, "alternateQuestions", index, "question"))
                examples += 1
        label = model.clean(record.get("label"))
        aliases = (label,) if label and label != question else ()
        yield model.KoreIntent(question, "faq", examples, Place(self._file, (*path, "question")), aliases=aliases)

    # --- small talk ---------------------------------------------------------------------------------------------------

    def small_talk(self, data: Any) -> Iterator[model.KoreIntent]:
        """Yield the small talk nodes, each named after its first text; plain texts of top-level nodes are examples."""
        nodes: list[tuple[Mapping[str, Any], tuple[Step, ...], list[tuple[int, str]]]] = []
        for number, record in model.records(data):
            if not self._is_ours(record):
                continue
            for group, content in model.records(record.get("groups")):
                for index, node in model.records(content.get("nodes")):
                    path = (*self._prefix, "smallTalk", number, "groups", group, "nodes", index)
                    said = model.records(node.get("userUtterances"))
                    texts = [(place, text) for place, one in said if (text := model.clean(one.get("text")))]
                    if texts:
                        nodes.append((node, path, texts))
        names = {model.clean(node.get("nodeId")): texts[0][1] for node, _, texts in nodes}
        for node, path, texts in nodes:
            yield self._node(node, path, texts, names)

    def _node(
        self,
        node: Mapping[str, Any],
        path: tuple[Step, ...],
        texts: list[tuple[int, str]],
        names: Mapping[str, str],
    ) -> model.KoreIntent:
        name = texts[0][1]
        place = Place(self._file, (*path, "userUtterances", texts[0][0], "text"))
        parent = model.clean(node.get("parentId"))
        if parent and parent not in names:
            message = f"The small talk {shown(name)} follows up a node that this export does not hold."
            self.faults.append(Fault("kore-unresolved-parent", message, place))
        plain = [] if parent else [(index, text) for index, text in texts if model.is_utterance(text)]
        for index, text in plain:
            self._teach(text, name, (*path, "userUtterances", index, "text"))
        return model.KoreIntent(
            name,
            "small_talk",
            len(plain),
            place,
            parent=names.get(parent) if parent else None,
            patterns=len(texts) - len(plain),
            aliases=tuple(text for _, text in texts[1:]),
        )

    # --- traits -------------------------------------------------------------------------------------------------------

    def traits(self, data: Any) -> Iterator[tuple[model.KoreTrait, model.KoreIntent]]:
        """Yield the traits, each as a trait and as an intent that may be expected."""
        for number, group in model.records(data):
            if self._is_ours(group):
                for key, value in model.mapping(group.get("traits")).items():
                    record = model.mapping(value)
                    path = (*self._prefix, "traits", number, "traits", key)
                    name = model.clean(record.get("displayName")) or model.clean(key)
                    data_of = record.get("data")
                    said = enumerate(data_of) if isinstance(data_of, list) else ()
                    texts = [
                        WholeLabelExample(text, name, (), None, self._origin, self._origin.add((*path, "data", index)))
                        for index, one in said
                        if (text := model.clean(one))
                    ]
                    if name:
                        trait = model.KoreTrait(name, key, model.clean(group.get("groupName")), tuple(texts))
                        aliases = (key,) if model.clean(key) != name else ()
                        yield (
                            trait,
                            model.KoreIntent(name, "trait", len(texts), Place(self._file, path), aliases=aliases),
                        )


def read_entities(
    components: Iterable[tuple[int, Mapping[str, Any]]], language: str, place: Place
) -> Iterator[tuple[str, model.KoreEntity]]:
    """Yield the entities by the IDs of their components; ``place``: where the list of components is."""
    for number, record in components:
        name = model.clean(record.get("name"))
        if record.get("type") != "entity" or not name:
            continue
        own = model.in_language(record, language)
        written = record.get("regexPattern")
        yield (
            model.clean(record.get("_id")),
            model.KoreEntity(
                name,
                model.clean(record.get("entityType")) or "none",
                Place(place.file, (*place.path, number, "name")),
                multiple=record.get("isArray") is True,
                values=tuple(_values(own)),
                pattern=model.python_pattern(written) if isinstance(written, str) and written.strip() else None,
            ),
        )


def _values(own: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The values of a list entity; values that come from a variable are not in the export."""
    for _, item in model.records(model.mapping(own.get("allowedValues")).get("values")):
        value = model.clean(item.get("value")) or model.clean(item.get("title"))
        words = [model.clean(item.get("title")), value, *map(model.unquoted, model.strings(item.get("synonyms")))]
        if value:
            yield value, tuple(dict.fromkeys(word for word in words if word))
