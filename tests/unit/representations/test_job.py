"""From a file of texts to a file of noisy vectors: what is written, and what never is."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from sfumato.accounting.budget import Budget, Limit
from sfumato.core.arrays import Floats, Points
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    CannotResume,
    InvalidArgument,
    OutputExists,
    StorageFailed,
)
from sfumato.core.randomness import Randomness
from sfumato.files import chunks
from sfumato.representations import files, read_stored
from sfumato.representations.embedder import Embedder
from sfumato.representations.job import EmbeddingJob
from sfumato.vectors.load import default_space, public_words
from sfumato.vectors.means import mean_vectors
from sfumato.vectors.space import Space
from unit.models.folders import bert, with_word_pieces

COUNT = 12
SECRET = "zanzibar"


pytestmark = pytest.mark.usefixtures("small_vectors")


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "RECORDS", 5)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    words = public_words(800)[300:]
    path = tmp_path / "in.jsonl"
    lines = []
    for number in range(COUNT):
        text = " ".join([*words[3 * number : 3 * number + 4], SECRET][: 3 + number % 3])
        lines.append(json.dumps({"id": f"r{number}", "text": text, "kind": "ab"[number % 2]}))
    path.write_text("\n".join(lines) + "\n")
    return path


def embed(corpus: Path, name: str = "out.npy", **given: Any) -> sfumato.EmbeddedCorpus:
    return sfumato.embed(corpus, corpus.parent / name, **{"epsilon": 30.0} | given)


def test_an_array_and_its_guarantee(corpus: Path) -> None:
    made = embed(corpus)
    found = np.load(made.path)
    assert (found.shape, found.dtype) == ((COUNT, 50), np.float32)
    assert np.array_equal(made.vectors(), found.astype(np.float64))
    assert made.guarantee.epsilon == 30.0
    assert made.guarantee.for_release
    assert (made.guarantee.unit, made.guarantee.neighbors) == ("document", "any two documents")
    told = json.loads(made.side.read_text())
    assert told["counts"] == {"documents": COUNT}
    assert not (corpus.parent / "out.npy.parts").exists()
    assert "The noise is about 3.33 long, and a vector 1 at most." in repr(made)
    assert "<table>" in made._repr_html_()


def test_two_runs_have_other_noise_and_a_seed_the_same(corpus: Path) -> None:
    first, second = embed(corpus, "a.npy").vectors(), embed(corpus, "b.npy").vectors()
    assert not np.isclose(first, second).any()
    seeded = [embed(corpus, f"{name}.npy", seed=3) for name in "cd"]
    assert np.array_equal(seeded[0].vectors(), seeded[1].vectors())
    assert not seeded[0].guarantee.for_release
    assert "NOT FOR RELEASE" in repr(seeded[0])


def test_only_what_is_asked_for_is_kept(corpus: Path) -> None:
    plain = read_stored(embed(corpus, "plain.parquet").path)
    assert plain.kept == {}
    made = embed(corpus, "out.parquet", keep=["id", "label"], label_field="kind")
    stored = read_stored(made.path)
    assert stored.kept["id"] == [f"r{number}" for number in range(COUNT)]
    assert stored.kept["label"][:3] == ["a", "b", "a"]
    assert stored.vectors.shape == (COUNT, 50)
    assert "fields that are kept on purpose: id, label" in made.guarantee.leaks


def test_no_text_is_written_anywhere(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    embed(corpus, "a.npy")
    embed(corpus, "b.parquet", tokens=True, keep="id")
    for path in corpus.parent.iterdir():
        if path != corpus:
            assert SECRET.encode() not in path.read_bytes()
    assert SECRET not in "".join(capsys.readouterr())
    with pytest.raises(InvalidArgument, match="a text is never kept"):
        embed(corpus, "c.parquet", keep="text")
    with pytest.raises(InvalidArgument, match="holds the private text"):
        embed(corpus, "c.parquet", keep="label", label_field="text")


def test_words_have_vectors_of_their_own_and_their_number_shows_or_not(corpus: Path) -> None:
    ragged = embed(corpus, "words.parquet", tokens=True)
    assert [len(one) for one in read_stored(ragged.path).words] == [3, 4, 5] * 4
    assert ragged.guarantee.unit == "word"
    assert "how many words a document has" in ragged.guarantee.leaks
    assert "adds up across its words" in ragged.guarantee.sentence()
    padded = embed(corpus, "words.npy", tokens=True, pad_to=4)
    assert np.load(padded.path).shape == (COUNT, 4, 50)
    # Documents of other lengths differ in many places, and their levels add up.
    (leak,) = padded.guarantee.leaks
    assert "at a high epsilon, which places have no word" in leak
    with pytest.raises(InvalidArgument, match="give `pad_to=N`"):
        embed(corpus, "ragged.npy", tokens=True)
    with pytest.raises(InvalidArgument, match="is for vectors of words"):
        embed(corpus, "x.npy", pad_to=4)


def test_a_place_without_a_word_is_drawn_for_like_any_other() -> None:
    embedder = Embedder(epsilon=1e9, tokens=True, pad_to=3, seed=1)
    found = embedder.embed(["wine", "red wine and much more", ""])
    lengths = np.linalg.norm(found, axis=2).round(3).tolist()
    assert lengths == [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    noisy = Embedder(epsilon=5, tokens=True, pad_to=3).embed(["wine"])
    assert (np.linalg.norm(noisy, axis=2) > 1).all()


def groups(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """How many rows the groups of a table have, for texts of two lengths."""
    from pyarrow.parquet import ParquetFile

    monkeypatch.setattr(chunks, "CHARACTERS", 200)
    monkeypatch.setattr(files, "GROUP", 5)
    found = []
    for name, words in (("short", 1), ("long", 90)):
        texts = ["wine " * words, *["a note"] * (COUNT - 1)]
        path = folder / f"{name}.txt"
        path.write_text("\n".join(texts) + "\n")
        made = embed(path, f"{name}.parquet")
        stored = ParquetFile(made.path).metadata
        found.append([stored.row_group(one).num_rows for one in range(stored.num_row_groups)])
        assert read_stored(made.path).vectors.shape == (COUNT, 50)
    return found


def test_a_table_does_not_show_how_long_texts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert groups(tmp_path, monkeypatch) == [[5, 5, 2]] * 2


def test_twin_groups_that_are_parts_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_grouped", lambda tables, _: tables)
    short, long = groups(tmp_path, monkeypatch)
    assert short != long


def test_groups_are_full_wherever_parts_end() -> None:
    import pyarrow as pa

    lengths = (3, 0, 11, 1, 5, 2)
    numbers = iter(range(sum(lengths)))
    columns = [pa.array([next(numbers) for _ in range(one)], pa.int64()) for one in lengths]
    tables = [pa.table({"n": one}) for one in columns]
    found = list(files._grouped(tables, 5))
    assert [len(one) for one in found] == [5, 5, 5, 5, 2]
    assert [one["n"].num_chunks for one in found] == [1] * 5
    assert [n for one in found for n in one["n"].to_pylist()] == list(range(22))


def test_numbers_that_a_file_cannot_hold_stay_numbers() -> None:
    shape = files.Shape(".npy", 2)
    found = np.frombuffer(files.spell_part(shape, [np.array([1e300, -1e300])], {}), "<f4")
    assert np.isfinite(found).all()
    assert found[0] == -found[1] > 1e38


@pytest.mark.parametrize("noise", ["laplace", "per-dimension", "projected", "binary"])
def test_no_last_digit_is_released(noise: str) -> None:
    embedder = Embedder(epsilon=5, noise=noise)
    grain = embedder.public_settings()["grain"]
    found = embedder.embed(["red wine", "two dogs", ""])
    assert np.array_equal(np.rint(found / grain) * grain, found)
    facts = embedder.mechanism.facts()
    if noise != "binary":
        each = facts["mean_noise_length"] / np.sqrt(embedder.mechanism.outputs)
        assert each / 2**17 < grain <= each / 2**16
        # The twin: what the mechanism itself gives has digits below it.
        rows = embedder.encoding.whole(["red wine"])
        raw = embedder.mechanism.release(rows, Randomness.reproducible(1)) / grain
        assert not np.array_equal(np.rint(raw), raw)


def test_noise_next_to_nothing_is_rounded_to_numbers() -> None:
    found = Embedder(epsilon=1e300, settings={"clip_norm": 1e-9}).embed(["red wine", ""])
    assert np.linalg.norm(found, axis=1) == pytest.approx([1e-9, 0.0])


def test_a_text_of_many_words_needs_room_for_its_different_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = default_space()
    asked: list[int] = []
    at = Space.at

    def counted(self: Space, points: Points) -> Floats:
        asked.append(len(points))
        return at(self, points)

    monkeypatch.setattr(Space, "at", counted)
    once, often, twice = mean_vectors(["red wine", "red wine " * 500, "red red wine"], space)
    assert np.allclose(once, often, rtol=1e-12)
    assert not np.allclose(once, twice, rtol=1e-3)
    assert asked == [2, 2, 2]


def test_a_transformer_reads_texts_one_by_one_and_tokens_alone(
    corpus: Path, tmp_path: Path
) -> None:
    folder = with_word_pieces(bert(), tmp_path / "encoder")
    made = embed(corpus, encoder=folder, epsilon=1e9)
    embedder = Embedder(epsilon=1e9, encoder=folder)
    alone = [embedder.embed([text])[0] for text in ("a b", "ba ba ab")]
    assert np.allclose(embedder.embed(["a b", "ba ba ab"]), alone, atol=1e-5)
    assert made.summary["settings"]["encoder_digest"] == embedder.encoding.digest
    # The vector of a token is the same beside any other token.
    tokens = Embedder(epsilon=1e9, encoder=folder, tokens=True)
    assert tokens.guarantee().unit == "token"
    one, two = tokens.embed_each(["a b", "a"])
    assert np.allclose(one[0], two[0], atol=1e-5)


def test_a_stopped_run_goes_on_and_draws_nothing_twice(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = EmbeddingJob._part
    done: list[int] = []

    def stop(self: EmbeddingJob, *given: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return part(self, *given)

    monkeypatch.setattr(EmbeddingJob, "_part", stop)
    with pytest.raises(KeyboardInterrupt):
        embed(corpus)
    monkeypatch.setattr(EmbeddingJob, "_part", part)
    parts = corpus.parent / "out.npy.parts"
    kept = [path.read_bytes() for path in sorted(parts.glob("*.part"))]
    assert len(kept) == 2
    with pytest.raises(OutputExists, match="`resume=True` continues"):
        embed(corpus)
    with pytest.raises(CannotResume, match="epsilon"):
        embed(corpus, resume=True, epsilon=31.0)
    made = embed(corpus, resume=True)
    written = np.load(made.path)
    assert written[:10].tobytes() == b"".join(kept)
    assert len(written) == COUNT
    assert embed(corpus, resume=True).already_finished
    with pytest.raises(CannotResume, match="other settings"):
        embed(corpus, resume=True, epsilon=31.0)


def test_a_budget_pays_before_anything_is_drawn(corpus: Path, tmp_path: Path) -> None:
    key, place = tmp_path / "budget.key", tmp_path / "budget.db"
    key.write_text(secrets.token_hex(32))
    with Budget.at(place, key, new=True) as budget:
        budget.open("corpus:notes", Limit.of("level", 40.0))
    paid: dict[str, Any] = {"budget": place, "account": "corpus:notes", "budget_key": key}
    embed(corpus, **paid)
    with pytest.raises(BudgetExceeded):
        embed(corpus, "again.npy", **paid)
    assert not (tmp_path / "again.npy").exists()
    with pytest.raises(InvalidArgument, match="nothing is charged"):
        embed(corpus, "seeded.npy", seed=1, **paid)
    with pytest.raises(InvalidArgument, match="charged by account"):
        embed(corpus, "x.npy", budget=place)


def test_what_cannot_be_written_is_said_before_anything_is_read(corpus: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"OUT\.npy or OUT\.parquet"):
        embed(corpus, "out.txt")
    with pytest.raises(InvalidArgument, match="an array has no columns"):
        embed(corpus, "out.npy", keep="id")
    with pytest.raises(InvalidArgument, match="`label_field=NAME`"):
        embed(corpus, "out.parquet", keep="label")
    with pytest.raises(InvalidArgument, match="did you mean 'gaussian'"):
        embed(corpus, noise="gausian", delta=1e-6)
    with pytest.raises(StorageFailed, match="no folder"):
        embed(corpus, encoder=corpus.parent / "nothing")
    empty = corpus.with_name("empty.jsonl")
    empty.write_text("")
    with pytest.raises(BadInput, match="holds no document"):
        embed(empty)
    embed(corpus)
    with pytest.raises(OutputExists):
        embed(corpus)
    assert sorted(path.name for path in corpus.parent.iterdir()) == [
        "empty.jsonl",
        "in.jsonl",
        "out.npy",
        "out.npy.guarantee.json",
    ]


def test_damaged_vectors_are_told_from_others(corpus: Path) -> None:
    made = embed(corpus)
    content = made.path.read_bytes()
    made.path.write_bytes(content[:-7])
    with pytest.raises(BadInput, match="is damaged"):
        read_stored(made.path)
    made.path.write_bytes(content)
    side = json.loads(made.side.read_text())
    side["settings"]["numbers"] = 7
    made.side.write_text(json.dumps(side))
    with pytest.raises(BadInput, match="is damaged"):
        read_stored(made.path)
