"""The APIs of vendors as they describe them themselves: what a stub is asked and answers is held against that.

``bot_apis/`` has, for each API, the operations and schemas that a kind of bot needs, each with its source; of what is
copied, descriptions, examples and the operations that nobody uses are left out. Lex is described by botocore's model.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

import botocore.loaders
import botocore.model
import botocore.validate
from fake_bot import Call, Reply
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_FOLDER = Path(__file__).with_name("bot_apis")
_NAME_OF_LEX = "lex-v2"


@dataclass
class DescribedBot:
    """Answers as ``answer`` does, and notes what of its calls and replies is not as the API's description has it."""

    kind: str
    answer: Callable[[Call], Reply]
    faults: list[str] = field(default_factory=list)

    def __call__(self, call: Call) -> Reply:
        """Answer a call."""
        reply = self.answer(call)
        self.faults += faults_of(self.kind, call, reply)
        return reply


def faults_of(kind: str, call: Call, reply: Reply) -> list[str]:
    """Return what of a call, and of the reply to it, the description of the API does not allow."""
    if kind == _NAME_OF_LEX:
        return _faults_of_lex(call, reply)
    path, _, query = call.path.partition("?")
    operation = next((one for one in _description(kind)["operations"] if _fits(one, call.method, path)), None)
    if operation is None:
        return [f"there is no {call.method} {path}"]
    unknown = [f"unknown in the query: {name}" for name, _ in parse_qsl(query, True) if name not in operation["query"]]
    headers = [
        f"{name}: {call.headers.get(name)}"
        for name, pattern in operation.get("headers", {}).items()
        if not re.search(pattern, call.headers.get(name, ""))
    ]
    asked = list(_faults(kind, "the call", operation["request"], call.body, required=operation.get("required", True)))
    if str(reply.status) not in operation["answers"]:
        return [*unknown, *headers, *asked, f"no answer has the status {reply.status}"]
    answered = _faults(
        kind, "the reply", operation["answers"][str(reply.status)], None if reply.body == b"" else reply.body
    )
    return [*unknown, *headers, *asked, *answered]


@cache
def _description(kind: str) -> Any:
    description = json.loads((_FOLDER / f"{kind}.json").read_text("utf-8"))
    schemas: Mapping[str, Any] = description["schemas"]
    return {
        "operations": [
            {
                **one,
                "request": _closed(one["request"], schemas),
                "answers": {status: _closed(schema, schemas) for status, schema in one["answers"].items()},
            }
            for one in description["operations"]
        ],
        "schemas": {name: _closed_below(schema, schemas) for name, schema in schemas.items()},
    }


def _closed(schema: Any, schemas: Mapping[str, Any]) -> Any:
    """Return the schema of a value with fields that it does not name forbidden, if it names any."""
    below = _closed_below(schema, schemas)
    return (
        {**below, "unevaluatedProperties": False}
        if isinstance(below, dict) and _names_fields(below, schemas)
        else below
    )


def _closed_below(schema: Any, schemas: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_closed_below(one, schemas) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _closed(one, schemas) for name, one in value.items()}
        if key == "properties"
        else _closed(value, schemas)
        if key == "items"
        else _closed_below(value, schemas)
        for key, value in schema.items()
    }


def _names_fields(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> bool:
    if "$ref" in schema:
        return _names_fields(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    parts = [one for key in ("allOf", "anyOf", "oneOf") for one in schema.get(key, ())]
    return "properties" in schema or any(_names_fields(one, schemas) for one in parts)


def _fits(operation: Mapping[str, Any], method: str, path: str) -> bool:
    template = re.sub(r"\\\{\w+\\\}", "[^/:]+", re.escape(operation["path"]))
    return operation["method"] == method and re.fullmatch(template, unquote(path)) is not None


def _faults(kind: str, what: str, schema: Any, value: Any, *, required: bool = True) -> Iterator[str]:
    if schema is None or (value is None and not required):
        if value is not None:
            yield f"{what} has no content in the description"
        return
    whole = {**schema, "schemas": _description(kind)["schemas"]}
    for error in Draft202012Validator(whole).iter_errors(value):
        yield f"{what}, {error.json_path}: {error.message}"


# Lex, by the service model of AWS's own client.


@cache
def _recognize_text() -> Any:
    model = botocore.loaders.Loader().load_service_model("lexv2-runtime", "service-2")
    return botocore.model.ServiceModel(model, "lexv2-runtime").operation_model("RecognizeText")


def _faults_of_lex(call: Call, reply: Reply) -> list[str]:
    operation = _recognize_text()
    template = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", operation.http["requestUri"])
    place = re.fullmatch(template, unquote(call.path))
    if place is None or call.method != operation.http["method"]:
        return [f"there is no {call.method} {call.path}"]
    asked, answered = {**place.groupdict(), **call.body}, _without_nulls(reply.body)
    validate = botocore.validate.ParamValidator().validate
    faults = (validate(asked, operation.input_shape), validate(answered, operation.output_shape))
    unknown = [
        f"unknown: {name}"
        for shape, value in ((operation.input_shape, asked), (operation.output_shape, reply.body))
        for name in value
        if name not in shape.members
    ]
    return [*unknown, *(found.generate_report() for found in faults if found.has_errors())]


def _without_nulls(value: Any) -> Any:
    """Return what a client of AWS reads: what is null is not there."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
