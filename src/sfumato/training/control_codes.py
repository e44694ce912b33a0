"""Control codes: a public prefix for each label, by which a model learns to write for a label.

A document becomes its code and its text, so label and text are one record, and whatever is proven
of the record is proven of its label. Which labels there are is public. The codes stand in the
settings of a run, and whoever lets the model write begins with one of them.

Reference
    Keskar et al. 2019, "CTRL: A conditional transformer language model for controllable
    generation"; Yue et al. 2023, "Synthetic text generation with differential privacy".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.text.document import Document


def code_of(label: str) -> str:
    """What stands before a text of a label.

    >>> code_of("good") + "It works."
    '[good] It works.'
    """
    return f"[{label}] "


def check_codes(labels: Sequence[str]) -> None:
    """Refuse labels that make no codes."""
    if not labels or len(set(labels)) < len(labels):
        raise InvalidArgument(
            "control codes need all labels that there can be, each once: `classes=['0', '1']`"
        )
    for one in labels:
        if not one or not one.isprintable() or set("[]") & set(one):
            raise InvalidArgument(f"a label that is a control code cannot be {one!r}; rename it")


def with_codes(documents: Sequence[Document], labels: Sequence[str]) -> list[Document]:
    """Documents with the code of their label; one without a public label is named by its place."""
    known = set(labels)
    found = []
    for number, document in enumerate(documents, start=1):
        label = document.labels[0] if document.labels else None
        if label not in known:
            raise BadInput(
                f"{document.place or f'document {number}'} has a label that is not among the "
                f"public ones, {', '.join(labels)}; name it in `classes=...`, or leave it out"
            )
        found.append(replace(document, text=code_of(str(label)) + document.text))
    return found
