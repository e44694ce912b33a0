"""The learning rates of ``directional.toml``: which were tried, and what came of them.

    python studies/directional_rates.py MINILM RESOURCES COLA [--corpus cola]

MINILM, RESOURCES and COLA are the folders that the study takes. Nothing is measured on a test set:
models are measured on ``dev.tsv`` of SST-2, which is held out of its training set, and on all of
``val.tsv`` of CoLA, with seeds that the study does not have.

The frozen encoder reads every text once. The head is trained in a loop of its own, which is quicker
than training proper and differs in three ways: batches are those of an epoch in random order, there
is no dropout, and the noise that every record has is drawn once for the sum, with √128 times the
standard deviation. For von Mises–Fisher draws it is that of the Gaussian twin. It promises nothing.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor

from sfumato.core.randomness import Randomness
from sfumato.files.dialect import Dialect
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.models.head import HeadOnly
from sfumato.models.load import LoadedModel, load_model
from sfumato.training.features import compute_features
from sfumato.training.records import Cut, make_labeled_records

BATCH, EPOCHS, SEEDS = 128, 4, (11, 12, 13)
PLAIN, CLIPPED, DIRECTIONS = "plain", "DP-SGD", "per-record Gaussian, directional"
# For each method and sigma, what was tried.
TRIED: dict[str, dict[float, tuple[float, ...]]] = {
    PLAIN: {0.0: (0.03, 0.1, 0.3, 1, 3)},
    CLIPPED: {
        0.05: (0.3, 1, 3, 10, 30),
        0.2: (0.3, 1, 3, 10, 30),
        0.5: (0.3, 1, 3, 10, 30),
        1: (0.3, 1, 1.5, 2, 3, 10, 30),
        2: (0.3, 0.6, 1, 1.5, 3, 10, 30),
    },
    DIRECTIONS: {
        0.05: (0.1, 0.3, 1, 3, 5, 7, 10, 30),
        0.2: (0.1, 0.3, 1, 2, 3, 4, 5, 10, 30),
        0.5: (0.1, 0.3, 1, 1.5, 2, 3, 4, 5, 10, 30),
        1: (0.1, 0.3, 0.6, 1, 1.5, 2, 3, 10, 30),
        2: (0.05, 0.1, 0.15, 0.3, 0.5, 1, 3, 10, 30),
    },
}


@dataclass(frozen=True, eq=False)
class Texts:
    """What the encoder says of texts, and their classes."""

    features: Tensor = field(repr=False)
    labels: Tensor = field(repr=False)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts to train on, texts to measure on, and whether Matthews correlation is measured."""

    train: Texts
    held_out: Texts
    correlated: bool


def main() -> None:
    """Print a line for each method, amount of noise and rate."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    for name in ("minilm", "resources", "cola"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--corpus", choices=("sst2", "cola"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model(
        str(given.minilm),
        randomness=Randomness.reproducible(1),
        kind="classifier",
        classes=("0", "1"),
        pooling="mean",
    )
    for name in ("sst2", "cola") if given.corpus is None else (given.corpus,):
        corpus = read_corpus(name, given.resources, given.cola, model)
        figure = "matthews" if corpus.correlated else "accuracy"
        for method, levels in TRIED.items():
            for sigma, rates in levels.items():
                for rate in rates:
                    found = [train(model, corpus, method, sigma, rate, seed) for seed in SEEDS]
                    told = " ".join(f"{one:.3f}" for one in found)
                    print(
                        f"{name}  {method}  sigma {sigma:g}  rate {rate:g}  {figure} "
                        f"{fmean(found):.3f} ({told})",
                        flush=True,
                    )


def read_corpus(name: str, resources: Path, balanced: Path, model: LoadedModel) -> Corpus:
    """The texts that the study trains on, and some that it does not have."""
    if name == "sst2":
        layout = Layout(field="sentence", label_field="label")
        folder = resources / "data/sst2"
        return Corpus(
            _read(folder / "train.tsv", layout, model, 3072),
            _read(folder / "dev.tsv", layout, model, 2500),
            correlated=False,
        )
    layout = Layout(field="4", label_field="2", dialect=Dialect(header=False))
    return Corpus(
        _read(balanced / "train.tsv", layout, model, None),
        _read(resources / "data/cola/val.tsv", layout, model, None),
        correlated=True,
    )


def _read(path: Path, layout: Layout, model: LoadedModel, count: int | None) -> Texts:
    documents = list(Source.of(str(path), layout).documents())[:count]
    cut = Cut(context=model.context, long="truncate")
    records = make_labeled_records(documents, model.tokenizer, cut, model.classes)
    head = HeadOnly.of(model.network.eval())
    if head is None:
        raise SystemExit("the head of this encoder reads more than one place")
    return Texts(
        compute_features(head, records), torch.tensor([int(one.labels[0]) for one in documents])
    )


def train(
    model: LoadedModel, corpus: Corpus, method: str, sigma: float, rate: float, seed: int
) -> float:
    """Train a head from the encoder's own pooler; its figure on texts that were held out."""
    drawn = torch.Generator().manual_seed(seed)
    pooler = model.network.bert.pooler.dense  # type: ignore[union-attr]
    inner, offset = pooler.weight.detach().clone(), pooler.bias.detach().clone()  # type: ignore
    outer, scores = torch.randn(2, len(offset), generator=drawn) * 0.02, torch.zeros(2)
    weights = (outer, scores, inner, offset)
    deviation = sigma * (math.sqrt(BATCH) if method == DIRECTIONS else 1.0)
    steps = len(corpus.train.labels) // BATCH
    for step in range(EPOCHS * steps):
        if step % steps == 0:
            order = torch.randperm(len(corpus.train.labels), generator=drawn)
        some = order[step % steps * BATCH :][:BATCH]
        sums = _sums(corpus.train.features[some], corpus.train.labels[some], weights, method)
        for weight, one in zip(weights, sums, strict=True):
            noise = deviation * torch.randn(one.shape, generator=drawn)
            weight.sub_(rate * (1 - step / (EPOCHS * steps)) / BATCH * (one + noise))
    hidden = torch.tanh(corpus.held_out.features @ inner.T + offset)
    said, labels = (hidden @ outer.T + scores).argmax(1), corpus.held_out.labels
    return _matthews(said, labels) if corpus.correlated else float((said == labels).float().mean())


def _sums(
    features: Tensor, labels: Tensor, weights: tuple[Tensor, ...], method: str
) -> tuple[Tensor, ...]:
    """The sum of all records' gradients, each as long as the method leaves it."""
    outer, scores, inner, offset = weights
    hidden = torch.tanh(features @ inner.T + offset)
    found = hidden @ outer.T + scores
    label = labels[:, None]
    # The probability of the wrong class; 1 minus that of the right one would be rounded to 0.
    wrong = torch.sigmoid(found.gather(1, 1 - label) - found.gather(1, label))
    of_scores = torch.zeros_like(found).scatter_(1, label, -wrong).scatter_(1, 1 - label, wrong)
    of_hidden = (of_scores @ outer) * (1 - hidden.square())
    squares = of_scores.square().sum(1) * (hidden.square().sum(1) + 1)
    squares += of_hidden.square().sum(1) * (features.square().sum(1) + 1)
    norms = squares.sqrt().clamp(min=1e-12)
    scale = {
        PLAIN: torch.ones_like(norms),
        CLIPPED: (1 / norms).clamp(max=1),
        DIRECTIONS: 1 / norms,
    }[method][:, None]
    of_scores, of_hidden = scale * of_scores, scale * of_hidden
    return of_scores.T @ hidden, of_scores.sum(0), of_hidden.T @ features, of_hidden.sum(0)


def _matthews(said: Tensor, labels: Tensor) -> float:
    counts = [
        [float(((said == one) & (labels == other)).sum()) for other in (0, 1)] for one in (0, 1)
    ]
    (tn, fn), (fp, tp) = counts
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(product) if product else 0.0


if __name__ == "__main__":
    main()
