"""What a child process and a project's files may see of the environment."""

import pytest
from golden_texts import Golden

from turncheck.messages.errors import UserError
from turncheck.process.environment import FileVariables, expand, for_child, is_private
from turncheck.web.addresses import Network


@pytest.mark.parametrize(
    "name", ["INPUT_TOKEN", "INPUT_FAIL-ON", "ACTIONS_RUNTIME_URL", "GITHUB_TOKEN", "gh_token", "CI_REPOSITORY_URL"]
)
def test_what_belongs_to_the_job_is_private(name: str) -> None:
    assert is_private(name)


@pytest.mark.parametrize("name", ["PATH", "HOME", "DATABASE_URL", "GITHUB_REPOSITORY"])
def test_the_rest_is_not(name: str) -> None:
    assert not is_private(name)


def test_a_child_gets_nothing_private_but_what_was_asked_for() -> None:
    ours = {"PATH": "/bin", "INPUT_TOKEN": "s", "ACTIONS_RUNTIME_TOKEN": "t"}
    assert for_child(ours, [("API_TOKEN", "given")]) == {"PATH": "/bin", "API_TOKEN": "given"}


def test_variables_are_expanded_wherever_they_stand() -> None:
    assert expand("http://${HOST}:${PORT}/webhook", {"HOST": "h", "PORT": "1"}) == "http://h:1/webhook"
    assert expand("$HOST", {"HOST": "h"}) == "$HOST"


def test_a_private_variable_is_not_expanded(golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        expand("http://evil/${GITHUB_TOKEN}", {"GITHUB_TOKEN": "secret"})
    golden(refused.value)


def test_a_variable_that_is_not_set_is_named(golden: Golden) -> None:
    with pytest.raises(UserError, match="'HOST'") as refused:
        expand("${HOST}", {})
    golden(refused.value)


ENVIRONMENT = {"HOST": "h", "DEPLOY_PASSWORD": "s3cret", "GITHUB_TOKEN": "s3cret", "HOME": "/root"}
ON_THE_COMMAND_LINE = FileVariables({"KEY": "k", "API_TOKEN": "t"}, ENVIRONMENT)
IN_THE_ACTION = FileVariables({"KEY": "k", "API_TOKEN": "t"})


@pytest.mark.parametrize(
    ("text", "variables", "outcome"),
    [
        ("${HOST}", ON_THE_COMMAND_LINE, "h"),
        ("${DEPLOY_PASSWORD}", ON_THE_COMMAND_LINE, "s3cret"),
        ("${KEY}${API_TOKEN}", ON_THE_COMMAND_LINE, "kt"),
        ("${GITHUB_TOKEN}", ON_THE_COMMAND_LINE, UserError),
        ("${NONE}", ON_THE_COMMAND_LINE, UserError),
        ("${KEY}${API_TOKEN}", IN_THE_ACTION, "kt"),
        ("$HOST", IN_THE_ACTION, "$HOST"),
        ("${HOST}", IN_THE_ACTION, UserError),
        ("${HOME}", IN_THE_ACTION, UserError),
        ("${DEPLOY_PASSWORD}", IN_THE_ACTION, UserError),
        ("${GITHUB_TOKEN}", IN_THE_ACTION, UserError),
        ("${NONE}", IN_THE_ACTION, UserError),
        ("${}", IN_THE_ACTION, UserError),
        ("${KEY }", IN_THE_ACTION, UserError),
        ("${key}", IN_THE_ACTION, UserError),
    ],
)
def test_which_variables_a_projects_file_gets(
    text: str, variables: FileVariables, outcome: str | type[UserError], golden: Golden
) -> None:
    if isinstance(outcome, str):
        assert expand(text, variables) == outcome
        return
    with pytest.raises(UserError) as raised:
        expand(text, variables)
    assert "s3cret" not in str(raised.value)
    if variables.is_limited:
        golden(raised.value)


def test_the_values_of_variables_are_never_shown() -> None:
    assert "s3cret" not in repr(ON_THE_COMMAND_LINE)
    assert "'k'" not in repr(IN_THE_ACTION)


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("https://rasa.example/", {"HTTPS_PROXY": "http://proxy:3128"}, {"https": "http://proxy:3128"}),
        ("https://rasa.example/", {"all_proxy": "http://proxy:3128"}, {"https": "http://proxy:3128"}),
        ("https://rasa.example/", {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".example"}, {}),
        ("https://rasa.example:8443/", {"https_proxy": "http://proxy:3128", "no_proxy": "rasa.example:8443"}, {}),
        ("http://rasa.example/", {"HTTP_PROXY": "http://proxy:3128", "ALL_PROXY": "http://proxy:3128"}, {}),
        ("https://rasa.example/", {}, {}),
    ],
)
def test_only_what_the_proxy_cannot_read_goes_through_it(
    url: str, environment: dict[str, str], proxy: dict[str, str]
) -> None:
    assert Network.of(environment).proxies(url) == proxy


def test_the_certificates_are_those_that_are_named_first() -> None:
    assert Network.of({}).ca_file is None
    assert Network.of({"SSL_CERT_FILE": "a", "REQUESTS_CA_BUNDLE": ""}).ca_file == "a"
    assert Network.of({"SSL_CERT_FILE": "a", "REQUESTS_CA_BUNDLE": "b"}).ca_file == "b"
    assert Network.of({"SSL_CERT_FILE": "a", "REQUESTS_CA_BUNDLE": "b"}).more_ca_files == ("a",)
    assert Network.of({"SSL_CERT_FILE": "a", "REQUESTS_CA_BUNDLE": "a"}).more_ca_files == ()
