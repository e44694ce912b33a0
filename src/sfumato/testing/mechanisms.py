"""A mechanism: of words over a space, of stretches, or of documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from sfumato.audits.candidates import color_space
from sfumato.catalog import find
from sfumato.core.errors import InvalidArgument
from sfumato.core.own_code import stands_in_script
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.build import make_mechanism
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.mechanism import DocumentMechanism, Keyed, PointMechanism, StretchMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.patterns import Everything
from sfumato.testing.holding import TEXTS, hold, travel
from sfumato.text.document import Document
from sfumato.text.span import Span, Stretch
from sfumato.vectors.space import Space

LEVELS = (1e-6, 1.0, 1e6)
NO_LEVELS: tuple[object, ...] = (0, -1, math.inf, math.nan, "much")
# Originals of one form each: what claims not to look at them must treat them alike.
ORIGINALS = {
    "PERSON": ("Ada Lovelace", "Wu Zhao", "Zdeněk Müller"),
    "EMAIL": ("ada@example.org", "zoe.w@example.com"),
    "PHONE": ("020 7946 0958", "020 7946 0000"),
    "ANY": ("violet", "indigo"),
}


def check_mechanism(
    mechanism: str | type[Any],
    *,
    settings: Mapping[str, object] | None = None,
    space: Space | None = None,
) -> None:
    """A mechanism class, or its name: of words over a space, of stretches, or of documents."""
    kind = find("mechanisms", mechanism).load() if isinstance(mechanism, str) else mechanism
    hold(isinstance(kind, type), "a mechanism is a class")
    if issubclass(kind, StretchMechanism):
        _check_stretches(kind(**(settings or {})))
        return
    if issubclass(kind, DocumentMechanism):
        _check_documents(kind(**(settings or {})))
        return
    where = color_space(1.0) if space is None else space
    for epsilon in LEVELS:
        _check_words(make_mechanism(kind, settings or {}, space=where, epsilon=epsilon), where)
    made = make_mechanism(kind, settings or {}, space=where, epsilon=1.0)
    who = kind.__name__
    guarantee = made.guarantee()
    hold(isinstance(guarantee, Guarantee), f"{who}.guarantee() must give a Guarantee")
    hold(guarantee.epsilon == 1.0, f"{who} must claim the level that it was given")
    hold(guarantee.sentence().endswith("."), f"the guarantee of {who} must be a sentence")
    for level in NO_LEVELS:
        _refuses(kind, settings or {}, where, level)
    _check_noise(make_mechanism(kind, settings or {}, space=where, epsilon=0.2))
    _check_copies(made, who)


def _check_words(mechanism: PointMechanism, space: Space) -> None:
    """Defined for every point, the unknown one included, and giving words of the vocabulary."""
    who = type(mechanism).__name__
    points = np.tile(np.arange(len(space) + 1, dtype=np.intp), 20)
    given = points.copy()
    outputs = mechanism.privatize(given, Randomness.secure())
    hold(bool((given == points).all()), f"{who} must not change the points that it is given")
    hold(outputs.shape == points.shape, f"{who} must give one output for each point")
    inside = bool(((outputs >= 0) & (outputs < len(space))).all())
    hold(inside, f"{who} must give words of the vocabulary, never the unknown point")
    none = mechanism.privatize(points[:0], Randomness.secure())
    hold(len(none) == 0, f"{who} must give nothing for nothing")
    over = OverVocabulary(points=mechanism)
    words = over.privatize(["", "CANARY-77", space.words[0]], Randomness.secure())
    hold(set(words) <= set(space.words), f"{who} must replace every string, known or not")


def _refuses(kind: type[Any], settings: Mapping[str, object], space: Space, level: object) -> None:
    try:
        make_mechanism(kind, settings, space=space, epsilon=cast("float", level))
    except InvalidArgument as error:
        said = "epsilon" in str(error)
        hold(said, f"{kind.__name__} refuses epsilon={level!r} without naming epsilon")
    else:
        raise AssertionError(f"{kind.__name__} must refuse epsilon={level!r} (InvalidArgument)")


def _check_noise(mechanism: PointMechanism) -> None:
    """New for every word, and drawn from the randomness that is passed in and nothing else."""
    who = type(mechanism).__name__
    points = np.zeros(500, np.intp)
    drawn = [mechanism.privatize(points, Randomness.reproducible(seed)) for seed in (1, 1, 2)]
    hold(
        bool((drawn[0] == drawn[1]).all()),
        f"{who} must draw the same with the same randomness: it has another source of noise",
    )
    if all(len(set(one.tolist())) == 1 for one in drawn):
        several = {
            int(mechanism.privatize(points[:1], Randomness.reproducible(seed))[0])
            for seed in range(20)
        }
        hold(len(several) == 1, f"{who} draws once for all words; each needs noise of its own")
        return  # it gives one word whatever happens, and needs no noise
    hold(
        bool((drawn[0] != drawn[2]).any()),
        f"{who} must draw otherwise with other randomness: it brings a seed of its own",
    )
    blocks = {tuple(drawn[0][start : start + 50].tolist()) for start in range(0, 500, 50)}
    hold(len(blocks) == 10, f"{who} repeats its noise; each word needs noise of its own")


def _check_copies(mechanism: object, who: str) -> None:
    copy = travel(mechanism)
    hold(type(copy) is type(mechanism), f"{who} must survive the way to another process")
    identity = mechanism_identity(mechanism)
    # Of a class in the script that is run the fields are not enough; in a file they would be.
    hold(
        identity is not None or stands_in_script(type(mechanism)),
        f"{who} cannot be told from others, so no stopped run of it can be resumed: make it a "
        "frozen dataclass of numbers, names and spaces, or give it a method identity()",
    )
    keyed = hasattr(mechanism, "key")  # a copy has a key of its own
    hold(keyed or mechanism_identity(copy) == identity, f"a copy of {who} must have its identity")


def _check_stretches(mechanism: StretchMechanism) -> None:
    """It says what shows, replaces what is found and nothing else, and claims what holds."""
    who = type(mechanism).__name__
    guarantee = mechanism.guarantee()
    unproven = guarantee.notion is Notion.NONE
    hold(not (unproven and guarantee.for_release), f"{who} has no guarantee: not for release")
    hold(guarantee.sentence().endswith("."), f"the guarantee of {who} must be a sentence")
    # Under one key outputs do depend on the original; over all keys they must not.
    if guarantee.notion is Notion.INDEPENDENT and not isinstance(mechanism, Keyed):
        _check_independence(mechanism, who)
    hold(bool(guarantee.leaks), f"{who} must say what its output shows (leaks)")
    hold(mechanism.replace([], Randomness.secure()) == [], f"{who} must give nothing for nothing")
    selective = Selective(policy=Everything(), mechanism=mechanism)
    for result in selective.privatize([Document(text) for text in TEXTS], Randomness.secure()):
        for edit in result.edited.edits:
            hold(edit.replacement.isprintable(), f"{who} must put in what can be printed")
    _check_copies(mechanism, who)


def _check_independence(mechanism: StretchMechanism, who: str) -> None:
    """With the same draws, the same comes out for any original."""
    for label, texts in ORIGINALS.items():
        found = {
            mechanism.replace(
                [Stretch(0, len(text), text, Span(0, len(text), label))], Randomness.reproducible(5)
            )[0]
            for text in texts
        }
        hold(len(found) == 1, f"{who} claims independence, but what it puts in depends on the text")


def _check_documents(mechanism: DocumentMechanism) -> None:
    """It states what holds, is defined for every text, and draws from nothing but the randomness.

    A document must come out as it would by itself. That is looked at with draws that are the same:
    the first of several documents, and the only one.
    """
    who = type(mechanism).__name__
    guarantee = mechanism.guarantee()
    hold(isinstance(guarantee, Guarantee), f"{who}.guarantee() must give a Guarantee")
    unproven = guarantee.notion is Notion.NONE
    hold(not (unproven and guarantee.for_release), f"{who} has no guarantee: not for release")
    hold(guarantee.sentence().endswith("."), f"the guarantee of {who} must be a sentence")
    hold(mechanism.rewrite([], Randomness.secure()) == [], f"{who} must give nothing for nothing")
    drawn = [mechanism.rewrite(TEXTS, Randomness.reproducible(seed)) for seed in (1, 1, 2)]
    hold(
        all(len(one) == len(TEXTS) and all(isinstance(text, str) for text in one) for one in drawn),
        f"{who} must give one text for each document",
    )
    hold(
        all(text.isprintable() for one in drawn for text in one),
        f"{who} must write what can be printed, on one line",
    )
    hold(
        drawn[0] == drawn[1],
        f"{who} must draw the same with the same randomness: it has another source of noise",
    )
    many = [mechanism.rewrite([TEXTS[2]] * 20, Randomness.reproducible(seed)) for seed in (1, 2)]
    hold(
        many[0] != many[1] or len({*many[0], *many[1]}) == 1,
        f"{who} must draw otherwise with other randomness: it brings a seed of its own",
    )
    hold(
        len(set(many[0])) > 1 or len({*many[0], *many[1]}) == 1,
        f"{who} draws once for all documents; each needs draws of its own",
    )
    alone = mechanism.rewrite([TEXTS[2]], Randomness.reproducible(3))
    beside = mechanism.rewrite([TEXTS[2], TEXTS[3], "x"], Randomness.reproducible(3))
    hold(alone[0] == beside[0], f"what {who} makes of a document must not depend on the others")
    _check_copies(mechanism, who)
