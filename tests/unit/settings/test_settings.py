"""Settings: three sources, strict values, and what a project file may not say."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.commands.run import ORDER
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.process.environment import Secret
from turncheck.report.model import GateSettings
from turncheck.settings.declared import of_scope, options
from turncheck.settings.gates import gate_settings
from turncheck.settings.options import Settings
from turncheck.settings.parsers import read_text
from turncheck.settings.setting import setting
from turncheck.settings.sources import combine, from_arguments, from_file, from_flags, from_inputs


def here(name: str) -> Location:
    return Location("turncheck.yml", 1 + list(options()).index(name) if name in options() else 99, 1)


def test_flags_win_over_inputs_and_inputs_over_the_file() -> None:
    settings = combine(
        from_flags({"folds": 3}),
        from_inputs({"INPUT_FOLDS": "4", "INPUT_SEED": "7"}),
        from_file({"folds": 5, "seed": 8, "strict": True}, here),
    )

    assert (settings.folds, settings.seed, settings.strict) == (3, 7, True)


def test_without_any_source_the_defaults_hold() -> None:
    assert combine({}, {}, {}) == Settings()


@pytest.mark.parametrize("around", [" ", "\n", "\r\n", "\ufeff", "\u200b", "\ufeff \u200b\n"])
def test_what_nobody_sees_around_an_input_is_removed(around: str) -> None:
    assert from_inputs({"INPUT_PROJECT": f"{around}a bot{around}"}) == from_inputs({"INPUT_PROJECT": "a bot"})
    assert "project" not in from_inputs({"INPUT_PROJECT": around})


def test_an_empty_input_is_unset() -> None:
    assert from_inputs({"INPUT_FOLDS": "", "INPUT_CONFIG": "  "}) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("PROJECT", "bot"), ("CONFIG", "c.yml"), ("DOMAIN", "d.yml"), ("NLU", "n.yml"), ("OUT", "results")],
        *[("STRICT", "true"), ("COMMENT", "never"), ("BASELINE", "git"), ("ENGINE", "http"), ("FOLDS", "4")],
        *[("BOT-URL", "http://127.0.0.1:8766"), ("ARTIFACT-NAME", "turncheck"), ("CACHE-FOLDER", "cache")],
        *[("NOT-JUDGED", "fail"), ("CHECK-RUN", "true"), ("SLOT-ORDER", "any")],
        ("DATA", "one\ntwo"),
    ],
)
@pytest.mark.parametrize("around", ["{}\n", " {}", "\n{}\r\n", "\t{} "])
def test_white_space_around_an_input_does_not_count(name: str, value: str, around: str) -> None:
    plain = from_inputs({f"INPUT_{name}": value})
    assert from_inputs({f"INPUT_{name}": around.format(value)}) == plain


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("FAIL-ON", "errors, test-failures", ("errors", "test-failures")),
        ("FAIL-ON", "none", ("none",)),
        (
            "THRESHOLDS",
            "nlu.intents.f1 >= 0.8\n\n nlu.intents[greet].recall >= 0.9 ",
            ("nlu.intents.f1 >= 0.8", "nlu.intents[greet].recall >= 0.9"),
        ),
        ("EVALUATIONS", "validate,nlu", ("validate", "nlu")),
        ("STRICT", "true", True),
        ("CHECK-RUN", "FALSE", False),
        ("DATA", "data one\ndata two", ("data one", "data two")),
        ("ENV", "A=1\nB=x=y", (("A", "1"), ("B", "x=y"))),
    ],
)
def test_inputs_become_values(name: str, text: str, value: Any) -> None:
    assert list(from_inputs({f"INPUT_{name}": text}).values()) == [value]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("STRICT", "ture", "expected true or false"),
        ("FOLDS", "1", "from 2 to 10000"),
        ("FOLDS", "five", "whole number"),
        ("FAIL-ON", "eror", "not one of: errors, .*Did you mean .errors"),
        ("FAIL-ON", "none, errors", "'none' cannot be combined with 'errors'"),
        ("ENGINE", "kora", "embedded"),
        ("ENGINE", "openai", "`kind: openai` under `bot:`"),
        ("ENGINE", "Lex-V2", "`kind: lex-v2` under `bot:`"),
        ("EVALUATIONS", "nlu,cores", "'cores'"),
        ("ARTIFACT-NAME", "a/b", "a name without"),
    ],
)
def test_a_bad_value_is_refused_by_the_inputs_name(name: str, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        from_inputs({f"INPUT_{name}": text})

    assert f"'{name.lower()}'" in str(caught.value)


def test_a_limit_given_to_fail_on_is_sent_where_limits_are_taken(golden: Golden) -> None:
    with pytest.raises(UserError, match=r"'strength.score'") as refused:
        from_inputs({"INPUT_FAIL-ON": "errors, strength.score >= 0.6"})
    golden(refused.value)
    with pytest.raises(UserError, match=r"yml:\d+:1: key 'fail-on': .*\nLimits for .* in key 'thresholds': "):
        from_file({"fail-on": ["strength.score >= 0.6"]}, here)


@pytest.mark.parametrize(
    "name", ["token", "rasa-command", "action-server", "allow-hosts", "rasa-url", "model", "out", "env"]
)
def test_a_project_file_may_not_set_commands_tokens_hosts_models_or_folders(name: str, golden: Golden) -> None:
    with pytest.raises(UserError, match=f"{name}") as refused:
        from_file({name: "x"}, here)
    golden(refused.value)


@pytest.mark.parametrize("path", ["/etc/passwd", "../other", "a/../../b", "https://example.org/report.json"])
def test_a_project_file_may_not_lead_out_of_the_project(path: str) -> None:
    with pytest.raises(UserError, match="leads out"):
        from_file({"nlu": path}, here)


def test_an_unknown_key_is_refused_with_its_place_and_a_suggestion(golden: Golden) -> None:
    with pytest.raises(UserError, match=r"turncheck.yml:99:1") as refused:
        from_file({"fold": 3}, here)
    golden(refused.value)


def test_the_file_may_write_rules_as_yaml_has_them() -> None:
    assert from_file({"max-regression": {"nlu.intents.f1": 0.01}}, here) == {
        "max_regression": ("nlu.intents.f1: 0.01",)
    }


def test_secrets_are_never_shown() -> None:
    settings = combine(from_inputs({"INPUT_TOKEN": "s3cr3t", "INPUT_RASA-TOKEN": "s3cr3t"}))

    assert "s3cr3t" not in f"{settings!r} {settings} {settings.token} {settings.token!r}"
    assert isinstance(settings.token, Secret)
    assert settings.token.reveal() == "s3cr3t"


def test_a_bad_env_line_is_not_shown() -> None:
    with pytest.raises(UserError) as caught:
        from_inputs({"INPUT_ENV": "my s3cr3t"})

    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name, option in options().items() if option.flag])
@pytest.mark.parametrize("value", ["bogus", "bogus errors nlu", "none,bogus", "-1", "bogus/*", "bogus\nbogus2"])
def test_no_message_says_the_wrong_value_twice(name: str, value: str) -> None:
    said = refusal(name, [value] if options()[name].many else value)

    assert len(re.findall(r"\bbogus\b", said)) <= 1
    assert said.count("not one of") + said.count(", not ") <= 1


def refusal(name: str, value: Any) -> str:
    """What is said of a flag's value; nothing of one that is taken."""
    try:
        from_flags({name: value})
    except UserError as error:
        return error.message
    return ""


def test_every_setting_that_may_be_a_flag_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["run", "--help"]) == 0
    flags = set(re.findall(r"--[a-z0-9-]+", capsys.readouterr().out))
    assert [name for name, option in options().items() if option.flag and f"--{name}" not in flags] == []


OF_FLAGS: Final = {"repeats_given"}
"""What the report has beside settings: whether flags said them."""


def test_every_key_of_the_file_that_judges_or_measures_is_in_the_report() -> None:
    """A change may set any key of turncheck.yml: what its new value does is said, or it only concerns the output."""
    recorded = set(gate_settings(Settings()).__struct_fields__)
    of_output = {"comment", "check_run", "code_scanning", "annotations", "retention_days", "junit_flavour"}
    of_output |= {"output_format", "notes"}
    of_speed = {"workers", "kore_timeout"}
    of_search = {"project", "baseline", "base"}  # these are compared with the base's file while the base is looked for
    keys = {name.replace("-", "_") for name, option in options().items() if option.file_key}

    assert keys - recorded == of_output | of_speed | of_search
    assert recorded - {name.replace("-", "_") for name in options()} == OF_FLAGS


def test_recorded_settings_name_paths_from_the_project() -> None:
    made = Settings(
        project="/x/bot", config="/x/bot/a.yml", domain="/x/shared", vectors="/x/bot/model", data=("/x/bot/d",)
    )

    recorded = gate_settings(made)

    assert (recorded.config, recorded.domain, recorded.data) == (("a.yml",), ("../shared",), ("d",))
    assert recorded.vectors == "model"
    assert gate_settings(Settings()).vectors == "false"
    assert gate_settings(Settings(vectors=True)).vectors == "true"


# --- what a setting says about itself --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", [{}, {"group": "input"}, {"group": "input", "scope": "x"}, {"group": "x", "scope": "job"}]
)
def test_a_setting_that_does_not_say_whom_it_is_about_does_not_start(said: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"group|scope"):
        setting("", read_text, "a new one", **said)


def test_every_flag_is_in_a_group_of_the_help() -> None:
    groups = {name: option.group for name, option in options().items()}

    assert {group for group in groups.values() if group} == set(ORDER)
    assert {name for name, group in groups.items() if not group} == {"project", "projects", "ignore", "shards", "bot"}


def test_the_report_has_what_gives_another_report_or_another_verdict() -> None:
    reported = {name.replace("-", "_") for name, option in options().items() if option.reported}
    others = {*of_scope("measuring", "judging")} - {name for name, option in options().items() if option.reported}

    assert reported | OF_FLAGS == set(GateSettings.__struct_fields__)
    assert others == {
        "project",  # whose report it is
        "plugins",  # the report lists them with their versions
        "kore-timeout",  # only how long it may take
        "notes",  # each suite has them
    }


def test_whatever_a_change_may_not_set_is_of_one_job() -> None:
    """A file of a change is the same in all jobs; what only flags set may be another one in each."""
    in_file = {name for name in of_scope("job", "one assistant") if options()[name].file_key}

    assert in_file <= {"workers"}


@pytest.mark.parametrize(
    ("value", "word"),
    [(True, "auto"), (False, "off"), ("auto", "auto"), ("OFF", "off"), ("true", "auto"), (" false ", "off")],
)
def test_the_cache_is_automatic_or_off_and_was_a_switch(value: object, word: str) -> None:
    assert from_arguments({"cache": value}) == {"cache": word}


@pytest.mark.parametrize("value", ["on", "", "folder", "autos"])
def test_another_word_for_the_cache_is_refused(value: str, golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        from_arguments({"cache": value})
    golden(refused.value)


@pytest.mark.parametrize("name", [name for name, option in options().items() if option.flag])
@pytest.mark.parametrize("value", ["x\ud800", "\udfffx", "a\0b"])
def test_no_setting_has_what_cannot_be_written(name: str, value: str) -> None:
    given = [value] if options()[name].many else value
    try:
        read = from_flags({name: given})
    except UserError as refused:
        refused.message.encode("ascii", "backslashreplace")
        return
    texts = next(iter(read.values()))
    for text in texts if isinstance(texts, tuple) else (texts,):
        assert not isinstance(text, str) or text.isprintable()
