"""``sfumato.score_policy``: how much of what is sensitive a policy finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.verbs.inputs import (
    Policies,
    Settings,
    choose_policy,
    refuse_mechanism_settings,
    split_settings,
)

if TYPE_CHECKING:
    from sfumato.policies.scoring import PolicyScores


def score_policy(
    source: str | Path,
    *,
    policy: Policies = "pii",
    exclude: Policies = (),
    settings: Settings | None = None,
) -> PolicyScores:
    """Recall, then precision, per type, on labeled spans.

    Each line of ``source``: ``{"text": …, "spans": [{"start", "end", "label"}]}``. A labeled span
    is found when all its words are selected, whatever label the policy gave them.
    """
    from sfumato.corpora.labeled import read_labeled
    from sfumato.policies.patterns import Everything
    from sfumato.policies.scoring import compare_with_gold

    own, of_policies = split_settings(settings)
    refuse_mechanism_settings(own)
    chosen = choose_policy(policy, exclude, of_policies) or Everything()
    return compare_with_gold(chosen, read_labeled(Path(source)))
