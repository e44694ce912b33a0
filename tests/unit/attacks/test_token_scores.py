"""Token scores and the store that keeps them."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
import torch

from sfumato.attacks import token_scores as module
from sfumato.attacks.model_target import ModelTarget
from sfumato.attacks.token_scores import ScoreStore, TokenScores, of_row, run_around, token_scores
from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.models.load import load_model
from sfumato.statistics.prediction import perplexity
from sfumato.text.document import Document
from sfumato.training.evaluation import predict_tokens

TEXTS = ["My ID is 145572.", "", "The weather was fine in Lisbon, " * 40, "🦊", "My ID is 145572."]
KEPT = (np.arange(3, dtype=np.float32),)


@pytest.fixture(scope="module")
def target() -> ModelTarget:
    """A small model with random weights."""
    settings = {"embedding": 8, "hidden": 8, "context": 64}
    model = load_model("lstm", randomness=Randomness.reproducible(1), settings=settings)
    return ModelTarget(model, "tiny")


def documents() -> list[Document]:
    """Short, empty, long and repeated ones."""
    return [Document(text) for text in TEXTS]


def test_log_probabilities_are_those_of_evaluation(target: ModelTarget) -> None:
    """The same numbers as perplexity is computed from, document by document."""
    expected = predict_tokens(target.model, documents())
    for one, other in zip(token_scores(target, documents()), expected, strict=True):
        np.testing.assert_allclose(-one.log_probability, other.losses, atol=2e-5)
    assert perplexity(expected, Randomness.reproducible(1)).n == sum(
        len(one.losses) for one in expected
    )


def test_moments_are_those_of_the_whole_vocabulary() -> None:
    """Mean and deviation of ln p under p, with an impossible token among them."""
    logits = torch.tensor(
        [[0.3, -1.0, 2.0, -torch.inf], [0.0, 0.0, 0.0, 0.0], [9.0, 9.0, 9.0, 9.0]]
    )
    chosen, mean, deviation = of_row(logits, torch.tensor([2, 1, -100]))
    shares = np.exp([0.3, -1.0, 2.0]) / np.exp([0.3, -1.0, 2.0]).sum()
    logs = np.log(shares)
    expected = (shares * logs).sum()
    assert chosen == pytest.approx([logs[2], np.log(0.25)], abs=1e-6)
    assert mean == pytest.approx([expected, np.log(0.25)], abs=1e-6)
    spread = np.sqrt((shares * (logs - expected) ** 2).sum())
    assert deviation == pytest.approx([spread, 0.0], abs=1e-3)


def test_an_empty_document_has_no_token_and_no_loss(target: ModelTarget) -> None:
    """Nothing is made up for it."""
    empty = token_scores(target, [Document("")])[0]
    assert len(empty) == 0
    assert np.isnan(empty.loss)
    assert empty.total == 0.0


def test_a_second_time_nothing_is_measured(
    target: ModelTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder gives the same numbers to a later process."""
    folder = tmp_path / "cache"
    first = token_scores(target, documents(), ScoreStore(folder))
    monkeypatch.setattr(module, "_measure", None)
    second = token_scores(target, documents(), ScoreStore(folder))
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.log_probability, other.log_probability)
        assert np.array_equal(one.deviation, other.deviation)


def test_a_stopped_run_goes_on(
    target: ModelTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured before the stop is not measured again."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(module, "DOCUMENTS_AT_ONCE", 2)
    honest = module._measure
    calls: list[list[str]] = []

    def stopping(model: object, texts: list[str]) -> object:
        if calls:
            raise KeyboardInterrupt
        calls.append(texts)
        return honest(model, texts)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_measure", stopping)
    with pytest.raises(KeyboardInterrupt):
        token_scores(target, documents(), ScoreStore(folder))
    seen: list[str] = []

    def watched(model: object, texts: list[str]) -> object:
        seen.extend(texts)
        return honest(model, texts)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_measure", watched)
    token_scores(target, documents(), ScoreStore(folder))
    assert len(calls[0]) == 2
    assert not set(calls[0]) & set(seen)
    assert len(seen) == 2


def test_the_folder_holds_no_text_and_is_for_its_owner(target: ModelTarget, tmp_path: Path) -> None:
    """Not in a file, not in a name; an unkeyed hash of a short text could be guessed, too."""
    import hashlib

    folder = tmp_path / "cache"
    token_scores(target, documents(), ScoreStore(folder))
    assert folder.stat().st_mode & 0o077 == 0
    guessed = hashlib.blake2b(f"4:tiny{TEXTS[0]}".encode(), digest_size=16).digest()
    for path in folder.iterdir():
        content = path.read_bytes()
        assert b"145572" not in content
        assert guessed not in content


def test_a_damaged_file_is_measured_again(target: ModelTarget, tmp_path: Path) -> None:
    """Half a file, as a full disk may leave it."""
    folder = tmp_path / "cache"
    first = token_scores(target, documents(), ScoreStore(folder))
    for path in folder.glob("*.npz"):
        path.write_bytes(path.read_bytes()[:100])
    again = token_scores(target, documents(), ScoreStore(folder))
    assert [one.total for one in again] == pytest.approx([one.total for one in first])


def test_another_model_has_scores_of_its_own(target: ModelTarget) -> None:
    """The digest is part of the name."""
    store = ScoreStore()
    token_scores(target, documents(), store)
    assert not store.has("another", TEXTS[0])


def test_a_cache_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """With a sentence, not a traceback."""
    path = tmp_path / "cache"
    path.write_text("")
    with pytest.raises(StorageFailed, match="cannot use the cache"):
        ScoreStore(path)


def test_scores_know_their_sum_and_mean() -> None:
    """Sum of ln p, mean of −ln p."""
    logs = np.array([-1.0, -3.0], dtype=np.float32)
    scores = TokenScores(logs, logs, logs)
    assert scores.total == -4.0
    assert scores.loss == 2.0


def test_a_model_without_numbers_is_refused() -> None:
    """As a text without evidence it would look harmless."""
    logits = torch.zeros(2, 5)
    logits[1] = float("nan")
    with pytest.raises(BadInput, match="diverged"):
        of_row(logits, torch.tensor([1, 2]))


def saved(save: Any, **arrays: Any) -> bytes:
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


DAMAGED = {
    "empty": b"",
    "text": b"hello",
    "array": saved(lambda stream: np.save(stream, np.zeros(3))),
    "without parts": saved(np.savez, names=np.zeros(16, np.uint8), lengths=np.array([5])),
    "negative": saved(
        np.savez,
        names=np.arange(32, dtype=np.uint8),
        lengths=np.array([-5, 5]),
        part0=np.zeros(0, np.float32),
    ),
    "half a name": saved(
        np.savez, names=np.zeros(7, np.uint8), lengths=np.array([2, 1]), part0=np.zeros(3)
    ),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_file_counts_as_missing(tmp_path: Path, kind: str) -> None:
    first = ScoreStore(tmp_path)
    first.add("model", ["a text"], [KEPT])
    (tmp_path / "broken.npz").write_bytes(DAMAGED[kind])
    again = ScoreStore(tmp_path)
    assert again.has("model", "a text")
    np.testing.assert_array_equal(again.get("model", "a text")[0], KEPT[0])


def test_a_file_cut_short_is_measured_again(tmp_path: Path) -> None:
    ScoreStore(tmp_path).add("model", ["a text"], [KEPT])
    (path,) = tmp_path.glob("*.npz")
    path.write_bytes(path.read_bytes()[:200])
    assert not ScoreStore(tmp_path).has("model", "a text")


@pytest.mark.parametrize("left", [b"", b"short"])
def test_a_damaged_key_is_drawn_anew(tmp_path: Path, left: bytes) -> None:
    """Names under an empty key would let anybody test guesses at a text."""
    ScoreStore(tmp_path)
    (tmp_path / "key").write_bytes(left)
    ScoreStore(tmp_path).add("model", ["a text"], [KEPT])
    assert len((tmp_path / "key").read_bytes()) == 32
    assert ScoreStore(tmp_path).has("model", "a text")


def test_several_may_begin_at_once(tmp_path: Path) -> None:
    """All find the same key, so none measures what another one has measured."""
    for round_ in range(10):
        folder, together = tmp_path / str(round_), Barrier(4)

        def begin(number: int, folder: Path = folder, together: Barrier = together) -> None:
            together.wait()
            ScoreStore(folder).add("model", [f"text {number}"], [KEPT])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(begin, range(4)))
        store = ScoreStore(folder)
        assert all(store.has("model", f"text {number}") for number in range(4))
        assert not list(folder.glob("*.unfinished"))


def test_files_are_their_owners_even_in_an_open_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    ScoreStore(tmp_path).add("model", ["a text"], [KEPT])
    kept = [tmp_path / "key", *tmp_path.glob("*.npz")]
    assert [path.stat().st_mode & 0o077 for path in kept] == [0, 0]


def test_nothing_is_kept_inside_a_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "model").mkdir(parents=True)
    (run / "config.json").write_text(json.dumps({"settings": {}}))
    for folder in (run, run / "cache", run / "model" / "deep"):
        with pytest.raises(InvalidArgument, match="would lie in the run"):
            ScoreStore(folder)
    (tmp_path / "link").symlink_to(run / "model")
    with pytest.raises(InvalidArgument, match="would lie in the run"):
        ScoreStore(tmp_path / "link" / "x")
    assert run_around(tmp_path / "beside") is None
    assert sorted(path.name for path in run.rglob("*")) == ["config.json", "model"]


def test_a_folder_that_cannot_be_used_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="`no_cache=True`"):
        ScoreStore(tmp_path / "file" / "cache")
