"""``sfumato.deniability``: how likely words stay, and how many words they may become."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.verbs.inputs import (
    Policies,
    Settings,
    WordSource,
    choose_policy,
    counting,
    draws_from,
    levels_of,
    open_space,
    split_settings,
)

if TYPE_CHECKING:
    from sfumato.metrics.levels import ProtectionByLevel
    from sfumato.vectors.space import Space


def deniability(
    mechanism: str,
    epsilon: float | Sequence[float],
    *,
    corpus: str | Path | None = None,
    policy: Policies | None = None,
    exclude: Policies = (),
    vectors: str | Path | Space | None = None,
    settings: Settings | None = None,
    field: str = "text",
    format: str | None = None,
    encoding: str = "utf-8",
    whole_file: bool = False,
    words: int = 200,
    draws: int = 150,
    eta: float = 0.1,
    seed: int | None = None,
) -> ProtectionByLevel:
    """How well a mechanism hides words at some levels, and which it hides least.

    N is the probability that a word stays as it is; S is the number of words it may become: the
    fewest that hold 1 − ``eta`` of the probability. Exact where the mechanism has rows, estimated
    from ``draws`` otherwise. Without ``corpus`` or ``policy``, frequent public words are looked at;
    with one of them the result is about private words, and for their owner's eyes.
    """
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.mechanisms.build import build_mechanism
    from sfumato.metrics.deniability import DrawEffort
    from sfumato.metrics.levels import ProtectionByLevel
    from sfumato.metrics.protection import LISTED, Watched, measure_protection

    own, of_policies = split_settings(settings)
    layout = Layout(field=field, encoding=encoding, whole_file=whole_file)
    given = WordSource(
        Source.of(corpus, layout, file_format=format) if corpus else None,
        choose_policy(policy, exclude, of_policies),
    )
    effort = DrawEffort(eta=eta, draws=draws)
    levels = levels_of(epsilon)
    space = open_space(vectors)
    # Whatever is wrong with a level or a setting is said before anything takes long.
    built = [
        build_mechanism(mechanism, space=space, epsilon=level, settings=own) for level in levels
    ]
    population = given.population(space)
    randomness = draws_from(seed)
    watched = Watched.of(population, words, randomness.stream(0))
    with counting("measuring", len(built) * (len(watched) + LISTED)) as done:
        found = [
            measure_protection(one, watched, effort, randomness.stream(1 + place), done)
            for place, one in enumerate(built)
        ]
    return ProtectionByLevel(
        mechanism=mechanism,
        settings=own,
        eta=eta,
        population=population,
        watched=watched,
        levels=dict(zip(levels, found, strict=True)),
    )
