"""A message of the assistant's as Botium sees it: text, buttons, media, cards, and the answer that it came in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.clock import seconds_left
from turncheck.evaluations.e2e.botium.texts import CannotCompareError, NotJudgedError
from turncheck.evaluations.e2e.steps import json_text
from turncheck.project.botium.patterns import UnsupportedPatternError, as_pattern, from_utf16_units, to_utf16_units
from turncheck.project.botium.vocabulary import ORDERED_LIST
from turncheck.web.json_path import JsonPath, PathError
from turncheck.yaml_tree.shapes import SEARCH_SECONDS, as_re_reads

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_FORMS: Final = "the engine reports no forms to fill in"
NO_ANSWER: Final = "the engine reports no answer in JSON to look into"
_CARD_TEXTS: Final = ("title", "subtitle", "text", "subtext", "content")
"""The keys of a card with what is read of it."""


class Message(Struct, frozen=True):
    """A message, and how the user's message before it was understood; ``None`` if there is none.

    ``unseen``: what the engine does not report, with the reason. ``listed``: buttons that were made of its text.
    """

    event: Mapping[str, Any]
    heard: Mapping[str, Any] | None
    unseen: Mapping[str, str]
    listed: tuple[Mapping[str, Any], ...] = field(default=())

    @property
    def text(self) -> str:
        """What it says."""
        return self.event.get("text") or ""

    @property
    def _data(self) -> Mapping[str, Any]:
        return self.event.get("data") or {}

    @property
    def buttons(self) -> list[Mapping[str, Any]]:
        """Its buttons, each with ``title`` and ``payload``."""
        if self.listed and "buttons" in self.unseen:
            return [*self.listed]
        return [*(one for one in self._reported("buttons", "buttons") if isinstance(one, dict)), *self.listed]

    @property
    def media(self) -> list[str]:
        """The addresses of its media."""
        more = [one for one in (self._data.get("image"), self._data.get("attachment")) if one]
        return [one if isinstance(one, str) else json_text(one) for one in (*self._reported("media", "media"), *more)]

    @property
    def cards(self) -> list[tuple[str, ...]]:
        """The texts of each of its cards; in Rasa's messages they are called elements."""
        return [_texts(card) for card in self._own_cards() if isinstance(card, (str, dict))]

    @property
    def all_cards(self) -> list[tuple[str, ...]]:
        """The texts of each of its cards, and of the cards in them."""
        return [_texts(card) for card in _with_inner(self._own_cards())]

    @property
    def all_buttons(self) -> list[Mapping[str, Any]]:
        """Its buttons and those of its cards."""
        return self.buttons + [
            {"title": one.get("title", one.get("text")), "payload": one.get("payload")}
            for card in self._maps()
            for one in _listed(card.get("buttons"))
            if isinstance(one, dict)
        ]

    @property
    def all_media(self) -> list[str]:
        """The addresses of its media and of those of its cards."""
        found = (
            one.get("mediaUri") if isinstance(one, dict) else one
            for card in self._maps()
            for one in (card.get("image"), card.get("image_url"), *_listed(card.get("media")))
        )
        return self.media + [uri for uri in found if isinstance(uri, str) and uri]

    @property
    def forms(self) -> list[tuple[str, str]]:
        """The fields to fill in of its cards, and of the cards in them: each with name and label."""
        found = [
            (as_text(one.get("name")), as_text(one.get("label")))
            for card in _with_inner(self._own_cards())
            if isinstance(card, dict)
            for one in _listed(card.get("forms"))
            if isinstance(one, dict)
        ]
        if not found and "answer" not in self.event:
            raise NotJudgedError(NO_FORMS)
        return found

    def _own_cards(self) -> list[Any]:
        return [*self._reported("cards", "cards"), *self._reported("cards", "elements")]

    def _maps(self) -> list[Mapping[str, Any]]:
        """Its cards with what they show, and the cards in them; none where nothing says where cards are."""
        cards = [] if "cards" in self.unseen else self._own_cards()
        return [card for card in _with_inner(cards) if isinstance(card, dict)]

    def _reported(self, kind: str, key: str) -> list[Any]:
        if kind in self.unseen:
            raise NotJudgedError(self.unseen[kind])
        return _listed(self._data.get(key))

    def selected(self, path: str) -> list[Any]:
        """Return what a path selects in the answer that the message came in.

        Raises:
            NotJudgedError: the engine does not report it.
            CannotCompareError: it cannot be searched for the path.
        """
        if "answer" not in self.event:
            raise NotJudgedError(NO_ANSWER)
        return selected(path, self.event["answer"])

    def assigned(self, path: str) -> str:
        """Return the value at a path of the message, as text.

        Raises:
            NotJudgedError: there is none, and the engine does not report the answer.
            CannotCompareError: there is none.
        """
        if values := self.at(path):
            return as_text(values[0])
        raise CannotCompareError(f"nothing is at {path}")

    def at(self, path: str) -> list[Any]:
        """Return what a path selects in the message as Botium's connectors write it.

        Raises:
            NotJudgedError: there is nothing, and the engine does not report the answer.
            CannotCompareError: it cannot be searched for the path.
        """
        intent = (self.heard or {}).get("intent") or {}
        entities = [one for one in (self.heard or {}).get("entities") or () if isinstance(one, dict)]
        shown = {
            "sender": "bot",
            "messageText": self.text,
            "nlp": {
                "intent": {key: intent[key] for key in ("name", "confidence") if key in intent},
                "entities": [{"name": one.get("entity"), "value": one.get("value")} for one in entities],
            },
            "buttons": [] if "buttons" in self.unseen else [
                {"text": one.get("title"), "payload": one.get("payload")} for one in self.buttons
            ],
            "media": [] if "media" in self.unseen else [{"mediaUri": uri} for uri in self.media],
        }  # fmt: skip
        if "answer" in self.event:
            shown["sourceData"] = self.event["answer"]
        found = selected(path, shown)
        if not found and "answer" not in self.event:
            raise NotJudgedError(NO_ANSWER)
        return found

    def with_list(self, pattern: str) -> Message:
        """Return the message with a button for each point of a list in its text.

        Raises:
            CannotCompareError: the pattern takes too long, or cannot be read.
        """
        import regex  # only where there are patterns

        try:
            found = regex.finditer(
                as_re_reads(as_pattern(pattern or ORDERED_LIST, multiline=True)),
                to_utf16_units(self.text),
                flags=regex.VERSION0,
                timeout=seconds_left(SEARCH_SECONDS),
                concurrent=True,
            )
            points = [from_utf16_units(match[1]) for match in found if match.re.groups and match[1]]
        except UnsupportedPatternError as error:
            raise CannotCompareError(f"'{pattern}': {error}") from None
        except TimeoutError:
            raise CannotCompareError(f"the pattern '{pattern}' took too long to be searched for") from None
        return replace(self, listed=tuple({"title": point, "payload": point} for point in points))


def _texts(card: str | Mapping[str, Any]) -> tuple[str, ...]:
    return (card,) if isinstance(card, str) else tuple(str(card[key]) for key in _CARD_TEXTS if card.get(key))


def _with_inner(cards: list[Any]) -> list[str | Mapping[str, Any]]:
    """Return cards and the cards in them."""
    found: list[str | Mapping[str, Any]] = []
    while cards:
        card = cards.pop(0)
        if isinstance(card, (str, dict)):
            found.append(card)
        if isinstance(card, dict):
            cards += _listed(card.get("cards"))
    return found


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def selected(path: str, content: Any) -> list[Any]:
    """Return what a path selects.

    Raises:
        CannotCompareError: it cannot be searched for.
    """
    try:
        return JsonPath(path).values(content)
    except PathError as error:
        raise CannotCompareError(f"{path} cannot be searched for: {error}") from None


def as_text(value: Any) -> str:
    """Return a value as Botium compares it: numbers as in JavaScript, lists by their items."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool() | dict():
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        case float() if value.is_integer() and abs(value) < 1e21:
            return str(int(value))
        case list() | tuple():
            return ",".join(map(as_text, value))
        case _:
            return str(value)
