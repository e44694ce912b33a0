"""``sfumato.verify``: refute what a mechanism claims, or fail to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.verbs.inputs import (
    Settings,
    draws_from,
    open_space,
    refuse_policy_settings,
    split_settings,
)

if TYPE_CHECKING:
    from sfumato.audits.candidates import MechanismsToVerify
    from sfumato.audits.exhibits.table import ExhibitOutcome
    from sfumato.audits.subject import Subject
    from sfumato.audits.verdict import Verdict
    from sfumato.audits.verify import Effort
    from sfumato.core.randomness import Randomness
    from sfumato.mechanisms.by_type import ByType
    from sfumato.mechanisms.mechanism import DocumentMechanism, PointMechanism, StretchMechanism
    from sfumato.vectors.space import Space


def verify(
    mechanism: str | PointMechanism | StretchMechanism | DocumentMechanism | ByType | Subject,
    *,
    epsilon: float | None = None,
    confidence: float = 0.99,
    vectors: str | Path | Space | None = None,
    settings: Settings | None = None,
    pairs: int | None = None,
    draws: int | None = None,
    seed: int | None = None,
) -> Verdict:
    """Try to refute the guarantee that a mechanism claims.

    A mechanism by its name, as ``module:Class`` or ``file.py:Class`` needs the ``epsilon`` that is
    claimed; an object claims its own, and brings its space. ``surrogate`` and ``redact`` claim that
    what they put in does not depend on the original, and take no level; of ``auto`` every part is
    tested, with an ``epsilon`` that for words as well. Exact where the mechanism knows its
    probabilities; otherwise events are learned from some draws and bounded on others. A true claim
    is refuted with a probability of at most 1 − ``confidence``.
    """
    from sfumato.audits.candidates import candidates, of_object
    from sfumato.audits.verify import Effort, refute
    from sfumato.mechanisms.by_type import ByType
    from sfumato.mechanisms.mechanism import DocumentMechanism, StretchMechanism

    effort = Effort(pairs=pairs, draws=draws)
    randomness = draws_from(seed)
    if not isinstance(mechanism, str):
        if epsilon is not None or vectors is not None or settings:
            raise InvalidArgument(
                "an object claims its own level and brings its space and settings: leave out "
                "`epsilon=...`, `vectors=...` and the settings"
            )
        if isinstance(mechanism, ByType | StretchMechanism | DocumentMechanism):
            return _refute_all(of_object(mechanism), confidence, effort, randomness)
        return refute(mechanism, confidence=confidence, effort=effort, randomness=randomness)
    own, of_policies = split_settings(settings)
    refuse_policy_settings(of_policies, "verify looks at a mechanism alone")
    with _blaming(mechanism):
        found = candidates(
            mechanism, space=lambda: open_space(vectors), epsilon=epsilon, settings=own
        )
        return _refute_all(found, confidence, effort, randomness)


def _refute_all(
    found: MechanismsToVerify, confidence: float, effort: Effort, randomness: Randomness
) -> Verdict:
    """One verdict over everything that a claim is tested on."""
    from sfumato.audits.verify import refute

    verdict = refute(*found.mechanisms, confidence=confidence, effort=effort, randomness=randomness)
    return replace(verdict, notes=found.notes, claim=found.claim or verdict.claim)


def verify_exhibits(
    name: str | None = None, *, confidence: float = 0.99, seed: int | None = None
) -> list[ExhibitOutcome]:
    """Refute claims of the literature that are known to be false, and not their repairs."""
    from sfumato.audits.exhibits.table import EXHIBITS, examine, find_exhibit

    if not 0 < confidence < 1:
        raise InvalidArgument(f"confidence={confidence} must lie between 0 and 1, both excluded")
    chosen = EXHIBITS if name is None else (find_exhibit(name),)
    each = 1 - (1 - confidence) / len(chosen)
    randomness = draws_from(seed)
    return [
        examine(exhibit, confidence=each, randomness=randomness.stream(number))
        for number, exhibit in enumerate(chosen)
    ]


@contextmanager
def _blaming(mechanism: str) -> Iterator[None]:
    """What fails in a class of somebody's own is said as theirs; ours is told as ours."""
    try:
        yield
    except SfumatoError:
        raise
    except (Exception, SystemExit) as error:
        if ":" not in mechanism:
            raise
        # Only public words go in here, so the message cannot hold private text.
        raise InvalidArgument(
            f"{mechanism} failed while it was verified: {type(error).__name__}: {error}"
        ) from error
