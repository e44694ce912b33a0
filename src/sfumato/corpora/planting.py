"""Planting canaries in a corpus on disk, and adding made-up documents at its end.

Everything else stays byte for byte the same, and a file beside the corpus says what was planted
where.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sfumato.core.errors import InvalidArgument, MalformedRecord
from sfumato.core.files import refuse_existing, write_whole
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import (
    Canary,
    Manifest,
    Place,
    check_repetitions,
    insert_canaries,
    lone_canaries,
    plan_insertions,
)
from sfumato.corpora.labeled import read_labeled
from sfumato.files.formats import of_path
from sfumato.files.output import is_stream, write_corpus
from sfumato.files.source import Source
from sfumato.text.document import Document
from sfumato.text.edits import Edit, Edited

FORMATS = ("txt", "jsonl")


def plant_in_file(
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
    check_repetitions(canaries, repetitions)
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
    schedule = plan_insertions(sum(1 for _ in source.documents()), repetitions, randomness)
    waiting: deque[Document] = deque()
    places: list[Place] = []
    planted = insert_canaries(_drain(waiting), schedule, canaries)
    with source.opened() as (chunks, _), write_corpus(target, overwrite=overwrite) as output:
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


def plant_alone(
    source: Source,
    target: Path,
    canaries: Sequence[Canary],
    repetitions: Sequence[int],
    *,
    overwrite: bool = False,
) -> Manifest:
    """Write the corpus with canaries as documents of their own at its end, and the manifest."""
    refuse_adding(source, target)
    if source.path is not None and source.format.name == "jsonl":
        _refuse_gold_spans(source.path)
    beside = target.with_name(target.name + ".canaries.json")
    for path in (target, beside):
        refuse_existing(path, overwrite=overwrite)
    documents = sum(1 for _ in source.documents())
    added, manifest = lone_canaries(documents, repetitions, canaries)
    add_documents(source, target, added, overwrite=overwrite)
    write_whole(beside, (json.dumps(manifest.as_dict(), indent=2) + "\n").encode())
    return manifest


def _refuse_gold_spans(path: Path) -> None:
    """Refuse labeled spans: their offsets would be wrong after an insertion."""
    try:
        labeled = next(read_labeled(path), None)
    except MalformedRecord:
        return
    if labeled is not None:
        raise InvalidArgument(
            "the records have labeled spans, which canaries would move or lack; remove the field "
            "'spans'"
        )


def _drain(waiting: deque[Document]) -> Iterator[Document]:
    while waiting:
        yield waiting.popleft()


def add_documents(
    source: Source, target: Path, documents: Iterable[Document], *, overwrite: bool = False
) -> None:
    """Write the corpus with more documents at its end.

    The position of a document does not matter, because training draws its records at random. Author
    and label go into the fields that the layout names.
    """
    last = b"\n"
    with source.opened() as (chunks, _), write_corpus(target, overwrite=overwrite) as output:
        for chunk in chunks:
            content = chunk.rewritten([Edited(one.text) for one in chunk.documents()])
            output.write(content)
            last = content[-1:] or last
        output.write(b"" if last == b"\n" else b"\n")
        for document in documents:
            output.write(_line(document, source))


def refuse_adding(source: Source, target: Path) -> None:
    """Refuse, before anything is written, a file to which a line cannot simply be added."""
    if source.path is None or source.format.name not in FORMATS or source.layout.whole_file:
        raise InvalidArgument(
            "documents are added to jsonl, or to a text file with a document per line, on disk"
        )
    if source.layout.encoding.lower().replace("_", "-") not in {"utf-8", "utf8", "utf-8-sig"}:
        raise InvalidArgument("documents are added to files in utf-8 only")
    wanted = of_path(target)
    if wanted is None or wanted.name != source.format.name:
        raise InvalidArgument(f"the input is {source.format.name} but {target.name} is not")
    if target.exists() and target.samefile(source.path):
        raise InvalidArgument(f"{target} is the input; write to another file")


def _line(document: Document, source: Source) -> bytes:
    if source.format.name == "txt":
        return f"{document.text}\n".encode()
    layout = source.layout
    record = {layout.fields[0]: document.text}
    if layout.author_field is not None and document.author is not None:
        record[layout.author_field] = document.author
    if layout.label_field is not None and document.labels:
        record[layout.label_field] = document.labels[0]
    return (json.dumps(record, ensure_ascii=False) + "\n").encode()
