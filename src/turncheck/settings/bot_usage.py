"""What a turn of a bot costs: where its answers have the tokens (``usage`` under ``bot:``), and their ``prices``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.yaml_tree.shapes import Key, MapOf, Number, Record, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.web.json_path import JsonPath

ANY_MODEL: Final = "*"
"""The price of models that have none of their own."""
_PER: Final = 1_000_000
"""Prices are those of so many tokens."""
_PATH: Final = Text(may_be_empty=False, what="a JSONPath, such as $.usage.prompt_tokens")

USAGE_KEYS: Final[Mapping[str, Key]] = {
    "usage": Key(
        Record(
            "`usage`",
            {
                "input": Key(_PATH, "Where an answer has the tokens that the bot read."),
                "output": Key(_PATH, "Where it has the tokens that the bot wrote."),
                "model": Key(_PATH, "Where it has the model's name, by which tokens have a price."),
            },
        ),
        "Where an answer says how many tokens it took.",
    ),
    "prices": Key(
        MapOf(
            Record(
                "a price",
                {
                    "input": Key(Number(), "Of a million tokens that the bot reads.", required=True),
                    "output": Key(Number(), "Of a million tokens that it writes.", required=True),
                },
            ),
            what="a map of models, each with the prices `input` and `output` of a million tokens",
        ),
        "What a million tokens cost, by model; `*` is any other.",
    ),
}


class UsageShape(Struct, frozen=True):
    """Where an answer has the tokens that it took, and the model that took them."""

    input: JsonPath | None = None
    output: JsonPath | None = None
    model: JsonPath | None = None


class Price(Struct, frozen=True):
    """What a million tokens cost, that are read (``input``) and written."""

    input: float
    output: float


class Prices(Struct, frozen=True):
    """Prices by model; ``asked``: the model that messages are sent to, where the file says so."""

    of_model: Mapping[str, Price] = {}
    asked: str = ""

    def cost(self, model: str, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """Return what tokens cost; ``None``: not known, since the tokens or the price are not.

        Args:
            model: as the answer has it; "" if it does not say. Where it has no price, that of the model asked counts.
            tokens_in: what was read.
            tokens_out: what was written.
        """
        price = next((self.of_model[one] for one in (model, self.asked, ANY_MODEL) if one in self.of_model), None)
        if price is None or tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * price.input + tokens_out * price.output) / _PER


NO_PRICES: Final = Prices()


def read_prices(data: Mapping[str, Any]) -> Prices:
    """Read ``prices`` of ``bot:``, whose shape was checked."""
    body = data["request"].get("body")
    asked = body.get("model") if isinstance(body, dict) else None
    of_model = {
        str(name): Price(float(price["input"]), float(price["output"]))
        for name, price in (data.get("prices") or {}).items()
    }
    return Prices(of_model, asked if isinstance(asked, str) else "")
