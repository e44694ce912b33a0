"""What stands beside every privatized file: the guarantee, and what it adds up over."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import per_document, per_word
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.mechanism import StretchMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.tally import Tally

SCHEMA = 1
OTHER_FIELDS_LEAK = "every other field of a record, and what the file says about itself"


def side_file(privatizer: Privatizer, tally: Tally, *, has_fields: bool) -> dict[str, Any]:
    """The content of ``OUT.guarantee.json``."""
    guarantee = final_guarantee(privatizer, tally, has_fields=has_fields)
    return {
        "schema": SCHEMA,
        "sfumato": version("sfumato"),
        "for_release": guarantee.for_release,
        "sentence": guarantee.sentence(),
        "guarantee": guarantee.as_dict(),
        "per_word": _per_word(guarantee) | _per_level(privatizer),
        "per_document": _per_document(guarantee, tally, by_words=replaces_words(privatizer)),
        "settings": privatizer.public_settings(),
        "counts": _counts(tally, by_words=replaces_words(privatizer)),
    }


def replaces_words(privatizer: Privatizer) -> bool:
    """Whether words are replaced one by one, so that the output shows how many there were."""
    selective = privatizer.selective
    return not isinstance(selective, Selective) or not isinstance(
        selective.mechanism, StretchMechanism
    )


def final_guarantee(privatizer: Privatizer, tally: Tally, *, has_fields: bool) -> Guarantee:
    """The guarantee of a finished file."""
    guarantee = privatizer.selective.guarantee(tally.uncovered)
    if has_fields:
        guarantee = guarantee.leaking(OTHER_FIELDS_LEAK)
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


def _counts(tally: Tally, *, by_words: bool) -> dict[str, Any]:
    # A mask hides how many words stood under it; the side file must not tell.
    return {
        "documents": tally.documents,
        "words": tally.words if by_words else None,
        "privatized_words": tally.selected - tally.uncovered if by_words else None,
        "uncovered_words": tally.uncovered,
    } | ({} if by_words else {"replaced_stretches": tally.places})
