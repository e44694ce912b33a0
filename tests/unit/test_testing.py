"""The checks for authors of components: each accepts ours, and rejects what is sabotaged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.attacks.attack import Inputs
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp, no_guarantee
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.redact import Redact
from sfumato.policies.identity import Identity
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores
from sfumato.studies.measures.measure import MeasureReading, Specimen, configure_measure
from sfumato.testing import (
    check_attack,
    check_generator,
    check_measure,
    check_mechanism,
    check_policy,
)
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans, Stretch
from sfumato.vectors.space import Space

Points = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Good(Exponential):
    """Somebody's own, which draws as ours does."""

    def drawn(self, points: Points, randomness: Randomness) -> Points:
        return Exponential.privatize(self, points, randomness)


@dataclass(frozen=True, kw_only=True)
class Constant(Good):
    def privatize(self, points: Points, randomness: Randomness) -> Points:  # noqa: ARG002
        return points * 0


class Unknown(Good):
    def privatize(self, points: Points, randomness: Randomness) -> Points:
        return np.where(points == len(self.space), points, self.drawn(points, randomness))


class Short(Good):
    def privatize(self, points: Points, randomness: Randomness) -> Points:
        return self.drawn(points, randomness)[1:]


class Overwriting(Good):
    def privatize(self, points: Points, randomness: Randomness) -> Points:
        points[:] = self.drawn(points, randomness)
        return points


class Once(Good):
    def privatize(self, points: Points, randomness: Randomness) -> Points:
        return np.repeat(self.drawn(points[:1], randomness), len(points))


class Repeating(Good):
    def privatize(self, points: Points, randomness: Randomness) -> Points:
        return np.resize(self.drawn(points[:50], randomness), len(points))


class Elsewhere(Good):
    def privatize(self, points: Points, randomness: Randomness) -> Points:  # noqa: ARG002
        return self.drawn(points, Randomness.secure())


class Seeded(Good):
    def privatize(self, points: Points, randomness: Randomness) -> Points:  # noqa: ARG002
        return self.drawn(points, Randomness.reproducible(7))


class Boasting(Good):
    def guarantee(self) -> Guarantee:
        return metric_dp(epsilon=self.epsilon / 2, metric=self.space.metric)


@dataclass(frozen=True, kw_only=True)
class AnyLevel(Good):
    def __post_init__(self) -> None:
        pass

    def guarantee(self) -> Guarantee:
        return metric_dp(epsilon=1.0, metric=self.space.metric)


@dataclass(frozen=True, kw_only=True)
class Nameless(Good):
    helper: Any = field(default_factory=object)


class Plain:
    """No dataclass and no identity: nobody can tell two of them apart."""

    def __init__(self, space: Space, epsilon: float) -> None:
        self.inner = Exponential(space=space, epsilon=epsilon)
        self.space = space

    def guarantee(self) -> Guarantee:
        return self.inner.guarantee()

    def privatize(self, points: Points, randomness: Randomness) -> Points:
        return self.inner.privatize(points, randomness)


@dataclass(frozen=True)
class Looking(Redact):
    """Claims to be independent of what it shows the first letter of."""

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        return [f"{one.text[:1]}." for one in stretches]


@dataclass(frozen=True)
class Releasable(Redact):
    def guarantee(self) -> Guarantee:
        return replace(no_guarantee(unit="stretch").leaking("all of it"), for_release=True)


@dataclass(frozen=True)
class Silent(Redact):
    def guarantee(self) -> Guarantee:
        return no_guarantee(unit="stretch")


@dataclass(frozen=True)
class Unprintable(Redact):
    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        return ["\x1b"] * len(stretches)


@pytest.mark.parametrize("kind", [Good, Constant, Exponential, Redact, "laplace"])
def test_mechanisms_that_do_what_they_must_are_accepted(kind: Any) -> None:
    check_mechanism(kind)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Unknown, "never the unknown point"),
        (Short, "one output for each point"),
        (Overwriting, "must not change the points"),
        (Once, "draws once for all words"),
        (Repeating, "repeats its noise"),
        (Elsewhere, "another source of noise"),
        (Seeded, "a seed of its own"),
        (Boasting, "the level that it was given"),
        (AnyLevel, "must refuse epsilon=0"),
        (Nameless, "cannot be told from others"),
        (Plain, "cannot be told from others"),
        (Looking, "depends on the text"),
        (Releasable, "not for release"),
        (Silent, r"what its output shows"),
        (Unprintable, "what can be printed"),
    ],
)
def test_twins_of_mechanisms_are_rejected(kind: type[Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_mechanism(kind)


@dataclass(frozen=True)
class Codes:
    """Words that begin with some letters."""

    letters: str = field(default="QX-", repr=False)
    name: ClassVar[str] = "codes"
    reason: ClassVar[str] = "it begins like a code"

    def find(self, document: Document) -> Spans:
        place = document.text.find(self.letters)
        if place < 0:
            return Spans()
        end = next((i for i in range(place, len(document.text)) if document.text[i] == " "), None)
        stop = len(document.text) if end is None else end
        return Spans((Span(place, stop, "CODE", self.name, self.say(document.text[place:stop])),))

    def say(self, found: str) -> str:  # noqa: ARG002
        return self.reason

    def identity(self) -> Identity:
        return Identity((self.name, self.letters), private=True)


class Quoting(Codes):
    def say(self, found: str) -> str:
        return f"it looks like {found}"


class Outside(Codes):
    def find(self, document: Document) -> Spans:
        return Spans((Span(0, len(document.text) + 3, "CODE", "codes", "all"),))


class Unreasoned(Codes):
    reason: ClassVar[str] = ""


class Remembering(Codes):
    seen: ClassVar[set[str]] = set()

    def find(self, document: Document) -> Spans:
        if document.text in self.seen:
            return Spans()
        self.seen.add(document.text)
        return super().find(document)


class Careless(Codes):
    def find_many(self, documents: Sequence[Document]) -> list[Spans]:
        return [Spans() for _ in documents]


@dataclass(frozen=True)
class Showing(Codes):
    letters: str = "QX-secret"


class Anonymous(Codes):
    identity = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Adding(Codes):
    """What it inherits does not speak of its endings."""

    endings: str = ""


class Forgetful(Codes):
    def __reduce__(self) -> Any:
        return type(self), ("other",)


TEXT = "the code QX-secret12345 here"


def test_policies_that_do_what_they_must_are_accepted() -> None:
    check_policy(Codes(), [TEXT])
    check_policy("digits", ["Room 12"])
    check_policy(r"regex:QX-\w+", [TEXT])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Quoting(), "quotes the text"),
        (Outside(), "outside the text"),
        (Unreasoned(), "a label, a rule and a reason"),
        (Remembering(), "must find the same again"),
        (Careless(), "find_many must find what find finds"),
        (Showing(), "what its identity calls private"),
        (Anonymous(), "cannot be told from others"),
        (Adding(), "tells all that it holds"),
        (Forgetful(), "a copy of Forgetful"),
        (Codes(letters="nowhere"), "nothing was checked"),
        (replace(Codes(), letters="nowhere"), "nothing was checked"),
    ],
)
def test_twins_of_policies_are_rejected(policy: Codes, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_policy(policy, [TEXT])


@dataclass(frozen=True)
class Counts:
    """How many documents the attacker can count."""

    name: ClassVar[str] = "counts"
    target: ClassVar[str] = "text"

    def missing(self, inputs: Inputs) -> str | None:
        return None if inputs.target.is_file() else f"there is no file {inputs.target}"

    def opened(self, inputs: Inputs) -> tuple[Any, Any]:
        return inputs.documents(inputs.target), None

    def score(self, target: Any, data: Any, randomness: Randomness, done: Any = None) -> Scores:  # noqa: ARG002
        share = float(randomness.uniform(1)[0])
        return self.changed(
            Scores(
                attack=self.name,
                knowledge="The attacker can count.",
                figures=(Measured("share", share, 0.0, 1.0, len(target)),),
                chance={"share": 0.5},
                control=Control(what="no text", figures=(Measured("share", 0.5, 0.0, 1.0, 1),)),
            ),
            target,
        )

    def changed(self, scores: Scores, target: Any) -> Scores:  # noqa: ARG002
        return scores


class Leaking(Counts):
    def changed(self, scores: Scores, target: Any) -> Scores:
        return replace(scores, details={"worst": target[0].text})


class Uncontrolled(Counts):
    def changed(self, scores: Scores, target: Any) -> Scores:  # noqa: ARG002
        return replace(scores, control=Control(what="nothing", figures=()))


class Unsure(Counts):
    def changed(self, scores: Scores, target: Any) -> Scores:  # noqa: ARG002
        return replace(scores, figures=(Measured("share", 2.0, 0.0, 1.0, 1),))


class Erratic(Counts):
    def score(self, target: Any, data: Any, randomness: Randomness, done: Any = None) -> Scores:  # noqa: ARG002
        return super().score(target, data, Randomness.secure(), done)


class Blind(Counts):
    def missing(self, inputs: Inputs) -> str | None:  # noqa: ARG002
        return None


class Wordless(Counts):
    def changed(self, scores: Scores, target: Any) -> Scores:  # noqa: ARG002
        return replace(scores, knowledge="")


class Renamed(Counts):
    def changed(self, scores: Scores, target: Any) -> Scores:  # noqa: ARG002
        return replace(scores, attack="other")


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    path = tmp_path / "soft.jsonl"
    path.write_text(json.dumps({"text": "a text that is long enough to be known again"}) + "\n")
    return Inputs(target=path, originals=path)


def test_an_attack_that_does_what_it_must_is_accepted(inputs: Inputs) -> None:
    check_attack(Counts(), inputs)


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (Leaking(), "a private text into its scores"),
        (Uncontrolled(), "needs a control"),
        (Unsure(), "inside its interval"),
        (Erratic(), "the same figures with the same randomness"),
        (Blind(), "that the target is not there"),
        (Wordless(), "what the attacker knows"),
        (Renamed(), "must bear its name"),
    ],
)
def test_twins_of_attacks_are_rejected(inputs: Inputs, attack: Counts, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_attack(attack, inputs)


@dataclass(frozen=True)
class _Letters:
    """A measure of somebody's own: how many letters were kept."""

    name: ClassVar[str] = "letters"
    of: ClassVar[str] = "text"
    role: ClassVar[str] = "utility"
    better: ClassVar[Mapping[str, str]] = {"letters": "higher"}

    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        del randomness
        count = sum(len(one.text) for one in specimen.documents)
        return MeasureReading(figures=[Measured("letters", float(count), None, None, 1)])


class _WithoutMeaning(_Letters):
    better: ClassVar[Mapping[str, str]] = {}


class _OfSomethingElse(_Letters):
    of: ClassVar[str] = "dream"


class _Silent(_Letters):
    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        del specimen, randomness
        return MeasureReading()


class _ByChance(_Letters):
    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        del specimen, randomness
        value = Randomness.secure().uniform(1)[0]
        return MeasureReading(figures=[Measured("letters", float(value), None, None, 1)])


class _Telling(_Letters):
    def measure(self, specimen: Specimen, randomness: Randomness) -> MeasureReading:
        found = super().measure(specimen, randomness)
        return replace(found, details={"example": specimen.documents[0].text})


def test_a_measure_of_ones_own_passes_and_so_do_ours() -> None:
    check_measure(_Letters())
    for name in ("text", "readability"):
        check_measure(configure_measure(name, {}))


@pytest.mark.parametrize(
    ("twin", "said"),
    [
        (_WithoutMeaning(), "which way is better"),
        (_OfSomethingElse(), "'text', 'model', 'mechanism' or"),
        (_Silent(), "does not say why"),
        (_ByChance(), "same randomness"),
        (_Telling(), "private text"),
    ],
)
def test_twins_of_a_measure_are_rejected(twin: _Letters, said: str) -> None:
    with pytest.raises((AssertionError, InvalidArgument), match=said):
        check_measure(twin)


# --- generators ----------------------------------------------------------------------------------


class Trains:
    """A generator that does what it must."""

    def invent(self, label: str, count: int, randomness: Randomness) -> list[str]:
        return [f"{label} train {n}" for n in randomness.integers(99, count).tolist()]

    def vary(
        self, texts: Sequence[str], label: str, count: int, randomness: Randomness
    ) -> list[str]:
        del label, randomness
        return [f"{one} again" for one in texts][:count]


class OwnChance(Trains):
    def invent(self, label: str, count: int, randomness: Randomness) -> list[str]:
        del randomness
        return super().invent(label, count, Randomness.secure())


class OwnVariations(Trains):
    def vary(self, texts: Sequence[str], *_: Any) -> list[str]:
        return [f"{one} {Randomness.secure().integers(10**9, 1)[0]}" for one in texts]


class Remembers(Trains):
    def __init__(self) -> None:
        self.shown: list[str] = []

    def invent(self, label: str, count: int, randomness: Randomness) -> list[str]:
        return [*super().invent(label, count, randomness), *self.shown]

    def vary(self, texts: Sequence[str], *given: Any) -> list[str]:
        self.shown = list(texts)
        return super().vary(texts, *given)


class Empties(Trains):
    def vary(self, texts: Sequence[str], *given: Any) -> list[str]:
        found = super().vary(texts, *given)
        cast("list[str]", texts).clear()
        return found


class SameText(Trains):
    def invent(self, *_: Any) -> list[str]:
        return ["the same"] * 5


class NoList(Trains):
    def vary(self, *_: Any) -> Any:
        return None


class Labeled(Trains):
    knows_labels = False


class TellsPath(Trains):
    def public_facts(self) -> dict[str, Any]:
        return {"file": "/home/ada/secret.txt"}


class TellsObject(Trains):
    def public_facts(self) -> dict[str, Any]:
        return {"file": object()}


def test_generators_that_do_what_they_must_are_accepted(tmp_path: Path) -> None:
    check_generator(Trains())
    pool = tmp_path / "pool.txt"
    pool.write_text("the train was late\nthe bus was late\na good film\nthe music was bad\n")
    check_generator("pool", settings={"pool": str(pool)})
    with pytest.raises(InvalidArgument, match="object is no generator"):
        check_generator(object())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("twin", "said"),
    [
        (OwnChance(), "must invent the same with the same randomness"),
        (OwnVariations(), "must vary alike"),
        (Remembers(), "it keeps texts"),
        (Empties(), "leave the texts that it varies as they were"),
        (SameText(), "two different texts at least"),
        (NoList(), "NoList.vary must give a list of texts"),
        (Labeled(), "knows no labels"),
        (TellsPath(), "names a path of this machine"),
        (TellsObject(), "what JSON can spell"),
    ],
)
def test_twins_of_generators_are_rejected(twin: Trains, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_generator(twin)
