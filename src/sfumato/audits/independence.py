"""Put to the test that a replacement does not depend on what stood there.

Claim
    For documents whose stretches have the same types, and the same forms where the mechanism says
    that forms show, every event is exactly as likely for one document as for another: a bound of 0.

How it is tested
    Public documents of one type go through the mechanism, one call for each draw. Each holds a
    value, another one and the first again, or a name and its parts, so that a mechanism that
    remembers within a document is tested as it is used. Features of the outputs (letters, lengths,
    what they have in common with either original) are the scores from which ``falsify`` learns
    events on some draws and decides on others, with its budget of false alarms. A mechanism with a
    key gets a new key for each draw: its claim is about somebody who does not have it.

What can be detected
    That of ``falsify``: a dependence that changes the chance of some such event by several
    hundredths. One that shows only in combinations of rarer outputs is not seen; whether the draws
    are the same for all originals is tested apart, with fixed draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from sfumato.audits.distinguishers import learn_ratio
from sfumato.audits.events import DrawnSample, Event, Outputs, Pair, Score
from sfumato.core.arrays import Floats, Points
from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.keys import Key
from sfumato.core.kinds import KINDS, kind_of
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion, independent
from sfumato.mechanisms.keyed import key_of
from sfumato.mechanisms.mechanism import Keyed, StretchMechanism
from sfumato.text.span import Span, Stretch

TEXT_DRAWS = 300
SHOWN = 3
Document = tuple[str, ...]

# Values of one form: as many digits and letters in the same places, one domain, one country.
_VALUES = {
    "EMAIL": ("ada.byron@site.example", "tom.clark@site.example", "zoe.quinn@site.example"),
    "PHONE": ("+1 515 204 7731", "+1 303 998 1206", "+1 702 431 0095"),
    "URL": ("https://site.example/ada", "https://site.example/tom", "https://site.example/zoe"),
    "IP_ADDRESS": ("10.20.30.41", "81.99.12.70", "55.66.77.88"),
    "CREDIT_CARD": ("4111 1111 1111 1111", "5500 0055 5555 5559", "6011 0009 9013 9424"),
    "CVV": ("123", "987", "550"),
    "IBAN": ("DE02120300000000202051", "DE89370400440532013000", "DE75512108001245126199"),
    "US_SSN": ("219-09-9999", "078-05-1120", "457-55-5462"),
    "COORDINATES": ("52.5200, 13.4050", "48.8566, 12.3522", "40.4168, 23.7038"),
    "DATE_TIME": ("2021-05-14", "1999-12-31", "1958-02-03"),
    "TIME": ("14:30", "09:15", "23:59"),
    "AGE": ("34", "71", "18"),
    "NUMBER": ("123", "987", "550"),
    "QUANTITY": ("12", "87", "50"),
    "MONEY": ("12.50 USD", "99.00 USD", "47.11 USD"),
    "PERCENT": ("12 %", "99 %", "47 %"),
}
_CODES = ("AB-123456", "ZQ-908070", "MK-555012")
_NAMES = (
    ("Ada Lovelace", "Ada", "Lovelace"),
    ("Tom Okafor", "Tom", "Okafor"),
    ("Mary Smith", "Mary", "Smith"),
)
# What a statement without forms compares with all of the above.
_OTHER_FORMS = ("x", "Prof. Dr. Wolfeschlegelsteinhausen-Bergerdorff, 98-7/6 (b)")


@dataclass(frozen=True, kw_only=True)
class TextSubject:
    """A mechanism of whole stretches, and documents of one type that must not be told apart."""

    mechanism: StretchMechanism
    label: str
    documents: Sequence[Document]
    delta: float = 0.0
    numbers: dict[str, int] = field(default_factory=dict, repr=False)
    texts: list[str] = field(default_factory=list, repr=False)

    @property
    def claim(self) -> str:
        """The mechanism's guarantee in plain English."""
        return self.mechanism.guarantee().sentence()

    @property
    def where(self) -> str:
        """What is compared."""
        return f"independence, {self.label}"

    def pairs(self) -> Sequence[Pair]:
        """All pairs of documents, each with the bound 0."""
        return [Pair(*pair, 0.0, 0.0) for pair in combinations(range(len(self.documents)), 2)]

    def name(self, number: int) -> str:
        """The first value of a document; all of them are public."""
        return repr(self.documents[number][0])

    def draw(self, number: int, count: int, randomness: Randomness) -> Outputs:
        """What came out of so many calls, each output by a number of its own."""
        texts = self.documents[number]
        stretches = [
            Stretch(0, len(text), text, Span(0, len(text), self.label), "en") for text in texts
        ]
        drawn = [self._replace(stretches, randomness) for _ in range(count)]
        return np.array([self._number(one) for one in drawn], dtype=np.intp)

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """Features of the text, and learned log-ratios of some of them."""
        texts = self.texts
        features: dict[str, Callable[[str], float]] = {
            "its length": len,
            "how many words it has": lambda text: len(text.split()),
        }
        for number in (pair.first, pair.second):
            original = "\n".join(self.documents[number])
            features[f"how much it has in common with {self.name(number)}"] = _alike(original)
            features[f"how it begins and ends beside {self.name(number)}"] = _same_ends(original)
        scores = [Score(name, _feature(texts, of)) for name, of in features.items()]
        for name, of in _LEARNED.items():
            scores.append(Score(f"the log-ratio of {name}", _learned(texts, of, first, second)))
        return scores

    def describe(self, event: Event, seen: DrawnSample) -> str:
        """Some outputs of the event, and the rule that defines it."""
        inside, texts = event.contains(seen.outputs), self.texts
        order = np.argsort(-seen.counts[inside], kind="stable")[:SHOWN]
        shown = [repr(texts[one]) for one in seen.outputs[inside][order].astype(np.intp).tolist()]
        return f"the output is such that {event} (as {' or '.join(shown)})"

    def _number(self, text: str) -> int:
        if text not in self.numbers:
            self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return self.numbers[text]

    def _replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> str:
        mechanism, who = self.mechanism, type(self.mechanism).__name__
        if isinstance(mechanism, Keyed) and key_of(mechanism) is not None:
            mechanism = mechanism.under(Key.from_seed(randomness))
        try:
            outputs = mechanism.replace(stretches, randomness)
        except SfumatoError:
            raise
        except (Exception, SystemExit) as error:
            # Only public examples are passed in, so the message cannot hold private text.
            raise InvalidArgument(
                f"{who}.replace(stretches, randomness) failed: {type(error).__name__}: {error}"
            ) from error
        if len(outputs) != len(stretches) or not all(isinstance(one, str) for one in outputs):
            raise InvalidArgument(
                f"{who}.replace(stretches, randomness) must give one text for each stretch"
            )
        return "\n".join(outputs)


def claims_independence(mechanism: object) -> bool:
    """Whether a mechanism of stretches claims that its output does not depend on the original."""
    return (
        isinstance(mechanism, StretchMechanism)
        and mechanism.guarantee().notion is Notion.INDEPENDENT
    )


def text_subjects(mechanism: StretchMechanism, labels: Sequence[str] = ()) -> Iterator[TextSubject]:
    """One subject for each type, all kinds if none are named."""
    for label in labels or KINDS:
        formless = _is_formless(mechanism, label)
        documents = examples(label, formless=formless)
        if formless:
            # The same pattern of equal values as the others have.
            others = ((one, f"{one}y", one) for one in _OTHER_FORMS)
            documents = (*documents[:2], *others)
        yield TextSubject(mechanism=mechanism, label=label, documents=documents)


def examples(label: str, *, formless: bool = False) -> tuple[Document, ...]:
    """Public documents of one type, of one form and one pattern of equal values."""
    kind = kind_of(label)
    if kind == "PERSON" and not formless:
        return _NAMES
    values = [name[0] for name in _NAMES] if kind == "PERSON" else _VALUES.get(kind, _CODES)
    return tuple((one, values[place - 1], one) for place, one in enumerate(values))


def _is_formless(mechanism: StretchMechanism, label: str) -> bool:
    """Whether values of any form are compared."""
    if mechanism.guarantee().neighbors == independent().neighbors:
        return True
    return getattr(mechanism, "kept", None) == () and kind_of(label) != "PERSON"


def _alike(original: str) -> Callable[[str], float]:
    """How many characters stand in the same places, and whether words are the same."""
    words = set(original.casefold().split())

    def common(text: str) -> float:
        places = sum(a == b for a, b in zip(original, text, strict=False))
        return places + 100.0 * len(words.intersection(text.casefold().split()))

    return common


def _same_ends(original: str) -> Callable[[str], float]:
    return lambda text: float(
        2 * (text[:1].casefold() == original[:1].casefold())
        + (text[-1:].casefold() == original[-1:].casefold())
    )


_LEARNED: dict[str, Callable[[str], str]] = {
    "the whole output": str,
    "its first letter": lambda text: text[:1],
    "its last letter": lambda text: text[-1:],
    "its first and last letters": lambda text: text[:1] + text[-1:],
    "its length": lambda text: str(len(text)),
    "the letters at the beginnings of its words": lambda text: "".join(
        one[0] for one in text.split()
    ),
    "its first two letters": lambda text: text[:2],
}


def _feature(texts: Sequence[str], of: Callable[[str], float]) -> Callable[[Outputs], Floats]:
    def values(outputs: Outputs) -> Floats:
        return np.array([of(texts[one]) for one in outputs.astype(np.intp).tolist()], dtype=float)

    return values


def _learned(
    texts: list[str], of: Callable[[str], str], first: DrawnSample, second: DrawnSample
) -> Callable[[Outputs], Floats]:
    """The learned log-ratio of a feature; one that was not seen has none."""
    codes: dict[str, int] = {}

    def code(outputs: Outputs) -> Points:
        found = [of(texts[one]) for one in outputs.astype(np.intp).tolist()]
        return np.array([codes.setdefault(one, len(codes)) for one in found], dtype=np.intp)

    def coded(sample: DrawnSample) -> DrawnSample:
        return DrawnSample.of(np.repeat(code(sample.outputs), sample.counts))

    ratio = learn_ratio(coded(first), coded(second))
    return lambda outputs: ratio(code(outputs))
