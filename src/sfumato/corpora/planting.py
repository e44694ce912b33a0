"""Planting canaries in a corpus on disk, and remembering where."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.core.errors import InvalidArgument, MalformedRecord
from sfumato.core.files import refuse_existing, write_whole
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary, Manifest, Place, insert, plan
from sfumato.corpora.documents import Document
from sfumato.corpora.edits import Edit, Edited
from sfumato.corpora.formats.choose import of_path
from sfumato.corpora.labelled import read_labelled
from sfumato.corpora.source import Source
from sfumato.corpora.writing import is_stream, written


def plant(
    source: Source,
    target: Path,
    canaries: Sequence[Canary],
    repetitions: Sequence[int],
    randomness: Randomness,
    *,
    overwrite: bool = False,
) -> Manifest:
    """Write the corpus with canaries in it, and the manifest beside it."""
    if source.path is None or source.format.name == "parquet" or is_stream(target):
        raise InvalidArgument("canaries are planted in a text file, jsonl, csv or tsv on disk")
    if len(canaries) != len(repetitions):
        raise InvalidArgument(
            f"{len(canaries)} secrets need as many repetitions, not {len(repetitions)}"
        )
    if target.exists() and target.samefile(source.path):
        raise InvalidArgument(f"{target} is the input; write to another file")
    wanted = of_path(target)
    if wanted is not None and wanted.name != source.format.name:
        raise InvalidArgument(f"the input is {source.format.name} but {target.name} is not")
    if source.format.name == "jsonl":
        _refuse_gold_spans(source.path)
    beside = target.with_name(target.name + ".canaries.json")
    for path in (target, beside):
        refuse_existing(path, overwrite=overwrite)
    schedule = plan(sum(1 for _ in source.documents()), repetitions, randomness)
    waiting: deque[Document] = deque()
    places: list[Place] = []
    planted = insert(_drained(waiting), schedule, canaries)
    with source.opened() as (chunks, _), written(target, overwrite=overwrite) as output:
        for chunk in chunks:
            waiting.extend(chunk.documents())
            edited = []
            for original in list(waiting):
                document, found = next(planted)
                whole = Edit(0, len(original.text), document.text)
                edited.append(Edited(document.text, (whole,) if found else ()))
                places.extend(found)
            output.write(chunk.rewritten(edited))
    manifest = Manifest(tuple(canaries), schedule, tuple(places))
    write_whole(beside, (json.dumps(manifest.as_dict(), indent=2) + "\n").encode())
    return manifest


def _refuse_gold_spans(path: Path) -> None:
    """Offsets of labelled spans would point to the wrong places after an insertion."""
    try:
        labelled = next(read_labelled(path), None)
    except MalformedRecord:
        return
    if labelled is not None:
        raise InvalidArgument(
            "the records have labelled spans, which canaries would move; remove the field 'spans'"
        )


def _drained(waiting: deque[Document]) -> Iterator[Document]:
    while waiting:
        yield waiting.popleft()
