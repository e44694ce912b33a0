"""Private files are closed from their first byte, and damaged files are bad input."""

from __future__ import annotations

import builtins
import io
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.attacks.token_scores import ScoreStore
from sfumato.core.errors import BadInput, CannotResume, StorageFailed
from sfumato.core.files import reading, write_first, write_whole
from sfumato.core.json import read_json, read_object
from sfumato.policies.linguistic.span_cache import SpanCache
from sfumato.releases.parts import Parts
from sfumato.releases.tally import Tally

Made = list[tuple[str, int]]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """Every file that is opened below the folder, with its mode at that very moment.

    The umask keeps nothing closed.
    """
    seen: Made = []

    def note(name: Any, descriptor: int) -> None:
        path = Path(os.fsdecode(name)) if isinstance(name, str | bytes | os.PathLike) else Path()
        mode = os.fstat(descriptor).st_mode
        if path.is_relative_to(tmp_path) and stat.S_ISREG(mode):
            seen.append((path.name, stat.S_IMODE(mode)))

    by_number, by_name = os.open, io.open

    def opened(path: Any, *rest: Any, **more: Any) -> int:
        descriptor = by_number(path, *rest, **more)
        note(path, descriptor)
        return descriptor

    def stream(path: Any, *rest: Any, **more: Any) -> Any:
        found = by_name(path, *rest, **more)
        note(path, found.fileno())
        return found

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(io, "open", stream)
    monkeypatch.setattr(builtins, "open", stream)
    before = os.umask(0)
    yield seen
    os.umask(before)


def _closed(made: Made, *besides: str) -> bool:
    """Whether all files were closed to others when they were made; ``besides`` hold no secret."""
    watched = [mode for name, mode in made if not name.startswith(besides)]
    return bool(watched) and all(not mode & 0o077 for mode in watched)


def test_a_private_file_is_closed_before_its_first_byte(tmp_path: Path, made: Made) -> None:
    write_whole(tmp_path / "whole", b"secret", private=True)
    write_first(tmp_path / "first", b"secret", private=True)
    assert _closed(made)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_only_the_first_is_told_that_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write_first(tmp_path / "note", b"one")
    assert not write_first(tmp_path / "note", b"two")
    assert (tmp_path / "note").read_bytes() == b"one"

    def without_links(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", without_links)
    assert write_first(tmp_path / "other", b"one")
    assert not write_first(tmp_path / "other", b"two")
    assert (tmp_path / "other").read_bytes() == b"one"
    assert {one.name for one in tmp_path.iterdir()} == {"note", "other"}


def test_a_private_file_in_the_place_of_an_open_one_is_closed(tmp_path: Path, made: Made) -> None:
    (tmp_path / "page").write_bytes(b"")
    made.clear()
    write_whole(tmp_path / "page", b"secret", private=True)
    assert _closed(made)
    assert (tmp_path / "page").stat().st_mode & 0o777 == 0o600


def test_twin_a_file_that_is_closed_afterwards_was_open(tmp_path: Path, made: Made) -> None:
    write_whole(tmp_path / "page", b"secret")
    (tmp_path / "page").chmod(0o600)
    assert not _closed(made)


def test_a_report_with_private_text_is_closed(
    tmp_path: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.reports import write
    from sfumato.reports.page import PRIVATE_TEXT, Page

    page = Page(kind="k", title="t", lead="", notices=[PRIVATE_TEXT])
    monkeypatch.setattr(write, "_page", lambda *_: page)
    (tmp_path / "soft.txt").write_text("soft")
    (tmp_path / "soft.txt.guarantee.json").write_text("{}")
    made.clear()
    written = write.write_report(tmp_path / "soft.txt")
    assert written.private_text
    beside = "soft.txt.guarantee.json"  # it is read, to know which column holds the text
    assert {name for name, _ in made} == {beside, "soft.txt.report.html.unfinished"}
    assert _closed(made, beside)


def test_caches_and_keys_are_closed(tmp_path: Path, made: Made) -> None:
    import numpy as np

    tmp_path.chmod(0o755)
    ScoreStore(tmp_path / "scores").add("model", ["a text"], [(np.ones(3, np.float32),)])
    SpanCache(tmp_path / "spans").filled(("x",), ["Ann"], lambda texts: [() for _ in texts])  # type: ignore[misc]
    assert _closed(made, "README")
    for folder in (tmp_path / "scores", tmp_path / "spans"):
        assert folder.stat().st_mode & 0o077 == 0


def test_parts_of_a_run_are_closed(tmp_path: Path, made: Made) -> None:
    (tmp_path / "out.parts").mkdir(mode=0o755)
    with Parts.beside(tmp_path / "out").opened({}, {}, afresh=True) as parts:
        parts.finish(0, b"secret", Tally())
    assert _closed(made)


DAMAGES = {
    "empty": b"",
    "cut off": b'{"a": [1, 2',
    "no object": b"[1]",
    "nothing": b"null",
    "nested": b"[" * 100_000,
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "no text": b"\xff\xfe\x00",
    "a number without end": b"9" * 10_000,
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_is_named_and_not_quoted(tmp_path: Path, how: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(DAMAGES[how])
    with pytest.raises(BadInput, match=r"run\.json is damaged: it is not the record") as caught:
        read_object(path, "the record")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_file_that_is_not_there_is_another_matter(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="No such file"):
        read_json(tmp_path / "none.json")


@pytest.mark.parametrize(
    "content",
    [
        {"documents": "x"},
        {"documents": 1, "words": 1, "uncovered": 0, "places": 0, "per_document": {"x": 1}},
        {"documents": 1, "words": 1, "uncovered": 0, "places": 0, "per_document": {"1": "x"}},
        {"documents": -1, "words": 1, "uncovered": 0, "places": 0, "per_document": {}},
        {"documents": 1.5, "words": 1, "uncovered": 0, "places": 0, "per_document": {}},
        {"documents": True, "words": 1, "uncovered": 0, "places": 0, "per_document": {}},
        [],
        None,
    ],
)
def test_damaged_counts_are_not_resumed_from(tmp_path: Path, content: object) -> None:
    parts = Parts(tmp_path)
    (tmp_path / "00000000.part").write_bytes(b"x")
    kept = {"counts": content, "length": 1, "digest": ""}
    (tmp_path / "00000000.json").write_text(json.dumps(kept))
    with pytest.raises(CannotResume, match=r"counts .* cannot be read.*`overwrite=True`"):
        parts.finished(0)


@pytest.mark.parametrize("content", ["", "[]", '{"claims": 3}', '{"claims": {}, "digests": {}}'])
def test_a_damaged_record_of_a_run_is_not_resumed_from(tmp_path: Path, content: str) -> None:
    parts = Parts.beside(tmp_path / "out")
    with parts.opened({"a": 1}, {"pattern": "x"}, afresh=True):
        pass
    (parts.folder / "run.json").write_text(content)
    again = parts.opened({"a": 1}, {"pattern": "x"}, afresh=False)
    with pytest.raises(CannotResume, match=r"run\.json is damaged"), again:
        pass


def test_twin_what_is_not_within_is_our_own_mistake(tmp_path: Path) -> None:
    with pytest.raises(BadInput), reading(tmp_path, "what it was"):
        json.loads("{}")["key"]
    with pytest.raises(AssertionError), reading(tmp_path, "what it was"):
        raise AssertionError
