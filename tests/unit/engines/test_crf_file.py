"""CRFsuite's file: a damaged one is refused before CRFsuite, which trusts every offset in it, reads outside of it."""

from __future__ import annotations

import os
import random
import resource
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.engines.embedded.nlu.crf import SequenceTagger, train_tagger
from turncheck.engines.embedded.nlu.crf_file import ensure_sound

ALONE = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
"""For this file as a program of its own, which has the same helpers."""

SENTENCES = [[{f"word={number % 7}": 1.0, "bias": 1.0}, {f"word=x{number}": 1.0, "bias": 1.0}] for number in range(40)]
"""Features of two tokens each."""


def trained(**parameters: float) -> bytes:
    from pycrfsuite import ItemSequence

    tags = (["U-a", "O"] if number % 2 else ["B-ü", "L-ü"] for number in range(len(SENTENCES)))
    sequences = [(ItemSequence(one), of) for one, of in zip(SENTENCES, tags, strict=True)]
    return train_tagger(sequences, "lbfgs", {"c1": 0.1, "c2": 0.1, "max_iterations": 20, **parameters}).content


@pytest.fixture(scope="module")
def content() -> bytes:
    return trained()


def mutated(content: bytes, seed: int) -> bytes:
    """A file with one or several faults of a kind: bits, numbers in the place of offsets, missing or doubled parts."""
    chance = random.Random(seed)
    changed = bytearray(content)
    match seed % 6:
        case 0:
            for _ in range(chance.randint(1, 8)):
                changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        case 1:  # the header and the beginning of each part, where all offsets are
            starts = [0, *struct.unpack_from("<5I", content, 28)]
            place = chance.choice(starts) + 4 * chance.randrange(12)
            number = chance.choice([0, 1, 7, len(content) - 1, len(content), 1 << 16, 1 << 31, (1 << 32) - 1])
            changed[place : place + 4] = struct.pack("<I", number)
        case 2:
            place = 4 * chance.randrange(len(changed) // 4)
            changed[place : place + 4] = struct.pack("<I", chance.choice([0, 3, len(content) - 2, (1 << 32) - 4]))
        case 3:
            del changed[chance.randrange(len(changed)) :]
            if chance.random() < 0.5 and len(changed) > 8:  # the header says so, too
                changed[4:8] = struct.pack("<I", len(changed))
        case 4:
            first, last = sorted(chance.randrange(len(changed)) for _ in range(2))
            changed[first:last] = bytes([chance.choice([0, 0xFF, 0x55])]) * (last - first)
        case _:
            first, size = chance.randrange(len(changed)), chance.randrange(64)
            other = chance.randrange(len(changed) - size)
            changed[first : first + size] = changed[other : other + size]
    return bytes(changed)


def use(content: bytes) -> None:
    """Open a file and tag with it, if it is sound."""
    from pycrfsuite import ItemSequence

    try:
        tagger = SequenceTagger.of(content)
    except ValueError:
        return
    for sentence in SENTENCES[:5]:
        tags, _ = tagger.best(ItemSequence(sentence))
        assert set(tags) <= set(tagger.labels)
        tagger.marginals(ItemSequence(sentence))


def test_what_was_trained_is_sound(content: bytes) -> None:
    for one in (content, trained(c1=1000), trained(c2=10), SequenceTagger.of(content).sharpened(2.5).content):
        ensure_sound(one)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 6000, 3000))
def test_no_damaged_file_ends_the_process(content: bytes, tmp_path: Path, first: int) -> None:
    (tmp_path / "model").write_bytes(content)
    command = [sys.executable, __file__, str(tmp_path / "model"), str(first), str(first + 3000)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=ALONE)

    assert (done.returncode, done.stderr) == (0, ""), f"seed {done.stdout[-8:]}"


@pytest.mark.parametrize(
    ("offset", "number", "words"),
    [
        (4, 5, "bytes instead of"),
        (20, 0, "0 labels"),
        (20, 1 << 30, "labels"),
        (28, 1 << 31, "leads out"),
        (32, 49, "names"),
        (36, (1 << 32) - 1, "leads out"),
        (40, 100, "lists of features"),
        (44, 100, "lists of features"),
    ],
)
def test_each_number_of_the_header_is_checked(content: bytes, offset: int, number: int, words: str) -> None:
    changed = bytearray(content)
    changed[offset : offset + 4] = struct.pack("<I", number)

    with pytest.raises(ValueError, match=words):
        SequenceTagger.of(bytes(changed))


def test_a_weight_that_is_not_a_number_is_refused(content: bytes, golden: Golden) -> None:
    changed = bytearray(content)
    changed[72:80] = struct.pack("<d", float("nan"))

    with pytest.raises(ValueError, match="finite") as refused:
        ensure_sound(bytes(changed))
    golden(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 47, 48, 2000, 4096, 7000])
def test_a_model_that_was_cut_off_while_it_was_written_is_an_error(content: bytes, most: int, golden: Golden) -> None:
    assert len(content) > most
    command = [sys.executable, __file__, "train"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**ALONE, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        timeout=120,
    )

    assert done.returncode == 1
    golden(done.stderr, only="turncheck.messages.errors.MachineError")


if __name__ == "__main__":
    if sys.argv[1] == "train":
        trained()
        sys.exit()
    whole = Path(sys.argv[1]).read_bytes()
    for seed in range(int(sys.argv[2]), int(sys.argv[3])):
        sys.stdout.write(f"{seed} ")
        sys.stdout.flush()
        use(mutated(whole, seed))
