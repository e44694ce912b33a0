"""What is proven about the text that a tokenizer was learned from; it goes where that goes.

A tokenizer that was learned privately has a guarantee of its own, and a model that is trained with
it must name that guarantee. So it is part of the tokenizer, and of every folder that holds it: in
``guarantee.json`` of a tokenizer's folder, in ``tokenizer_guarantee.json`` of a model's.
"""

from __future__ import annotations

import json
from pathlib import Path

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.json import read_object
from sfumato.guarantees.guarantee import Guarantee

SCHEMA = 1
GUARANTEE = "guarantee.json"
OF_TOKENIZER = "tokenizer_guarantee.json"


def read_provenance(folder: Path) -> Guarantee | None:
    """What is proven about the tokenizer in a folder; None if it was not learned privately."""
    path = folder / OF_TOKENIZER
    what = "what a tokenizer guarantees"
    content = read_object(path, what) if path.is_file() else None
    if content is None and (folder / GUARANTEE).is_file():
        path = folder / GUARANTEE
        content = read_object(path, what)
        # The guarantee of something else does not count contributors.
        content = content if "contributors" in content else None
    if content is None:
        return None
    try:
        if content["schema"] != SCHEMA:
            raise BadInput(f"cannot read {path}: another version of sfumato wrote it")
        return Guarantee.from_dict(content["guarantee"])
    except (KeyError, TypeError, AttributeError, InvalidArgument):
        raise BadInput(f"{path} is damaged: it is not {what}") from None


def write_provenance(guarantee: Guarantee, folder: Path) -> None:
    """Write what is proven about a tokenizer into the folder of a model that has it."""
    content = {
        "schema": SCHEMA,
        "sentence": guarantee.sentence(),
        "for_release": guarantee.for_release,
        "guarantee": guarantee.as_dict(),
    }
    written = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    (folder / OF_TOKENIZER).write_text(written, encoding="utf-8")
