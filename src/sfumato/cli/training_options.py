"""Options of training: those that decide privacy, for ``plan`` and ``train``, and of methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BatchSizeOption = Annotated[
    str,
    typer.Option(
        "--batch-size",
        metavar="N[,N…]",
        help="Units per step on average; 64,128,256 grows in stages of equal length.",
    ),
]
NoiseScheduleOption = Annotated[
    str,
    typer.Option(
        "--noise-schedule",
        metavar="X[,X…]",
        help="How much noise the stages get against each other: 1,0.8,0.6 lets it fall. What they "
        "get in all follows from the level.",
    ),
]
TokenizerEpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--tokenizer-epsilon",
        help="First learn a private tokenizer from the training text at this level; the guarantee "
        "is for both together, and half of delta is for it.",
    ),
]
TokenizerWordsOption = Annotated[
    int | None,
    typer.Option(
        "--tokenizer-words",
        metavar="K",
        min=1,
        help="The most different words that a unit gives to that tokenizer. [default: 60]",
    ),
]
TokenizerSizeOption = Annotated[
    int | None,
    typer.Option("--tokenizer-size", help="The most tokens it may have. [default: 8192]"),
]
ClippingOption = Annotated[
    str,
    typer.Option(
        "--clipping",
        metavar="fixed|automatic|adaptive",
        help="Cut gradients at the clipping norm, bring all of them near it, or let it follow "
        "their median (which is charged).",
    ),
]
RecomputeOption = Annotated[
    str,
    typer.Option(
        "--recompute",
        metavar="nothing|blocks|all",
        help="Save memory by computing again: the blocks of a transformer, or also the whole "
        "backward pass, which takes twice the time.",
    ),
]
PrecisionOption = Annotated[
    str,
    typer.Option(
        "--precision",
        metavar="float32|bf16",
        help="Of products and of weights that are not trained; clipping is exact in both.",
    ),
]
DeviceOption = Annotated[
    str, typer.Option("--device", metavar="cpu|cuda[:N]", help="Where torch computes.")
]
DeltaOption = Annotated[
    str, typer.Option("--delta", help="A number, auto (just below 1/n^1.1) or 1/n, n units.")
]
AccountantOption = Annotated[
    str,
    typer.Option(
        "--accountant", metavar="pld|rdp|pure", help="Who adds up; pld is tighter, rdp quicker."
    ),
]
SamplingOption = Annotated[
    str,
    typer.Option(
        "--sampling",
        metavar="auto|poisson|shuffled",
        help="Secret random batches, or each unit once per epoch (needs more noise); auto takes "
        "the first where the method allows it.",
    ),
]


def sizes_from(text: str) -> tuple[int, ...]:
    """``--batch-size``."""
    from sfumato.core.errors import InvalidArgument

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidArgument(
            f"--batch-size={text!r} must be a whole number, or several by commas"
        ) from None


def noise_from(text: str) -> tuple[float, ...]:
    """``--noise-schedule``."""
    return _numbers("--noise-schedule", text, "1,0.8,0.6")


def _numbers(option: str, text: str, example: str) -> tuple[float, ...]:
    from sfumato.core.errors import InvalidArgument

    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidArgument(
            f"{option}={text!r} must be numbers by commas, such as {example}"
        ) from None


def delta_from(text: str) -> float | str:
    """``--delta``: a number, or a word that stands for one."""
    try:
        return float(text)
    except ValueError:
        return text


MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="METHOD",
        help="private: DP-SGD on everything; rgp, gep: the same through thin carriers of large "
        "matrices, or in a basis of public gradients; federated: updates of authors in the place "
        "of gradients; selective: DP-SGD only where --policy finds something, plain steps on the "
        "masked rest; interleaved: both in turns along each document (lstm only); twice: first on "
        "masked text, then DP-SGD on what was masked; directional, per-record: directions of "
        "gradients, turned or with noise for each record; redacted: on masked text alone; plain: "
        "no privacy.",
    ),
]
TrainEpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="The level to keep; inf trains without noise, as the method plain does.",
    ),
]
GoldOption = Annotated[
    Path | None,
    typer.Option(
        "--gold",
        metavar="FILE",
        help="JSON lines with labeled spans: how much the policy misses is measured there, and "
        "stated with the guarantee, which does not cover these figures.",
    ),
]
PolicyKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy-key",
        metavar="FILE",
        help="A secret key of 16 bytes or more: guarantees of runs under the same key tell whether "
        "their policies (a word list, a pattern) were the same, and add up then.",
    ),
]
PublicEpochsOption = Annotated[
    float | None,
    typer.Option(
        "--public-epochs",
        help="Passes over the masked text (2 × --epochs for selective, --epochs for twice, unless "
        "given).",
    ),
]
PublicRateOption = Annotated[
    float | None,
    typer.Option(
        "--public-learning-rate", help="Step size on public text (--learning-rate unless given)."
    ),
]
LeadOption = Annotated[
    float | None,
    typer.Option(
        "--lead",
        help="Share of the public steps taken before the first private one (all unless given; "
        "twice takes no other).",
    ),
]
PublicBatchOption = Annotated[
    int | None,
    typer.Option(
        "--public-batch-size",
        metavar="N",
        help="Documents per step on public text (--batch-size unless given).",
    ),
]
FillOption = Annotated[
    str | None,
    typer.Option(
        "--fill",
        metavar="masks|surrogates",
        help="What stands in public text in the place of what is found (selective, twice): masks, "
        "which are not learned (unless given), or made-up names and numbers, which are.",
    ),
]
FillPatternOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fill-pattern",
        metavar="LABEL=PATTERN",
        help="What made-up values (--fill surrogates) of a type look like, if that is public: "
        "PHONE=000-0000 (0 a digit, A a capital, a a small letter, * a capital or a digit). Repeat "
        "for several.",
    ),
]
FillEpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--fill-epsilon",
        help="Learn what made-up values (--fill surrogates) of all other types look like from the "
        "private text first, with this part of --epsilon (and a tenth of delta); the guarantee is "
        "for both together.",
    ),
]
StateOption = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="noise|reset",
        help="What becomes of a state that leaves a private stretch (interleaved): clipped and "
        "noised (unless given), or forgotten, which costs nothing.",
    ),
]
StateClipOption = Annotated[
    float | None,
    typer.Option(
        "--state-clip-norm",
        help="Longer states are shortened to this; their noise grows with it (interleaved; 0.01 "
        "unless given).",
    ),
]
TrainableOption = Annotated[
    str | None,
    typer.Option(
        "--trainable",
        metavar="all|head|last:K|bias|lora|adapter:SIZE",
        help="Train every weight, what stands after the last layer, the last K layers and the "
        "head, biases and the head, low-rank factors (--lora-rank), or adapters (adapter, or "
        "adapter:SIZE); the rest is frozen. [default: all]",
    ),
]
PoolingOption = Annotated[
    str | None,
    typer.Option(
        "--pooling",
        metavar="first|mean|last",
        help="What a classifier's new head reads: the first token, the mean of all, or the last. "
        "[default: what the encoder's folder says, else what is usual for the network]",
    ),
]
ObjectiveOption = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar="causal|prefix|spans|masked",
        help="What a language model has to predict: every next token, the rest of a text, hidden "
        "spans (spans:SHARE:LENGTH), or masked tokens (masked:SHARE). [default: causal; spans for "
        "an encoder with a decoder; masked for a masked model]",
    ),
]
ControlCodesOption = Annotated[
    bool,
    typer.Option(
        "--control-codes",
        help="Train a language model that writes for each of --classes; see 'sfumato write'.",
    ),
]
ClassSeparatorOption = Annotated[
    str,
    typer.Option(
        "--class-separator",
        metavar="TEXT",
        help="Classes are paths in a tree, such as health/flu, and this separates their parts.",
    ),
]
TagsOption = Annotated[
    str | None,
    typer.Option(
        "--tags",
        metavar="A[,B,…]",
        help="Train a tagger that finds spans of these types, labeled in --span-field of JSON "
        "lines, or in CoNLL.",
    ),
]
ClassWeightsOption = Annotated[
    str | None,
    typer.Option(
        "--class-weights",
        metavar="X,Y[,…]",
        help="What a record of each class counts, before it is clipped: public numbers in the "
        "order of --classes (balanced, which counts labels, only without privacy).",
    ),
]


GroupWeightsOption = Annotated[
    list[str],
    typer.Option(
        "--group-weights",
        metavar="A=X,B=Y[,…]",
        help="What a record of each group counts, after it is clipped: public numbers, for a "
        "small group more (balanced, which counts records, only without privacy).",
    ),
]
GroupFieldOption = Annotated[
    str | None,
    typer.Option(
        "--group-field", metavar="NAME", help="The column or key of the group for --group-weights."
    ),
]


def groups_from(given: list[str]) -> dict[str, float] | str:
    """``--group-weights``: a number for each group, or a word that stands for them.

    >>> groups_from(["GB=3,DE=1"])
    {'GB': 3.0, 'DE': 1.0}
    """
    from sfumato.core.errors import InvalidArgument

    if given == ["balanced"]:
        return given[0]
    found: dict[str, float] = {}
    for part in (one for text in given for one in text.split(",")):
        name, equals, number = part.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            equals = ""
        if not equals or name.strip() in found:
            raise InvalidArgument(
                f"--group-weights {part!r} must be a group and its weight, each group once, such "
                "as a=1,b=3"
            )
        found[name.strip()] = weight
    return found


def weights_from(text: str | None) -> tuple[float, ...] | str:
    """``--class-weights``: numbers, or a word that stands for them."""
    if text is None or text == "balanced":
        return text or ()
    return _numbers("--class-weights", text, "1,3")
