"""Labeled text for training and scoring the tagger of ``pii``.

===================  ==========================================  ==============================
part                 what                                        terms
===================  ==========================================  ==============================
wnut17-train, -test  posts and comments, labeled by people       CC BY 4.0 (Derczynski 2017)
btc-a, -e, -f, -g,   tweets, labeled by people                   CC BY 4.0 (Derczynski 2016)
-h
wnut17-dev, btc-b    the same, only ever scored
wikigold, crossner   sentences of Wikipedia, labeled by people   CC BY 4.0 (Balasuriya 2009);
                                                                 MIT (Liu 2021), text CC BY-SA
teacher              WikiText-2 train, labeled by spaCy          CC BY-SA
teacher, test        WikiText-2 test, only ever scored           CC BY-SA
treebanks            UD GSD (German, Spanish, French), dev and   CC BY-SA 4.0
                     test: which words are names, not of what
named treebanks      Universal NER: EWT dev (English web text),  CC BY-SA 4.0
                     PUD (English and German), names labeled     and 3.0
                     by people; EWT test is only ever scored
tickets              invented, four languages                    our own; names Faker (MIT),
                                                                 places GeoNames (CC BY 4.0)
dialogues            invented by sfumato.corpora.customersim     our own
===================  ==========================================  ==============================

Files come from the repositories of their authors. Treebanks: ``en_ewt-ud-dev.iob2``,
``en_ewt-ud-test.iob2``, ``en_pud-ud-test.iob2``, ``de_pud-ud-test.iob2`` and
``{de,es,fr}_gsd-ud-{dev,test}.conllu``. More: ``wnut17-test.conll`` (emerging.test.annotated),
``btc-h.conll`` (h.conll), ``wikigold.conll``, and ``crossner/`` with the texts of five domains
(``music-dev.txt``).

A text that occurs in a scored part is left out of training, whatever part it stands in.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.corpora.labeled import Labeled, gold
from sfumato.text.document import Document
from sfumato.text.span import Spans

TRAINING = ("wnut17-train", "btc-a", "btc-e", "btc-f", "btc-g")
MORE = ("wnut17-test", "btc-h")
SCORED = ("wnut17-dev", "btc-b")
LABELS = {
    "person": "PERSON",
    "PER": "PERSON",
    "location": "LOCATION",
    "LOC": "LOCATION",
    "ORG": "ORG",
    "corporation": "ORG",
    "group": "ORG",
    **dict.fromkeys(("writer", "politician", "scientist", "researcher", "musicalartist"), "PERSON"),
    "country": "LOCATION",
    **dict.fromkeys(("organisation", "band", "politicalparty", "university"), "ORG"),
    **dict.fromkeys(("academicjournal", "magazine"), "UNSURE"),
}
HANDLE = re.compile(r"(?<!\w)@ ?\w{2,40}")
LINK = re.compile(r"\w+://\S+")
SOME = "SOME"  # a name, but nobody says of what
UNSURE = "UNSURE"  # may be a name or not: not learned from

Marked = tuple[int, int, str]


@dataclass(frozen=True)
class Text:
    """A text, the names in it, and how much it counts."""

    text: str
    spans: list[Marked]
    weight: float = 1.0
    part: str = ""

    def labeled(self) -> Labeled:
        """For scoring."""
        return Labeled(Document(self.text), Spans.of(gold(*span) for span in self.spans))

    def digest(self) -> str:
        """The same for texts that differ in blanks and case only."""
        return sha256(re.sub(r"\W+", "", self.text).lower().encode()).hexdigest()


def read_sentences(path: Path) -> Iterator[list[tuple[str, str]]]:
    """Words with their tags, sentence by sentence; a name begins with B, whatever the file says."""
    sentence: list[tuple[str, str]] = []
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            fields = re.split(r"[\t ]", line.rstrip("\n"))
            if len(fields) > 1:
                before, tag = sentence[-1][1] if sentence else "O", fields[-1]
                begins = tag[0] == "I" and before[2:] != tag[2:]
                sentence.append((fields[0], f"B{tag[1:]}" if begins else tag))
            elif sentence:
                yield sentence
                sentence = []
    if sentence:
        yield sentence


def join(sentence: list[tuple[str, str]], close: bool) -> Text:
    """A text of words: with a blank between any two, or close to how people write it.

    A word that is tagged as a new name right after an at sign goes on with that name.
    """
    text, spans, before = "", list[Marked](), ""
    for word, tag in sentence:
        if before and not (close and _joins(before, word)):
            text += " "
        start = len(text)
        text += word
        label = LABELS.get(tag[2:])
        if label is not None:
            if spans and spans[-1][2] == label and (tag[0] == "I" or before == "@"):
                start = spans.pop()[0]
            spans.append((start, len(text), label))
        before = word
    return Text(text, spans)


def _joins(before: str, word: str) -> bool:
    if re.fullmatch(r"[.,!?;:)\]%…]+|'(?:s|re|ve|ll|d|m|t)?|n't", word):
        return True
    # Handles stay as the corpora write them: apart where somebody is meant, else in one piece.
    return before in ("(", "[", "#", "$", "'") and word[:1].isalnum()


def read_tagged(path: Path) -> list[Text]:
    """A part that people labeled, as it is scored: a blank between any two words."""
    return [join(sentence, close=False) for sentence in read_sentences(path)]


def read_labeled_lines(path: Path) -> list[Text]:
    """What ``label_with_teacher.py`` writes, or the tickets of the tests."""
    found = []
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            record = json.loads(line)
            spans = [(span["start"], span["end"], span["label"]) for span in record["spans"]]
            found.append(Text(record["text"], spans))
    return found


def read_treebank(path: Path) -> Iterator[Text]:
    """Sentences whose proper nouns are marked."""
    for text, words in _sentences_of(path):
        spans: list[Marked] = []
        for start, end, fields in words:
            if fields[3] == "PROPN":
                joined = spans and text[spans[-1][1] : start] in ("", " ", "-")
                spans.append((spans.pop()[0] if joined else start, end, SOME))
        yield Text(text, spans)


def read_named(path: Path) -> Iterator[Text]:
    """Sentences of a treebank in which people labeled the names."""
    for text, words in _sentences_of(path):
        spans: list[Marked] = []
        for start, end, fields in words:
            label = LABELS.get(fields[2][2:])
            if label is not None:
                goes_on = spans and fields[2][0] == "I" and spans[-1][2] == label
                spans.append((spans.pop()[0] if goes_on else start, end, label))
        yield Text(text, spans)


def _sentences_of(path: Path) -> Iterator[tuple[str, list[tuple[int, int, list[str]]]]]:
    """The text of each sentence, and where its words stand with their columns."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        match = re.search(r"(?m)^# text = (.+)$", block)
        if not match:
            continue
        text, place, words = match[1], 0, list[tuple[int, int, list[str]]]()
        for line in block.splitlines():
            fields = line.split("\t")
            if not re.fullmatch(r"[0-9]+(?:-[0-9]+)?", fields[0]):
                continue
            start = text.find(fields[1], place)
            if start < 0 or start > place + 3:
                continue  # part of a contraction that was read whole
            place = start + len(fields[1])
            words.append((start, place, fields))
        yield text, words


def read_messages(folder: Path) -> Iterator[Text]:
    """Sentences of a program's translations (gettext), which hold no names."""
    for path in sorted(folder.rglob("*.po")):
        for match in re.finditer(r'(?m)^msgstr "(.{12,})"$', path.read_text(encoding="utf-8")):
            text = re.sub(r"%\(\w+\)[sd]|%[sd]|\{\w*\}", "7", match[1])
            if "\\" not in text and not text.startswith("Project"):
                yield Text(text, [])


def dialogues(count: int, seed: int) -> Iterator[Text]:
    """Generated dialogues; addresses may hold towns and are not learned from."""
    for labeled in generate_customersim(count, Randomness.reproducible(seed)):
        spans = [
            (span.start, span.end, "PERSON" if span.label == "PERSON" else UNSURE)
            for span in labeled.spans
            if span.label in ("PERSON", "ADDRESS")
        ]
        yield Text(labeled.document.text, spans)


def without(texts: Iterable[Text], scored: Iterable[Text]) -> list[Text]:
    """Texts that stand in no scored part, each once."""
    seen = {text.digest() for text in scored}
    kept = []
    for text in texts:
        digest = text.digest()
        if digest not in seen and len(text.text) > 2:
            seen.add(digest)
            kept.append(text)
    return kept


def small_letters(text: Text) -> Text:
    """A copy in small letters; the few letters that change length there stay as they are."""
    small = "".join(one.lower() if len(one.lower()) == 1 else one for one in text.text)
    return replace(text, text=small)


def capital_letters(text: Text) -> Text:
    """A copy in capitals."""
    large = "".join(one.upper() if len(one.upper()) == 1 else one for one in text.text)
    return replace(text, text=large)


def replaced(text: Text, new: Iterable[str | None]) -> Text:
    """A copy with other names in the places of the first ones."""
    parts, spans, place, length = list[str](), list[Marked](), 0, 0
    for (start, end, label), name in zip(text.spans, new, strict=True):
        before = text.text[place:start]
        shown = text.text[start:end] if name is None else name
        spans.append((length + len(before), length + len(before) + len(shown), label))
        parts += [before, shown]
        length += len(before) + len(shown)
        place = end
    return Text("".join([*parts, text.text[place:]]), spans, text.weight, text.part)


def misspelled(text: Text, draw: random.Random) -> Text:
    """A copy in which some letters are swapped or doubled; the length stays."""
    letters = list(text.text)
    for index in range(1, len(letters) - 1):
        if draw.random() < 0.02 and letters[index].isalpha() and letters[index + 1].isalpha():
            if draw.random() < 0.5:
                letters[index], letters[index + 1] = letters[index + 1], letters[index]
            else:
                letters[index] = letters[index + 1]
    return replace(text, text="".join(letters))
