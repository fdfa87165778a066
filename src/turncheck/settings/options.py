"""One frozen :class:`Settings`: every field knows its flag, its action input, its key in ``turncheck.yml``.

There are three sources, and the first one that sets something wins: flags of the command line, inputs of the action,
the project's ``turncheck.yml``. A project file can be changed by anyone who opens a pull request, so it may not set
commands, tokens, hosts, models or output folders (``file_key=False``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from turncheck.gates import table
from turncheck.report.evaluations import EVALUATIONS
from turncheck.settings.bounds import MOST_BOT_PARALLEL, MOST_FOLDS, MOST_RASA_SERVERS, MOST_SEED, MOST_WORKERS
from turncheck.settings.engines import ENGINES
from turncheck.settings.parsers import (
    OUTPUT_FORMATS,
    Shard,
    one_of,
    parse_shard,
    read_addresses,
    read_artifact_name,
    read_cache,
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
from turncheck.settings.setting import (
    ACTIONS,
    ANSWERS,
    COMPARING,
    ENGINE,
    EVALUATION,
    GATE,
    INPUT,
    OF_PROJECT,
    OUTPUT,
    PUBLISHING,
    WORK,
)

if TYPE_CHECKING:
    from turncheck.process.environment import Secret
    from turncheck.settings.bot import Bot

_MOST_DAYS: Final = 3650
"""Longer than GitHub keeps anything; the repository's own limit is applied at the upload."""

_MOST_SECONDS: Final = 86_400
KORE_VERSIONS: Final = ("in-development", "published")
KORE_WAYS: Final = ("find-intent", "batch")

JunitFlavour = Literal["common", "xunit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of ``turncheck run`` and of the action. Paths are as given; empty means "the default place"."""

    project: str = OF_PROJECT(
        ".",
        read_text,
        "the assistant's folder; several folders, or a pattern such as 'bots/*', are measured in one run",
        metavar="DIR",
        reported=False,
    )
    projects: tuple[str, ...] = OF_PROJECT(
        (), read_paths, "folders of several assistants, or patterns", many=True, flag=False, action_input=False
    )
    config: str | None = INPUT(None, read_text, "pipeline and policies (default: config.yml)", metavar="FILE")
    domain: str | None = INPUT(
        None, read_text, "domain file or folder (default: domain.yml, else domain/)", metavar="PATH"
    )
    data: tuple[str, ...] = INPUT(
        (), read_paths, "training data, files or folders (default: data)", many=True, metavar="PATH"
    )
    nlu: str | None = INPUT(
        None,
        read_text,
        "test sentences, a file or folder (default: found below tests/, else cross-validation)",
        metavar="PATH",
    )
    stories: tuple[str, ...] = INPUT(
        (), read_paths, "test stories, files or folders (default: test_*.yml below tests/)", many=True, metavar="PATH"
    )
    e2e: tuple[str, ...] = INPUT(
        (), read_paths, "end-to-end test cases (default: found in tests/ and e2e_tests/)", many=True, metavar="PATH"
    )
    batch: tuple[str, ...] = INPUT(
        (), read_paths, "batch suites, JSON or CSV (default: found in tests/ and batch/)", many=True, metavar="PATH"
    )
    language: str | None = INPUT(
        None, read_text, "language of a Kore.ai assistant to read (default: its own default)", metavar="CODE"
    )
    plugins: tuple[str, ...] = INPUT(
        (),
        words_of(),
        "installed packages whose engines, checks, formats, metrics and so on take part (docs/plugins.md)",
        file_key=False,
        many=True,
        metavar="PACKAGE",
        functions="run and parse",
        reported=False,
    )
    evaluations: tuple[str, ...] = INPUT(
        (),
        read_evaluations,
        f"evaluations to run: {', '.join(EVALUATIONS)} (default: those that the project has files for)",
        many=True,
        choices=EVALUATIONS,
    )
    ignore: tuple[str, ...] = OF_PROJECT(
        (), words_of(), "codes of findings to ignore", many=True, flag=False, action_input=False
    )
    engine: str = EVALUATION(
        "embedded",
        read_engine,
        "engine that understands and answers",
        choices=tuple(ENGINES),
        functions="run and parse",
    )
    model: str | None = WORK(
        None,
        read_text,
        "trained model for the engine 'rasa', a file or a folder of models",
        file_key=False,
        metavar="PATH",
        engine="rasa",
        scope="one assistant",
        functions="run and parse",
    )
    folds: int = EVALUATION(5, whole_number(2, MOST_FOLDS), "number of folds of the cross-validation", metavar="N")
    seed: int = EVALUATION(
        42,
        whole_number(0, MOST_SEED),
        "random seed; the same files and seed give the same report",
        metavar="N",
        functions="run and parse",
    )
    workers: int = WORK(
        0, whole_number(0, MOST_WORKERS), "number of parallel workers, 64 at most (0: one per processor)", metavar="N"
    )
    cluster: str | None = WORK(
        None,
        read_text,
        "Dask scheduler (tcp://host:port) whose workers train and test; needs turncheck[dask] (engine 'embedded')",
        file_key=False,
        metavar="ADDRESS",
        engine="embedded",
        functions="run and parse",
    )
    cache: bool | str = WORK(
        AUTO,
        read_cache,
        "reuse what has not changed since earlier runs, trained models and folds: auto (in the action from GitHub's"
        " cache, unless `cache-folder` is given) or off",
        file_key=False,
        switch=True,
    )
    cache_folder: str | None = WORK(
        None,
        read_text,
        "folder of the cache (default: ~/.cache/turncheck); not used for pull requests from forks",
        file_key=False,
        metavar="DIR",
    )
    cache_key: Secret | None = WORK(
        None,
        read_hidden,
        "secret that signs the entries of the cache; others are ignored (or the variable TURNCHECK_CACHE_KEY)",
        file_key=False,
        metavar="SECRET",
    )
    shard: Shard | None = WORK(
        None,
        parse_shard,
        "measure only one part of the run, such as 2/8, without judging it (`turncheck report merge` does that)",
        file_key=False,
        metavar="N/OF",
        functions="",
    )
    shards: tuple[str, ...] = WORK(
        (),
        read_paths,
        "output folders of shards, to be merged, judged and published; nothing is measured",
        file_key=False,
        many=True,
        flag=False,
        metavar="DIR",
        group="",
        functions="",
    )
    slot_order: str = EVALUATION(
        "strict",
        one_of("strict", "any"),
        "order of consecutive slot_was_set steps of end-to-end cases: strict (as the slots are set) or any",
        choices=("strict", "any"),
    )
    repeats: str = EVALUATION(
        AUTO,
        read_repeats,
        "how often end-to-end cases, test sentences and utterances are run: off, auto (several times if the engine's"
        " answers vary), or rules such as 'first: 2, most: 30' (docs/varying.md)",
        metavar="RULES",
    )
    vectors: bool | str = EVALUATION(
        False,
        read_switch_or_folder,
        "use sentence vectors beside n-grams, from the installed package (English) or from this sentence-transformers"
        " folder; needs turncheck[vectors]",
        metavar="FOLDER",
        switch=True,
        engine="embedded",
        functions="run and parse",
    )
    today: str = EVALUATION(
        "2025-01-01",
        read_day,
        "date that relative dates count from, the same in every run (engine 'embedded')",
        metavar="DATE",
        functions="run and parse",
    )
    allow_custom_code: bool = WORK(
        False,
        read_switch,
        "load components from the project's own modules; this runs its code",
        file_key=False,
        action_input=False,
        switch=True,
        functions="run and parse",
    )
    strength: str = EVALUATION(
        "off",
        one_of("off", "changed", "all"),
        "try the tests on mutants (the project with one small fault each): of the changed lines, or all",
        choices=("off", "changed", "all"),
    )
    strength_budget: int = EVALUATION(
        60,
        whole_number(0, _MOST_SECONDS),
        "time limit for trying mutants, in seconds (0: no limit)",
        metavar="N",
    )
    robustness: bool = EVALUATION(
        False,
        read_switch,
        "vary the test sentences the way real users write: typos, casing, abbreviations and the like",
        switch=True,
    )
    fail_on: tuple[str, ...] = GATE(
        (table.AUTO,),
        read_fail_on,
        "what fails the run: auto (what a change broke; elsewhere, all that is broken), "
        + ", ".join(word for word in table.FAIL_ON if word != table.AUTO),
        many=True,
        choices=table.FAIL_ON,
    )
    fail_on_warnings: bool = GATE(False, read_switch, "fail the run on warnings in the data", switch=True)
    thresholds: tuple[str, ...] = GATE(
        (), read_lines, "limits for metrics, one per line: nlu.intents.f1 >= 0.85", many=True, metavar="RULE"
    )
    max_regression: tuple[str, ...] = GATE(
        (),
        read_lines,
        "largest allowed drops against the baseline, one per line: nlu.intents.f1: 0.01",
        many=True,
        metavar="RULE",
    )
    require: tuple[str, ...] = GATE(
        (),
        words_of(*EVALUATIONS),
        f"evaluations that must not be skipped: {', '.join(EVALUATIONS)}",
        many=True,
        choices=EVALUATIONS,
    )
    accept_gone: tuple[str, ...] = GATE(
        (),
        read_lines,
        "tests that may be deleted: names, files, folders or evaluations, one per line",
        many=True,
        metavar="TEST",
        beside_projects=True,
    )
    not_judged: str = GATE(
        "auto",
        one_of("auto", "pass", "fail"),
        "how to count a gate that could not be judged (auto: fail if a baseline exists but could not be read or"
        " reached)",
        choices=("auto", "pass", "fail"),
    )
    misunderstood: str = GATE(
        "warn",
        one_of("warn", "fail"),
        "how to count a test that fails only because a sentence is understood differently: in a story, than written; "
        "in an end-to-end case, than on the base",
        choices=("warn", "fail"),
    )
    batch_failures: str = GATE(
        "auto",
        one_of("auto", "fail"),
        "how to count a failed batch case (auto: it fails the run unless the embedded engine judged it, which stands in"
        " for the assistant's own)",
        choices=("auto", "fail"),
    )
    strict: bool = EVALUATION(
        False, read_switch, "show all findings beyond Rasa's at their true severity", switch=True, scope="judging"
    )
    base: str | None = COMPARING(
        None,
        read_state,
        "branch, tag or commit to compare with, as it was where this change left it (default: what the CI host names,"
        " else the default branch)",
        metavar="REF",
    )
    baseline: str = COMPARING(
        "auto",
        read_text,
        "what to compare with: auto, artifact, git, none, or a report.json (path or https URL)",
        metavar="WHAT",
    )
    comment: str = PUBLISHING(
        "always",
        one_of("always", "on-change", "on-failure", "never"),
        "when to comment on the pull request",
        choices=("always", "on-change", "on-failure", "never"),
        publishes=True,
    )
    check_run: bool = PUBLISHING(
        False, read_switch, "annotate with a check run instead of workflow commands", switch=True, publishes=True
    )
    code_scanning: bool = PUBLISHING(
        False,
        read_switch,
        "upload findings.sarif to GitHub's code scanning; needs `security-events: write`",
        switch=True,
    )
    annotations: bool = PUBLISHING(True, read_switch, "annotate files and lines", switch=True)
    artifact_name: str = PUBLISHING(
        "turncheck",
        read_artifact_name,
        "name of the uploaded artifact",
        metavar="NAME",
        functions="run",
        reported=True,
        publishes=True,
    )
    retention_days: int = PUBLISHING(
        0, whole_number(0, _MOST_DAYS), "days to keep the artifact (0: the repository's default)", metavar="N"
    )
    token: Secret | None = PUBLISHING(
        None,
        read_hidden,
        "token of the CI host, for the comment, the check run and the baseline",
        file_key=False,
        metavar="TOKEN",
        functions="run",
        publishes=True,
    )
    run_id: str | None = PUBLISHING(
        None,
        read_text,
        "publish what the workflow run with this id uploaded; nothing is evaluated",
        file_key=False,
        metavar="ID",
        scope="job",
        publishes=True,
    )
    out: str = OUTPUT(
        "results",
        read_folder,
        "output folder",
        file_key=False,
        metavar="DIR",
        scope="job",
        functions="",
        publishes=True,
    )
    junit_flavour: JunitFlavour = OUTPUT(
        "common",
        one_of("common", "xunit"),
        "layout of junit.xml: common (each test has its file and line) or xunit (for Jenkins' xunit plugin)",
        choices=("common", "xunit"),
        publishes=True,
    )
    output_format: tuple[str, ...] = OUTPUT(
        (),
        read_output_formats,
        "additional files to write: sarif (findings.sarif), codequality, metrics (OpenMetrics), annotations"
        " (the latter "
        "three for GitLab; default: what the CI host reads)",
        many=True,
        choices=OUTPUT_FORMATS,
    )
    rasa_url: str | None = ENGINE(
        None,
        read_addresses,
        "address of a running Rasa server, or of several with the same model (engine 'rasa')",
        many=True,
        metavar="URL",
        engine="rasa",
        scope="one assistant",
    )
    rasa_url_base: str | None = ENGINE(
        None,
        read_addresses,
        "address of the Rasa server, or of several, as it is on the base, to be measured as well",
        many=True,
        metavar="URL",
        engine="rasa",
        scope="one assistant",
    )
    rasa_token: Secret | None = ENGINE(
        None,
        read_hidden,
        "token of the Rasa server (or the variable TURNCHECK_RASA_TOKEN)",
        metavar="TOKEN",
        engine="rasa",
    )
    rasa_jwt: Secret | None = ENGINE(
        None,
        read_hidden,
        "JWT with the role admin, if the Rasa server requires one (or the variable TURNCHECK_RASA_JWT)",
        metavar="JWT",
        engine="rasa",
    )
    rasa_command: str | None = ENGINE(
        None,
        read_text,
        "command to start Rasa from the project (engine 'rasa')",
        metavar="COMMAND",
        engine="rasa",
    )
    rasa_servers: int = ENGINE(
        1,
        whole_number(1, MOST_RASA_SERVERS),
        "number of servers to start with --rasa-command, each with the whole model in memory",
        metavar="N",
        engine="rasa",
    )
    kore_host: str = ENGINE(
        "https://platform.kore.ai",
        read_text,
        "address of Kore.ai's platform (engine 'kore')",
        metavar="URL",
        engine="kore",
    )
    kore_bot_id: str | None = ENGINE(
        None,
        read_text,
        "id of the assistant on Kore.ai's platform (st-…)",
        metavar="ID",
        engine="kore",
        scope="one assistant",
    )
    kore_bot_name: str | None = ENGINE(
        None,
        read_text,
        "name of the assistant on Kore.ai's platform (default: the export's)",
        metavar="NAME",
        engine="kore",
        scope="one assistant",
    )
    kore_client_id: str | None = ENGINE(
        None,
        read_text,
        "client id of the app that may call the assistant (cs-…)",
        metavar="ID",
        engine="kore",
    )
    kore_client_secret: Secret | None = ENGINE(
        None,
        read_hidden,
        "client secret of that app (or the variable TURNCHECK_KORE_CLIENT_SECRET)",
        metavar="SECRET",
        engine="kore",
    )
    kore_version: str = ANSWERS(
        "in-development",
        one_of(*KORE_VERSIONS),
        "version of the Kore.ai assistant to test",
        choices=KORE_VERSIONS,
        functions="run and parse",
    )
    kore_way: str = ENGINE(
        "find-intent",
        one_of(*KORE_WAYS),
        "how to run batch suites: find-intent (one call per utterance) or batch (upload, and run on the platform)",
        choices=KORE_WAYS,
        engine="kore",
        functions="run",
    )
    kore_timeout: int = ANSWERS(
        3600,
        whole_number(1, _MOST_SECONDS),
        "time limit of a run on Kore.ai's platform, in seconds",
        metavar="N",
        functions="run and parse",
        reported=False,
    )
    notes: str = ANSWERS(
        "", read_notes, "notes on this run of batch suites, at most 1,024 characters", metavar="TEXT", reported=False
    )
    bot_url: str | None = ENGINE(
        None,
        read_text,
        "address of the bot that `bot:` in turncheck.yml describes (engine 'http')",
        metavar="URL",
        engine="http",
    )
    bot_url_base: str | None = ENGINE(
        None,
        read_text,
        "address of the bot as it is on the base, to be measured as well",
        metavar="URL",
        engine="http",
        functions="run",
    )
    bot_callback: str | None = ENGINE(
        None,
        read_text,
        "address of this machine at which a bot reaches it that posts its messages (default: a free port of 127.0.0.1)",
        metavar="URL",
        engine="http",
    )
    bot_token: Secret | None = ENGINE(
        None, read_hidden, "token of the bot (or the variable TURNCHECK_BOT_TOKEN)", metavar="TOKEN", engine="http"
    )
    bot_parallel: int = ENGINE(
        8,
        whole_number(1, MOST_BOT_PARALLEL),
        "number of conversations with the bot at the same time",
        metavar="N",
        engine="http",
    )
    trace_url: str | None = ENGINE(
        None,
        read_trace_url,
        "address of a trace of the bot, with {trace} in place of its id: what failed links to it",
        metavar="URL",
        functions="run",
    )
    bot: Bot | None = OF_PROJECT(
        None, read_typed_bot, "how a bot over HTTP is asked (docs/http.md)", flag=False, action_input=False
    )
    action_endpoint: str | None = ACTIONS(
        None,
        read_text,
        "address of the action server, instead of the one in endpoints.yml",
        metavar="URL",
    )
    action_server: str | None = ACTIONS(
        None, read_text, "command that starts the action server for this run", metavar="COMMAND"
    )
    allow_hosts: tuple[str, ...] = ACTIONS(
        (),
        read_hosts,
        "hosts that the project's files may name, in addition to loopback",
        many=True,
        metavar="HOST",
    )
    env: tuple[tuple[str, str], ...] = ACTIONS(
        (),
        read_pairs,
        "variables for child processes and for `${NAME}` in the project's files, which get no others in the action, one"
        " per line: NAME=VALUE",
        many=True,
        metavar="NAME=VALUE",
    )


def formats_of(settings: Settings, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return the additional files to write; ``usual``: those that the CI host reads."""
    wanted = settings.output_format or usual
    return (*wanted, "sarif") if settings.code_scanning and "sarif" not in wanted else wanted
