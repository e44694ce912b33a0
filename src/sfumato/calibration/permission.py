"""Which figures a level may be chosen by.

Why a choice is a release
    Somebody who sees that ε = 3 was chosen learns that the figures at 3 met the target and those at
    5 did not. The figures were computed from the text and from who is in it, without noise, so no
    guarantee of what is made with the chosen level covers the choice.

Why it is refused and not charged
    Private selection (Liu and Talwar 2019; Papernot and Steinke 2022) charges for a choice, about
    three times the epsilon of one candidate, under conditions that a calibration does not meet:
    each candidate must be private *together with* the figure it is judged by, the number of
    candidates must be drawn at random, and nothing but the winner may be seen. Here the figures
    come from attacks that are told who the members are, they have no noise, the grid is fixed, and
    the whole table is printed. No finite charge would be correct.

So figures from a corpus that is neither generated nor declared public are used only if the user
names the public corpus that stood in for the private one. That it is public is not checked.

Reference
    Liu and Talwar 2019, "Private selection from private candidates"; Papernot and Steinke 2022,
    "Hyperparameter tuning with Rényi differential privacy".
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.errors import InvalidArgument

REFUSED = (
    "these figures were measured on a corpus that is neither generated nor declared public. A "
    "level that is chosen by them tells something about that text, no guarantee covers the choice, "
    "and it cannot be charged for: the figures have no noise. Run the study on a public corpus "
    "that is like the private one; if this is such a corpus, name it: `public_proxy=TEXT`"
)


@dataclass(frozen=True)
class Basis:
    """Permission to choose by some figures, with the reason as a sentence; made by ``basis``."""

    sentence: str
    proxy: str | None = None


def basis(*, public: bool, proxy: str | None = None) -> Basis:
    """Check that a choice by these figures costs no privacy, or refuse.

    >>> basis(public=False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: these figures were measured on a corpus that is neither ...
    >>> basis(public=False, proxy="WikiText-2").proxy
    'WikiText-2'
    """
    named = (proxy or "").strip()
    if named:
        return Basis(
            f"Measured on a public stand-in, {named}, which costs the private text nothing; that "
            "it is public, and that the private text behaves like it, was not checked.",
            named,
        )
    if not public:
        raise InvalidArgument(REFUSED)
    return Basis("Measured on a corpus that is generated or declared public.")
