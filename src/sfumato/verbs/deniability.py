"""``sfumato.deniability``: how well words are hidden at some levels.

``sfumato.suggest``: the level at which the median word stays with a given probability.
"""

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
    refuse_policy_settings,
    split_settings,
)

if TYPE_CHECKING:
    from sfumato.mechanisms.mechanism import PointMechanism
    from sfumato.metrics.levels import ProtectionByLevel, Suggestion
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


def suggest(
    mechanism: str,
    keep: float,
    *,
    vectors: str | Path | Space | None = None,
    settings: Settings | None = None,
    words: int = 200,
    draws: int = 150,
    seed: int | None = None,
) -> Suggestion:
    """The epsilon at which the median public word stays with probability ``keep``.

    It looks at public words only, so it costs no privacy. The median is not the whole answer: the
    words that stay far more often at that level are in ``protection.exposed``.
    """
    from sfumato.mechanisms.build import build_mechanism
    from sfumato.metrics.deniability import DrawEffort
    from sfumato.metrics.levels import find_level
    from sfumato.metrics.population import frequent_words
    from sfumato.metrics.protection import Watched

    own, of_policies = split_settings(settings)
    refuse_policy_settings(of_policies, "suggest has no policy")
    space = open_space(vectors)

    def level(epsilon: float) -> PointMechanism:
        return build_mechanism(mechanism, space=space, epsilon=epsilon, settings=own)

    randomness = draws_from(seed)
    watched = Watched.of(frequent_words(space), words, randomness.stream(0))
    with counting("words measured", None) as done:
        return find_level(level, keep, watched, DrawEffort(draws=draws), randomness.stream(1), done)
