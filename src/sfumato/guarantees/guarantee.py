"""A guarantee: what is proven about an output, for whom, and what it leaves open.

A guarantee is an upper bound and is proven. What an attack measures is a lower bound and has a
type of its own; the two are never mixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from sfumato.core.checks import between, positive
from sfumato.core.display import as_html
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.core.json import read_number, update_names, write_number
from sfumato.core.kinds import kind_of
from sfumato.guarantees.summary import summary
from sfumato.guarantees.wording import SMALL_UNITS, at_most, sentence


@dataclass(frozen=True)
class Part:
    """What is proven about stretches of some types; no types stand for all that have no other."""

    types: tuple[str, ...]
    guarantee: Guarantee


class Notion(StrEnum):
    """The definitions of privacy that sfumato can state."""

    PURE_DP = "pure differential privacy"
    APPROXIMATE_DP = "approximate differential privacy"
    ZCDP = "zero-concentrated differential privacy"
    METRIC_DP = "metric differential privacy"
    SELECTIVE_DP = "selective differential privacy"
    SELECTIVE_METRIC_DP = "selective metric differential privacy"
    UTILITY_OPTIMIZED_METRIC_LDP = "utility-optimized metric local differential privacy"
    LDP_WITHIN_GROUPS = "local differential privacy within groups"
    DIRECTIONAL = "directional privacy"
    INDEPENDENT = "independence from the original"
    BY_TYPE = "a statement for each type"
    NONE = "no formal guarantee"

    @classmethod
    def _missing_(cls, value: object) -> Notion | None:
        """A notion by the spelling that older files have."""
        former = "utility-optimised metric local differential privacy"
        return cls.UTILITY_OPTIMIZED_METRIC_LDP if value == former else None


# Neighbors that differ by the presence of one unit, for statements that add up.
LACKS_ONE = "two corpora of which one lacks one {unit} of the other, its place left empty"

SEED_LEAK = "the noise itself, to whoever knows the seed (reproducible: not for release)"
SEED_TOO = "the noise itself, to whoever knows the seed (not for release without a seed, either)"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A proven statement. ``leaks`` and ``uncovered`` belong to it as much as ``epsilon``.

    ``leaks`` lists what the output shows about the text besides the replaced words; ``uncovered``
    lists the words the statement says nothing about. ``record`` says what one unit is, where its
    owner has named it, or what a document is where units are smaller. ``policy`` is a code that
    tells the policy of a selective statement from all others of its name, and nothing else about
    it. ``parts`` are the statements of a guarantee that differs by type (``guarantees.parts``).
    ``stays`` is the share of public words that are expected to come out as they went in, where it
    was estimated, and ``unchanged`` says the same of dates, places and numbers, by what they look
    like; neither is part of the proof. ``about`` holds the very space and policy the statement
    speaks of, where no code does; names are not enough to tell two of them apart, and it is never
    written.
    """

    notion: Notion
    unit: str
    neighbors: str
    epsilon: float
    delta: float = 0.0
    record: str = ""
    policy: str = ""
    metric: str = ""
    scope: str = "every word"
    leaks: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    for_release: bool = True
    parts: tuple[Part, ...] = ()
    stays: float | None = None
    unchanged: tuple[tuple[str, float], ...] = ()
    about: tuple[object, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        # Only what never looks at the original has the level 0; it cannot have any other.
        if self.notion is Notion.INDEPENDENT:
            between("epsilon", self.epsilon, 0.0, 0.0)
        elif self.epsilon != math.inf and self.notion is not Notion.BY_TYPE:
            positive("epsilon", self.epsilon)
        between("delta", self.delta, 0.0, 1.0)
        if (self.notion is Notion.BY_TYPE) != bool(self.parts):
            raise InvalidArgument("a guarantee by type has parts, and no other one has")
        if self.parts:
            _check_parts(self)
        if self.stays is not None:
            between("stays", self.stays, 0.0, 1.0)
        for what, chance in self.unchanged:
            between(f"the chance of {what}", chance, 0.0, 1.0)

    def sentence(self) -> str:
        """The guarantee in plain English, with what it does not say."""
        return sentence(self)

    def summary(self) -> tuple[str, str, str]:
        """Three short lines for people: what is protected, what is not, what to do next."""
        return summary(self)

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        shown = {
            "notion": self.notion.value,
            "unit": self.unit if self.unit in SMALL_UNITS else self.record or self.unit,
            "ε": at_most(self.epsilon),
            "δ": at_most(self.delta) if self.delta else "0",
            "may be released": "yes" if self.for_release else "no",
        }
        return as_html("Guarantee", tuple(shown), [tuple(shown.values())], [self.sentence()])

    def leaking(self, *leaks: str) -> Guarantee:
        """The same guarantee, known to show more."""
        return replace(self, leaks=_merge(self.leaks, leaks))

    def not_covering(self, *uncovered: str) -> Guarantee:
        """The same guarantee, known to leave more out."""
        return replace(self, uncovered=_merge(self.uncovered, uncovered))

    def of_documents(self, record: str) -> Guarantee:
        """The same guarantee, saying what a document is, if it speaks of documents.

        One draw for a document, and equality within one, mean nothing without that.
        """
        speaks = bool(self.parts) or self.unit == "document" or "document" in self.neighbors
        return replace(self, record=record) if speaks else self

    def reproducible(self) -> Guarantee:
        """The same guarantee, not for release: anyone who knows the seed can undo the noise.

        What was not for release before is not if it is made again without a seed, either.
        """
        leak = SEED_LEAK if self.for_release or SEED_LEAK in self.leaks else SEED_TOO
        return replace(self.leaking(leak), for_release=False)

    def then(self, other: Guarantee) -> Guarantee:
        """Both outputs of the same data released together; the levels add up.

        Statements about different things do not: that raises ``IncomparableGuarantees``.
        """
        for name in ("notion", "unit", "record", "neighbors", "metric", "scope"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise IncomparableGuarantees(
                    f"guarantees with different {name} do not add up: {mine or 'none'} and "
                    f"{theirs or 'none'}"
                )
        self._refuse_another_policy(other)
        speaks_of_vectors = self.metric or self.notion is Notion.LDP_WITHIN_GROUPS
        if self.about != other.about or (speaks_of_vectors and not self.about):
            raise IncomparableGuarantees(
                "guarantees add up only for the same policy and the same vectors; whether these "
                "are the same cannot be told"
            )
        parts = _add_parts(self.parts, other.parts)
        return replace(
            self,
            epsilon=highest(parts) if parts else self.epsilon + other.epsilon,
            parts=parts,
            delta=min(1.0, self.delta + other.delta),
            leaks=_merge(self.leaks, other.leaks),
            uncovered=_merge(self.uncovered, other.uncovered),
            for_release=self.for_release and other.for_release,
            stays=max((one for one in (self.stays, other.stays) if one is not None), default=None),
            # At two levels these chances differ, and neither speaks of both outputs.
            unchanged=self.unchanged if self.unchanged == other.unchanged else (),
        )

    def _refuse_another_policy(self, other: Guarantee) -> None:
        """Guarantees about two policies do not add up, even if the policies have the same name."""
        selective = self.notion is Notion.SELECTIVE_DP
        known = all(bool(one.policy or one.about) for one in (self, other))
        if (selective and not known) or bool(self.policy) != bool(other.policy):
            raise IncomparableGuarantees(
                "selective guarantees add up only for the same policy, and which policy it was is "
                "not known of both: a file of an older version does not say, and a policy of your "
                "own is known only while its process lives. State them side by side"
            )
        if self.policy != other.policy:
            raise IncomparableGuarantees(
                "selective guarantees add up only for the same policy: these have the same name "
                "and are, as far as can be told, not the same policy. Another word list, pattern, "
                "model or version looks like this, and so does a policy with private settings in "
                "two processes without a common key (`policy_key=FILE`)"
            )

    def as_dict(self) -> dict[str, Any]:
        """For JSON; an infinite level is written as the text "inf"."""
        values = {name: getattr(self, name) for name in _WRITTEN}
        for name in ("record", "policy", "parts", "unchanged"):
            if not values[name]:
                del values[name]
        if self.stays is None:
            del values["stays"]
        if self.parts:
            values["parts"] = [
                {"types": list(part.types), "guarantee": part.guarantee.as_dict()}
                for part in self.parts
            ]
        if self.unchanged:
            values["unchanged"] = dict(self.unchanged)
        values["notion"] = self.notion.value
        values["epsilon"] = write_number(self.epsilon)
        return values | {"leaks": list(self.leaks), "uncovered": list(self.uncovered)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Guarantee:
        """The inverse of ``as_dict``."""
        if not isinstance(values, Mapping):
            raise InvalidArgument("this is not a guarantee: it has no keys")
        given = update_names(values)
        unknown = set(given) - set(_WRITTEN)
        if unknown:
            raise InvalidArgument(f"not part of a guarantee: {', '.join(sorted(unknown))}")
        try:
            given["notion"] = Notion(given["notion"])
            given["epsilon"] = read_number(given["epsilon"])
            given["leaks"] = _texts("leaks", given.get("leaks", ()))
            given["uncovered"] = _texts("uncovered", given.get("uncovered", ()))
            given["unchanged"] = tuple(dict(given.get("unchanged", {})).items())
            given["parts"] = tuple(
                Part(_texts("types", one["types"]), cls.from_dict(one["guarantee"]))
                for one in given.get("parts", ())
            )
            _check_kinds(given)
            return cls(**given)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgument(f"this is not a guarantee: {error}") from None


_WRITTEN = tuple(field.name for field in fields(Guarantee) if field.name != "about")


_TEXTS = ("unit", "neighbors", "record", "policy", "metric", "scope")


def _texts(name: str, given: object) -> tuple[str, ...]:
    """Texts of a list; one text alone would be read letter by letter."""
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, str) for one in given):
        raise ValueError(f"{name} must be a list of texts")
    return tuple(given)


def _check_kinds(given: Mapping[str, Any]) -> None:
    """Refuse what Python would take for something else: the text "false" is true."""
    if type(given.get("for_release", True)) is not bool:
        raise ValueError("for_release must be true or false")
    if not all(isinstance(given.get(name, ""), str) for name in _TEXTS):
        raise ValueError(f"{', '.join(_TEXTS)} must be texts")


def _check_parts(whole: Guarantee) -> None:
    """Refuse parts that cannot stand together, and a whole that promises more than they do."""
    seen: set[str] = set()
    for part in whole.parts:
        if part.guarantee.parts:
            raise InvalidArgument("a part of a guarantee by type must not itself be by type")
        # One kind of thing is one type, by whatever name.
        kinds = {kind_of(label) or label for label in part.types}
        twice = seen & kinds
        if twice:
            raise InvalidArgument(f"two parts speak of the type {min(twice)!r}")
        seen |= kinds
    if sum(not part.types for part in whole.parts) > 1:
        raise InvalidArgument("two parts speak of all other types")
    stated = [part.guarantee for part in whole.parts]
    if whole.epsilon != highest(whole.parts) or whole.delta < max(one.delta for one in stated):
        raise InvalidArgument(
            "a guarantee by type has the largest level of its parts, and no other"
        )
    if whole.for_release and not all(one.for_release for one in stated):
        raise InvalidArgument("a part is not for release, so the whole is not either")
    for name in ("leaks", "uncovered"):
        if not all(set(getattr(one, name)) <= set(getattr(whole, name)) for one in stated):
            raise InvalidArgument(f"a guarantee by type has the {name} of all of its parts")


def metric_dp(
    *, epsilon: float, metric: str, unit: str = "word", about: tuple[object, ...] = ()
) -> Guarantee:
    """Metric DP: any two inputs are told apart at most by ``epsilon`` times their distance."""
    return Guarantee(
        notion=Notion.METRIC_DP,
        unit=unit,
        neighbors=f"any two values of one {unit}",
        epsilon=epsilon,
        metric=metric,
        about=about,
    )


def independent(*, unit: str = "stretch", scope: str = "every stretch") -> Guarantee:
    """What is put in the place of the original does not depend on it: the level is 0."""
    return Guarantee(
        notion=Notion.INDEPENDENT,
        unit=unit,
        neighbors=f"any two values of one {unit}",
        epsilon=0.0,
        scope=scope,
    )


def highest(parts: Iterable[Part]) -> float:
    """The largest level of any part: one number for a table, to be read with its distance."""
    return max(part.guarantee.epsilon for part in parts)


def _add_parts(first: tuple[Part, ...], second: tuple[Part, ...]) -> tuple[Part, ...]:
    """Levels add up part by part; parts of different types do not."""
    if [one.types for one in first] != [one.types for one in second]:
        raise IncomparableGuarantees(
            "guarantees by type add up only if they treat the same types together; state these "
            "side by side"
        )
    return tuple(
        Part(mine.types, mine.guarantee.then(theirs.guarantee))
        for mine, theirs in zip(first, second, strict=True)
    )


def no_guarantee(*, unit: str, scope: str = "every word") -> Guarantee:
    """For baselines, for the policy that selects nothing, and for an infinite level."""
    return Guarantee(
        notion=Notion.NONE,
        unit=unit,
        neighbors="none",
        epsilon=math.inf,
        scope=scope,
        for_release=False,
    )


def _merge(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
