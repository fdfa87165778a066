"""The base's files, one by one, from Azure DevOps and Bitbucket when these misbehave: an error that ends nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import fake_azure
import fake_bitbucket
import pytest
import requests
from fake_azure import FakeAzure
from fake_bitbucket import FakeBitbucket
from fake_host import Answer, Seen, Trouble
from golden_texts import Golden

from turncheck.ci.azure.host import AzureClient, AzureRepository
from turncheck.ci.bitbucket.host import BitbucketClient, BitbucketRepository
from turncheck.ci.host import CommitFiles
from turncheck.ci.rest import RestError, RetryBudget
from turncheck.process.environment import Secret

COMMIT = "c" * 40
Files = Callable[[], AbstractContextManager[CommitFiles]]


@pytest.fixture(scope="module")
def fakes() -> Iterator[dict[str, FakeAzure | FakeBitbucket]]:
    found: dict[str, FakeAzure | FakeBitbucket] = {"azure": FakeAzure(), "bitbucket": FakeBitbucket()}
    yield found
    for one in found.values():
        one.close()


@pytest.fixture(params=["azure", "bitbucket"])
def fake(request: pytest.FixtureRequest, fakes: dict[str, FakeAzure | FakeBitbucket]) -> FakeAzure | FakeBitbucket:
    found = fakes[request.param]
    found.reset()
    return found


def asked(fake: FakeAzure | FakeBitbucket) -> AbstractContextManager[CommitFiles]:
    patience = RetryBudget(sleep=lambda _: None)
    if isinstance(fake, FakeAzure):
        client = AzureClient(fake.url, Secret(fake_azure.TOKEN), patience)
        return AzureRepository(client, "p1", "r1", "").files_of(COMMIT)
    return BitbucketRepository(BitbucketClient(fake.url, Secret(fake_bitbucket.TOKEN), patience), "acme/bots").files_of(
        COMMIT
    )


def keep(fake: FakeAzure | FakeBitbucket, *names: str) -> None:
    files = dict.fromkeys(names, b"x")
    if isinstance(fake, FakeAzure):
        fake.files[COMMIT] = files
    else:
        fake.sources[COMMIT] = files


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(401, {}), "wrong or has expired"),
        (Answer(403, {}), "The token needs"),
        (Answer(404, {}), "Not Found"),
        (Answer(409, {}), "409"),
        (Answer(429, {}, {"Retry-After": "900"}), "waiting 900 s more would be too long"),
        (Answer(429, {}, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), "would be too long"),
        (Answer(500, {}), "tried 5 times"),
        (Answer(503, content=b"<html>"), "tried 5 times"),
        (Answer(close=True), "cannot be reached"),
        (Answer(200, content=b"\x00garbage"), "is not JSON"),
        (Answer(200, content=b"[" * 100_000), "is not JSON"),
        (Answer(200, {"value": [], "values": []}), "is empty"),
        (Answer(200, {"value": {}, "values": {}}), "is not a list"),
        (Answer(200, {"value": [{"path": 7}], "values": [{"path": 7}]}), "is not what it should be"),
        (Answer(200, {"value": []}, {"Content-Encoding": "gzip"}), "cannot be"),
        (Answer(302, headers={"Location": "http://127.0.0.1:9/x"}), "which is another server"),
    ],
)
def test_a_list_that_cannot_be_had_is_an_error_with_its_reason(
    fake: FakeAzure | FakeBitbucket, answer: Answer, said: str
) -> None:
    fake.troubles.append(Trouble("GET", "items|/src/", answer, times=9))

    with pytest.raises(RestError) as caught, asked(fake):
        pass

    assert said in str(caught.value)
    assert fake_azure.TOKEN not in str(caught.value)
    assert fake_bitbucket.TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [Answer(401, {}), Answer(403, {}), Answer(404, {}), Answer(429, {}, {"Retry-After": "900"}), Answer(500, {})],
)
def test_a_file_that_cannot_be_had_is_an_error(fake: FakeAzure | FakeBitbucket, answer: Answer) -> None:
    keep(fake, "domain.yml", "data/nlu.yml")

    def refuse(seen: Seen) -> None:
        if seen.path.endswith("nlu.yml") or seen.query.get("path", "").endswith("nlu.yml"):
            fake.before = None
            fake.troubles.append(Trouble("GET", "items|/src/", answer, times=9))

    fake.before = refuse

    with pytest.raises(RestError), asked(fake):
        pass


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("x" * 300,), ("a/" * 3000 + "b",)])
def test_names_that_no_folder_can_hold_are_an_error(fake: FakeAzure | FakeBitbucket, names: tuple[str, ...]) -> None:
    keep(fake, *names)

    with pytest.raises(RestError), asked(fake):
        pass


def test_a_host_that_hangs_is_waited_for_once_and_not_for_each_request(
    monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    now = [0.0]

    def hang(*given: Any, **named: Any) -> None:
        now[0] += 60.0
        raise requests.ReadTimeout

    monkeypatch.setattr("turncheck.ci.rest.exchange", hang)
    monkeypatch.setattr("turncheck.ci.rest.time.monotonic", lambda: now[0])
    client = BitbucketClient("http://127.0.0.1:9", Secret(fake_bitbucket.TOKEN), RetryBudget(sleep=lambda _: None))
    repository = BitbucketRepository(client, "acme/bots")

    for _ in range(5):
        with pytest.raises(RestError) as refused:
            repository.merge_base("a", "b")
        golden(refused.value)

    assert now[0] <= 300 + 5 * 60, "one attempt alone once the patience is gone"
