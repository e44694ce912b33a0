"""What tells the handles in tweets that people labeled from those they did not?

    python scripts/score_handles.py RESOURCES --more FOLDER [--judged bc.per.json]

``pii`` calls every handle a person unless recall shall be low. A logistic regression that sees the
letters of a handle (runs of two to five, given names and surnames in it), its case and figures, and
the words around it, is trained on the handles of the other sections of the Broad Twitter Corpus and
scored on those of section b; then on section b itself, tweet by tweet in ten parts, which is more
than any tagger could know. ``--judged`` is the file of the corpus's repository
(``b.crowd-raw/bc.per.json``) that says what two people each marked as names of people in part of
section b. FOLDER holds ``btc-h.conll``, as for ``train_tagger.py``. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict

from sfumato.policies.pii.names import list_names
from sfumato.policies.pii.tagger import find_handles
from tagger_corpus import MORE, read_tagged

TRAINED = ("btc-e", "btc-f", "btc-g", "btc-h")
SCORED = "btc-b"
SHARES = (1.0, 0.98, 0.96, 0.94, 0.92, 0.9, 0.8)
MARKED = "click_to_mark_the_words_that_are_part_of_names_of_people"


@dataclass(frozen=True)
class Handle:
    """A handle with the words around it, and what people labeled it, if anything."""

    shown: str
    before: list[str]
    after: list[str]
    tweet: int
    label: str | None


def read_handles(path: Path) -> list[Handle]:
    """All handles of a section that the rule finds."""
    found = []
    for number, text in enumerate(read_tagged(path)):
        for one in find_handles(text.text):
            labels = [
                label for start, end, label in text.spans if start < one.end and one.start < end
            ]
            before, after = text.text[: one.start].split(), text.text[one.end :].split()
            shown = text.text[one.start + 1 : one.end].strip()
            found.append(Handle(shown, before, after, number, labels[0] if labels else None))
    return found


def look(handle: Handle) -> dict[str, float]:
    """What is seen of a handle."""
    names = list_names()
    small = handle.shown.lower()
    edged = f"^{small}$"
    seen = {
        f"letters {edged[at : at + size]}": 1.0
        for size in (2, 3, 4, 5)
        for at in range(len(edged) - size + 1)
    }
    given, surnames = names.alone | names.paired, names.surnames
    begins = max((size for size in range(3, 13) if small[:size] in given), default=0)
    ends = max((size for size in range(4, 13) if small[-size:] in surnames), default=0)
    before = handle.before[-1].lower() if handle.before else "<"
    after = handle.after[0].lower() if handle.after else ">"
    before, after = ("link" if word.startswith("http") else word for word in (before, after))
    capitals = sum(letter.isupper() for letter in handle.shown[1:])
    return seen | {
        "given name": begins / len(small),
        "surname": ends / len(small),
        "figures": float(any(letter.isdigit() for letter in small)),
        "underscore": float("_" in small),
        "small": float(handle.shown.islower()),
        "capitals": capitals / len(small),
        f"before {before}": 1.0,
        f"after {after}": 1.0,
        f"between {before} {after}": 1.0,
        "retweet": float("rt" in {word.lower() for word in handle.before}),
        "first": float(not handle.before),
        "last": float(not handle.after),
    }


def regression() -> Any:
    """The same for both ways to train it."""
    return LogisticRegression(C=0.3, class_weight="balanced", max_iter=2000)


def print_curve(name: str, handles: list[Handle], scores: NDArray[np.float64]) -> None:
    """Precision where a share of all labeled people is kept."""
    order = np.argsort(-scores, kind="stable")
    labeled = np.cumsum([handles[number].label is not None for number in order])
    people = np.cumsum([handles[number].label == "PERSON" for number in order])
    print(name)
    for share in SHARES:
        place = int(np.searchsorted(people, share * people[-1] - 1e-9))
        wrong = place + 1 - labeled[place]
        print(f"  {share:.2f} of the people: precision {labeled[place] / (place + 1):.3f}, {wrong}")


def print_agreement(path: Path) -> None:
    """How two people judged the same handles."""
    judged: Counter[tuple[bool, ...]] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        words = record["data"]["tokens"]
        marks = [
            {int(number) for number in judgment["data"].get(MARKED) or ()}
            for judgment in record["results"]["judgments"]
        ]
        for place in range(1, len(words)):
            if words[place - 1] == "@":
                judged[tuple(bool({place - 1, place} & marked) for marked in marks)] += 1
    print("judged by two people", dict(judged))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("resources", type=Path)
    parser.add_argument("--more", type=Path, required=True)
    parser.add_argument("--judged", type=Path)
    given = parser.parse_args()
    folder = given.resources / "data" / "ner"
    handles = {
        part: read_handles(
            given.more / f"{part}.conll" if part in MORE else folder / f"{part}.conll.gz"
        )
        for part in (*TRAINED, SCORED)
    }
    for part, some in handles.items():
        print(part, dict(Counter(one.label for one in some)))
    scored = handles[SCORED]
    seen = [look(one) for one in scored]
    known = [one for part in TRAINED for one in handles[part]]
    table = DictVectorizer()
    model = regression().fit(
        table.fit_transform([look(one) for one in known]), [one.label is not None for one in known]
    )
    print_curve("other sections", scored, model.decision_function(table.transform(seen)))
    own = cross_val_predict(
        regression(),
        DictVectorizer().fit_transform(seen),
        np.array([one.label is not None for one in scored]),
        groups=np.array([one.tweet for one in scored]),
        cv=GroupKFold(10),
        method="decision_function",
    )
    print_curve("section b itself", scored, own)
    if given.judged:
        print_agreement(given.judged)


if __name__ == "__main__":
    main()
