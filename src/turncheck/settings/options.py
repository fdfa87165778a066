"""One frozen :class:`Settings`: every field knows its flag, its action input, its key in ``turncheck.yml``.

There are three sources, and the first one that sets something wins: flags of the command line, inputs of the action,
the project's ``turncheck.yml``. A project file can be changed by anyone who opens a pull request, so it may not set
commands, tokens, hosts, models or output folders (``file_key=False``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from turncheck.gates.table import FAIL_ON
from turncheck.report.evaluations import EVALUATIONS
from turncheck.settings.bounds import MOST_BOT_PARALLEL, MOST_FOLDS, MOST_RASA_SERVERS, MOST_SEED, MOST_WORKERS
from turncheck.settings.engines import ENGINES
from turncheck.settings.parsers import (
    OUTPUT_FORMATS,
    Parser,
    Shard,
    one_of,
    parse_shard,
    read_addresses,
    read_artifact_name,
    read_day,
    read_engine,
    read_evaluations,
    read_fail_on,
    read_folder,
    read_hidden,
    read_hosts,
    read_lines,
    read_notes,
    read_output_formats,
    read_pairs,
    read_paths,
    read_state,
    read_switch,
    read_switch_or_folder,
    read_text,
    read_trace_url,
    read_typed_bot,
    whole_number,
    words_of,
)
from turncheck.settings.repeats import AUTO, read_repeats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.process.environment import Secret
    from turncheck.settings.bot import Bot


# What a setting is called, and how its string becomes a value.


class Option(NamedTuple):
    """What a setting is called and how its string becomes a value. ``engine``: the one it is for, if not for all."""

    help: str
    parse: Parser
    action_input: bool = True
    file_key: bool = True
    many: bool = False
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    switch: bool = False
    flag: bool = True
    engine: str | None = None

    @property
    def is_private(self) -> bool:
        """Whether its value is never shown, not even if it is refused."""
        return self.parse in {read_hidden, read_pairs}


def setting(default: Any, parse: Parser, text: str, **more: Any) -> Any:
    """Return a field of :class:`turncheck.settings.options.Settings` that knows its option."""
    shown = parse not in {read_hidden, read_pairs}
    return field(default=default, repr=shown, metadata={"option": Option(help=text, parse=parse, **more)})


_MOST_DAYS: Final = 3650
"""Longer than GitHub keeps anything; the repository's own limit is applied at the upload."""

_MOST_SECONDS: Final = 86_400
KORE_VERSIONS: Final = ("in-development", "published")
KORE_WAYS: Final = ("find-intent", "batch")

JunitFlavour = Literal["common", "xunit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of ``turncheck run`` and of the action. Paths are as given; empty means "the default place"."""

    project: str = setting(
        ".",
        read_text,
        "the assistant's folder; several folders, or a pattern such as 'bots/*', are measured in one run",
        metavar="DIR",
    )
    projects: tuple[str, ...] = setting(
        (), read_paths, "folders of several assistants, or patterns", many=True, flag=False, action_input=False
    )
    config: str | None = setting(None, read_text, "pipeline and policies (default: config.yml)", metavar="FILE")
    domain: str | None = setting(
        None, read_text, "domain file or folder (default: domain.yml, else domain/)", metavar="PATH"
    )
    data: tuple[str, ...] = setting(
        (), read_paths, "training data, files or folders (default: data)", many=True, metavar="PATH"
    )
    nlu: str | None = setting(
        None,
        read_text,
        "test sentences, a file or folder (default: found below tests/, else cross-validation)",
        metavar="PATH",
    )
    stories: tuple[str, ...] = setting(
        (), read_paths, "test stories, files or folders (default: test_*.yml below tests/)", many=True, metavar="PATH"
    )
    e2e: tuple[str, ...] = setting(
        (), read_paths, "end-to-end test cases (default: found in tests/ and e2e_tests/)", many=True, metavar="PATH"
    )
    batch: tuple[str, ...] = setting(
        (), read_paths, "batch suites, JSON or CSV (default: found in tests/ and batch/)", many=True, metavar="PATH"
    )
    language: str | None = setting(
        None, read_text, "language of a Kore.ai assistant to read (default: its own default)", metavar="CODE"
    )
    plugins: tuple[str, ...] = setting(
        (),
        words_of(),
        "installed packages whose engines, checks, formats, metrics and so on take part (docs/plugins.md)",
        file_key=False,
        many=True,
        metavar="PACKAGE",
    )
    evaluations: tuple[str, ...] = setting(
        (),
        read_evaluations,
        f"evaluations to run: {', '.join(EVALUATIONS)} (default: those that the project has files for)",
        many=True,
        choices=EVALUATIONS,
    )
    engine: str = setting(
        "embedded",
        read_engine,
        "engine that understands and answers",
        choices=tuple(ENGINES),
    )
    model: str | None = setting(
        None,
        read_text,
        "trained model for the engine 'rasa', a file or a folder of models",
        file_key=False,
        metavar="PATH",
        engine="rasa",
    )
    folds: int = setting(5, whole_number(2, MOST_FOLDS), "number of folds of the cross-validation", metavar="N")
    seed: int = setting(
        42, whole_number(0, MOST_SEED), "random seed; the same files and seed give the same report", metavar="N"
    )
    workers: int = setting(
        0, whole_number(0, MOST_WORKERS), "number of parallel workers, 64 at most (0: one per processor)", metavar="N"
    )
    cluster: str | None = setting(
        None,
        read_text,
        "Dask scheduler (tcp://host:port) whose workers train and test; needs turncheck[dask] (engine 'embedded')",
        file_key=False,
        metavar="ADDRESS",
        engine="embedded",
    )
    cache: bool = setting(
        True,
        read_switch,
        "reuse what has not changed since earlier runs: trained models and folds",
        file_key=False,
        switch=True,
    )
    cache_folder: str | None = setting(
        None,
        read_text,
        "folder of the cache (default: ~/.cache/turncheck); not used for pull requests from forks",
        file_key=False,
        metavar="DIR",
    )
    cache_key: Secret | None = setting(
        None,
        read_hidden,
        "secret that signs the entries of the cache; others are ignored (or the variable TURNCHECK_CACHE_KEY)",
        file_key=False,
        metavar="SECRET",
    )
    shard: Shard | None = setting(
        None,
        parse_shard,
        "measure only one part of the run, such as 2/8, without judging it (`turncheck report merge` does that)",
        file_key=False,
        metavar="N/OF",
    )
    shards: tuple[str, ...] = setting(
        (),
        read_paths,
        "output folders of shards, to be merged, judged and published; nothing is measured",
        file_key=False,
        many=True,
        flag=False,
        metavar="DIR",
    )
    strict: bool = setting(False, read_switch, "show all findings beyond Rasa's at their true severity", switch=True)
    fail_on: tuple[str, ...] = setting(
        ("auto",),
        read_fail_on,
        "what fails the run: auto (what a change broke; elsewhere, all that is broken), "
        + ", ".join(word for word in FAIL_ON if word != "auto"),
        many=True,
        choices=FAIL_ON,
    )
    fail_on_warnings: bool = setting(False, read_switch, "fail the run on warnings in the data", switch=True)
    thresholds: tuple[str, ...] = setting(
        (), read_lines, "limits for metrics, one per line: nlu.intents.f1 >= 0.85", many=True, metavar="RULE"
    )
    max_regression: tuple[str, ...] = setting(
        (),
        read_lines,
        "largest allowed drops against the baseline, one per line: nlu.intents.f1: 0.01",
        many=True,
        metavar="RULE",
    )
    slot_order: str = setting(
        "strict",
        one_of("strict", "any"),
        "order of consecutive slot_was_set steps of end-to-end cases: strict (as the slots are set) or any",
        choices=("strict", "any"),
    )
    repeats: str = setting(
        AUTO,
        read_repeats,
        "how often end-to-end cases, test sentences and utterances are run: off, auto (several times if the engine's"
        " answers vary), or rules such as 'first: 2, most: 30' (docs/varying.md)",
        metavar="RULES",
    )
    strength: str = setting(
        "off",
        one_of("off", "changed", "all"),
        "try the tests on mutants (the project with one small fault each): of the changed lines, or all",
        choices=("off", "changed", "all"),
    )
    strength_budget: int = setting(
        60,
        whole_number(0, _MOST_SECONDS),
        "time limit for trying mutants, in seconds (0: no limit)",
        metavar="N",
    )
    robustness: bool = setting(
        False,
        read_switch,
        "vary the test sentences the way real users write: typos, casing, abbreviations and the like",
        switch=True,
    )
    require: tuple[str, ...] = setting(
        (),
        words_of(*EVALUATIONS),
        f"evaluations that must not be skipped: {', '.join(EVALUATIONS)}",
        many=True,
        choices=EVALUATIONS,
    )
    accept_gone: tuple[str, ...] = setting(
        (),
        read_lines,
        "tests that may be deleted: names, files, folders or evaluations, one per line",
        many=True,
        metavar="TEST",
    )
    not_judged: str = setting(
        "auto",
        one_of("auto", "pass", "fail"),
        "how to count a gate that could not be judged (auto: fail if a baseline exists but could not be read or"
        " reached)",
        choices=("auto", "pass", "fail"),
    )
    misunderstood: str = setting(
        "warn",
        one_of("warn", "fail"),
        "how to count a test that fails only because a sentence is understood differently: in a story, than written; "
        "in an end-to-end case, than on the base",
        choices=("warn", "fail"),
    )
    batch_failures: str = setting(
        "auto",
        one_of("auto", "fail"),
        "how to count a failed batch case (auto: it fails the run unless the embedded engine judged it, which stands in"
        " for the assistant's own)",
        choices=("auto", "fail"),
    )
    allow_custom_code: bool = setting(
        False,
        read_switch,
        "load components from the project's own modules; this runs its code",
        file_key=False,
        action_input=False,
        switch=True,
    )
    vectors: bool | str = setting(
        False,
        read_switch_or_folder,
        "use sentence vectors beside n-grams, from the installed package (English) or from this sentence-transformers"
        " folder; needs turncheck[vectors]",
        metavar="FOLDER",
        switch=True,
        engine="embedded",
    )
    today: str = setting(
        "2025-01-01",
        read_day,
        "date that relative dates count from, the same in every run (engine 'embedded')",
        metavar="DATE",
    )
    ignore: tuple[str, ...] = setting(
        (), words_of(), "codes of findings to ignore", many=True, flag=False, action_input=False
    )
    baseline: str = setting(
        "auto",
        read_text,
        "what to compare with: auto, artifact, git, none, or a report.json (path or https URL)",
        metavar="WHAT",
    )
    base: str | None = setting(
        None,
        read_state,
        "branch, tag or commit to compare with, as it was where this change left it (default: what the CI host names,"
        " else the default branch)",
        metavar="REF",
    )
    comment: str = setting(
        "always",
        one_of("always", "on-change", "on-failure", "never"),
        "when to comment on the pull request",
        choices=("always", "on-change", "on-failure", "never"),
    )
    check_run: bool = setting(False, read_switch, "annotate with a check run instead of workflow commands", switch=True)
    annotations: bool = setting(True, read_switch, "annotate files and lines", switch=True)
    artifact_name: str = setting("turncheck", read_artifact_name, "name of the uploaded artifact", metavar="NAME")
    retention_days: int = setting(
        0, whole_number(0, _MOST_DAYS), "days to keep the artifact (0: the repository's default)", metavar="N"
    )
    junit_flavour: JunitFlavour = setting(
        "common",
        one_of("common", "xunit"),
        "layout of junit.xml: common (each test has its file and line) or xunit (for Jenkins' xunit plugin)",
        choices=("common", "xunit"),
    )
    output_format: tuple[str, ...] = setting(
        (),
        read_output_formats,
        "additional files to write: sarif (findings.sarif), codequality, metrics (OpenMetrics), annotations"
        " (the latter "
        "three for GitLab; default: what the CI host reads)",
        many=True,
        choices=OUTPUT_FORMATS,
    )
    out: str = setting("results", read_folder, "output folder", file_key=False, metavar="DIR")
    token: Secret | None = setting(
        None,
        read_hidden,
        "token of the CI host, for the comment, the check run and the baseline",
        file_key=False,
        metavar="TOKEN",
    )
    rasa_url: str | None = setting(
        None,
        read_addresses,
        "address of a running Rasa server, or of several with the same model (engine 'rasa')",
        file_key=False,
        many=True,
        metavar="URL",
        engine="rasa",
    )
    rasa_url_base: str | None = setting(
        None,
        read_addresses,
        "address of the Rasa server, or of several, as it is on the base, to be measured as well",
        file_key=False,
        many=True,
        metavar="URL",
        engine="rasa",
    )
    rasa_token: Secret | None = setting(
        None, read_hidden, "token of the Rasa server", file_key=False, metavar="TOKEN", engine="rasa"
    )
    rasa_jwt: Secret | None = setting(
        None,
        read_hidden,
        "JWT with the role admin, if the Rasa server requires one",
        file_key=False,
        metavar="JWT",
        engine="rasa",
    )
    rasa_command: str | None = setting(
        None,
        read_text,
        "command to start Rasa from the project (engine 'rasa')",
        file_key=False,
        metavar="COMMAND",
        engine="rasa",
    )
    rasa_servers: int = setting(
        1,
        whole_number(1, MOST_RASA_SERVERS),
        "number of servers to start with --rasa-command, each with the whole model in memory",
        file_key=False,
        metavar="N",
        engine="rasa",
    )
    kore_host: str = setting(
        "https://platform.kore.ai",
        read_text,
        "address of Kore.ai's platform (engine 'kore')",
        file_key=False,
        metavar="URL",
        engine="kore",
    )
    kore_bot_id: str | None = setting(
        None, read_text, "id of the assistant on Kore.ai's platform (st-…)", file_key=False, metavar="ID", engine="kore"
    )
    kore_bot_name: str | None = setting(
        None,
        read_text,
        "name of the assistant on Kore.ai's platform (default: the export's)",
        file_key=False,
        metavar="NAME",
        engine="kore",
    )
    kore_client_id: str | None = setting(
        None,
        read_text,
        "client id of the app that may call the assistant (cs-…)",
        file_key=False,
        metavar="ID",
        engine="kore",
    )
    kore_client_secret: Secret | None = setting(
        None,
        read_hidden,
        "client secret of that app (or the variable TURNCHECK_KORE_CLIENT_SECRET)",
        file_key=False,
        metavar="SECRET",
        engine="kore",
    )
    kore_version: str = setting(
        "in-development",
        one_of(*KORE_VERSIONS),
        "version of the Kore.ai assistant to test",
        choices=KORE_VERSIONS,
    )
    kore_way: str = setting(
        "find-intent",
        one_of(*KORE_WAYS),
        "how to run batch suites: find-intent (one call per utterance) or batch (upload, and run on the platform)",
        file_key=False,
        choices=KORE_WAYS,
        engine="kore",
    )
    kore_timeout: int = setting(
        3600, whole_number(1, _MOST_SECONDS), "time limit of a run on Kore.ai's platform, in seconds", metavar="N"
    )
    notes: str = setting("", read_notes, "notes on this run of batch suites, at most 1,024 characters", metavar="TEXT")
    bot_url: str | None = setting(
        None,
        read_text,
        "address of the bot that `bot:` in turncheck.yml describes (engine 'http')",
        file_key=False,
        metavar="URL",
        engine="http",
    )
    bot_url_base: str | None = setting(
        None,
        read_text,
        "address of the bot as it is on the base, to be measured as well",
        file_key=False,
        metavar="URL",
        engine="http",
    )
    bot_callback: str | None = setting(
        None,
        read_text,
        "address of this machine at which a bot reaches it that posts its messages (default: a free port of 127.0.0.1)",
        file_key=False,
        metavar="URL",
        engine="http",
    )
    bot_token: Secret | None = setting(
        None, read_hidden, "token of the bot", file_key=False, metavar="TOKEN", engine="http"
    )
    bot_parallel: int = setting(
        8,
        whole_number(1, MOST_BOT_PARALLEL),
        "number of conversations with the bot at the same time",
        file_key=False,
        metavar="N",
        engine="http",
    )
    trace_url: str | None = setting(
        None,
        read_trace_url,
        "address of a trace of the bot, with {trace} in place of its id: what failed links to it",
        file_key=False,
        metavar="URL",
    )
    bot: Bot | None = setting(
        None, read_typed_bot, "how a bot over HTTP is asked (docs/http.md)", flag=False, action_input=False
    )
    action_endpoint: str | None = setting(
        None,
        read_text,
        "address of the action server, instead of the one in endpoints.yml",
        file_key=False,
        metavar="URL",
    )
    action_server: str | None = setting(
        None, read_text, "command that starts the action server for this run", file_key=False, metavar="COMMAND"
    )
    allow_hosts: tuple[str, ...] = setting(
        (),
        read_hosts,
        "hosts that the project's files may name, in addition to loopback",
        file_key=False,
        many=True,
        metavar="HOST",
    )
    env: tuple[tuple[str, str], ...] = setting(
        (),
        read_pairs,
        "variables for child processes and for `${NAME}` in the project's files, which get no others in the action, one"
        " per line: NAME=VALUE",
        file_key=False,
        many=True,
        metavar="NAME=VALUE",
    )
    run_id: str | None = setting(
        None,
        read_text,
        "publish what the workflow run with this id uploaded; nothing is evaluated",
        file_key=False,
        metavar="ID",
    )


@cache
def options() -> Mapping[str, Option]:
    """All settings by their name with dashes, in order."""
    return MappingProxyType({f.name.replace("_", "-"): f.metadata["option"] for f in fields(Settings)})


@cache
def default_of(name: str) -> Any:
    """The default of a setting, by its name with dashes."""
    return _defaults()[name.replace("-", "_")]


@cache
def _defaults() -> dict[str, Any]:
    return {f.name: f.default for f in fields(Settings)}
