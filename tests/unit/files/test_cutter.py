"""Chunks by their numbers: passing over lines finds the same chunks as reading along."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from sfumato.core.errors import InputChanged
from sfumato.files.chunks import Chunk
from sfumato.files.cutter import Cut, Cutter, lines_before
from sfumato.files.layout import Layout
from sfumato.files.source import Source


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.files.chunks.CHARACTERS", 500)


def _records(tmp_path: Path, suffix: str) -> Source:
    rows = [{"a": f"é {n} " * (n % 7), "b": "\u2028two", "n": n} for n in range(300)]
    lines = [json.dumps(row, ensure_ascii=n % 2 == 0) for n, row in enumerate(rows)]
    lines[5:5] = ["", "   ", "\r"]  # blank ones belong to a chunk, too
    content = ("\ufeff" + "\r\n".join(lines)).encode()
    path = tmp_path / f"in{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    return Source.of(path, Layout(field=("a", "b"), drop=("n",), several=True))


def _text(tmp_path: Path, suffix: str) -> Source:
    path = tmp_path / f"in{suffix}"
    path.write_bytes(b"".join(b"word %d \xe2\x80\xa8 more\r\n" % n * (n % 5) for n in range(400)))
    return Source.of(path, Layout())


@pytest.fixture(params=[".jsonl", ".jsonl.gz", ".txt"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    make = _text if request.param == ".txt" else _records
    return make(tmp_path, request.param)


def _read(chunk: Chunk) -> list[tuple[str, str | None, str | None]]:
    """Texts, the lines they stand in, and what they are called, on which a policy may depend."""
    return [(one.text, one.place, one.id) for one in chunk.documents()]


def test_in_any_order_lines_lead_to_the_same_chunks_as_reading(source: Source) -> None:
    with source.opened() as (chunks, _):
        every = list(chunks)
    assert len(every) > 4
    starts = [lines_before(source, chunk) for chunk in every]
    order = [*range(len(every)), *random.Random(3).sample(range(len(every)), len(every))]
    quick, along = Cutter(Cut.of(source)), Cutter(Cut.of(source))
    for number in order:
        found = quick.take(number, starts[number])
        assert _read(found) == _read(every[number])  # with their lines
        assert _read(along.take(number)) == _read(found)
    # One may be told of some chunks only.
    mixed = Cutter(Cut.of(source))
    for number in order[:20]:
        told = starts[number] if number % 2 else None
        assert _read(mixed.take(number, told)) == _read(every[number])


def test_twin_one_line_too_many_is_another_chunk(source: Source) -> None:
    with source.opened() as (chunks, _):
        every = list(chunks)
    start = lines_before(source, every[2])
    assert start is not None
    wrong = Cutter(Cut.of(source)).take(2, start + 1)
    assert _read(wrong) != _read(every[2])


def test_lines_that_are_not_there_mean_another_file(source: Source) -> None:
    with pytest.raises(InputChanged):
        Cutter(Cut.of(source)).take(1, 10**6)


def test_a_table_is_read_along(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("text\n" + "".join(f'"one\n{n}"\n' for n in range(300)))
    table = Source.of(path, Layout()).settled()
    with table.opened() as (chunks, _):
        every = list(chunks)
    assert [lines_before(table, chunk) for chunk in every] == [None] * len(every)
    assert _read(Cutter(Cut.of(table)).take(2)) == _read(every[2])
