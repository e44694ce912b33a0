"""Privatizing texts in memory: the whole of sfumato's main job in one object.

A privatizer also says what others may know of it: ``public_settings`` are the names and numbers
that a side file shows, never a pattern, list or key; ``identity`` is all that decides what comes
out, to be digested and compared, and never shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from threading import Lock
from typing import Any

from sfumato.catalog import find
from sfumato.core.checks import one_of, positive, refuse_class
from sfumato.core.errors import BadInput, InvalidArgument, UndecodableText
from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness
from sfumato.core.settings import configure, settings_of
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.auto import OTHER, WORDS, Auto, change
from sfumato.mechanisms.build import (
    AUTO,
    build_document_mechanism,
    build_mechanism,
    build_stretch_mechanism,
    replaces_stretches,
    rewrites_documents,
)
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.keyed import key_of, under_key
from sfumato.mechanisms.levels import Level, Levels
from sfumato.mechanisms.mechanism import (
    DocumentMechanism,
    Mechanism,
    PointMechanism,
    StretchMechanism,
)
from sfumato.mechanisms.selective import MISSING_LEAK, Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.combine import Union
from sfumato.policies.identity import Identity, identity_of, versions
from sfumato.policies.labels import check_types
from sfumato.policies.policy import Policy
from sfumato.releases.public_settings import name_of, public_settings
from sfumato.releases.shapes import ColumnMapper, FrameMapper, like, texts_of
from sfumato.releases.tally import Tally
from sfumato.text.document import Document
from sfumato.vectors.load import NAME, default_space, load_vectors
from sfumato.vectors.space import SEARCHES, Space


def state(selective: Selective | Levels, tally: Tally | None) -> Guarantee:
    """What is proven, as far as it is known what was found."""
    uncovered = None if tally is None else tally.uncovered
    if isinstance(selective, Levels):
        return selective.guarantee(uncovered)
    return selective.guarantee(uncovered, () if tally is None else tally.types)


def telling_missing(guarantee: Guarantee, selective: Selective | Levels) -> Guarantee:
    """The same, with what shows of texts that are missing, where whole texts are rewritten.

    Nothing is written where there was no text: that would make up a document. So a statement about
    any two documents is one about those that are there.
    """
    rewrites = isinstance(selective, Selective) and selective.rewrites
    return guarantee.leaking(MISSING_LEAK) if rewrites else guarantee


# Two calls at once must neither share a stream of noise nor lose what was found.
_COUNTING = Lock()
# What a document is, where one text stands for itself.
TEXT = "text that was handed over"
PolicyLike = str | Policy | Sequence[str | Policy]
# One space, or one for each of several languages.
Vectors = str | Space | Mapping[str, str | Space] | None
ENGLISH = "en"
_CODE = re.compile("[a-z]{2}")


@dataclass(kw_only=True, eq=False, repr=False)
class Privatizer:
    """Softens what a policy selects, and says what is guaranteed.

    ``policy`` and ``mechanism`` are names or objects. "auto" treats each type by a mechanism of its
    own (``mechanisms.auto``), and ``epsilon`` is for the words that have no type; ``by_type``
    changes the table. A word mechanism needs ``epsilon``. ``levels`` are pairs of an epsilon and a
    policy and take the place of both. With a ``seed`` the output can be reproduced,
    and undone: it is not for release.

    >>> privatizer = Privatizer(policy="digits", mechanism="laplace", epsilon=5)
    >>> texts = privatizer.privatize(["My ID is 145572.", "No number here."])
    >>> "145572" in texts[0], texts[1]
    (False, 'No number here.')
    >>> privatizer.guarantee().epsilon
    5.0
    >>> Privatizer(policy="digits", mechanism="redact").privatize(["My ID is 145572."])
    ['My ID is [NUMBER].']
    """

    policy: PolicyLike = "pii"
    mechanism: str | PointMechanism | Mechanism | StretchMechanism | DocumentMechanism = AUTO
    by_type: Mapping[str, object] = field(default_factory=dict)
    epsilon: float | None = None
    levels: Sequence[tuple[float, PolicyLike]] = ()
    vectors: Vectors = None
    unknown: str | None = None
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
        counted = Tally.of(results)
        # What is stated speaks of all that this object has privatized, in any thread.
        with _COUNTING:
            self.tally_ = counted
            self._so_far = getattr(self, "_so_far", Tally())
            self._so_far.add(counted)
        remaining = iter(results)
        return like(texts, [None if text is None else next(remaining).text for text in items])

    def __call__(self, text: str) -> str:
        """One text, so that ``series.map(privatizer)`` works; many at once are faster."""
        if not isinstance(text, str):
            raise BadInput("this is not a text; privatize() takes many")
        return str(self.privatize([text])[0])

    def __repr__(self) -> str:
        # A pattern, a word list, a key or a seed must not turn up in logs.
        given = self.policy if isinstance(self.policy, (list, tuple)) else [self.policy]
        names = [getattr(one, "name", None) or str(one).partition(":")[0] for one in given]
        policy = ", ".join(map(str, names))
        chosen = "levels" if self.levels else policy
        return f"Privatizer(policy={chosen!r}, mechanism={name_of(self.mechanism)!r})"

    def guarantee(self) -> Guarantee:
        """What is proven, counting what all calls of ``privatize`` left uncovered."""
        tally: Tally | None = getattr(self, "_so_far", None)
        # In memory nothing says which texts belong together: each of them is a document.
        guarantee = telling_missing(state(self.selective, tally).of_documents(TEXT), self.selective)
        return guarantee if self.randomness.for_release else guarantee.reproducible()

    def check(self) -> None:
        """Build all that is needed, so that what is wrong with the settings is said."""
        if isinstance(self.selective, Levels):
            self.selective.guarantee()
        else:
            self.selective.check()

    def column(self, name: str) -> ColumnMapper:
        """For ``dataset.map(privatizer.column("text"), batched=True)``."""
        return ColumnMapper(self, name)

    def frames(self, *names: str) -> FrameMapper:
        """For ``table.mapInPandas(privatizer.frames("text"), table.schema)`` of Spark, and
        ``table.map_partitions(privatizer.frames("text"))`` of Dask.
        """
        return FrameMapper(self, names)

    @cached_property
    def selective(self) -> Selective | Levels:
        """Policies and mechanisms, built at the first use."""
        if self.levels:
            return self._levels()
        policy = _policy(self.policy)
        check_types(self.by_type, policy, also=(OTHER,))
        return Selective(policy=policy, mechanism=self._mechanism())

    @property
    def key(self) -> Key | None:
        """The key that all workers of a run must have in common, if there is one."""
        return key_of(self.selective.mechanism) if isinstance(self.selective, Selective) else None

    @cached_property
    def identity(self) -> Identity | None:
        """All that decides what comes out, to be digested and never shown; none if it is unknown.

        Names and objects with the same settings have the same one.
        """
        found = [one for _, one in self._identities()]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        parts = (versions(), self.seed, *(one.parts for one in known))
        return Identity(parts, self.seed is not None or any(one.private for one in known))

    @property
    def unidentified(self) -> str | None:
        """What does not say what it is, so that nobody could tell whether it is the same."""
        return next((who for who, found in self._identities() if found is None), None)

    @property
    def resumable(self) -> bool:
        """Whether another run could go on where this one stops, and be known to be the same."""
        return (self.key is None or self.key.lasts) and self.identity is not None

    @cached_property
    def randomness(self) -> Randomness:
        """Secure, unless a seed was given."""
        return Randomness.secure() if self.seed is None else Randomness.reproducible(self.seed)

    def public_settings(self) -> dict[str, Any]:
        """What a side file may show: names and numbers, never a pattern, a word list or a key."""
        return public_settings(self)

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
        """A changed copy of the arguments; what was built of the old ones is forgotten.

        What is stated from then on is about later calls: ask for the guarantee of earlier ones
        before. A copy made by pickling states nothing about the calls of its original either.
        """
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

    def _identities(self) -> Iterator[tuple[str, Identity | None]]:
        """Each policy and mechanism, how it is called and what it is."""
        chosen = self.selective
        for one in chosen.levels if isinstance(chosen, Levels) else [chosen]:
            yield f"the policy {one.policy.name!r}", identity_of(one.policy)
            yield f"the mechanism {name_of(self.mechanism)!r}", mechanism_identity(one.mechanism)

    def _next_stream(self) -> Randomness:
        with _COUNTING:
            self._calls = calls = getattr(self, "_calls", -1) + 1
        return self.randomness.stream(calls)

    def _levels(self) -> Levels:
        if self.epsilon is not None or self.policy != "pii":
            raise InvalidArgument(
                "levels say both what is selected and how strongly: leave out policy and epsilon"
            )
        if self.by_type:
            raise InvalidArgument("levels are for words; leave out by_type")
        if not isinstance(self.mechanism, str):
            raise InvalidArgument(
                "levels need the name of a word mechanism, so that one can be built for each level"
            )
        together: dict[float, list[Policy]] = {}
        for epsilon, policy in _pairs(self.levels):
            together.setdefault(positive("epsilon", epsilon), []).append(_policy(policy))
        space = self._space()
        return Levels(
            levels=tuple(
                Level(
                    policy=policies[0] if len(policies) == 1 else Union(tuple(policies)),
                    mechanism=self._over_words(_word_mechanism(self.mechanism), space, epsilon),
                )
                for epsilon, policies in together.items()
            )
        )

    def _mechanism(self) -> Mechanism | StretchMechanism | DocumentMechanism | ByType:
        """What replaces; with a table by type, what replaces each type."""
        refuse_class("mechanism", self.mechanism)
        if self.mechanism == AUTO:
            return self._keyed(self._auto())
        if self._rewrites:
            return self._of_documents()
        found = self._one_mechanism()
        if not self.by_type:
            return found
        return self._keyed(change(ByType(parts=(), otherwise=found), self.by_type))

    @property
    def _rewrites(self) -> bool:
        if isinstance(self.mechanism, str):
            return rewrites_documents(self.mechanism)
        return isinstance(self.mechanism, DocumentMechanism)

    def _of_documents(self) -> DocumentMechanism:
        """What rewrites whole documents; there are no types in it, and no words."""
        if self.by_type:
            raise InvalidArgument(
                f"{name_of(self.mechanism)!r} writes a new text in the place of a document, which "
                "has no types any more: leave out by_type"
            )
        given = self._of_stretches()
        if isinstance(self.mechanism, str):
            return build_document_mechanism(self.mechanism, given)
        if given:
            raise InvalidArgument("an object brings its own level and settings: leave them out")
        assert isinstance(self.mechanism, DocumentMechanism)  # noqa: S101
        return self.mechanism

    def _auto(self) -> ByType:
        recipe: Auto = configure(Auto, self.settings)
        words: dict[str, Mechanism] = {}
        if self.epsilon is not None:
            epsilon = positive("epsilon", self.epsilon)
            words = {
                language: self._over_words(WORDS, space, epsilon, "shape")
                for language, space in self._spaces().items()
            }
        elif self._about_words:
            raise InvalidArgument(
                "vectors, unknown, case and search are for words without a type, which are masked "
                "as long as there is no epsilon: give `epsilon=5`, or leave them out"
            )
        return recipe.table(words, self.by_type)

    @property
    def _about_words(self) -> bool:
        """Whether anything was given that only word mechanisms understand."""
        given = (self.vectors, self.unknown, self.case, self.search)
        return given != (None, None, "public", "exact")

    def auto_settings(self) -> dict[str, Any]:
        """The settings of the table by type, as far as they are public."""
        if self.mechanism != AUTO:
            return {}
        recipe = configure(Auto, self.settings)
        shown = {one.name: getattr(recipe, one.name) for one in fields(recipe) if one.repr}
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in shown.items()
        }

    def _one_mechanism(self) -> Mechanism | StretchMechanism:
        if isinstance(self.mechanism, str):
            if replaces_stretches(self.mechanism):
                made = self._keyed(build_stretch_mechanism(self.mechanism, self._of_stretches()))
                assert isinstance(made, StretchMechanism)  # noqa: S101
                return made
            if self.epsilon is None:
                raise InvalidArgument(
                    "epsilon is missing: no level fits every space; "
                    "`sfumato.explain(TEXT, epsilon=5)` shows what a level does to words"
                )
            epsilon = positive("epsilon", self.epsilon)
            return self._over_words(self.mechanism, self._space(), epsilon)
        if isinstance(self.mechanism, PointMechanism):
            unknown = self.unknown or "centroid"
            return OverVocabulary(points=self.mechanism, unknown=unknown, case=self.case)
        if isinstance(self.mechanism, StretchMechanism):
            self._of_stretches()
            made = self._keyed(self.mechanism)
            assert isinstance(made, StretchMechanism)  # noqa: S101
            return made
        if isinstance(self.mechanism, Mechanism):
            return self.mechanism
        raise InvalidArgument("mechanism must be a name or a mechanism")

    def _over_words(
        self, name: str, space: Space, epsilon: float, unknown: str = "centroid"
    ) -> OverVocabulary:
        # The settings are those of the table where the mechanism is part of one.
        settings = {} if self.mechanism == AUTO else self.settings
        points = build_mechanism(name, space=space, epsilon=epsilon, settings=settings)
        return OverVocabulary(points=points, unknown=self.unknown or unknown, case=self.case)

    def _of_stretches(self) -> Mapping[str, object]:
        """The settings of what replaces stretches; what only words understand is refused."""
        name = name_of(self.mechanism)
        component = type(self.mechanism)
        if isinstance(self.mechanism, str):
            component = find("mechanisms", self.mechanism).load()
        has_level = "epsilon" in settings_of(component)
        if self.epsilon is not None and not has_level:
            raise InvalidArgument(f"{name!r} takes no epsilon: there is no level to choose")
        if self._about_words:
            raise InvalidArgument(
                f"{name!r} uses no word vectors: vectors, unknown, case and search do not apply"
            )
        level = {} if self.epsilon is None else {"epsilon": self.epsilon}
        return {**self.settings, **level}

    def _keyed(
        self, mechanism: Mechanism | StretchMechanism | ByType
    ) -> Mechanism | StretchMechanism | DocumentMechanism | ByType:
        """All under one key, which with a seed comes from the seed."""
        key = key_of(mechanism)
        if key is None:
            return mechanism
        if self.seed is None:
            return under_key(mechanism, key) if isinstance(mechanism, ByType) else mechanism
        if key.origin == "file":
            raise InvalidArgument("the key comes from key_file or from the seed: give one of them")
        # A stream of its own: those with one number are for the noise of calls and chunks.
        return under_key(mechanism, Key.from_seed(self.randomness.stream(0).stream(0)))

    def _space(self) -> Space:
        if isinstance(self.vectors, Mapping):
            raise InvalidArgument(
                "vectors by language are for `mechanism='auto'`, which knows the language of each "
                "document; here there is one space for all"
            )
        return self._load(self.vectors)

    def _spaces(self) -> dict[str, Space]:
        """The space for each language, "" being any; English is first, and has the embedded one."""
        if not isinstance(self.vectors, Mapping):
            space = self._space()
            return {ENGLISH if space.name == NAME else "": space}
        for language in self.vectors:
            if not isinstance(language, str) or not _CODE.fullmatch(language):
                raise InvalidArgument(
                    "vectors by language go by the code of the language: {'de': FILE, 'es': FILE}"
                )
        named = {ENGLISH: None, **self.vectors}
        return {language: self._load(vectors) for language, vectors in named.items()}

    def _load(self, vectors: str | Space | None) -> Space:
        one_of("search", self.search, SEARCHES)
        if vectors is None or vectors == NAME:
            space = default_space()
        else:
            space = load_vectors(vectors) if isinstance(vectors, str) else vectors
        return space if self.search == "exact" else replace(space, search_kind=self.search)


def _word_mechanism(name: str) -> str:
    """Levels are for words, so the default by type stands for the word mechanism in it."""
    return WORDS if name == AUTO else name


def _policy(policy: object) -> Policy:
    from sfumato.policies.parsing import combine_policies

    if isinstance(policy, (str, Policy)):
        return combine_policies([policy])
    if isinstance(policy, (list, tuple)) and all(isinstance(o, (str, Policy)) for o in policy):
        return combine_policies(policy)
    raise InvalidArgument("policy must be a name, several names, or a policy")


def _pairs(levels: object) -> list[tuple[object, object]]:
    pairs = list(levels) if isinstance(levels, (list, tuple)) else []
    if not pairs or not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in pairs):
        raise InvalidArgument("levels are pairs of an epsilon and a policy, such as (2, 'pii')")
    return [(epsilon, policy) for epsilon, policy in pairs]


def _document(text: str, place: int) -> Document:
    try:
        return Document(text, place=f"item {place}")
    except UndecodableText as error:
        raise UndecodableText(f"item {place}: {error}") from None
