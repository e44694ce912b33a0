"""``sfumato.compare``: mechanisms side by side, on the same words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import InvalidArgument
from sfumato.verbs.inputs import (
    Policies,
    Settings,
    WordSource,
    choose_policy,
    counting,
    draws_from,
    levels_of,
    open_space,
    refuse_mechanism_settings,
    split_settings,
)

if TYPE_CHECKING:
    from sfumato.metrics.comparison import Comparison
    from sfumato.vectors.space import Space

# Words on which a level is looked for when ``keep`` is given; all are public.
SEARCHED_WORDS = 60


def compare(
    mechanisms: str | Sequence[str] | None = None,
    *,
    epsilon: float | Sequence[float] | None = None,
    keep: float | None = None,
    corpus: str | Path | None = None,
    policy: Policies | None = None,
    exclude: Policies = (),
    vectors: str | Path | Space | None = None,
    settings: Settings | None = None,
    field: str = "text",
    format: str | None = None,
    encoding: str = "utf-8",
    whole_file: bool = False,
    sample: int = 1000,
    seed: int | None = None,
) -> Comparison:
    """What each mechanism promises, what it keeps, how far it goes and how fast it is.

    The same epsilon means different things in different mechanisms; with ``keep`` in its place each
    has the level at which the median public word stays with that probability.
    """
    from sfumato.catalog import entries, find
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.metrics.comparison import Bench, at_keep, at_levels
    from sfumato.metrics.population import frequent_words
    from sfumato.metrics.protection import Watched
    from sfumato.metrics.similarity import random_pairs_distance

    levels = _levels(epsilon, keep)
    own, of_policies = split_settings(settings)
    refuse_mechanism_settings(own)
    given_names = [mechanisms] if isinstance(mechanisms, str) else mechanisms
    names = [find("mechanisms", name).name for name in given_names or entries("mechanisms")]
    layout = Layout(field=field, encoding=encoding, whole_file=whole_file)
    given = WordSource(
        Source.of(corpus, layout, file_format=format) if corpus else None,
        choose_policy(policy, exclude, of_policies),
    )
    space = open_space(vectors)
    population = given.population(space)
    randomness = draws_from(seed)
    bench = Bench(
        population,
        population.running_words(sample, randomness.stream(0)),
        random_pairs_distance(space, randomness.stream(1)),
        randomness.stream(2),
    )
    with counting("mechanisms", len(names)) as done:
        if keep is None:
            return at_levels(bench, names, levels, done)
        watched = Watched.of(frequent_words(space), SEARCHED_WORDS, randomness.stream(3))
        return at_keep(bench, names, keep, watched, done)


def _levels(epsilon: float | Sequence[float] | None, keep: float | None) -> list[float]:
    if (epsilon is None) == (keep is None):
        raise InvalidArgument(
            "give either `epsilon=...`, a level or several, or `keep=...`, a probability between "
            "0 and 1"
        )
    if keep is not None and not 0 < keep < 1:
        raise InvalidArgument(f"keep={keep} must lie between 0 and 1, both excluded")
    return levels_of(epsilon) if epsilon is not None else []
