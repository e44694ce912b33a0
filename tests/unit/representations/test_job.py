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
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    CannotResume,
    InvalidArgument,
    OutputExists,
    StorageFailed,
)
from sfumato.files import chunks
from sfumato.representations import read_stored
from sfumato.representations.embedder import Embedder
from sfumato.representations.job import EmbeddingJob
from sfumato.vectors.load import public_words
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
    assert padded.guarantee.leaks == ()
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
