"""Several Rasa servers asked as one: the same answers, and one that dies loses nothing."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from fake_rasa import FakeRasa, Fault, Json, serving
from golden_texts import Golden
from unmeasured import of_cases

from turncheck.engines.rasa_server.client import Access, RasaClient
from turncheck.engines.rasa_server.conversation import RasaConversations, RasaNlu, describe
from turncheck.engines.rasa_server.process import RasaPool
from turncheck.engines.remote import ServerError
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.messages.errors import EngineError
from turncheck.project.e2e.cases import read_cases
from turncheck.report.model import EndToEnd

TEXTS = [f"word{number} and more" for number in range(40)]


def client(rasa: FakeRasa) -> RasaClient:
    return RasaClient(Access(rasa.url), at_once=2, sleep=lambda _: None)


def dead_after(calls: int, rasa: FakeRasa) -> None:
    """From this call on, each is cut off, whatever it asks."""

    def fault(path: str, body: Json) -> Fault | None:
        return "cut" if len(rasa.calls) > calls else None

    rasa.fault = fault


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    lines = ["test_cases:"]
    for number in range(20):
        lines += [f"- test_case: case {number}", "  steps:"]
        for word in (f"greet{number}", "bye"):
            lines += [f"  - user: {word}", f"  - utter: utter_{word}"]
    path = tmp_path / "e2e_test_cases.yml"
    path.write_text("\n".join(lines) + "\n")
    return path


def held(server: RasaClient, cases: Path) -> EndToEnd:
    engine = RasaConversations(server, describe(server))
    found = evaluate_cases(engine, read_cases(cases.parent, [str(cases)]).cases, CaseRun(workers=server.at_once))
    assert all(case.measured_runs for case in found.cases)
    return of_cases(found)


def test_sentences_and_cases_are_spread_and_the_answers_are_those_of_one(cases: Path) -> None:
    with ExitStack() as stack:
        one, *several = [stack.enter_context(serving(FakeRasa())) for _ in range(4)]
        alone, pool = client(one), RasaPool([client(rasa) for rasa in several])

        assert RasaNlu(pool, describe(pool)).parse(TEXTS) == RasaNlu(alone, describe(alone)).parse(TEXTS)
        assert held(pool, cases) == held(alone, cases)

    assert all(len(rasa.calls) > 10 for rasa in several)
    senders = [set(rasa.trackers) for rasa in several]
    assert sum(map(len, senders)) == len(set().union(*senders)) == 20


@pytest.mark.parametrize("calls", [2, 9, 30])
def test_a_server_that_dies_loses_nothing(calls: int, cases: Path, golden: Golden) -> None:
    told: list[str] = []
    with ExitStack() as stack:
        one, dying, other, third = [stack.enter_context(serving(FakeRasa())) for _ in range(4)]
        alone, pool = client(one), RasaPool([client(rasa) for rasa in (dying, other, third)])
        pool.alarm = told.append
        dead_after(calls, dying)

        assert RasaNlu(pool, describe(alone)).parse(TEXTS) == RasaNlu(alone, describe(alone)).parse(TEXTS)
        engine = RasaConversations(pool, describe(alone))
        read = read_cases(cases.parent, [str(cases)]).cases
        assert of_cases(evaluate_cases(engine, read, CaseRun(workers=6))) == held(alone, cases)

    golden(*told)


def test_of_the_last_one_it_is_said_what_became_of_it() -> None:
    with serving(FakeRasa()) as one, serving(FakeRasa()) as other:
        pool = RasaPool([client(one), client(other)])
        dead_after(0, one)
        dead_after(0, other)

        with pytest.raises(ServerError, match=f"the Rasa server at ({one.url}|{other.url})"):
            pool.parse("hello")


def test_servers_with_several_models_are_none_to_measure_with() -> None:
    differ = pytest.raises(EngineError, match=r"the Rasa servers differ in the model .*a\.tar\.gz.*b\.tar\.gz")

    with serving(FakeRasa(model="a.tar.gz")) as one, serving(FakeRasa(model="b.tar.gz")) as other, differ:
        describe(RasaPool([client(one), client(other)]))


def test_the_same_model_in_another_folder_of_each_server_is_one() -> None:
    with serving(FakeRasa(model="/a/m.tar.gz")) as one, serving(FakeRasa(model="/b/m.tar.gz")) as other:
        pool = RasaPool([client(one), client(other)])

        assert describe(pool).model == "/a/m.tar.gz"
        dead_after(0, one)
        assert pool.served().identity == "m.tar.gz, m"


def test_of_several_models_each_is_named_with_its_own_server() -> None:
    models = ("a.tar.gz", "b.tar.gz", "c.tar.gz")
    with ExitStack() as stack:
        first, second, third = [stack.enter_context(serving(FakeRasa(model=model))) for model in models]
        pool = RasaPool([client(rasa) for rasa in (first, second, third)])
        dead_after(0, first)

        with pytest.raises(EngineError, match=f"{second.url}: b.tar.gz, m; {third.url}: c.tar.gz, m"):
            pool.served()
