from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from msgspec.structs import replace

from turncheck.engines.embedded.model_archive import MemberWriter, read_model, write_model
from turncheck.engines.embedded.nlu.batch import Batch
from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
from turncheck.engines.embedded.nlu.persistence import read_nlu, write_nlu
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.model import Component, Config, Project
from turncheck.project.nlu_data import EntityAnnotation, Example, Lookup, NluData, Synonym

HERE = Location("data/nlu.yml", 1)

PIPELINE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("WhitespaceTokenizer", {}),
    ("RegexFeaturizer", {}),
    ("CountVectorsFeaturizer", {}),
    ("LogisticRegressionClassifier", {}),
    ("SpacyFeaturizer", {}),
    ("SklearnIntentClassifier", {"C": [1]}),
    ("KeywordIntentClassifier", {}),
    ("DIETClassifier", {}),
    ("CRFEntityExtractor", {}),
    ("RegexEntityExtractor", {}),
    ("EntitySynonymMapper", {}),
    ("ResponseSelector", {}),
    ("FallbackClassifier", {}),
)


def city(text: str, name: str, intent: str, role: str | None = None) -> Example:
    start = text.index(name)
    return Example(text, intent, (EntityAnnotation(start, start + len(name), "city", name, role),))


@pytest.fixture(scope="module")
def project() -> Project:
    examples = (
        *(city(f"fly to {name} please", name, "travel", "to") for name in ("Rome", "Paris", "New York", "Oslo")),
        *(city(f"a trip from {name}", name, "travel", "from") for name in ("Rome", "Lisbon", "Bonn")),
        *(Example(text, "greet") for text in ("hello", "hi there", "good morning", "hey")),
        *(Example(text, "faq/hours") for text in ("when do you open", "opening hours", "are you open today")),
        *(Example(text, "faq/price") for text in ("how much is it", "what does it cost", "is it expensive")),
    )
    return Project(
        Path("bot"),
        "bot",
        nlu=NluData(examples, (Synonym("New York", "NYC", HERE),), (), (Lookup("city", ("NYC", "Rome"), HERE),)),
        config=Config(pipeline=tuple(Component(name, parameters, HERE) for name, parameters in PIPELINE)),
    )


@pytest.fixture(scope="module")
def engine(project: Project) -> EmbeddedNluEngine:
    return EmbeddedNluTrainer(seed=7).fit(project)


def saved(engine: EmbeddedNluEngine, path: Path) -> Path:
    writer = MemberWriter()
    write_nlu(writer, engine)
    write_model(path, writer, fingerprint="abc", parts=("nlu",))
    return path


TEXTS = ("hello", "fly from NYC to Rome", "when is it open", "", "日本語", '/greet{"city": "Bonn"}')


def test_a_model_read_back_answers_alike(engine: EmbeddedNluEngine, tmp_path: Path) -> None:
    model = read_model(saved(engine, tmp_path / "models" / "nlu.tar.gz"))
    assert (model.fingerprint, model.parts) == ("abc", ("nlu",))
    again = read_nlu(model.reader)
    assert again.parse(TEXTS) == engine.parse(TEXTS)
    assert (again.info, again.extractors) == (engine.info, engine.extractors)
    assert again.neighbours(["fly to Rome"], 2) == engine.neighbours(["fly to Rome"], 2)


def test_the_same_project_and_seed_give_the_same_answers(project: Project, engine: EmbeddedNluEngine) -> None:
    assert EmbeddedNluTrainer(seed=7).fit(project).parse(TEXTS) == engine.parse(TEXTS)


def test_sentences_go_through_the_pipeline_in_blocks(
    engine: EmbeddedNluEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once: list[int] = []

    class Watched:
        def process(self, batch: Batch) -> None:
            at_once.append(len(batch.texts))

        def save(self, members: MemberWriter) -> None:
            raise NotImplementedError

    watched = replace(engine, components=(*engine.components, (engine.components[0][0], Watched())))
    monkeypatch.setattr("turncheck.engines.embedded.nlu.engine._BLOCK", 2)

    assert watched.parse(TEXTS) == engine.parse(TEXTS) == [engine.parse([text])[0] for text in TEXTS]
    assert at_once == [2, 2, 1]  # one message says what it means


def test_an_engine_and_a_trainer_travel_to_a_worker_process(engine: EmbeddedNluEngine) -> None:
    again = pickle.loads(pickle.dumps(engine))
    assert again.parse(TEXTS) == engine.parse(TEXTS)
    assert pickle.loads(pickle.dumps(EmbeddedNluTrainer(seed=7))) == EmbeddedNluTrainer(seed=7)


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {head.name: file.read() for head in archive if (file := archive.extractfile(head))}


def test_no_member_is_a_pickle(engine: EmbeddedNluEngine, tmp_path: Path) -> None:
    names = {Path(name).suffix for name in members(saved(engine, tmp_path / "m.tar.gz"))}
    assert names == {".json", ".npz", ".skops", ".crfsuite"}


def repacked(path: Path, content: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in content.items():
            head = tarfile.TarInfo(name)
            head.size = len(data)
            archive.addfile(head, io.BytesIO(data))
    return path


def test_a_changed_member_is_damage(engine: EmbeddedNluEngine, tmp_path: Path, golden: Golden) -> None:
    path = saved(engine, tmp_path / "m.tar.gz")
    content = members(path)
    content["nlu/sentences.json"] = b"[]"
    with pytest.raises(UserError, match=r"nlu/sentences.json") as refused:
        read_model(repacked(path, content))
    golden(refused.value)


def test_a_missing_and_an_added_member_are_damage(engine: EmbeddedNluEngine, tmp_path: Path, golden: Golden) -> None:
    path = saved(engine, tmp_path / "m.tar.gz")
    content = members(path)
    with pytest.raises(UserError, match="nlu/extra") as refused:
        read_model(repacked(path, {**content, "nlu/extra": b"x"}))
    golden(refused.value)
    del content["nlu/sentences.json"]
    with pytest.raises(UserError, match=r"is damaged: its member nlu/sentences.json is missing"):
        read_model(repacked(path, content))


def test_a_file_cut_off_is_damage(engine: EmbeddedNluEngine, tmp_path: Path) -> None:
    path = saved(engine, tmp_path / "m.tar.gz")
    whole = path.read_bytes()
    for length in (0, 20, len(whole) // 2):
        path.write_bytes(whole[:length])
        with pytest.raises(UserError, match="is damaged"):
            read_model(path)


def test_a_model_of_rasa_is_called_so(tmp_path: Path, golden: Golden) -> None:
    path = repacked(tmp_path / "rasa.tar.gz", {"./metadata.json": b"{}", "./components/x/y": b""})
    with pytest.raises(UserError) as refused:
        read_model(path)
    golden(refused.value)


def test_any_other_archive_is_called_foreign(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        read_model(repacked(tmp_path / "other.tar.gz", {"readme.txt": b"hello"}))
    golden(refused.value)


def test_what_is_no_archive_is_not_read(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "m.tar.gz"
    path.write_bytes(gzip.compress(b"no tar"))
    with pytest.raises(UserError, match="damaged"):
        read_model(path)
    with pytest.raises(UserError) as refused:
        read_model(tmp_path / "absent.tar.gz")
    golden(refused.value)
    with pytest.raises(UserError) as refused:
        read_model(tmp_path)
    golden(refused.value)


@pytest.mark.parametrize("manifest", [b"", b"[]", b"{}", b'{"format": 1}', b"\xff"])
def test_a_broken_manifest_is_damage(manifest: bytes, tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        read_model(repacked(tmp_path / "m.tar.gz", {"manifest.json": manifest}))
    golden(refused.value)


@pytest.mark.parametrize("other", ["turncheck/model/v1", "turncheck/model/v9"])
def test_an_earlier_or_later_format_is_named_and_refused(tmp_path: Path, other: str) -> None:
    manifest = {"format": other, "fingerprint": "", "parts": [], "members": {}}
    path = repacked(tmp_path / "m.tar.gz", {"manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(UserError, match=other) as caught:
        read_model(path)
    assert "turncheck train" in str(caught.value.hint)


def test_names_that_lead_out_of_the_archive_are_read_and_never_written(tmp_path: Path) -> None:
    path = repacked(tmp_path / "m.tar.gz", {"../../evil": b"x", "manifest.json": b"{}"})
    with pytest.raises(UserError):
        read_model(path)
    assert not (tmp_path.parent.parent / "evil").exists()
