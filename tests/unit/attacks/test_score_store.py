"""The store of scores: damaged files, a lost key, and the folder of a run."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from sfumato.attacks.token_scores import ScoreStore, run_around
from sfumato.core.errors import InvalidArgument, StorageFailed

KEPT = (np.arange(3, dtype=np.float32),)


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
