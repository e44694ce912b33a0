"""``Words.of`` against uniseg, which follows the same annex of the Unicode standard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from uniseg.wordbreak import words as uniseg_words

from benchmarks.inputs import dialogues
from benchmarks.timing import Row, by_turns
from sfumato.text.words import Words

MIXED = (
    "Zoë's naïve café, 3.14 €: «Où êtes-vous ?» Straße nach Köln, číslo 42. "
    "Η Αθήνα είναι όμορφη. Москва слезам не верит. שלום צה״ל. القاهرة مدينة كبيرة. "
    "東京は日本の首都です。カタカナ。नमस्ते दुनिया। 👩‍👧 don’t\n"
)


def run(quick: bool) -> list[Row]:
    """ASCII dialogues and a text of many scripts, cut into documents of ordinary length."""
    size = 50 if quick else 400
    ascii_texts = [one.text for one in dialogues(size) if one.text.isascii()]
    rows: list[Row] = []
    for name, texts in (("ASCII", ascii_texts), ("many scripts", [3 * MIXED] * size)):
        characters = sum(map(len, texts))
        timings = by_turns(
            {
                "ours": partial(_each, Words.of, texts),
                "uniseg": partial(_each, lambda text: list(uniseg_words(text)), texts),
            },
            2 if quick else 7,
        )
        rows.append(
            {
                "text": f"{name}, {characters:,} characters",
                "characters/s": timings["ours"].rate(characters),
                "uniseg": timings["uniseg"].rate(characters),
                "times as fast": timings["ours"].ratio(timings["uniseg"]),
            }
        )
    return rows


def _each(cut: Callable[[str], object], texts: Sequence[str]) -> None:
    for text in texts:
        cut(text)
