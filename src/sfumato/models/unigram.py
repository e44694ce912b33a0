"""SentencePiece's unigram model, learned from a table of words.

Guarantee
    That of the counts: what is learned from a release is post-processing. SentencePiece sees the
    words that came through and their noisy counts, and never a text.

Why it holds
    It is given each word as often as its share of all counts says, in texts of one word. (It also
    takes tables of words with counts, but then looks for pieces as if each word occurred once: on
    WikiText-2 that made texts a fifth to a half longer.) It has options for differential privacy of
    its own; they stay off, because the counts have their noise already, and because they are not
    private by themselves: no bound on what a contributor gives, no level, and a table of one word
    gets neither noise nor threshold. It stores no samples of its input in the model
    (``self_test_sample_size=0``).

Care
    As with the other kinds, words are cut into bytes first, so the alphabet is public and no text
    is unknown. A text is cut into the likeliest pieces by their probabilities, which suits counts
    of many words: from few words, byte-pair encoding makes shorter texts.

Reference
    Kudo 2018, "Subword regularization"; Kudo and Richardson 2018 (SentencePiece).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.core.checks import at_least, extra
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.models.bpe import SMALLEST, SPECIAL, as_tokenizer, with_digits_apart
from sfumato.models.learned import byte_words
from sfumato.models.tokenizer import Tokenizer

# How many words SentencePiece is given in all; each that came through at least once.
TOTAL = 200_000
# It always has pieces for what is unknown and for a space; neither occurs among bytes.
_UNKNOWN, _SPACE = "<unk>", "▁"


@dataclass(frozen=True)
class SentencePiece:
    """A unigram model over bytes."""

    name: ClassVar[str] = "sentencepiece"
    smallest: ClassVar[int] = SMALLEST

    def cut(self, text: str) -> Iterable[str]:
        """Words with the space before them, as bytes; single bytes are tokens anyway."""
        return byte_words(text)

    def learn(self, counts: Mapping[str, float], size: int) -> Tokenizer:
        """The pieces of a unigram model with their probabilities."""
        at_least("size", size, self.smallest)
        if not counts:
            raise BadInput("there are no words to learn a tokenizer from")
        from tokenizers import models

        pieces = learn_pieces(counts, size - len(SPECIAL))
        backend = with_digits_apart(models.Unigram(pieces))
        # As added tokens, for as pieces they could be read from a text.
        backend.add_special_tokens(list(SPECIAL))
        return as_tokenizer(backend, name=f"sentencepiece-{size}")


def learn_pieces(counts: Mapping[str, float], size: int) -> list[tuple[str, float]]:
    """At most ``size`` pieces with the logarithms of their probabilities, all bytes among them."""
    trainer: Any = extra(
        "sentencepiece", needed_for="a tokenizer by SentencePiece", extra="sentencepiece"
    )
    from tokenizers import pre_tokenizers

    used = set().union(*counts)
    unused = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - used)
    written = io.BytesIO()
    try:
        trainer.SentencePieceTrainer.train(
            sentence_iterator=iter(_repeated(counts)),
            model_writer=written,
            model_type="unigram",
            # Bytes that are in no word are added below, and the unknown piece is left out.
            vocab_size=size - len(unused) + 1,
            hard_vocab_limit=False,
            character_coverage=1.0,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            split_by_unicode_script=False,
            split_by_number=False,
            max_sentence_length=2**30,
            max_sentencepiece_length=64,
            self_test_sample_size=0,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError:
        raise InvalidArgument(
            f"size={size + len(SPECIAL)} is too small for SentencePiece; choose a larger one"
        ) from None
    model = trainer.SentencePieceProcessor(model_proto=written.getvalue())
    found = {
        model.id_to_piece(number): float(model.get_score(number))
        for number in range(model.get_piece_size())
    }
    rarest = min(found.values())
    kept = {piece: one for piece, one in found.items() if piece not in (_UNKNOWN, _SPACE)}
    return [*((byte, rarest) for byte in unused), *kept.items()]


def _repeated(counts: Mapping[str, float]) -> list[str]:
    """Each word as often as its count says, in a fixed order that mixes them.

    SentencePiece takes very long for a word that follows itself a thousand times.
    """
    import numpy as np

    scale = TOTAL / sum(counts.values())
    given = [word for word, n in counts.items() for _ in range(max(1, round(n * scale)))]
    # The order is no secret and hides nothing: any would do.
    return [given[place] for place in np.random.default_rng(0).permutation(len(given))]
