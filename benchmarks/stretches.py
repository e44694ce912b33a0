"""Mechanisms of whole stretches: how many stretches a second, and as a ratio to masks.

Each is given what ``pii`` finds in generated dialogues; those for dates, numbers and places what
they are for. The last rows are the whole way, finding included, in words of text per second: one
word mechanism for all that is found, as before there were mechanisms by type, and ``auto``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.inputs import dialogues
from benchmarks.timing import Row, Work, by_turns
from sfumato import Privatizer
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_stretch_mechanism
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import find_each
from sfumato.text.document import Document
from sfumato.text.span import Span, Stretch, stretches
from sfumato.text.words import Words

FOUND: dict[str, dict[str, object]] = {"redact": {}, "pseudonym": {}, "surrogate": {}}
WRITTEN: dict[str, tuple[dict[str, object], str, tuple[str, ...]]] = {
    "date": ({"epsilon": 0.1}, "DATE", ("12 May 2021", "2021-05-14", "Friday, 14 May 2021")),
    "number": ({"epsilon": 0.1}, "QUANTITY", ("81 mg", "1,250 km", "37.5 °C")),
    "place": ({"epsilon": 0.02}, "LOCATION", ("Leipzig", "Boston", "France")),
}
WAYS: dict[str, dict[str, object]] = {
    "privatize with laplace, ε = 5": {"mechanism": "laplace", "epsilon": 5.0},
    "privatize with auto": {"mechanism": "auto"},
    "privatize with auto, ε = 5": {"mechanism": "auto", "epsilon": 5.0},
}


def run(quick: bool) -> list[Row]:
    """Each mechanism beside masks, then the whole way beside a word mechanism."""
    documents = dialogues(40 if quick else 1000)
    repetitions = 2 if quick else 5
    found = _found(documents)
    rows = [_row(name, settings, found, repetitions) for name, settings in FOUND.items()]
    for name, (settings, label, texts) in WRITTEN.items():
        spans = [Stretch(0, len(text), text, Span(0, len(text), label)) for text in texts]
        rows.append(_row(name, settings, [spans] * (20 if quick else 500), repetitions))
    return rows + _whole(documents, repetitions)


def _found(documents: Sequence[Document]) -> list[list[Stretch]]:
    spans = find_each(combine_policies(["pii"]), documents)
    pairs = zip(documents, spans, strict=True)
    return [stretches(one, Words.of(document.text), "en") for document, one in pairs]


def _row(
    name: str, settings: dict[str, object], groups: Sequence[list[Stretch]], repetitions: int
) -> Row:
    ours, masks = build_stretch_mechanism(name, settings), build_stretch_mechanism("redact")
    randomness = Randomness.secure()
    timings = by_turns(
        {
            "ours": lambda: [ours.replace(group, randomness) for group in groups],
            "masks": lambda: [masks.replace(group, randomness) for group in groups],
        },
        repetitions,
    )
    return {
        "what": name,
        "stretches/s": timings["ours"].rate(sum(map(len, groups))),
        "times as fast as masks": timings["ours"].ratio(timings["masks"]),
    }


def _whole(documents: Sequence[Document], repetitions: int) -> list[Row]:
    texts = [document.text for document in documents]
    words = sum(len(Words.of(text)) for text in texts)
    made = {name: Privatizer(**settings) for name, settings in WAYS.items()}  # type: ignore[arg-type]
    work: dict[str, Work] = {name: partial(one.privatize, texts) for name, one in made.items()}
    timings = by_turns(work, repetitions)
    before = timings[next(iter(WAYS))]
    return [
        {
            "what": name,
            "words of text/s": timing.rate(words),
            "times as fast as before": timing.ratio(before),
        }
        for name, timing in timings.items()
    ]
