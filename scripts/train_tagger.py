"""Train the tagger of ``pii`` and write its weights.

    python scripts/train_tagger.py RESOURCES --teacher WIKI.jsonl.gz --teacher-test TEST.jsonl.gz
        [--treebanks FOLDER] [--pipeline SPACY] [--messages FOLDER] --seed 1
        -o src/sfumato/policies/pii/weights/tagger.npz

RESOURCES is the folder with ``data/ner`` and ``vectors/glove-6b-50d.npy``. What each part is and
under which terms stands in ``tagger_corpus.py``. The same data and seed give the same weights with
the same version of torch on the same kind of processor. Figures are printed at the end, on parts
that were never trained on. Needs torch, spaCy for the treebank of English, and Faker.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sfumato import mechanisms
from sfumato.policies.pii.features import FLAGS, GRAM_BITS, Look, Rare
from sfumato.policies.pii.forms import SHAPES
from sfumato.policies.pii.network import KINDS, STEPS, SUMMED, Network
from sfumato.policies.pii.tokens import APART, FULL, Tokens
from tagger_corpus import (
    SCORED,
    SOME,
    TRAINING,
    Text,
    capital_letters,
    dialogues,
    join,
    misspelled,
    read_labeled_lines,
    read_messages,
    read_sentences,
    read_tagged,
    read_treebank,
    replaced,
    small_letters,
    without,
)
from tagger_scores import print_scores
from tagger_tickets import Places, Tickets, extra_lists, read_places
from tagger_words import rare_words

WIDTH, LETTERS = 128, 32
# All that keeps the network from learning its texts by heart.
DROPPED, FEWER_LETTERS, FEWER_VECTORS, FEWER_LISTS = 0.35, 0.2, 0.05, 0.2
BLUR = 8.0  # steps of 127 by which vectors vary
SMOOTHED, DECAY = 0.02, 0.1
RATE = 4e-3
UNIT = 32.0  # a whole number of 32 is 1 inside the network while it is trained
IGNORED, ANY = -1, len(KINDS) + 1
PLACES = Path(mechanisms.__file__).with_name("data") / "places.txt.gz"
THRESHOLDS = np.array([[0.3] * 3, [-2.3, -1.5, -1.2], [-3.0, -2.5, -2.2]], dtype=np.float32)


def rounded(value: Tensor) -> Tensor:
    """Rounded, with the gradient of what was there before."""
    return value + (value.round() - value).detach()


def whole(weights: Tensor) -> Tensor:
    """Weights as they come out when each column is written in whole numbers to 127."""
    scale = weights.detach().abs().amax(dim=-2, keepdim=True).clamp(min=1e-8) / FULL
    if weights.dim() == 3:
        scale = scale.amax(dim=0, keepdim=True)
    return weights + ((weights / scale).round() * scale - weights).detach()


class Model(nn.Module):
    """The network of ``network.py`` in numbers that can be trained."""

    def __init__(self, seen: int, around: int) -> None:
        super().__init__()
        self.grams = nn.Parameter(torch.randn(1 << GRAM_BITS, LETTERS) * 0.05)
        self.first = nn.Parameter(torch.randn(seen + LETTERS, WIDTH) * 0.08)
        self.first_bias = nn.Parameter(torch.zeros(WIDTH))
        widths = [WIDTH + around, *[WIDTH] * len(STEPS)]
        self.steps = nn.ParameterList(
            torch.randn(3, width, WIDTH) * (2 / (3 * width)) ** 0.5 for width in widths[:-1]
        )
        self.step_biases = nn.ParameterList(torch.zeros(WIDTH) for _ in STEPS)
        self.last = nn.Parameter(torch.randn(sum(widths), len(KINDS) + 1) * 0.05)
        self.last_bias = nn.Parameter(torch.zeros(len(KINDS) + 1))
        self.drop = nn.Dropout(DROPPED)

    def forward(self, batch: Batch) -> Tensor:
        """The scores of all tokens of a batch."""
        table = rounded(self.grams.clamp(-1, 1) * FULL)
        table = torch.cat([torch.zeros_like(table[:1]), table[1:]])
        summed = functional.embedding_bag(batch.letters, table, batch.offsets, mode="sum")
        summed = rounded((summed / SUMMED).clamp(-FULL, FULL))
        row = torch.cat([batch.seen, summed], dim=1) / UNIT
        seen = self.active(row @ whole(self.first) + self.first_bias)[batch.places]
        level = torch.cat([seen, batch.around / UNIT], dim=1) * batch.inside
        levels = [level]
        for step, weights, bias in zip(STEPS, self.steps, self.step_biases, strict=True):
            kernel = whole(weights).permute(2, 1, 0)
            sums = functional.conv1d(
                self.drop(level).T[None], kernel, bias, padding=step, dilation=step
            )
            level = self.active(sums[0].T) * batch.inside
            levels.append(level)
        scores: Tensor = self.drop(torch.cat(levels, dim=1)) @ whole(self.last) + self.last_bias
        return scores

    @staticmethod
    def active(value: Tensor) -> Tensor:
        """Cut to what fits into 0 to 127 whole numbers."""
        return rounded(value.clamp(0, FULL / UNIT) * UNIT) / UNIT


@dataclass
class Batch:
    """Some texts, ready for the model."""

    letters: Tensor
    offsets: Tensor
    seen: Tensor
    places: Tensor
    around: Tensor
    inside: Tensor
    labels: Tensor
    weights: Tensor


class Material:
    """All texts as numbers."""

    def __init__(self, texts: list[Text], rare: Rare) -> None:
        self.tokens = Tokens.of([text.text for text in texts])
        self.around = self.tokens.around()
        self.look = Look.at(self.tokens.forms, self.tokens.shapes, rare)
        self.sizes = np.diff(np.append(self.look.first_letters, len(self.look.letters)))
        self.labels = np.zeros(len(self.tokens), dtype=np.int64)
        self.labels[self.tokens.ids == 0] = IGNORED
        self.weights = np.zeros(len(self.tokens), dtype=np.float32)
        kinds = {**{kind: number + 1 for number, kind in enumerate(KINDS)}, SOME: ANY}
        for text, (first, last) in zip(texts, self.tokens.bounds, strict=True):
            self.weights[first:last] = text.weight
            starts = self.tokens.starts[first:last]
            for start, end, label in text.spans:
                begin, stop = np.searchsorted(starts, [start, end])
                self.labels[first + begin : first + stop] = kinds.get(label, IGNORED)

    def batches(self, size: int, draw: np.random.Generator) -> list[NDArray[np.int64]]:
        """The numbers of texts that make up each batch."""
        order = draw.permutation(len(self.tokens.bounds))
        lengths = np.array([last - first for first, last in self.tokens.bounds])[order]
        groups = np.cumsum(lengths + APART) // size
        return [order[groups == group] for group in range(int(groups[-1]) + 1)]

    def batch(self, texts: NDArray[np.int64], draw: np.random.Generator) -> Batch:
        """A batch, with some of what is seen left out: words are new to it then."""
        bounds = [self.tokens.bounds[number] for number in texts]
        index = np.concatenate([np.arange(first, last + APART) for first, last in bounds])
        ids = self.tokens.ids[index]
        forms, places = np.unique(ids, return_inverse=True)
        sizes = self.sizes[forms]
        begins = np.repeat(self.look.first_letters[forms] - np.cumsum(sizes) + sizes, sizes)
        letters = self.look.letters[begins + np.arange(sizes.sum())].copy()
        letters[draw.random(letters.shape) < 0.08] = 0
        letters[draw.random(len(letters)) < 0.35, -1] = 0
        gone = np.repeat(draw.random(len(forms)) < FEWER_LETTERS, sizes)
        letters[gone] = 0
        vectors, flags = self.look.vectors[forms].copy(), self.look.flags[forms].copy()
        vectors[draw.random(len(forms)) < FEWER_VECTORS] = 0
        blur = BLUR * draw.standard_normal(vectors.shape) * (vectors != 0)
        vectors = np.clip(np.rint(vectors + blur), -FULL, FULL)
        flags[draw.random(len(forms)) < FEWER_LISTS, :7] = 0
        offsets = (np.cumsum(sizes) - sizes) * letters.shape[1]
        return Batch(
            torch.from_numpy(letters.reshape(-1)),
            torch.from_numpy(offsets),
            torch.from_numpy(np.hstack([vectors, flags]).astype(np.float32)),
            torch.from_numpy(places),
            torch.from_numpy(self.around[index]),
            torch.from_numpy((ids != 0).astype(np.float32))[:, None],
            torch.from_numpy(self.labels[index]),
            torch.from_numpy(self.weights[index]),
        )


def loss_of(scores: Tensor, batch: Batch) -> Tensor:
    """Cross-entropy; of a name of unknown kind only that it is one counts."""
    logs = functional.log_softmax(scores, dim=1)
    some = torch.log1p(-logs[:, 0].exp().clamp(max=1 - 1e-6))
    known = batch.labels.clamp(0, len(KINDS))
    hit = (1 - SMOOTHED) * logs.gather(1, known[:, None])[:, 0] + SMOOTHED * logs.mean(dim=1)
    losses = -torch.where(batch.labels == ANY, some, hit)
    weights = batch.weights * (batch.labels != IGNORED)
    return (losses * weights).sum() / weights.sum().clamp(min=1)


def fit(material: Material, epochs: float, seed: int) -> Model:
    """Train; the learning rate rises for a little while and then falls to zero."""
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    model = Model(material.look.vectors.shape[1] + len(FLAGS) + len(SHAPES), 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    plan = [group for _ in range(int(epochs + 1)) for group in material.batches(5000, draw)]
    plan = plan[: int(len(plan) * epochs / int(epochs + 1))]
    began, total = time.time(), 0.0
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, len(plan), pct_start=0.1)
    mean = torch.optim.swa_utils.AveragedModel(
        model,
        multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.995),  # type: ignore[no-untyped-call]
    )
    for number, group in enumerate(plan, start=1):
        batch = material.batch(group, draw)
        loss = loss_of(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        schedule.step()
        mean.update_parameters(model)
        total += loss.item()
        if number % 100 == 0:
            print(f"{number}/{len(plan)} {total / 100:.4f} {time.time() - began:.0f} s", flush=True)
            total = 0.0
    return cast("Model", mean.module).eval()


def written(model: Model, rare: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of the file."""
    arrays = dict(rare)
    table = (model.grams.detach().clamp(-1, 1) * FULL).round().numpy().astype(np.int8)
    table[0] = 0
    arrays["grams"] = table

    def put(name: str, weights: Tensor, bias: Tensor, unit: float) -> None:
        values = weights.detach().numpy()
        scale = np.abs(values).max(axis=tuple(range(values.ndim - 1))).clip(min=1e-8) / FULL
        arrays[f"{name}_weights"] = np.rint(values / scale).astype(np.int8)
        arrays[f"{name}_scale"] = (scale * unit / UNIT).astype(np.float32)
        arrays[f"{name}_bias"] = (bias.detach().numpy() * unit).astype(np.float32)

    put("first", model.first, model.first_bias, UNIT)
    for step, weights, bias in zip(STEPS, model.steps, model.step_biases, strict=True):
        put(f"step{step}", weights, bias, UNIT)
    put("last", model.last, model.last_bias, 1.0)
    arrays["thresholds"] = THRESHOLDS
    return arrays


def varied(text: Text, tickets: Tickets, shares: tuple[float, float, float, float]) -> list[Text]:
    """Copies in small letters, in capitals, misspelled and with other names, by their shares."""
    small, large, wrong, other = shares
    draw = tickets.draw
    copies = []
    if draw.random() < other and text.spans:
        new = [_other(text.text[start:end], label, tickets) for start, end, label in text.spans]
        copies.append(replaced(text, new))
    source = draw.choice([text, *copies])
    if draw.random() < small:
        copies.append(small_letters(source))
    if draw.random() < large:
        copies.append(capital_letters(source))
    if draw.random() < wrong:
        copies.append(misspelled(source, draw))
    return copies


def _other(shown: str, label: str, tickets: Tickets) -> str | None:
    draw = tickets.draw
    origin = draw.choice(("en", "en", "de", "es", "fr", "other"))
    if shown[0] in "@#" or draw.random() < 0.25:
        return None
    if label == "PERSON":
        if " " in shown:
            return f"{tickets.given(origin)} {tickets.surname(origin)}"
        return draw.choice((tickets.given, tickets.surname))(origin)
    if label == "LOCATION":
        return tickets.place(origin)
    return tickets.organization(origin) if label == "ORG" else None


def gather(given: argparse.Namespace, places: Places) -> tuple[list[Text], dict[str, list[Text]]]:
    """What is trained on, and what is scored."""
    tickets = Tickets(places, random.Random(given.seed))
    folder = given.resources / "data" / "ner"
    scored = {part: read_tagged(folder / f"{part}.conll.gz") for part in SCORED}
    scored["wikitext-test"] = read_labeled_lines(given.teacher_test)
    if given.dev:
        scored |= _set_apart(folder)
    held = [text for texts in scored.values() for text in texts]
    people = [
        join(sentence, close=tickets.draw.random() < 0.5)
        for part in TRAINING
        for sentence in read_sentences(folder / f"{part}.conll.gz")
    ]
    texts: list[Text] = []
    for text in without(people, held):
        texts += [text, *varied(text, tickets, (0.5, 0.05, 0.2, 0.7))]
    for text in without(read_labeled_lines(given.teacher)[: given.paragraphs], held):
        lighter = replace(text, weight=0.5)
        texts += [lighter, *varied(lighter, tickets, (0.25, 0.02, 0.05, 0.1))]
    for text in without(_treebanks(given.treebanks, given.pipeline), held):
        texts += [text, *varied(text, tickets, (0.3, 0.02, 0.1, 0.1))]
    for text in read_messages(given.messages) if given.messages else ():
        texts += [text, *varied(text, tickets, (0.2, 0.05, 0.0, 0.0))]
    for text in dialogues(300, given.seed):
        texts += [replace(text, weight=0.3)]
    for _ in range(given.tickets):
        ticket = tickets.ticket()
        text = Text(ticket.text, ticket.spans, 0.7)
        copies = varied(text, tickets, (0.5, 0.05, 0.3, 0.0))
        texts.append(tickets.draw.choice([text, *copies]))
    return texts, scored


def _set_apart(folder: Path) -> dict[str, list[Text]]:
    """Parts of the training text that are scored while settings are chosen."""
    return {
        "btc-a": read_tagged(folder / "btc-a.conll.gz"),
        "wnut-part": read_tagged(folder / "wnut17-train.conll.gz")[-700:],
    }


def _treebanks(folder: Path | None, pipeline: str | None) -> list[Text]:
    if folder is None:
        return []
    teacher = None
    if pipeline:
        import spacy

        teacher = spacy.load(pipeline, disable=["lemmatizer", "attribute_ruler"])
    texts: list[Text] = []
    for path in sorted(folder.glob("*.conllu")):
        english = path.name.startswith("en")
        if not english or teacher:
            texts += read_treebank(path, teacher if english else None)
    return texts


def main() -> None:
    """Train, write, score."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("resources", type=Path)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--teacher-test", type=Path, required=True)
    parser.add_argument("--treebanks", type=Path)
    parser.add_argument("--pipeline", help="spaCy's, for the treebank of English")
    parser.add_argument("--messages", type=Path)
    parser.add_argument("--paragraphs", type=int, default=6000)
    parser.add_argument("--tickets", type=int, default=14_000)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--dev", action="store_true", help="hold out btc-a and more, to choose by")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    places = read_places(PLACES)
    rare = rare_words(given.resources / "vectors" / "glove-6b-50d.npy", extra_lists(places))
    texts, scored = gather(given, places)
    material = Material(texts, Network.rare_of(rare))
    print(f"{len(texts):,} texts, {len(material.tokens):,} tokens", flush=True)
    arrays = written(fit(material, given.epochs, given.seed), rare)
    np.savez_compressed(given.output, allow_pickle=False, **arrays)
    print(f"{given.output.stat().st_size / 1e6:.2f} MB")
    print_scores(Network.read(arrays), scored)


if __name__ == "__main__":
    main()
