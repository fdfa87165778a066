"""The file that has a CI host run turncheck, for one assistant or several."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.settings.secrets import variable_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

BOT_TOKEN: Final = variable_of("bot-token")
CHECKOUT: Final = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"
_PLAIN: Final = re.compile(r"(?!(?:true|false|yes|no|on|off|null|y|n)\Z)[A-Za-z_][\w./-]*", re.IGNORECASE | re.ASCII)


class Proposal(NamedTuple):
    """What is proposed for a CI host, and how a repository of its is recognised.

    ``workflow`` returns the file's text, from the folders of the assistants, the default branch and whether bots over
    HTTP ask for a token. ``variable``, ``secret``: what holds the address and the token of a bot. ``needs``: what the
    host needs for the comment ("" for nothing).
    """

    workflow: Callable[[Sequence[str], str, bool | None], str]
    places: tuple[str, ...]
    """Where the file goes: the first free place."""
    file: str
    """A file or folder that only repositories with this host have."""
    variable: str
    secret: str
    """How each is called there; ``{}`` in the latter: when it is to be set."""
    may_lack: bool = False
    """Whether the file also works if the secret is not set."""
    address: re.Pattern[str] | None = None
    """What the addresses of repositories on the host contain, if it has repositories."""
    joined: str = ""
    """What else is to be done if the first place is taken."""
    needs: str = ""

    def place(self, top: Path) -> tuple[str, str]:
        """Return where the file goes, and what else is to be done there ("" for nothing)."""
        path = next((place for place in self.places if not (top / place).exists()), self.places[-1])
        return path, self.joined if (top / self.places[0]).exists() else ""


def workflow(host: str, projects: Sequence[str], branch: str = "main", asks: bool | None = None) -> str:
    """Return the file's text. On GitHub each assistant has its own job, elsewhere one run measures them all.

    Args:
        host: a name of :data:`PROPOSALS`.
        projects: the folders of the assistants.
        branch: the default one.
        asks: whether bots over HTTP ask for a token; ``None``: they are other assistants.
    """
    return PROPOSALS[host].workflow(projects, _scalar(branch), asks)


def where_it_runs(host: str, *, asks: bool) -> str:
    """Return what is to be set so that the file's run finds a bot over HTTP; ``asks``: whether it asks for a token."""
    proposal = PROPOSALS[host]
    token = f"; {proposal.secret.format('' if asks else ' if it asks for one')}"
    return f"set {proposal.variable} to the address of the bot{token if asks or proposal.may_lack else ''}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _scalar(name: str) -> str:
    """Return a name as YAML, with quotes only if it needs them."""
    return name if _PLAIN.fullmatch(name) else _quoted(name)


def run_of(projects: Sequence[str], *more: str, program: str = "turncheck") -> str:
    """Return the command that measures these assistants in one run: one exit status, one comment."""
    named = (
        []
        if list(projects) == ["."]
        else [f"./{project}" if project.startswith("-") else project for project in projects]
    )
    return " ".join([program, "run", *map(_shell, named), *more])


def _where(asks: bool | None) -> list[str]:
    """Return the flag with a bot's address. Its token is a variable, which no other process can list."""
    return [] if asks is None else ['--bot-url "$BOT_URL"']


_NO_MACRO: Final = "case ${TURNCHECK_CACHE_KEY-} in ?'('*) unset TURNCHECK_CACHE_KEY;; esac"
"""Of a variable that does not exist, Azure leaves the name: ``$(TURNCHECK_CACHE_KEY)``."""


def _cached(folder: str) -> str:
    """Return the flag with the folder that the host caches: without a key, a change could have written into it."""
    return f"${{TURNCHECK_CACHE_KEY:+--cache-folder {folder}}}"


def _shell(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


_GITHUB_BOT: Final = """\
          bot-url: ${{ vars.BOT_URL }}
          bot-token: ${{ secrets.BOT_TOKEN }}
"""


def _github(projects: Sequence[str], branch: str, asks: bool | None) -> str:
    several = len(projects) > 1
    matrix = f"""\
    strategy:
      fail-fast: false
      matrix:
        project: [{", ".join(map(_quoted, projects))}]
"""
    project = "${{ matrix.project }}" if several else _quoted(projects[0])
    return f"""\
# Measured on every pull request, and on {branch}, whose report they are compared with.
name: turncheck
on:
  pull_request:
  merge_group:
  push:
    branches: [{branch}]
permissions: {{contents: read, actions: read, pull-requests: write}}
jobs:
  turncheck:
    runs-on: ubuntu-24.04
    timeout-minutes: 20
{matrix if several else ""}\
    steps:
      - uses: {CHECKOUT}
        with:
          persist-credentials: false
      - uses: turncheck/turncheck@v0 # zizmor: ignore[unpinned-uses] - pin the commit of the release you chose
        with:
          project: {project}
{_GITHUB_BOT if asks is not None else ""}"""


_OWN: Final = "/opt/turncheck"
"""Where a container has the programs: not in the checkout, where a change could bring its own."""


def _gitlab(projects: Sequence[str], branch: str, asks: bool | None) -> str:  # noqa: ARG001 - a variable has it
    return f"""\
# Measured in merge requests, and on the default branch.
turncheck:
  image: python:3.12
  variables:
    GIT_DEPTH: 0
    PIP_CONFIG_FILE: /dev/null
  rules:
  - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  script:
  - python3 -I -m venv {_OWN}
  - {_OWN}/bin/pip install turncheck
  - {_quoted(run_of(projects, *_where(asks), _cached(".turncheck-cache"), program=f"{_OWN}/bin/turncheck"))}
  cache: # used once there is a variable TURNCHECK_CACHE_KEY, which signs it
    key: turncheck-$CI_COMMIT_REF_SLUG
    fallback_keys: [turncheck-$CI_DEFAULT_BRANCH]
    paths: [.turncheck-cache]
  artifacts:
    when: always
    paths: [results/]
    reports:
      junit: results/junit.xml
      codequality: results/gl-code-quality-report.json
      metrics: results/metrics.txt
      annotations: results/gl-annotations.json
"""


def _azure(projects: Sequence[str], branch: str, asks: bool | None) -> str:
    secret = f"    {BOT_TOKEN}: $({BOT_TOKEN})\n" if asks else ""
    own = '"$AGENT_TEMPDIRECTORY"/turncheck/bin/{}'
    folder = _cached('"$PIPELINE_WORKSPACE/turncheck-cache"')
    command = run_of(projects, *_where(asks), folder, program=own.format("turncheck"))
    return f"""\
# For pull requests in Azure Repos, add this pipeline to the branch policy "Build validation".
trigger: [{branch}]
pool:
  vmImage: ubuntu-latest
steps:
- checkout: self
  fetchDepth: '0'
- script: python3 -I -m venv "$AGENT_TEMPDIRECTORY/turncheck" && {own.format("pip")} install turncheck
  env: {{PIP_CONFIG_FILE: /dev/null}}
- task: Cache@2
  inputs: # used once there is a secret variable TURNCHECK_CACHE_KEY, which signs it
    key: turncheck | "$(Build.SourceVersion)"
    restoreKeys: turncheck
    path: $(Pipeline.Workspace)/turncheck-cache
- script: {_quoted(f"{_NO_MACRO}; {command}")}
  name: turncheck
  env:
    SYSTEM_ACCESSTOKEN: $(System.AccessToken)
    TURNCHECK_CACHE_KEY: $(TURNCHECK_CACHE_KEY)
{secret}\
- task: PublishTestResults@2
  condition: succeededOrFailed()
  inputs:
    testResultsFormat: JUnit
    testResultsFiles: results/junit.xml
    testRunTitle: turncheck
- publish: results
  artifact: turncheck
  condition: succeededOrFailed()
"""


def _bitbucket(projects: Sequence[str], branch: str, asks: bool | None) -> str:
    folder = _cached(".turncheck-cache")
    command = run_of(projects, "--out test-results", *_where(asks), folder, program=f"{_OWN}/bin/turncheck")
    return f"""\
# Measured in pull requests, and on {branch}.
image: python:3.12
clone:
  depth: full
definitions:
  caches:
    turncheck: .turncheck-cache # used once there is a secured variable TURNCHECK_CACHE_KEY, which signs it
pipelines:
  pull-requests:
    '**':
    - step: &turncheck
        name: turncheck
        caches: [turncheck]
        script:
        - python3 -I -m venv {_OWN}
        - PIP_CONFIG_FILE=/dev/null {_OWN}/bin/pip install turncheck
        - {_quoted(command)}
        artifacts:
        - test-results/**
  branches:
    {branch}:
    - step: *turncheck
"""


def _jenkins(projects: Sequence[str], branch: str, asks: bool | None) -> str:  # noqa: ARG001 - it builds every branch
    own = "/tmp/turncheck"  # noqa: S108 - of the container, which is new
    command = run_of(projects, *_where(asks), program=f"{own}/bin/turncheck").replace("\\", "\\\\")
    command += " " if command.endswith("'") else ""  # Groovy ends a text at the first three quotes
    token = f", string(credentialsId: 'bot-token', variable: '{BOT_TOKEN}')" if asks else ""
    return f"""\
// A multibranch pipeline; the credential turncheck-token may comment where the change lies.
pipeline {{
  agent {{ docker {{ image 'python:3.12' }} }}
  environment {{ HOME = '/tmp'; PIP_CONFIG_FILE = '/dev/null' }}
  stages {{
    stage('turncheck') {{
      steps {{
        sh 'python3 -I -m venv {own} && {own}/bin/pip install turncheck'
        withCredentials([string(credentialsId: 'turncheck-token', variable: 'GITHUB_TOKEN'){token}]) {{
          sh '''{command}'''
        }}
      }}
    }}
  }}
  post {{
    always {{
      junit 'results/junit.xml'
      recordIssues tools: [sarif(pattern: 'results/findings.sarif')]
      archiveArtifacts 'results/**'
    }}
  }}
}}
"""


PROPOSALS: Final[Mapping[str, Proposal]] = {
    "gitlab": Proposal(
        _gitlab,
        (".gitlab-ci.yml", ".gitlab/turncheck.yml"),
        ".gitlab-ci.yml",
        "the CI/CD variable BOT_URL",
        f"the masked variable {BOT_TOKEN} to its token{{}}",
        may_lack=True,
        address=re.compile(r"gitlab", re.IGNORECASE),
        joined="add to .gitlab-ci.yml: `include: [{local: .gitlab/turncheck.yml}]`",
        needs="for the note on merge requests set the masked variable GITLAB_TOKEN (scope `api`)",
    ),
    "azure": Proposal(
        _azure,
        ("azure-pipelines.yml", "azure-pipelines-turncheck.yml"),
        "azure-pipelines.yml",
        "the variable BOT_URL of the pipeline",
        f"its secret variable {BOT_TOKEN} to the token{{}}",
        address=re.compile(r"dev\.azure\.com|visualstudio\.com", re.IGNORECASE),
        joined="create a pipeline from it in Azure DevOps",
        needs='give the build service the right "Contribute to pull requests" for the thread on pull requests',
    ),
    "bitbucket": Proposal(
        _bitbucket,
        ("bitbucket-pipelines.yml",),
        "bitbucket-pipelines.yml",
        "the repository variable BOT_URL",
        f"the secured variable {BOT_TOKEN} to its token{{}}",
        may_lack=True,
        address=re.compile(r"bitbucket\.org", re.IGNORECASE),
        joined="it already exists: add the step that docs/ci.md shows",
        needs="for the comment set the secured variable BITBUCKET_TOKEN (scope `pullrequest:write`)",
    ),
    "jenkins": Proposal(
        _jenkins,
        ("Jenkinsfile", "Jenkinsfile.turncheck"),
        "Jenkinsfile",
        "the environment variable BOT_URL",
        "store its token as the credential bot-token{}",
        joined="create a multibranch pipeline with it as its script path, or copy its stage",
        needs="store a token that may comment as the credential turncheck-token",
    ),
    "github": Proposal(
        _github,
        (".github/workflows/turncheck.yml",),
        ".github/workflows",
        "the variable BOT_URL",
        "the secret BOT_TOKEN to its token{}",
        may_lack=True,
        address=re.compile(r"github", re.IGNORECASE),
    ),
}
"""In the order in which a repository is looked at; GitHub, which is assumed of all others, comes last."""
