"""What stands beside every privatized file: the guarantee, and what it adds up over."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from sfumato.files.layout import Layout
from sfumato.files.paths import WHOLE
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import per_document, per_word
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.selective import Selective
from sfumato.policies.identity import identity_of
from sfumato.releases.columns import Columns, looking
from sfumato.releases.privatizer import Privatizer, state, telling_missing
from sfumato.releases.staying import with_share
from sfumato.releases.tally import Tally

SCHEMA = 1
OTHER_FIELDS_LEAK = "every other field of a record, and what the file says about itself"
# What a document is. The privatized columns of one row share its draws, two rows never do.
RECORD, LINE = "record of the file, all its privatized fields together", "line of the file"
FILE = "file as a whole"
UNDECIDED_LEAK = "columns that nobody has decided about, and that were left as they were"


def side_file(
    privatizer: Privatizer,
    tally: Tally,
    *,
    has_fields: bool,
    layout: Layout | None = None,
    leaks: Iterable[str] = (),
) -> dict[str, Any]:
    """The content of ``OUT.guarantee.json``; ``leaks`` are those of how the job was done."""
    whole_file = layout is not None and layout.whole_file
    stated = final_guarantee(privatizer, tally, has_fields=has_fields, whole_file=whole_file)
    guarantee = stated.leaking(*leaks)
    missed = [] if layout is None else missed_names(layout, tally.columns)
    if tally.columns.undecided or missed:
        guarantee = replace(guarantee.leaking(UNDECIDED_LEAK), for_release=False)
    return {
        "schema": SCHEMA,
        "sfumato": version("sfumato"),
        "for_release": guarantee.for_release,
        "summary": list(guarantee.summary()),
        "sentence": guarantee.sentence(),
        "guarantee": guarantee.as_dict(),
        "per_word": _per_word(guarantee) | _per_level(privatizer),
        "per_document": _per_document(guarantee, tally, by_words=replaces_words(privatizer)),
        "settings": privatizer.public_settings(),
        "counts": _rewritten(tally)
        if rewrites_documents(privatizer)
        else _counts(tally, by_words=replaces_words(privatizer)),
    } | ({"columns": _columns(privatizer, tally.columns, layout, missed)} if has_fields else {})


def missed_names(layout: Layout, columns: Columns) -> list[str]:
    """The names to be dropped or kept that no record had: whoever mistypes one must hear of it."""
    return [name for name in (*layout.drop, *layout.keep) if name not in columns.met | {WHOLE}]


def replaces_words(privatizer: Privatizer) -> bool:
    """Whether words are replaced one by one, so that the output shows how many there were."""
    selective = privatizer.selective
    return not isinstance(selective, Selective) or selective.by_words


def rewrites_documents(privatizer: Privatizer) -> bool:
    """Whether new texts stand in the place of whole documents."""
    selective = privatizer.selective
    return isinstance(selective, Selective) and selective.rewrites


def document_of(*, has_fields: bool, whole_file: bool) -> str:
    """What one document of a file is, for a guarantee that speaks of documents."""
    if has_fields:
        return RECORD
    return FILE if whole_file else LINE


def final_guarantee(
    privatizer: Privatizer, tally: Tally, *, has_fields: bool, whole_file: bool = False
) -> Guarantee:
    """The guarantee of a finished file."""
    record = document_of(has_fields=has_fields, whole_file=whole_file)
    guarantee = state(privatizer.selective, tally).of_documents(record)
    if has_fields:
        guarantee = telling_missing(guarantee, privatizer.selective).leaking(OTHER_FIELDS_LEAK)
    guarantee = with_share(guarantee, privatizer.selective)
    return guarantee if privatizer.randomness.for_release else guarantee.reproducible()


def spell_side_file(content: dict[str, Any]) -> bytes:
    """As it is written to disk."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _per_word(guarantee: Guarantee) -> dict[str, Any]:
    return {
        "epsilon": guarantee.as_dict()["epsilon"],
        "statement": per_word(guarantee),
    }


def _per_level(privatizer: Privatizer) -> dict[str, Any]:
    """The same for each level; the statement above it holds for all of them."""
    if not isinstance(privatizer.selective, Levels):
        return {}
    return {
        "levels": [
            {"policy": level.policy.name} | _per_word(level.mechanism.guarantee())
            for level in privatizer.selective.levels
        ]
    }


def _per_document(guarantee: Guarantee, tally: Tally, *, by_words: bool) -> dict[str, Any]:
    return {
        "privatized_words_in_median_document": tally.median if by_words else None,
        "privatized_words_in_largest_document": tally.largest if by_words else None,
        "statement": per_document(guarantee),
    }


def _columns(
    privatizer: Privatizer, columns: Columns, layout: Layout | None, missed: list[str]
) -> dict[str, Any]:
    """What was left as it was, and what was dropped (see ``columns.py`` for what counts tell)."""
    policy = identity_of(looking(privatizer.selective))
    public = policy is not None and not policy.private
    return told_columns(columns, layout, missed, counted=public)


def told_columns(
    columns: Columns, layout: Layout | None, missed: list[str], *, counted: bool
) -> dict[str, Any]:
    """What is told of columns; the counts are for a policy that is public, or for the owner."""
    left = [
        {"name": name, "kept": one.kept}
        | ({"cells": one.cells, "found_in": one.found} if counted else {})
        | ({"name_is_data": True} if one.hidden else {})
        for name, one in columns.left.items()
    ]
    dropped = [] if layout is None else [name for name in layout.drop if name not in missed]
    return {"left": left, "dropped": dropped} | ({"nowhere": missed} if missed else {})


def _rewritten(tally: Tally) -> dict[str, Any]:
    """Of a new text nothing is told but that it is there."""
    return {
        "documents": tally.documents,
        "words": None,
        "privatized_words": None,
        "uncovered_words": 0,
        "rewritten_documents": tally.places,
    }


def _counts(tally: Tally, *, by_words: bool) -> dict[str, Any]:
    # A mask hides how many words stood under it; the side file must not tell.
    return {
        "documents": tally.documents,
        "words": tally.words if by_words else None,
        "privatized_words": tally.selected - tally.uncovered if by_words else None,
        "uncovered_words": tally.uncovered,
    } | (
        {}
        if by_words
        else {"replaced_stretches": tally.places, "by_type": dict(sorted(tally.types.items()))}
    )
