"""``sfumato.explain``: what would happen to a sentence, word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.verbs.inputs import Policies, Settings, choose_selection, default_policy, read_vectors

if TYPE_CHECKING:
    from sfumato.policies.policy import Policy
    from sfumato.releases.explanation import Explanation
    from sfumato.vectors.space import Space


def explain(
    text: str,
    *,
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
    seed: int | None = None,
) -> Explanation:
    """What is selected in a sentence, by what it is replaced, and how likely it stays.

    Without ``policy`` every word is selected, or what "pii" finds where no ``epsilon`` is given.
    ``mechanism`` and ``by_type`` are as in ``privatize``. ``level`` are pairs of an epsilon and a
    policy, in place of ``epsilon`` and ``policy``. The result shows the original beside the
    replacement: it is for its owner's eyes.
    """
    from sfumato.releases.explanation import explain_text
    from sfumato.releases.privatizer import Privatizer

    if policy is None and not level:
        policy = default_policy(mechanism) if epsilon is None else "everything"
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
    return explain_text(privatizer, text, draws=draws)
