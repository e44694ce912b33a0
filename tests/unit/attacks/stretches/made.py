"""Tickets with a name and a number each, released in honest and in leaking ways."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.attacks.stretches.released import Released
from sfumato.policies.lexicon import Lexicon
from sfumato.text.document import Document

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TALK = ["please", "call", "about", "the", "late", "order", "it", "came", "broken", "thanks"]
Replace = Callable[[str, np.random.Generator], str]


def name(generator: np.random.Generator) -> str:
    return "".join(generator.choice(list(LETTERS), 6)).capitalize()


NAMES = tuple(name(np.random.default_rng(number)) for number in range(200))
POLICY = Lexicon(NAMES, case_sensitive=True)


def tickets(count: int, generator: np.random.Generator) -> list[Document]:
    """Each ticket has a name of 200, which has nothing to do with what is around it."""
    return [
        Document(
            f"{' '.join(generator.choice(TALK, 4))}, {generator.choice(NAMES)}, "
            f"{' '.join(generator.choice(TALK, 4))}."
        )
        for _ in range(count)
    ]


def redact(value: str, generator: np.random.Generator) -> str:
    return "[NAME]"


def surrogate(value: str, generator: np.random.Generator) -> str:
    return name(generator)


def keep_first_letter(value: str, generator: np.random.Generator) -> str:
    """Sabotage: a surrogate with the first letter of its original."""
    return value[0] + name(generator)[1:]


def pseudonym(value: str, generator: np.random.Generator) -> str:
    """The same code for the same name, in all documents."""
    return f"P{NAMES.index(value) * 7919 % 1009:04d}"


def keep(value: str, generator: np.random.Generator) -> str:
    return value


def released(
    originals: list[Document], replace: Replace, generator: np.random.Generator
) -> Released:
    documents = []
    for one in originals:
        start, value, end = one.text.split(", ")
        documents.append(Document(f"{start}, {replace(value, generator)}, {end}"))
    return Released(tuple(documents), POLICY)
