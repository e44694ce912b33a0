"""``sfumato.explain_word``: one word in focus, what it may become and what would be guessed.

``sfumato.compare_words``: two mechanisms on the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import InvalidArgument
from sfumato.verbs.inputs import (
    Policies,
    Settings,
    choose_selection,
    default_policy,
    draws_from,
    open_space,
    read_vectors,
)

if TYPE_CHECKING:
    from sfumato.attacks.inference.word_comparison import WordComparison
    from sfumato.attacks.inference.word_view import WordView
    from sfumato.mechanisms.vocabulary import OverVocabulary
    from sfumato.policies.policy import Policy
    from sfumato.vectors.space import Space


def explain_word(
    word: str | int,
    *,
    text: str | None = None,
    label: str = "",
    epsilon: float | None = None,
    policy: Policies | None = None,
    level: Sequence[tuple[float, str | Policy]] = (),
    exclude: Policies = (),
    mechanism: str = "auto",
    by_type: Mapping[str, object] | None = None,
    vectors: str | Path | Space | Mapping[str, str | Path | Space] | None = None,
    unknown: str | None = None,
    case: str = "public",
    settings: Settings | None = None,
    draws: int = 400,
    most: int = 8,
    seed: int | None = None,
) -> WordView:
    """What one word may become, with which chance, and what an attacker would guess from that.

    With ``text``, the word is looked for among the places that are replaced there (or is the number
    of such a place, from 1), and treated as it was found. Without, it is a word as it stands, found
    as ``label`` (a type such as PERSON, which only tables by type ask for). All else is as in
    ``explain``; ``most`` is the number of bars. The attacker knows the mechanism and how frequent
    words are in public. The result shows the word: it is for its owner's eyes.
    """
    from sfumato.attacks.inference.word_focus import look_at_word
    from sfumato.attacks.inference.word_view import ViewEffort
    from sfumato.releases.privatizer import Privatizer

    if policy is None and not level:
        alone = epsilon is not None or text is None
        policy = "everything" if alone else default_policy(mechanism)
    chosen, own = choose_selection(policy, epsilon, level, exclude, settings)
    privatizer = Privatizer(
        policy=chosen.policy,
        epsilon=chosen.epsilon,
        levels=chosen.levels,
        mechanism=mechanism,
        by_type=by_type or {},
        vectors=read_vectors(vectors),
        unknown=unknown,
        case=case,
        seed=seed,
        settings=own,
    )
    effort = ViewEffort(draws=draws, most=most)
    return look_at_word(privatizer, word, effort, text=text, label=label)


def compare_words(
    text: str,
    mechanisms: Sequence[str] = ("laplace", "exponential"),
    *,
    epsilon: float,
    vectors: str | Path | Space | None = None,
    unknown: str = "centroid",
    case: str = "public",
    draws: int = 400,
    most: int = 8,
    seed: int | None = None,
) -> WordComparison:
    """Two word mechanisms on a word or a short text: at equal epsilon, and at equal chance to stay.

    At equal chance the first is at ``epsilon``, the second at the level at which the median public
    word stays as often, by the curves of the package (default settings, embedded vectors). The
    result shows the words: it is for their owner's eyes.
    """
    from sfumato.attacks.inference.word_comparison import Bench, compare_views
    from sfumato.attacks.inference.word_view import ViewEffort
    from sfumato.mechanisms.build import build_mechanism
    from sfumato.mechanisms.vocabulary import OverVocabulary
    from sfumato.text.words import Words

    named = [mechanisms] if isinstance(mechanisms, str) else list(mechanisms)
    if len(named) != 2:
        raise InvalidArgument(
            f"{len(named)} mechanisms were given; two are compared, such as laplace and exponential"
        )
    space = open_space(vectors)

    def make(name: str, level: float) -> OverVocabulary:
        points = build_mechanism(name, space=space, epsilon=level)
        return OverVocabulary(points=points, unknown=unknown, case=case)

    effort = ViewEffort(draws=draws, most=most)
    bench = Bench(make=make, space=space, effort=effort, randomness=draws_from(seed))
    words = Words.of(text)
    found = [words[index] for index in range(len(words))]
    return compare_views(bench, (named[0], named[1]), epsilon, found)
