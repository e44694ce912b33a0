"""Privatizing texts in memory: the whole of sfumato's main job in one object."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

from sfumato.accounting.guarantee import Guarantee
from sfumato.core.checks import one_of, positive
from sfumato.core.errors import BadInput, InvalidArgument, UndecodableText
from sfumato.core.randomness import Randomness
from sfumato.corpora.documents import Document
from sfumato.mechanisms.building import build
from sfumato.mechanisms.mechanism import Mechanism, PointMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.policy import Policy
from sfumato.releases.shapes import ColumnMapper, like, texts_of
from sfumato.releases.tally import Tally
from sfumato.vectors.embedded import NAME, default_space
from sfumato.vectors.loading import load
from sfumato.vectors.space import SEARCHES, Space


@dataclass(kw_only=True, eq=False, repr=False)
class Privatizer:
    """Softens what a policy selects, and says what is guaranteed.

    ``policy`` and ``mechanism`` are names or objects; a name of a mechanism needs ``epsilon``.
    With a ``seed`` the output can be reproduced, and undone: it is not for release.

    >>> privatizer = Privatizer(policy="digits", mechanism="laplace", epsilon=5)
    >>> texts = privatizer.privatize(["My ID is 145572.", "No number here."])
    >>> "145572" in texts[0], texts[1]
    (False, 'No number here.')
    >>> privatizer.guarantee().epsilon
    5.0
    """

    policy: str | Sequence[str] | Policy = "pii"
    mechanism: str | PointMechanism | Mechanism = "laplace"
    epsilon: float | None = None
    vectors: str | Space | None = None
    unknown: str = "centroid"
    case: str = "public"
    search: str = "exact"
    seed: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    def privatize(self, texts: Any) -> Any:
        """New texts in the shape the old ones came in: list, pandas Series, numpy array.

        Missing values (None, NaN) stay missing. ``tally_`` counts what was privatized.
        """
        items = texts_of(texts)
        documents = [_document(text, place) for place, text in enumerate(items) if text is not None]
        results = self.selective.privatize(documents, self._next_stream())
        self.tally_ = Tally.of(results)
        remaining = iter(results)
        return like(texts, [None if text is None else next(remaining).text for text in items])

    def __call__(self, text: str) -> str:
        """One text, so that ``series.map(privatizer)`` works; many at once are faster."""
        if not isinstance(text, str):
            raise BadInput("this is not a text; privatize() takes many")
        return str(self.privatize([text])[0])

    def __repr__(self) -> str:
        # A pattern, a word list or a seed must not turn up in logs.
        policy = getattr(self.policy, "name", None) or str(self.policy).partition(":")[0]
        return f"Privatizer(policy={policy!r}, mechanism={_name(self.mechanism)!r})"

    def guarantee(self) -> Guarantee:
        """What is proven, counting what the last call of ``privatize`` left uncovered."""
        tally: Tally | None = getattr(self, "tally_", None)
        guarantee = self.selective.guarantee(None if tally is None else tally.uncovered)
        return guarantee if self.randomness.for_release else guarantee.reproducible()

    def column(self, name: str) -> ColumnMapper:
        """For ``dataset.map(privatizer.column("text"), batched=True)``."""
        return ColumnMapper(self, name)

    @cached_property
    def selective(self) -> Selective:
        """Policy and mechanism, built at the first use."""
        return Selective(policy=self._policy(), mechanism=self._mechanism())

    @cached_property
    def randomness(self) -> Randomness:
        """Secure, unless a seed was given."""
        return Randomness.secure() if self.seed is None else Randomness.reproducible(self.seed)

    def public_settings(self) -> dict[str, Any]:
        """What a side file may show: names and numbers, never a pattern or a word list."""
        mechanism = self.selective.mechanism
        return {
            "policy": self.selective.policy.name,
            "mechanism": _name(self.mechanism),
            "mechanism_settings": _own_settings(getattr(mechanism, "points", None)),
            "epsilon": self.guarantee().as_dict()["epsilon"],
            "vectors": getattr(getattr(mechanism, "points", None), "space", _NAMELESS).name,
            "search": self.search,
            "unknown": getattr(mechanism, "unknown", None),
            "case": getattr(mechanism, "case", None),
            "reproducible": not self.randomness.for_release,
        }

    # scikit-learn's protocol, without depending on it.

    def fit(self, texts: Any = None, y: Any = None) -> Privatizer:  # noqa: ARG002
        """Nothing is learned from the texts: they are private."""
        return self

    def transform(self, texts: Any) -> Any:
        """``privatize`` under the name a pipeline calls."""
        return self.privatize(texts)

    def fit_transform(self, texts: Any, y: Any = None) -> Any:  # noqa: ARG002
        """``privatize`` under the name a pipeline calls."""
        return self.privatize(texts)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The constructor's arguments."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Privatizer:
        """A changed copy of the arguments; what was built of the old ones is forgotten."""
        unknown = set(params) - set(self.get_params())
        if unknown:
            raise InvalidArgument(f"not a parameter: {', '.join(sorted(unknown))}")
        state = self.get_params() | params
        self.__dict__.clear()
        self.__dict__.update(state)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, two_d_array=False),
        )

    def __getstate__(self) -> dict[str, Any]:
        # What was built is built anew where it arrives; a stream of noise must not be copied.
        return self.get_params()

    def _next_stream(self) -> Randomness:
        self._calls = getattr(self, "_calls", -1) + 1
        return self.randomness.stream(self._calls)

    def _policy(self) -> Policy:
        from sfumato.policies.parsing import combine_policies

        if isinstance(self.policy, str):
            return combine_policies([self.policy])
        if isinstance(self.policy, Policy):
            return self.policy
        if isinstance(self.policy, (list, tuple)) and all(isinstance(p, str) for p in self.policy):
            return combine_policies(self.policy)
        raise InvalidArgument("policy must be a name, several names, or a policy")

    def _mechanism(self) -> Mechanism:
        if isinstance(self.mechanism, str):
            if self.epsilon is None:
                raise InvalidArgument(
                    "epsilon is missing: no level fits every space; "
                    "`sfumato explain` shows what a level does to words"
                )
            points = build(
                self.mechanism,
                space=self._space(),
                epsilon=positive("epsilon", self.epsilon),
                settings=self.settings,
            )
        elif isinstance(self.mechanism, PointMechanism):
            points = self.mechanism
        elif isinstance(self.mechanism, Mechanism):
            return self.mechanism
        else:
            raise InvalidArgument("mechanism must be a name or a mechanism")
        return OverVocabulary(points=points, unknown=self.unknown, case=self.case)

    def _space(self) -> Space:
        one_of("search", self.search, SEARCHES)
        if self.vectors is None or self.vectors == NAME:
            space = default_space()
        else:
            space = load(self.vectors) if isinstance(self.vectors, str) else self.vectors
        return space if self.search == "exact" else replace(space, search_kind=self.search)


def _own_settings(mechanism: object) -> dict[str, Any]:
    """The numbers and names that a mechanism was made with; they are public by definition."""
    if not is_dataclass(mechanism):
        return {}
    own = {one.name: getattr(mechanism, one.name) for one in fields(mechanism)}
    simple = {key: value for key, value in own.items() if isinstance(value, (int, float, str))}
    return {
        key.removesuffix("_"): str(value) if value == math.inf else value
        for key, value in simple.items()
        if key != "epsilon"
    }


def _document(text: str, place: int) -> Document:
    try:
        return Document(text)
    except UndecodableText as error:
        raise UndecodableText(f"item {place}: {error}") from None


class _NAMELESS:
    name = None


def _name(mechanism: object) -> str:
    return mechanism if isinstance(mechanism, str) else type(mechanism).__name__.lower()
