"""A generator of candidates: what it gives, and that it remembers nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sfumato.core.randomness import Randomness
from sfumato.synthesis.generator import (
    Generator,
    as_generator,
    build_generator,
    knows_labels,
    public_facts,
    texts_from,
)
from sfumato.testing.holding import NOTE, TEXTS, hold

COUNT = 12


def check_generator(
    generator: str | Generator,
    *,
    labels: Sequence[str] = ("good", "bad"),
    settings: Mapping[str, object] | None = None,
) -> None:
    """A generator, or its name: it is asked for texts of each label, and for variations.

    It must give texts that can be told apart, draw from nothing but the randomness that it is
    given, vary any text it is shown without changing or keeping it, and tell only what a side file
    may hold.
    """
    made = (
        build_generator(generator, settings)
        if isinstance(generator, str)
        else as_generator(generator)
    )
    who = type(made).__name__
    for label in (*labels, ""):
        first, second = (made.invent(label, COUNT, Randomness.reproducible(1)) for _ in range(2))
        _check_texts(first, f"{who}.invent")
        hold(
            first == second,
            f"{who} must invent the same with the same randomness: draw from it alone",
        )
        hold(
            len(texts_from(first, who)) >= 2,
            f"{who}.invent must give two different texts at least; nobody could vote otherwise",
        )
    invented = made.invent(labels[0], COUNT, Randomness.reproducible(1))
    _check_variations(made, who, invented, labels[0])
    hold(
        made.invent(labels[0], COUNT, Randomness.reproducible(1)) == invented,
        f"{who} must invent the same again, whatever it was shown before: it keeps texts",
    )
    if not knows_labels(made):
        other = made.invent(labels[-1], COUNT, Randomness.reproducible(1))
        hold(
            other == invented,
            f"{who} says that it knows no labels, and what it invents depends on them",
        )
    _check_facts(made, who)


def _check_variations(made: Generator, who: str, invented: Sequence[str], label: str) -> None:
    given = list(invented)
    first, second = (made.vary(given, label, COUNT, Randomness.reproducible(2)) for _ in range(2))
    _check_texts(first, f"{who}.vary")
    hold(given == list(invented), f"{who} must leave the texts that it varies as they were")
    hold(first == second, f"{who} must vary alike with the same randomness: draw from it alone")
    _check_texts(made.vary([], label, 3, Randomness.reproducible(2)), f"{who}.vary")
    # Texts that it did not invent: of another generator, or hard to read.
    strange = [*(one for one in TEXTS if one.strip()), f"{NOTE} 12"]
    _check_texts(made.vary(strange, label, 3, Randomness.reproducible(2)), f"{who}.vary")


def _check_texts(found: object, what: str) -> None:
    hold(
        isinstance(found, list) and all(isinstance(one, str) for one in found),
        f"{what} must give a list of texts",
    )


def _check_facts(made: Generator, who: str) -> None:
    told = public_facts(made)
    try:
        spelled = json.dumps(told)
    except (TypeError, ValueError):
        raise AssertionError(
            f"{who}.public_facts() must give what JSON can spell: texts, numbers, lists"
        ) from None
    hold(NOTE not in spelled, f"{who}.public_facts() tells of texts that it was shown")
    hold(
        not any(isinstance(one, str) and one.startswith("/") for one in told.values()),
        f"{who}.public_facts() names a path of this machine; a side file goes to others",
    )
