"""``sfumato.suggest``: the level at which the median word stays with a given probability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.verbs.inputs import (
    Settings,
    counting,
    draws_from,
    open_space,
    refuse_policy_settings,
    split_settings,
)

if TYPE_CHECKING:
    from sfumato.mechanisms.mechanism import PointMechanism
    from sfumato.metrics.suggestion import Suggestion
    from sfumato.vectors.space import Space


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
    from sfumato.metrics.population import frequent_words
    from sfumato.metrics.protection import Watched
    from sfumato.metrics.suggestion import find_level

    own, of_policies = split_settings(settings)
    refuse_policy_settings(of_policies, "suggest has no policy")
    space = open_space(vectors)

    def level(epsilon: float) -> PointMechanism:
        return build_mechanism(mechanism, space=space, epsilon=epsilon, settings=own)

    randomness = draws_from(seed)
    watched = Watched.of(frequent_words(space), words, randomness.stream(0))
    with counting("words measured", None) as done:
        return find_level(level, keep, watched, DrawEffort(draws=draws), randomness.stream(1), done)
