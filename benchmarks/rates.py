"""What one core reads and privatizes in a second, and what a terabyte would take of it.

Every stage of the file job by itself (reading and writing records, cutting into words), every
policy, and every mechanism: word mechanisms on each word of a text, those by type where ``pii``
finds something. Processor time with one BLAS thread, the text in memory, after an untimed turn.
Core-hours per terabyte (10^12 bytes of UTF-8) are that rate extrapolated, and nothing else: they
grow in proportion to the text (``growth``), and starting is not in them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from threadpoolctl import threadpool_limits

from benchmarks.commands import write_dialogues
from benchmarks.inputs import SEED, dialogues, prose, resource
from benchmarks.timing import Row, Timing, Work, by_turns
from sfumato.core.errors import SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.mechanisms.selective import Selective
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import find_in
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.text.edits import Edited
from sfumato.text.words import Words

TERABYTE = 1e12
# A core-hour of a common virtual machine, bought as needed; an assumption, not a measurement.
DOLLARS_PER_CORE_HOUR = 0.04

QUICK = ("digits", "pii", "regex", "lexicon")
SPACY = ("entities", "contextual", "presidio")
# Levels at which about half of the words stay.
WORDS = {
    "laplace": 8.0,
    "mahalanobis": 8.0,
    "vickrey": 8.0,
    "projected": 8.0,
    "binary": 2.0,
    "hyperbolic": 8.0,
    "truncated": 3.0,
    "exponential": 3.0,
    "custom": 3.0,
}
BY_TYPE = ("auto", "surrogate", "redact", "pseudonym")


@dataclass(frozen=True)
class _Sample:
    """Some documents, and how much of them there is."""

    name: str
    documents: Sequence[Document]

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.documents]

    @property
    def size(self) -> int:
        return sum(len(text.encode()) for text in self.texts)

    @property
    def words(self) -> int:
        return sum(len(Words.of(text)) for text in self.texts)

    def part(self, documents: int) -> _Sample:
        return _Sample(self.name, self.documents[:documents])


def run(quick: bool) -> list[Row]:
    """Dialogues, which are full of personal data, and prose, which has little."""
    name, lines = prose(20_000 if quick else 1_000_000)
    talk = _Sample("generated dialogues", dialogues(20 if quick else 1000))
    with threadpool_limits(1), TemporaryDirectory() as folder:
        rows = list(_stages(Path(folder), talk, quick))
        for sample in (talk, _Sample(name, lines)):
            rows += _policies(Path(folder), sample, quick)
            rows += _mechanisms(sample, quick)
    return rows


def _stages(folder: Path, sample: _Sample, quick: bool) -> Iterator[Row]:
    """Reading a file into documents and writing it again, and cutting texts into words."""
    path = write_dialogues(folder / "records.jsonl", 20 if quick else 5000)
    source = Source.of(path, Layout(field="text"))
    work: dict[str, Work] = {
        "reading and writing JSON lines": partial(_copy, source),
        "cutting into words": lambda: [Words.of(text) for text in sample.texts],
    }
    timings = by_turns(work, 2 if quick else 5)
    sizes = {"reading and writing JSON lines": path.stat().st_size}
    for name, timing in timings.items():
        yield _row("stage", name, sample.name, timing, sizes.get(name, sample.size))


def _copy(source: Source) -> None:
    output = io.BytesIO()
    with source.opened() as (chunks, _):
        for chunk in chunks:
            output.write(chunk.rewritten([Edited(one.text, ()) for one in chunk.documents()]))


def _policies(folder: Path, sample: _Sample, quick: bool) -> Iterator[Row]:
    few = sample.part(max(5, len(sample.documents) // 20))
    turns = 2 if quick else 5
    for group, part in ((QUICK, sample), (SPACY, few)):
        work: dict[str, Work] = {}
        for name in group:
            try:
                work[name] = _scan(folder, name, part)
            except SfumatoError as error:
                yield {"kind": "policy", "what": name, "text": f"SKIPPED: {error}"}
        timings = by_turns(work, turns if part is sample else 2)
        for name, timing in timings.items():
            yield _row("policy", name, sample.name, timing, part.size, part.words)


def _scan(folder: Path, name: str, sample: _Sample) -> Work:
    settings: dict[str, object] = {}
    if name == "regex":
        name = r"regex:\b\d{3}-\d{4}\b"
    if name == "lexicon":
        entries = folder / "lexicon.txt"
        entries.write_text("".join(f"name{number}\n" for number in range(5_000)))
        name = f"lexicon:{entries}"
    if name in SPACY and (pipeline := resource("models/en_core_web_sm")) is not None:
        settings[f"{name}.model"] = str(pipeline)
    policy = combine_policies([name], [], settings)
    list(find_in(policy, sample.documents[:1]))  # what cannot be loaded is said here
    return lambda: list(find_in(policy, sample.documents))


def _mechanisms(sample: _Sample, quick: bool) -> Iterator[Row]:
    turns = 2 if quick else 3
    few = sample.part(max(5, len(sample.documents) // 5))
    settings: dict[str, Callable[[], Privatizer]] = {
        name: partial(Privatizer, policy="everything", mechanism=name, epsilon=epsilon, seed=SEED)
        for name, epsilon in WORDS.items()
    }
    settings |= {
        f"{name} where pii finds something": partial(
            Privatizer, policy="pii", mechanism=name, seed=SEED
        )
        for name in BY_TYPE
    }
    for name, make in settings.items():
        part = few if name in WORDS else sample
        try:
            work = _draw(make().selective, part)
        except SfumatoError as error:
            yield {"kind": "mechanism", "what": name, "text": f"SKIPPED: {error}"}
            continue
        timing = by_turns({name: work}, turns)[name]
        kind = "mechanism" if name in WORDS else "mechanism with its policy"
        yield _row(kind, name, sample.name, timing, part.size, part.words)


def _draw(selective: object, sample: _Sample) -> Work:
    if not isinstance(selective, Selective):
        raise TypeError("one policy and one mechanism")
    return lambda: selective.privatize(sample.documents, Randomness.secure())


def _row(
    kind: str, what: str, text: str, timing: Timing, size: float, words: int | None = None
) -> Row:
    hours = TERABYTE / (size / median(timing.cpu)) / 3600
    return {
        "kind": kind,
        "what": what,
        "text": text,
        "MB per core-second": timing.cpu_rate(size / 1e6),
        "words likewise": "" if words is None else timing.cpu_rate(words),
        "core-hours per TB": f"{hours:,.0f}",
        f"dollars at {DOLLARS_PER_CORE_HOUR:g}": f"{hours * DOLLARS_PER_CORE_HOUR:,.0f}",
    }
