"""The team's real assistant as the engine of a run: a running server, or one that is trained and started."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, structs

from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.action_server.server import (
    DEFAULT_URL,
    ActionEndpoint,
    HttpActionServer,
    checked_address,
    checked_certificates,
)
from turncheck.engines.base import Capabilities, Engine, Models, why_no_dialogue
from turncheck.engines.embedded.models import fetch_model, named_model
from turncheck.engines.masking import ensure_hideable
from turncheck.engines.rasa_server.client import CONCURRENCY, Access, RasaClient, Served
from turncheck.engines.rasa_server.conversation import (
    NAME,
    RUN_BY_RASA,
    STUBS_NEED_OURS,
    RasaConversations,
    RasaNlu,
    RasaPolicies,
    describe,
)
from turncheck.engines.rasa_server.process import (
    RasaFiles,
    RasaPool,
    RasaProcess,
    StubServer,
    rasa_process,
    serving_stubs,
)
from turncheck.engines.remote import CutError
from turncheck.evaluations.kinds import KINDS
from turncheck.messages.errors import EngineError, IncompleteError, UserError
from turncheck.process.environment import FileVariables, expand, for_child
from turncheck.process.output_files import temporary_folder
from turncheck.process.screen import Console, duration
from turncheck.project.candidates import DEFAULT_DATA, DEFAULT_DOMAIN_FOLDER
from turncheck.project.config import has_policies_beside_flows, understands_intents
from turncheck.project.files import DEFAULT_CONFIG, DEFAULT_DOMAIN
from turncheck.project.rasa_components import known_component
from turncheck.report.model import EngineInfo
from turncheck.settings.secrets import secret_setting
from turncheck.web.addresses import Network, is_allowed, is_http, login_of, origin_of, without_login

if TYPE_CHECKING:
    from turncheck.engines.base import Part
    from turncheck.engines.conversation import ActionServer, NluEngine, NluTrainer, Policies
    from turncheck.engines.embedded.engines import EmbeddedEngine
    from turncheck.messages.finding import Location
    from turncheck.process.cache import Cache
    from turncheck.project.model import Component, Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.trust import ConfidenceMap, Trust
    from turncheck.settings.options import Settings

UNKNOWN_VERSION: Final = "unknown"
CANNOT_BE_TRAINED: Final = (
    "this engine cannot be trained here: without test sentences there is nothing to measure it by"
)
_KEPT_ENDPOINTS: Final = ("action_endpoint", "nlg", "model_groups", "mcp_servers", "vector_store")
"""What conversations need, also with flows. Tracker stores and event brokers are left out: a test leaves no traces."""
_WITH_NAMES_OF_KEYS: Final = "model_groups"
"""Rasa takes a key of a model only by the name of its variable: such names are checked and stay."""
_RUN_BY_RASA: Final = "actions_module"
"""The key of ``action_endpoint`` that names a Python package which Rasa Pro imports, instead of calling a server."""
_ADDRESSES: Final = ("url", "api_base")
"""Keys of endpoints, also of their entries, that hold an address."""


@dataclass(eq=False)
class RasaEngines(Engine):
    """A Rasa server as the engine of one project. It is connected, trained and started when it is first needed."""

    project: Project
    server: RasaClient | RasaProcess
    at_once: int = CONCURRENCY
    notes: tuple[str, ...] = ()
    stub_server: StubServer | None = None
    _info: EngineInfo | None = field(default=None, init=False)
    _served: Served | None = field(default=None, init=False)

    @property
    def capabilities(self) -> Capabilities:
        """A server that is already running is used unchanged; flows are not judged by stories, and ask a model."""
        no_dialogue = None
        if self.project.calm is not None:
            no_dialogue = f"{self.project.calm}: flows are not judged by test stories"
        elif isinstance(self.server, RasaProcess) and self.server.trains:
            no_dialogue = why_no_dialogue(self.project)
        return Capabilities(
            no_dialogue=no_dialogue,
            no_training=CANNOT_BE_TRAINED if isinstance(self.server, RasaClient) else None,
            no_channel="--channel is for the embedded engine: a Rasa server is talked to by its channel 'rest'",
            slow_training=True,
            varies=self.project.calm is not None,
        )

    @cached_property
    def domain(self) -> DialogueDomain:
        """The project's own."""
        return DialogueDomain.of(self.project)

    @property
    def nlu_trainer(self) -> NluTrainer:
        """What trains the engines of folds, all for one server."""
        if not isinstance(self.server, RasaProcess):
            raise UserError(CANNOT_BE_TRAINED, hint="Leave --cross-validation out, or use --rasa-command.")
        return RasaNluTrainer(self.server, _extractors(self.project))

    @property
    def nlu(self) -> NluEngine | None:
        """Language understanding by the server."""
        return RasaNlu(self._client(), self.info(), _extractors(self.project))

    @property
    def ensemble(self) -> Policies:
        """The server's policies."""
        return RasaPolicies(self._client(), self.domain)

    def assistant(self, server: ActionServer) -> RasaConversations:
        """Return the assistant. Rasa itself runs actions or calls their server, through ours if it was started here."""
        if self.stub_server is not None:
            self.stub_server.look(was_there=isinstance(server, HttpActionServer) and server.was_there)
        return RasaConversations(
            self._client(),
            self.info(),
            has_flows=self.project.calm is not None,
            stub_server=self.stub_server,
            why_no_stubs=STUBS_NEED_OURS if isinstance(self.server, RasaClient) else RUN_BY_RASA,
            actions=self.project.domain.actions.keys(),
        )

    @property
    def understands(self) -> bool:
        """A server always understands."""
        return True

    def info(self, *, measured: EngineInfo | None = None, conversations: bool = True) -> EngineInfo:  # noqa: ARG002
        """Return version and model, as far as the server could be asked."""
        return self._info or measured or EngineInfo(name=NAME, version=UNKNOWN_VERSION, notes=self.notes)

    def needs(self, evaluation: Evaluation, *, in_folds: bool = False) -> frozenset[str]:  # noqa: ARG002 - as others
        """Stories and cases are read by the project's domain, if it has one."""
        has_domain = not any(finding.code == "domain-not-found" for finding in self.project.findings)
        return frozenset({"domain"} if not KINDS[evaluation].nlu_only and has_domain else ())

    def show_progress(self, screen: Console) -> None:
        """Report on this screen which servers are gone, and a training."""
        if isinstance(self.server, RasaPool | RasaProcess):
            self.server.alarm = screen.alarm
        if isinstance(self.server, RasaProcess):
            self.server.progress = screen.progress

    def before_folds(self, folds: int, *, whole: bool = False) -> str:
        """Each fold trains real Rasa: say how long that may take."""
        if whole:  # it is trained first, since its time is known then
            self._client()
        seconds = self.server.training_seconds if isinstance(self.server, RasaProcess) else None
        many = f"Cross-validation with real Rasa trains {folds} models, one per fold"
        if seconds is None:
            long = f"about {folds} times as long as `rasa train nlu`; a better estimate follows after the first"
            return f"{many}: {long}. Test sentences (--nlu) would need none."
        return f"{many}: up to about {duration(folds * seconds)}, since the whole model took {duration(seconds)}."

    def ensure_same_model(self, finished: object) -> None:
        """Make sure that everything so far was measured with the same model.

        Raises:
            IncompleteError: a server that was not started here has changed its model, or refuses to say
                which; or somebody interrupted it.
        """
        if self._served is None or not isinstance(self.server, RasaClient):
            return
        try:
            now = self.server.served()
        except CutError:  # it is gone, but has answered everything
            return
        except (EngineError, KeyboardInterrupt) as error:
            raise IncompleteError(error, finished) from error
        if now.identity != self._served.identity:
            changed = EngineError(
                f"the Rasa server at {self.server.name} had another model at the end ({now.identity})"
                f" than at the beginning ({self._served.identity}): the results mix both",
                hint="Run again, with a server that keeps its model during the run.",
            )
            raise IncompleteError(changed, finished)

    def _client(self) -> RasaClient:
        """Return the server, the project's own model loaded.

        Raises:
            EngineError: it cannot be reached, trained or started.
        """
        client = self.server if isinstance(self.server, RasaClient) else self.server.serve()
        if self._info is None:
            engine_info = describe(client)
            self._info = EngineInfo(
                name=engine_info.name, version=engine_info.version, model=engine_info.model, notes=self.notes
            )
            self._served = client.served()
        return client


BESIDE_FLOWS: Final = "Intents, stories and rules beside flows are judged by the embedded engine."


@dataclass(eq=False, kw_only=True)
class RasaEnginesBesideFlows(RasaEngines):
    """The engine of a project that also has intents, stories or rules beside its flows.

    Those are judged by the embedded engine, as in a run without a server: the model of a CALM assistant predicts no
    stories, and asking it costs a call of a language model for each sentence.
    """

    beside: EmbeddedEngine

    @property
    def capabilities(self) -> Capabilities:
        """The server holds conversations; what is judged here is trained here."""
        own, beside = super().capabilities, self.beside.capabilities
        no_dialogue = beside.no_dialogue if has_policies_beside_flows(self.project) else own.no_dialogue
        if not self._understands_here:
            return structs.replace(own, no_dialogue=no_dialogue)
        return structs.replace(own, no_dialogue=no_dialogue, no_training=None, slow_training=False, stands_in=True)

    @property
    def _understands_here(self) -> bool:
        return self.beside.capabilities.no_nlu is None

    @property
    def nlu_trainer(self) -> NluTrainer:
        """What trains the engines of folds."""
        return self.beside.nlu_trainer if self._understands_here else super().nlu_trainer

    @property
    def nlu(self) -> NluEngine | None:
        """Language understanding of the sentences of tests; that of conversations is the server's."""
        return self.beside.nlu if self._understands_here else super().nlu

    @property
    def ensemble(self) -> Policies:
        """The policies beside flows."""
        return self.beside.ensemble

    @property
    def trust(self) -> Trust | None:
        """How the embedded engine agrees with the team's Rasa."""
        return self.beside.trust

    @property
    def team_confidences(self) -> ConfidenceMap | None:
        """How sure the team's Rasa would be."""
        return self.beside.team_confidences

    def info(self, *, measured: EngineInfo | None = None, conversations: bool = True) -> EngineInfo:
        """Return the server's version and model, and what the embedded engine replaced in what it judged."""
        server = super().info(conversations=conversations)
        beside = self.beside.info(measured=measured, conversations=False)
        notes = (*server.notes, *(note for note in beside.notes if note not in server.notes), BESIDE_FLOWS)
        return structs.replace(server, substitutions=beside.substitutions, notes=notes)

    def needs(self, evaluation: Evaluation, *, in_folds: bool = False) -> frozenset[str]:
        """What is judged here is trained on the project's files."""
        if KINDS[evaluation].capability == "no_conversation":
            return super().needs(evaluation, in_folds=in_folds)
        return self.beside.needs(evaluation, in_folds=in_folds)

    def before_folds(self, folds: int, *, whole: bool = False) -> str:
        """Folds that are trained here are quick."""
        return "" if self._understands_here else super().before_folds(folds, whole=whole)

    def use_cache(self, cache: Cache) -> None:
        """Cache what is trained here."""
        self.beside.use_cache(cache)

    def key_of_folds(self, folds: int) -> str | None:
        """Return the digest of what folds that are trained here depend on."""
        return self.beside.key_of_folds(folds) if self._understands_here else None

    def parts(self) -> Mapping[Part, EngineInfo]:
        """Return the substitutions in what was trained here."""
        return self.beside.parts()

    def recall(self, parts: Mapping[Part, EngineInfo]) -> None:
        """Accept the descriptions of parts that need not be trained here."""
        self.beside.recall(parts)


class RasaNluTrainer(Struct, frozen=True):
    """Trains real Rasa on shares of the data. One server has one model: the next fit ends the last engine's use."""

    process: RasaProcess
    extractors: tuple[str, ...]

    def fit(self, project: Project) -> RasaNlu:
        """Train on the project's NLU data.

        Raises:
            EngineError: it cannot be trained.
        """
        client = self.process.serve_trained_on(project)
        engine_info = describe(client)
        return RasaNlu(client, EngineInfo(name=engine_info.name, version=engine_info.version), self.extractors)


@contextmanager
def opened(  # noqa: PLR0917 - as of all engines
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    hosts: tuple[str, ...] | None,
    models: Models | None = None,
    variables: FileVariables | None = None,
) -> Iterator[RasaEngines]:
    """Yield the engine that the settings describe; see :func:`turncheck.engines.choice.chosen_engines`.

    Raises:
        UserError: there is neither an address nor a command, or both, or a setting does not fit.
    """
    at_once = settings.workers or CONCURRENCY
    engine: Callable[..., RasaEngines] = RasaEngines
    if models is None and _has_more_than_flows(project):  # commands for one question ask the engine that was named
        from turncheck.engines.embedded.engines import engine_of  # most projects have flows alone, or none

        engine = partial(RasaEnginesBesideFlows, beside=engine_of(settings, project, environment, hosts=hosts))
    if (settings.rasa_url is None) == (settings.rasa_command is None):
        raise UserError(
            "the engine 'rasa' needs a server: its address, or the command that starts it (and not both)",
            hint="Give --rasa-url URL, or --rasa-command rasa.",
        )
    if settings.rasa_url is None and settings.rasa_url_base is not None:
        raise UserError("--rasa-url-base goes with --rasa-url: with --rasa-command, the base is started as well")
    if settings.rasa_url is not None:
        if settings.rasa_servers > 1:
            raise UserError(
                "--rasa-servers goes with --rasa-command: it says how many are started",
                hint="For servers that are already running, give each address: --rasa-url URL URL.",
            )
        if models is not None and models.storage is not None:
            raise UserError("--remote-storage does not go with --rasa-url: a running server has its model loaded")
        _accesses("rasa_url_base", settings, environment)  # it is refused before anything is measured
        clients = [RasaClient(access, at_once=at_once) for access in _accesses("rasa_url", settings, environment)]
        server = clients[0] if len(clients) == 1 else RasaPool(clients)
        yield engine(project, server, server.at_once)
        return
    for name in ("rasa_token", "rasa_jwt"):
        if getattr(settings, name) is not None:
            raise UserError(f"--{name.replace('_', '-')} goes with --rasa-url: a server started here needs none")
    variables = variables or FileVariables(dict(settings.env), environment)
    endpoints = _endpoints(settings, project, variables, hosts)
    child = for_child(environment, settings.env)
    with (
        _model(settings, models, environment) as model,
        _stubs(endpoints, project, environment, variables, hosts) as stubs,
    ):
        kept = endpoints.kept
        if stubs is not None:
            kept = {**kept, "action_endpoint": {**kept.get("action_endpoint", {}), "url": stubs.url}}
        files = _files(settings, project, kept, model)
        command, servers = settings.rasa_command or "", settings.rasa_servers
        with rasa_process(command, files, child, at_once=at_once, servers=servers) as process:
            yield engine(project, process, at_once * servers, endpoints.notes, stubs)


def _has_more_than_flows(project: Project) -> bool:
    return project.calm is not None and (understands_intents(project) or has_policies_beside_flows(project))


@contextmanager
def _model(settings: Settings, models: Models | None, environment: Mapping[str, str]) -> Iterator[str | None]:
    """Yield the model that a Rasa started here serves, fetched if it is stored elsewhere."""
    if models is None or models.storage is None:
        yield settings.model
        return
    with temporary_folder("model") as folder:
        yield str(fetch_model(models.storage, settings.model, environment, Path(folder)))


class _Endpoints(Struct, frozen=True):
    """The endpoints that Rasa gets, and remarks on those that it does not get.

    ``is_given``: whether the action server is named by flag or input, not by the project.
    """

    kept: Mapping[str, Any]
    notes: tuple[str, ...]
    is_given: bool

    @property
    def rasa_runs_actions(self) -> bool:
        """Whether Rasa Pro is to run custom actions in its own process: it then calls no action server."""
        return bool(self.kept.get("action_endpoint", {}).get(_RUN_BY_RASA))


@contextmanager
def _stubs(
    endpoints: _Endpoints,
    project: Project,
    environment: Mapping[str, str],
    variables: FileVariables,
    hosts: tuple[str, ...] | None,
) -> Iterator[StubServer | None]:
    """Yield what Rasa calls for its actions; ``None`` if it runs them itself: with an address as well, it might not."""
    if endpoints.rasa_runs_actions:
        yield None
        return
    with serving_stubs(_stub_server(endpoints, project, environment, variables, hosts)) as stubs:
        yield stubs


def _stub_server(
    endpoints: _Endpoints,
    project: Project,
    environment: Mapping[str, str],
    variables: FileVariables,
    hosts: tuple[str, ...] | None,
) -> StubServer:
    """Return what is in front of this endpoint's action server; everything but the address stays Rasa's."""
    named = project.endpoints.get("action_endpoint")
    location = named.location if named and not endpoints.is_given else None
    endpoint = endpoints.kept.get("action_endpoint", {})
    own = {key: expand(str(endpoint[key]), variables, location) for key in ("url", "cafile") if endpoint.get(key)}
    if "url" not in own:
        return StubServer()
    address = checked_address(own["url"], location)
    certificates, network = checked_certificates(own.get("cafile"), location), Network.of(environment)
    more = () if certificates else network.more_ca_files
    server = ActionEndpoint(address, cafile=certificates or network.ca_file, more_cafiles=more)
    known = None if "domain" in project.unreadable else project.domain.responses
    return StubServer(HttpActionServer(server, hosts=None if endpoints.is_given else hosts), known)


def _accesses(setting: str, settings: Settings, environment: Mapping[str, str]) -> list[Access]:
    """Return the addresses of the servers that a setting names, each once."""
    urls = dict.fromkeys((getattr(settings, setting) or "").split())
    return [_access(url, f"--{setting.replace('_', '-')}", settings, environment) for url in urls]


def _access(url: str, given_by: str, settings: Settings, environment: Mapping[str, str]) -> Access:
    if not is_http(url):
        shown = without_login(url)
        raise UserError(f"'{shown}' is not an address of a Rasa server", hint="Write it as http://host:5005.")
    if "?" in url or "#" in url:
        raise UserError(
            f"the address of the Rasa server ({without_login(url)}) has a query or a fragment",
            hint="Omit what begins with ? or #; a token is given with --rasa-token.",
        )
    if settings.action_endpoint and not settings.action_server:
        raise UserError("--action-endpoint does not go with --rasa-url: a running server calls its own action server")
    if settings.model is not None:
        raise UserError("--model goes with --rasa-command: a running server has its model loaded")
    token, jwt = (secret_setting(settings, name, environment) for name in ("rasa-token", "rasa-jwt"))
    if token and jwt:
        raise UserError("--rasa-token and --rasa-jwt cannot be combined", hint="Give the one that the server requires.")
    for secret, flag in ((token, "--rasa-token"), (jwt, "--rasa-jwt")):
        ensure_hideable(secret, flag, url, given_by)
    if jwt and login_of(url):
        raise UserError(
            f"the login in the address of {given_by} and --rasa-jwt would be the same header, Authorization",
            hint="Omit one of them.",
        )
    return Access(
        url,
        token=token.reveal() if token else None,
        jwt=jwt.reveal() if jwt else None,
        network=Network.of(environment),
    )


def _files(settings: Settings, project: Project, endpoints: Mapping[str, Any], model: str | None) -> RasaFiles:
    root = project.root.resolve()
    domain = root / DEFAULT_DOMAIN
    return RasaFiles(
        project=project,
        root=root,
        config=Path(settings.config).resolve() if settings.config else root / DEFAULT_CONFIG,
        domain=Path(settings.domain).resolve()
        if settings.domain
        else domain
        if domain.exists()
        else root / DEFAULT_DOMAIN_FOLDER,
        data=[Path(path).resolve() for path in settings.data] or [root / DEFAULT_DATA],
        model=named_model(Path(model)).resolve() if model else None,
        endpoints=endpoints,
    )


def _endpoints(
    settings: Settings, project: Project, variables: FileVariables, hosts: tuple[str, ...] | None
) -> _Endpoints:
    kept: dict[str, Any] = {}
    notes = []
    for name in _KEPT_ENDPOINTS:
        endpoint = project.endpoints.get(name)
        if endpoint is None:
            continue
        urls = [expand(url, variables, endpoint.location) for url in _urls(endpoint.parameters)]
        addresses = [checked_address(url, endpoint.location) for url in urls]
        foreign = next((address for address in addresses if not is_allowed(address, hosts)), None)
        if foreign is not None:
            host = origin_of(foreign).host
            notes.append(f"{name} of endpoints.yml was left out: its host '{host}' is not among the allowed hosts.")
            continue
        whole = endpoint.parameters
        content = whole[name] if whole.keys() == {name} and isinstance(whole[name], list | tuple) else whole
        expanded = _handed_over(content, variables, endpoint.location) if variables.is_limited else content
        kept[name] = content if name == _WITH_NAMES_OF_KEYS else expanded
    is_given = bool(settings.action_endpoint) or "action_endpoint" not in kept
    if settings.action_endpoint:
        kept["action_endpoint"] = {"url": settings.action_endpoint}
    elif settings.action_server:  # it takes the place of a module that Rasa would run
        named = {key: one for key, one in kept.get("action_endpoint", {}).items() if key != _RUN_BY_RASA}
        kept["action_endpoint"] = {**named, "url": named.get("url") or DEFAULT_URL}
    return _Endpoints(kept, tuple(notes), is_given)


def _urls(value: Any) -> Iterator[str]:
    """Yield the addresses in an endpoint: its own, those of its entries."""
    for key, one in value.items() if isinstance(value, Mapping) else ():
        if key in _ADDRESSES and isinstance(one, str) and one:
            yield one
        yield from _urls(one)
    for one in value if isinstance(value, list | tuple) else ():
        yield from _urls(one)


def _handed_over(value: Any, variables: FileVariables, location: Location) -> Any:
    """Expand what Rasa would expand itself, keys too, from an environment that has more than was handed over.

    Raises:
        UserError: a variable was not handed over, or Rasa would expand a value again.
    """
    if isinstance(value, str):
        text = expand(value, variables, location)
        if "${" in text:
            raise UserError("Rasa would expand this value a second time: it contains `${`", location=location)
        return text
    if isinstance(value, Mapping):
        return {
            _handed_over(key, variables, location): _handed_over(one, variables, location) for key, one in value.items()
        }
    return [_handed_over(one, variables, location) for one in value] if isinstance(value, list | tuple) else value


def _extractors(project: Project) -> tuple[str, ...]:
    """Return the names under which the project's pipeline reports entities."""
    return tuple(dict.fromkeys(name for component in project.config.pipeline or () if (name := _extractor(component))))


def _extractor(component: Component) -> str | None:
    known = known_component(component)
    if known is None:
        return None
    if known.name == "DIETClassifier":
        return known.name if component.parameters.get("entity_recognition", True) else None
    return known.name if known.role == "extractor" else None
