"""What stands beside every privatized file: the guarantee, and what it adds up over."""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from typing import Any

from sfumato.accounting.guarantee import Guarantee
from sfumato.accounting.wording import exact
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
        "per_word": _per_word(guarantee),
        "per_document": _per_document(guarantee, tally),
        "settings": privatizer.public_settings(),
        "counts": {
            "documents": tally.documents,
            "words": tally.words,
            "privatized_words": tally.selected - tally.uncovered,
            "uncovered_words": tally.uncovered,
        },
    }


def final_guarantee(privatizer: Privatizer, tally: Tally, *, has_fields: bool) -> Guarantee:
    """The guarantee of a finished file."""
    guarantee = privatizer.selective.guarantee(tally.uncovered)
    if has_fields:
        guarantee = guarantee.leaking(OTHER_FIELDS_LEAK)
    return guarantee if privatizer.randomness.for_release else guarantee.reproducible()


def spelled(content: dict[str, Any]) -> bytes:
    """As it is written to disk."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _per_word(guarantee: Guarantee) -> dict[str, Any]:
    if math.isinf(guarantee.epsilon):
        return {"epsilon": "inf", "statement": "nothing is proven"}
    return {
        "epsilon": guarantee.epsilon,
        "statement": f"exp({exact(guarantee.epsilon)}·d) bounds how much likelier any "
        "replacement is for one original word than for another at distance d",
    }


def _per_document(guarantee: Guarantee, tally: Tally) -> dict[str, Any]:
    level = "nothing is proven"
    if not math.isinf(guarantee.epsilon):
        level = (
            f"the exponent adds up to {exact(guarantee.epsilon)} times the sum of the distances "
            "over all privatized words that differ; a word that stands twice counts twice"
        )
    return {
        "privatized_words_in_median_document": tally.median,
        "privatized_words_in_largest_document": tally.largest,
        "statement": level,
    }
