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
    from sfumato.files.source import Source
    from sfumato.metrics.comparison import Comparison
    from sfumato.metrics.rewriting import DocumentComparison
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
    encoder: str | Path | None = None,
    seed: int | None = None,
) -> Comparison | DocumentComparison:
    """What each mechanism promises, what it keeps, how far it goes and how fast it is.

    The same epsilon means different things in different mechanisms; with ``keep`` in its place each
    has the level at which the median public word stays with that probability.

    Mechanisms that rewrite documents are compared among each other, on the documents of a
    ``corpus``: at most ``sample`` of them, by words and by meaning (``encoder`` is the folder of a
    sentence encoder). They take ``settings``, and may need no ``epsilon``.
    """
    from sfumato.catalog import entries, find
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.metrics.comparison import Bench, at_keep, at_levels
    from sfumato.metrics.population import frequent_words
    from sfumato.metrics.protection import Watched
    from sfumato.metrics.similarity import random_pairs_distance

    if rewriters := _rewriters(mechanisms):
        if keep is not None or policy or exclude or vectors is not None:
            raise InvalidArgument(
                "rewriting treats all of a document and knows no words: leave out `keep=...`, "
                "policies and `vectors=...`"
            )
        if corpus is None:
            raise InvalidArgument("documents are needed to compare on: `corpus=FILE`")
        layout = Layout(field=field, encoding=encoding, whole_file=whole_file)
        source = Source.of(corpus, layout, file_format=format)
        asked = [None] if epsilon is None else [*levels_of(epsilon)]
        return _compare_documents(
            rewriters, asked, source, settings or {}, (sample, str(encoder or ""), seed)
        )
    if encoder is not None:
        raise InvalidArgument("`encoder=...` is for mechanisms that rewrite documents")
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


def _rewriters(mechanisms: str | Sequence[str] | None) -> list[str]:
    """The names, if they are of mechanisms that rewrite documents."""
    from sfumato.mechanisms.build import rewrites_documents

    names = [mechanisms] if isinstance(mechanisms, str) else list(mechanisms or ())
    found = [name for name in names if rewrites_documents(name)]
    if found and len(found) < len(names):
        raise InvalidArgument(
            "mechanisms that rewrite documents are compared among each other, and those of words "
            "by themselves: " + ", ".join(found) + " rewrite documents"
        )
    return found


def _compare_documents(
    names: Sequence[str],
    levels: Sequence[float | None],
    source: Source,
    settings: Settings,
    how: tuple[int, str, int | None],
) -> DocumentComparison:
    from functools import partial

    from sfumato.mechanisms.build import build_document_mechanism
    from sfumato.metrics.rewriting import compare_rewriters, read_encoder

    sample, encoder, seed = how
    randomness = draws_from(seed)
    texts = [one.text for one in source.documents()]
    if len(texts) > sample:
        texts = [texts[place] for place in randomness.stream(0).choose(len(texts), sample).tolist()]
    makers = [
        (
            name,
            partial(
                build_document_mechanism,
                name,
                {**settings, **({} if level is None else {"epsilon": level})},
            ),
        )
        for name in names
        for level in levels
    ]
    return compare_rewriters(makers, texts, read_encoder(encoder), randomness.stream(1))


def _levels(epsilon: float | Sequence[float] | None, keep: float | None) -> list[float]:
    if (epsilon is None) == (keep is None):
        raise InvalidArgument(
            "give either `epsilon=...`, a level or several, or `keep=...`, a probability between "
            "0 and 1"
        )
    if keep is not None and not 0 < keep < 1:
        raise InvalidArgument(f"keep={keep} must lie between 0 and 1, both excluded")
    return levels_of(epsilon) if epsilon is not None else []
