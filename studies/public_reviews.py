"""A model that has read reviews of films, as the public start of models of WikiText-2.

    python studies/public_reviews.py RESOURCES/data/imdb-15k/train.jsonl.gz WORDS

WORDS is the folder of ``wikitext_words.py``, whose tokenizer is taken. WORDS/start/model is the
network of the Selective-DPSGD paper after reading 10,000 reviews of IMDb several times. They are
written the way WikiText writes (Merity et al. 2016, "Pointer sentinel mixture models"):
punctuation apart, ``@-@`` for a hyphen within a word, ``@,@`` and ``@.@`` within a number, and
``<unk>`` for a rare word. These habits were read off the published text, and no level covers that;
nothing else of it enters. Which words are rare is counted in the reviews.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

from public_start import Reading, begin
from wikitext_words import common_words, with_unknown

SEED = 4713
FEWEST = 8  # words of a paragraph
# The rate is that of all steps without noise of selective-wikitext2.toml.
READING = Reading(epochs=3, learning_rate=0.01, precision="bf16")


def main() -> None:
    """Write what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("reviews", type=Path, help="the reviews: JSON lines with gzip")
    parser.add_argument("folder", type=Path, help="where wikitext_words.py has written")
    given = parser.parse_args()
    texts = list(paragraphs(given.reviews))
    known = common_words("\n".join(texts))
    begin(
        [with_unknown(one, known) for one in texts],
        given.folder,
        for_tokens=0,
        seed=SEED,
        reading=READING,
    )


def paragraphs(path: Path) -> Iterator[str]:
    """The paragraphs of all reviews, as WikiText would write them."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            for part in re.split(r"(?:<[^>]*>\s*)+", json.loads(line)["text"]):
                written = as_wikitext(part)
                if len(written.split()) >= FEWEST:
                    yield written


def as_wikitext(text: str) -> str:
    """A text in the spelling of WikiText, but for rare words.

    >>> as_wikitext("The film's well-made, isn't it? It cost $1,500.50 (or so)...")
    "The film 's well @-@ made , isn 't it ? It cost $ 1 @,@ 500 @.@ 50 ( or so ) ..."
    """
    joined = re.sub(r"(?<=\d)([,.])(?=\d)|(?<=\w)(-)(?=\w)", r" @\1\2@ ", text)
    apart = re.sub(r"(@[-,.]@|\.{2,}|'(?=\w)|[^\w\s'])", r" \1 ", joined)
    # An apostrophe stays with what follows it.
    return " ".join(re.sub(r"' (?=\w)", "'", apart).split())


if __name__ == "__main__":
    main()
