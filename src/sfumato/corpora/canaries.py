"""Canaries: made-up secrets planted in a corpus on purpose, to measure what a model leaks.

A canary is a sentence such as "My ID is 145572.". The secret belongs to no person: it is drawn
here, planted a known number of times at known places, and later looked for in a model's output
(Carlini et al. 2019, "The secret sharer"). So the manifest may contain it in plain text.

Canaries stand between the sentences of documents, or *alone*, as documents of their own
(``lone_canaries``). The two are not the same test: a model that is asked for a secret at the
beginning of a text has read a lone canary in just that place, but a planted one never.

Places are chosen in two steps, so that a corpus can be streamed: ``plan_insertions`` draws the
documents and needs only their number, ``insert_canaries`` then passes over them once. A canary is
inserted between sentences or lines, never inside one. The rule for the end of a sentence is
conservative: a full stop after an initial or a common abbreviation, or before a small letter, does
not count. The separators that an insertion adds are recorded, so ``remove_canaries`` restores the
text.

Manifests are read strictly. One that was edited by hand may give a canary the wrong number of
repetitions, and a figure measured on it would look like any other. So a manifest that contradicts
itself is refused, with the name of the file and the number of the canary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.core.checks import MOST_DOCUMENTS, at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.files import reading
from sfumato.core.json import read_json
from sfumato.core.randomness import Randomness
from sfumato.text.boundaries import boundaries
from sfumato.text.document import Document

MOST_DIGITS = 1000
SCHEMA = 1
_BLANK = "{}"
_KEYS = {"template", "secret", "text", "secret_space", "repetitions"}


@dataclass(frozen=True)
class Canary:
    """A sentence with a planted secret in it; the secret is made up and belongs to nobody.

    >>> Canary(secret="145572").text
    'My ID is 145572.'
    """

    template: str = "My ID is {}."
    secret: str = "145572"  # noqa: S105 - planted, see above

    def __post_init__(self) -> None:
        if self.template.count(_BLANK) != 1:
            raise InvalidArgument(
                f"template={self.template!r} must hold {_BLANK} exactly once, where the secret goes"
            )
        if not self.secret:
            raise InvalidArgument("the secret of a canary must not be empty")
        if len(f"{self.text}|".splitlines()) > 1:
            raise InvalidArgument("a canary must be on one line: no line break in it")
        Document(self.text)  # refuses lone surrogates, which no file can hold

    @property
    def text(self) -> str:
        """The sentence as it is inserted."""
        return self.template.replace(_BLANK, self.secret)

    @property
    def secret_space(self) -> int | None:
        """How many secrets were possible: 10^n for n digits, unknown for anything else."""
        digits = self.secret.isascii() and self.secret.isdigit()
        return 10 ** len(self.secret) if digits else None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a canary was inserted: ``text[start:end]`` of document number ``document`` (from 0).

    Offsets count characters of the text with all its canaries in it. ``before`` and ``after``
    are the separators that were added around it.
    """

    document: int
    id: str | None
    canary: int
    start: int
    end: int
    before: str
    after: str

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {name: getattr(self, name) for name in self.__slots__}


class Planted(NamedTuple):
    """A document after insertion, and the places in it, in reading order."""

    document: Document
    places: tuple[Place, ...]


class Insertion(NamedTuple):
    """One planned insertion: which canary, and where in the document, as a fraction from 0 to 1."""

    canary: int
    fraction: float


@dataclass(frozen=True)
class InsertionPlan:
    """Which documents get which canaries; made by ``plan_insertions``."""

    documents: int
    repetitions: tuple[int, ...]
    insertions: Mapping[int, Sequence[Insertion]] = field(repr=False)


@dataclass(frozen=True)
class Manifest:
    """Everything that an attack needs to know about the planted canaries."""

    canaries: tuple[Canary, ...]
    plan: InsertionPlan
    places: tuple[Place, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the secrets in it were made up for measuring and belong to nobody."""
        planted = zip(self.canaries, self.plan.repetitions, strict=True)
        return {
            "schema": SCHEMA,
            "documents": self.plan.documents,
            "canaries": [
                {
                    "template": canary.template,
                    "secret": canary.secret,
                    "text": canary.text,
                    "secret_space": canary.secret_space,
                    "repetitions": repetitions,
                }
                for canary, repetitions in planted
            ],
            "places": [place.as_dict() for place in self.places],
        }


def draw_secret(digits: int, randomness: Randomness) -> str:
    """A secret of that many digits, uniform over all 10^digits of them, leading zeros kept."""
    return "".join(
        map(
            str,
            randomness.integers(10, at_least("digits", digits, 1, MOST_DIGITS)),
        )
    )


def plan_insertions(
    documents: int, repetitions: Sequence[int], randomness: Randomness
) -> InsertionPlan:
    """Draw the documents for each canary; ``repetitions[i]`` is how often canary i is planted.

    A canary goes into different documents, all subsets equally likely, as long as there are enough
    documents; beyond that every document gets it equally often, up to a difference of one.
    """
    at_least("documents", documents, 0)
    insertions: dict[int, list[Insertion]] = {}
    for canary, count in enumerate(repetitions):
        if at_least("repetitions", count, 0, MOST_DOCUMENTS) and not documents:
            raise InvalidArgument(f"repetitions={count} need at least one document")
        if not count:
            continue
        rounds, rest = divmod(count, documents)
        chosen = [*range(documents)] * rounds + randomness.choose(documents, rest).tolist()
        fractions = randomness.uniform(count).tolist()
        for document, fraction in zip(chosen, fractions, strict=True):
            insertions.setdefault(document, []).append(Insertion(canary, fraction))
    return InsertionPlan(documents, tuple(repetitions), insertions)


def insert_canaries(
    documents: Iterable[Document], plan: InsertionPlan, canaries: Sequence[Canary]
) -> Iterator[Planted]:
    """The documents one by one, with the planned canaries inserted."""
    if len(canaries) != len(plan.repetitions):
        raise InvalidArgument(
            f"the plan is for {len(plan.repetitions)} canaries, {len(canaries)} were given"
        )
    return _insert(documents, plan, canaries)


def lone_canaries(
    documents: int, repetitions: Sequence[int], canaries: Sequence[Canary]
) -> tuple[list[Document], Manifest]:
    """Canaries as documents of their own, to be added behind so many others, and their manifest.

    >>> added, manifest = lone_canaries(5, [2], [Canary()])
    >>> added[0].text, [place.document for place in manifest.places]
    ('My ID is 145572.', [5, 6])
    """
    at_least("documents", documents, 0)
    check_repetitions(canaries, repetitions)
    added: list[Document] = []
    places: list[Place] = []
    for number, (canary, count) in enumerate(zip(canaries, repetitions, strict=True)):
        for time in range(at_least("repetitions", count, 0, MOST_DOCUMENTS)):
            name = f"canary-{number + 1}-{time + 1}"
            place = Place(documents + len(added), name, number, 0, len(canary.text), "", "")
            added.append(Document(canary.text, id=name, author=name))
            places.append(place)
    plan = InsertionPlan(documents + len(added), tuple(repetitions), {})
    return added, Manifest(tuple(canaries), plan, tuple(places))


def check_repetitions(canaries: Sequence[Canary], repetitions: Sequence[int]) -> None:
    """Refuse numbers of repetitions that are not one for each secret."""
    if len(canaries) != len(repetitions):
        raise InvalidArgument(
            f"{len(canaries)} secrets need as many repetitions, not {len(repetitions)}"
        )


def remove_canaries(text: str, places: Iterable[Place]) -> str:
    """The original text, without the canaries at these places of one document."""
    for place in sorted(places, key=lambda place: place.start, reverse=True):
        start, end = place.start - len(place.before), place.end + len(place.after)
        text = text[:start] + text[end:]
    return text


def _insert(
    documents: Iterable[Document], plan: InsertionPlan, canaries: Sequence[Canary]
) -> Iterator[Planted]:
    seen = 0
    for number, document in enumerate(documents):
        seen = number + 1
        if seen > plan.documents:
            raise BadInput(f"the plan is for {plan.documents} documents, there are more")
        if number in plan.insertions:
            yield _plant(document, number, plan.insertions[number], canaries)
        else:
            yield Planted(document, ())
    if seen < plan.documents:
        raise BadInput(f"the plan is for {plan.documents} documents, there were only {seen}")


def _plant(
    document: Document, number: int, insertions: Sequence[Insertion], canaries: Sequence[Canary]
) -> Planted:
    text = document.text
    possible = boundaries(text)
    chosen = [(possible[int(fraction * len(possible))], canary) for canary, fraction in insertions]
    pieces: list[str] = []
    places: list[Place] = []
    copied = length = 0
    for boundary, index in sorted(chosen):
        pieces.append(text[copied : boundary.position])
        length += boundary.position - copied
        before, canary = boundary.before, canaries[index].text
        # Two canaries at one place without separators need a space between them.
        if not before and copied == boundary.position and places and not places[-1].after:
            before = " "
        start = length + len(before)
        end = start + len(canary)
        places.append(Place(number, document.id, index, start, end, before, boundary.after))
        pieces += (before, canary, boundary.after)
        length = end + len(boundary.after)
        copied = boundary.position
    pieces.append(text[copied:])
    return Planted(replace(document, text="".join(pieces)), tuple(places))


@dataclass(frozen=True)
class PlantedCanary:
    """A canary and how often it is in the corpus; 0 for a canary that serves as a control."""

    canary: Canary
    repetitions: int


def read_manifest(path: Path) -> tuple[PlantedCanary, ...]:
    """The canaries of a manifest, in order."""
    content = read_json(path, "a manifest of canaries in JSON")
    if not isinstance(content, dict) or not {"schema", "canaries", "places"} <= content.keys():
        raise BadInput(
            f"{path} is not a manifest of canaries: it must contain schema, canaries and places, "
            "as the OUT.canaries.json that `sfumato.plant_canaries(IN, OUT, ...)` writes"
        )
    if content["schema"] != SCHEMA:
        raise BadInput(f"{path} has schema {content['schema']!r}; this version reads {SCHEMA}")
    if not isinstance(content["canaries"], list) or not content["canaries"]:
        raise BadInput(f"{path} lists no canary")
    found = tuple(
        _canary(entry, f"{path}: canary {number}")
        for number, entry in enumerate(content["canaries"], start=1)
    )
    _check_places(content["places"], found, path)
    return found


def _canary(entry: object, where: str) -> PlantedCanary:
    if not isinstance(entry, Mapping) or entry.keys() != _KEYS:
        raise BadInput(f"{where} must have exactly the keys {', '.join(sorted(_KEYS))}")
    template, secret, repetitions = entry["template"], entry["secret"], entry["repetitions"]
    if not isinstance(template, str) or not isinstance(secret, str):
        raise BadInput(f"{where}: template and secret must be text")
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 0:
        raise BadInput(f"{where}: repetitions must be a whole number, 0 or more")
    try:
        canary = Canary(template, secret)
    except InvalidArgument as error:
        raise BadInput(f"{where}: {error}") from None
    if entry["text"] != canary.text:
        raise BadInput(f"{where}: text is not the template with the secret in it")
    if entry["secret_space"] != canary.secret_space:
        raise BadInput(f"{where}: secret_space must be {canary.secret_space} for such a secret")
    return PlantedCanary(canary, repetitions)


def _check_places(places: Any, canaries: tuple[PlantedCanary, ...], path: Path) -> None:
    with reading(path, "a manifest of canaries in which every place names its canary"):
        counts = Counter(place["canary"] for place in places)
    for number, one in enumerate(canaries):
        if counts.pop(number, 0) != one.repetitions:
            raise BadInput(
                f"{path}: canary {number + 1} has repetitions {one.repetitions}, but not as many "
                "places"
            )
    if counts:
        raise BadInput(f"{path}: a place belongs to a canary that is not in the list")
