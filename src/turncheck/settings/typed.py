"""The types of the settings that functions for Python programs take: `tools/make_reference.py` writes the fields."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

AnyPath = str | os.PathLike[str]
Words = str | Sequence[str]
"""Several values, or one of them."""
Limits = Words | Mapping[str, float | str]
"""``"nlu.intents.f1 >= 0.85"``, or several such lines; of ``max_regression`` also a mapping of metrics to limits."""


class GateSettings(TypedDict, total=False):
    """The settings of gates, as docs/gates.md explains them."""

    fail_on: Words
    fail_on_warnings: bool
    thresholds: Limits
    max_regression: Limits
    require: Words
    accept_gone: Words
    not_judged: str
    misunderstood: str
    batch_failures: str
    strict: bool


class EngineSettings(TypedDict, total=False):
    """The settings of engines, as docs/settings.md explains them."""

    plugins: Words
    engine: str
    model: AnyPath
    seed: int
    cluster: str
    vectors: bool | str
    today: str
    allow_custom_code: bool
    rasa_url: Words
    rasa_url_base: Words
    rasa_token: str
    rasa_jwt: str
    rasa_command: str
    rasa_servers: int
    kore_host: str
    kore_bot_id: str
    kore_bot_name: str
    kore_client_id: str
    kore_client_secret: str
    kore_version: str
    kore_timeout: int
    bot_url: str
    bot_callback: str
    bot_token: str
    bot_parallel: int


class RunSettings(GateSettings, EngineSettings, total=False):
    """The settings of a run, as docs/settings.md explains them, but for those of publishing."""

    config: AnyPath
    domain: AnyPath
    data: Words
    nlu: AnyPath
    stories: Words
    e2e: Words
    batch: Words
    language: str
    evaluations: Words
    folds: int
    workers: int
    cache: bool | str
    cache_folder: AnyPath
    cache_key: str
    slot_order: str
    repeats: str | bool | Mapping[str, object]
    strength: str
    strength_budget: int
    robustness: bool
    base: str
    baseline: AnyPath
    artifact_name: str
    token: str
    junit_flavour: str
    output_format: Words
    kore_way: str
    notes: str
    bot_url_base: str
    trace_url: str
    action_endpoint: str
    action_server: str
    allow_hosts: Words
    env: Words
