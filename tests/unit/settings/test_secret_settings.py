"""Secrets of settings: flags and inputs, else the job's variables, which no child process gets."""

import pytest

from turncheck.messages.errors import UserError
from turncheck.process.environment import Secret, for_child
from turncheck.settings.declared import options
from turncheck.settings.options import Settings
from turncheck.settings.secrets import secret_setting, variable_of
from turncheck.settings.sources import combine

OF_HOSTS = {"token", "env"}
"""Their variables have the names that the CI hosts chose."""
NAMES = [name for name, option in options().items() if option.is_private and name not in OF_HOSTS]


@pytest.mark.parametrize("name", NAMES)
def test_each_secret_may_come_from_a_variable_which_its_help_names(name: str) -> None:
    environment = {variable_of(name): " from the job\n"}
    given = combine({name.replace("-", "_"): Secret("given")})
    found = [secret_setting(settings, name, environment) for settings in (Settings(), given)]
    assert [secret.reveal() for secret in found if secret] == ["from the job", "given"]
    assert secret_setting(Settings(), name, {variable_of(name): ""}) is None
    assert f"{variable_of(name)})" in options()[name].help
    assert for_child(environment) == {}


def test_one_that_cannot_be_sent_is_refused_by_the_name_of_its_variable() -> None:
    with pytest.raises(UserError, match=r"^TURNCHECK_BOT_TOKEN "):
        secret_setting(Settings(), "bot-token", {"TURNCHECK_BOT_TOKEN": "in two\nlines"})
