"""``sfumato.measure``: what a privatized text, a model or a mechanism keeps or gives away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.studies.measures.measure import Measure, Measurement, Specimen
    from sfumato.text.document import Document


def measure(
    name: str | Measure,
    target: str | Path,
    *,
    originals: str | Path | None = None,
    corpus: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    field: str = "text",
    author_field: str | None = None,
    label_field: str | None = None,
    span_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    seed: int | None = None,
) -> Measurement:
    """Take one measure of ``target``.

    That is a privatized file, beside ``originals`` where the measure compares the two; the folder
    of a run or a model, which is tried on the text in ``corpus``; a file of noisy vectors, beside
    ``originals``; or, for a measure of mechanisms, a privatized file whose side file says how it
    was made. A measure of classifiers needs ``label_field``, and one of taggers ``span_field`` if
    that is not "spans"; with ``author_field`` the documents of an author count together. Without a
    ``header`` columns are called 1, 2, … Measured on private text, the figures are a release of
    their own.
    """
    from sfumato.catalog import find
    from sfumato.core.errors import InvalidArgument
    from sfumato.core.randomness import Randomness
    from sfumato.core.settings import configure
    from sfumato.files.dialect import Dialect
    from sfumato.files.layout import SPANS, Layout
    from sfumato.files.source import Source
    from sfumato.studies.measures.measure import take

    if not isinstance(name, str) and settings:
        raise InvalidArgument("a measure that is an object has its settings already")
    chosen: Measure = (
        configure(find("measures", name).load(), settings or {}) if isinstance(name, str) else name
    )
    layout = Layout(
        field=field,
        encoding=encoding,
        author_field=author_field,
        label_field=label_field,
        span_field=(span_field or SPANS) if getattr(chosen, "reads_spans", False) else span_field,
        dialect=Dialect(header=header),
    )

    def read(path: str | Path) -> list[Document]:
        return list(Source.of(path, layout, file_format=format).documents())

    files = {
        name: read(path)
        for name, path in (("originals", originals), ("corpus", corpus))
        if path is not None
    }
    specimen = _specimen(chosen, Path(target), files, read)
    return take(
        chosen, specimen, Randomness.secure() if seed is None else Randomness.reproducible(seed)
    )


def _specimen(
    chosen: Measure,
    target: Path,
    files: Mapping[str, list[Document]],
    read: Callable[[Path], list[Document]],
) -> Specimen:
    from sfumato.core.errors import InvalidArgument, StorageFailed
    from sfumato.studies.measures.measure import (
        MECHANISM,
        MODEL,
        TEXT,
        VECTORS,
        Specimen,
        vector_specimen,
    )

    of = chosen.of
    takes = {TEXT: "originals", VECTORS: "originals", MODEL: "corpus"}.get(of)
    for name in files:
        if name != takes:
            raise InvalidArgument(f"this is a measure of a {of}: leave out `{name}=...`")
    if not target.exists():
        raise StorageFailed(f"there is no {target}; give a privatized file or the folder of a run")
    if of == MECHANISM:
        return Specimen(mechanism=_mechanism(target))
    if of == MODEL:
        return Specimen(model=target, documents=files.get("corpus", []))
    if of == VECTORS:
        if "originals" not in files:
            return Specimen()  # the measure says what is missing
        return vector_specimen(target, files["originals"], getattr(chosen, "encoder", ""))
    return Specimen(documents=read(target), originals=files.get("originals"))


def _mechanism(target: Path) -> object | None:
    """What made a privatized file, built again from its side file."""
    from sfumato.attacks.text_target import Known, not_privatized, open_text
    from sfumato.core.errors import MissingInput
    from sfumato.mechanisms.selective import Selective

    lacking = not_privatized(target)
    if lacking is not None:
        raise MissingInput(lacking)
    release = open_text(target, (), Known()).release
    return release.mechanism if isinstance(release, Selective) else None
