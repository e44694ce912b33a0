"""Train the tagger of ``pii`` and write its weights.

    python scripts/train_tagger.py RESOURCES --teacher WIKI.jsonl.gz --teacher-test TEST.jsonl.gz
        --treebanks FOLDER --more FOLDER --messages FOLDER --seed 1
        [--start WEIGHTS.npz --rate 1.5e-3 --epochs 1.5]
        -o src/sfumato/policies/pii/weights/tagger.npz

RESOURCES is the folder with ``data/ner`` and ``vectors/glove-6b-50d.npy``; the other folders hold
files of public repositories. What each part is, under which terms, and which files are read stands
in ``tagger_corpus.py``. With ``--start`` training goes on from weights that an earlier run wrote.
The same data and seed give the same weights with the same version of torch on the same kind of
processor. One text in ten of what people or the teacher labeled is held out: thresholds, and what
is added to scores by how a word is written (``tagger_shifts.py``), are chosen by these; with
``--epochs 0`` only this is done again. Figures are printed at the end, on parts that were neither
trained on nor chosen by. Needs torch and Faker.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sfumato import mechanisms
from sfumato.policies.pii.detector import RECALLS
from sfumato.policies.pii.features import FLAGS, FULL, GRAM_BITS, Look, Rare
from sfumato.policies.pii.forms import SHAPES
from sfumato.policies.pii.network import FAR, KINDS, NEAR, PART, SUMMED, Network
from sfumato.policies.pii.surroundings import Surroundings
from sfumato.policies.pii.tokens import APART, Tokens
from tagger_corpus import (
    HANDLE,
    LINK,
    MORE,
    SOME,
    TRAINING,
    Text,
    capital_letters,
    dialogues,
    join,
    misspelled,
    read_labeled_lines,
    read_messages,
    read_named,
    read_sentences,
    read_treebank,
    replaced,
    small_letters,
    without,
)
from tagger_scores import choose, print_scores, read_scored
from tagger_shifts import shifts
from tagger_tickets import Places, Tickets, extra_lists, read_places
from tagger_words import rare_words

LETTERS, FORM, SEEN, INNER, OUTER = 32, 128, 64, 96, 64
# All that keeps the network from learning its texts by heart.
DROPPED, DROPPED_FORMS, FEWER_LETTERS, FEWER_VECTORS, FEWER_LISTS = 0.3, 0.1, 0.2, 0.05, 0.2
SCREENED, SHARE_OF_SCREEN = 30.0, 0.05
LENIENT = 1.8  # how far below a draw the screen still lets a word pass
BLUR = 8.0  # steps of 127 by which vectors vary
SMOOTHED, DECAY = 0.02, 0.1
RATE = 4e-3
RARE = ("rare_gaps", "rare_codes", "rare_lists", "typical")
UNIT = 32.0  # a whole number of 32 is 1 inside the network while it is trained
IGNORED, ANY = -1, len(KINDS) + 1
PLACES = Path(mechanisms.__file__).with_name("data") / "places.txt.gz"
HELD_OUT = 10  # one text in so many

Shares = tuple[float, float, float, float]


def rounded(value: Tensor) -> Tensor:
    """Rounded, with the gradient of what was there before."""
    return value + (value.round() - value).detach()


def whole(weights: Tensor) -> Tensor:
    """Weights as they come out when each column is written in whole numbers to 127."""
    scale = weights.detach().abs().amax(dim=-2, keepdim=True).clamp(min=1e-8) / FULL
    return weights + ((weights / scale).round() * scale - weights).detach()


class Linear(nn.Module):
    """A layer whose weights come out in whole numbers."""

    def __init__(self, rows: int, columns: int, spread: float | None = None) -> None:
        super().__init__()
        spread = (2 / rows) ** 0.5 if spread is None else spread
        self.weights = nn.Parameter(torch.randn(rows, columns) * spread)
        self.bias = nn.Parameter(torch.zeros(columns))

    def forward(self, rows: Tensor) -> Tensor:
        """Sums of products, and the bias."""
        return rows @ whole(self.weights) + self.bias


class Dropout(nn.Module):
    """Leaves out a share of all numbers by random bytes: torch's own takes a third of the time."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.kept = 256 - round(256 * share)
        self.draw = np.random.default_rng(int(torch.randint(1 << 31, (1,))))

    def forward(self, rows: Tensor) -> Tensor:
        """The rows with some numbers left out and the others larger, so that sums stay."""
        if not self.training:
            return rows
        drawn = torch.frombuffer(bytearray(self.draw.bytes(rows.numel())), dtype=torch.uint8)
        return rows * ((drawn < self.kept).view(rows.shape) * (256 / self.kept))


def shifted(rows: Tensor, offset: int) -> Tensor:
    """What stands so many places after each row, zeros beyond the ends."""
    if offset == 0:
        return rows
    if offset > 0:
        return functional.pad(rows[offset:], (0, 0, 0, offset))
    return functional.pad(rows[:offset], (0, 0, -offset, 0))


class Model(nn.Module):
    """The network of ``network.py`` in numbers that can be trained."""

    def __init__(self, seen: int, around: int) -> None:
        super().__init__()
        self.grams = nn.Parameter(torch.randn(1 << GRAM_BITS, LETTERS) * 0.05)
        wide = len(NEAR) * SEEN + len(FAR) * PART + around
        self.first = Linear(seen + LETTERS, FORM, 0.08)
        self.second = Linear(FORM, SEEN)
        self.window = Linear(wide, INNER)
        self.middle = Linear(INNER, OUTER)
        self.last = Linear(SEEN + INNER + OUTER, len(KINDS) + 1, 0.05)
        self.screen = Linear(SEEN, 1, 0.05)
        self.drop, self.drop_form = Dropout(DROPPED), Dropout(DROPPED_FORMS)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The scores of all tokens of a batch, and whether each can be of a name at all."""
        table = rounded(self.grams.clamp(-1, 1) * FULL)
        table = torch.cat([torch.zeros_like(table[:1]), table[1:]])
        summed = functional.embedding_bag(batch.letters, table, batch.offsets, mode="sum")
        summed = rounded((summed / SUMMED).clamp(-FULL, FULL))
        row = torch.cat([batch.seen, summed], dim=1) / UNIT
        forms = self.active(self.second(self.drop_form(self.active(self.first(row)))))
        seen = forms[batch.places] * batch.inside
        parts = [shifted(seen, offset) for offset in NEAR]
        parts += [shifted(seen[:, :PART], offset) for offset in FAR]
        wide = torch.cat([*parts, batch.around / UNIT], dim=1)
        inner = self.active(self.window(self.drop(wide)))
        outer = self.active(self.middle(self.drop(inner)))
        scores: Tensor = self.last(self.drop(torch.cat([seen, inner, outer], dim=1)))
        return scores, self.screen(seen)[:, 0]

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
        self.around = Surroundings(self.tokens).at(np.arange(len(self.tokens)))
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
            # Handles and web addresses are a matter of rules: corpora label the same ones or not.
            for match in (*HANDLE.finditer(text.text), *LINK.finditer(text.text)):
                begin, stop = np.searchsorted(starts, match.span())
                self.labels[first + begin : first + stop] = IGNORED

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


def loss_of(made: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
    """Cross-entropy; of a name of unknown kind only that it is one counts."""
    scores, possible = made
    logs = functional.log_softmax(scores, dim=1)
    some = torch.log1p(-logs[:, 0].exp().clamp(max=1 - 1e-6))
    known = batch.labels.clamp(0, len(KINDS))
    hit = (1 - SMOOTHED) * logs.gather(1, known[:, None])[:, 0] + SMOOTHED * logs.mean(dim=1)
    losses = -torch.where(batch.labels == ANY, some, hit)
    weights = batch.weights * (batch.labels != IGNORED)
    named = (batch.labels > 0).float()
    screened = functional.binary_cross_entropy_with_logits(
        possible, named, reduction="none", pos_weight=torch.tensor(SCREENED)
    )
    losses = losses + SHARE_OF_SCREEN * screened
    return (losses * weights).sum() / weights.sum().clamp(min=1)


def fit(material: Material, model: Model, rate: float, epochs: float, seed: int) -> Model:
    """Train; the learning rate rises for a little while and then falls to zero."""
    draw = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=DECAY)
    plan = [group for _ in range(int(epochs + 1)) for group in material.batches(5000, draw)]
    plan = plan[: int(len(plan) * epochs / int(epochs + 1))]
    began, total = time.time(), 0.0
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, len(plan), pct_start=0.1)
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


def new_model(material: Material) -> Model:
    """A network that has learned nothing."""
    seen = material.look.vectors.shape[1] + len(FLAGS) + len(SHAPES)
    return Model(seen, material.around.shape[1])


def started(model: Model, arrays: Mapping[str, NDArray[Any]]) -> Model:
    """A network that knows what one that was written knew; the reverse of ``written``."""

    def take(name: str, unit: float) -> None:
        layer = getattr(model, name)
        weights = arrays[f"{name}_weights"] * arrays[f"{name}_scale"] * UNIT / unit
        layer.weights.data = torch.from_numpy(weights.astype(np.float32))
        layer.bias.data = torch.from_numpy((arrays[f"{name}_bias"] / unit).astype(np.float32))

    model.grams.data = torch.from_numpy(arrays["grams"].astype(np.float32) / FULL)
    for name in ("first", "second", "window", "middle"):
        take(name, UNIT)
    for name in ("last", "screen"):
        take(name, 1.0)
    model.screen.bias.data -= LENIENT
    return model


def written(model: Model, rare: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of the file."""
    arrays = dict(rare)
    table = (model.grams.detach().clamp(-1, 1) * FULL).round().numpy().astype(np.int8)
    table[0] = 0
    arrays["grams"] = table

    def put(name: str, layer: Linear, unit: float) -> None:
        values = layer.weights.detach().numpy()
        scale = np.abs(values).max(axis=tuple(range(values.ndim - 1))).clip(min=1e-8) / FULL
        arrays[f"{name}_weights"] = np.rint(values / scale).astype(np.int8)
        arrays[f"{name}_scale"] = (scale * unit / UNIT).astype(np.float32)
        arrays[f"{name}_bias"] = (layer.bias.detach().numpy() * unit).astype(np.float32)

    for name in ("first", "second", "window", "middle"):
        put(name, getattr(model, name), UNIT)
    for name in ("last", "screen"):
        put(name, getattr(model, name), 1.0)
    arrays["screen_bias"] += LENIENT
    arrays["shifts"] = np.zeros((len(SHAPES), len(KINDS)), dtype=np.float32)
    arrays["thresholds"] = np.zeros((len(RECALLS), len(KINDS)), dtype=np.float32)
    return arrays


def varied(text: Text, tickets: Tickets, shares: Shares) -> list[Text]:
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


@dataclass
class Gathered:
    """What is trained on, what thresholds are chosen by, and what is only ever scored."""

    tickets: Tickets
    scored: dict[str, list[Text]]
    texts: list[Text] = field(default_factory=list)
    held: dict[str, list[Text]] = field(default_factory=dict)

    def add(self, texts: Iterable[Text], shares: Shares, weight: float, part: str = "") -> None:
        """Add texts with copies of them; of a part that is named one text in ten is held out."""
        for text in without(texts, chain.from_iterable(self.scored.values())):
            if part and int(text.digest()[:6], 16) % HELD_OUT == 0:
                self.held.setdefault(part, []).append(text)
            else:
                weighed = replace(text, weight=weight)
                self.texts += [weighed, *varied(weighed, self.tickets, shares)]


def gather(given: argparse.Namespace, places: Places) -> Gathered:
    """Read and make all texts."""
    tickets = Tickets(places, random.Random(given.seed))
    scored = read_scored(given.resources, given.treebanks, given.teacher_test)
    gathered = Gathered(tickets, scored)
    _add_sentences(gathered, given.resources / "data" / "ner", given.more)
    paragraphs = read_labeled_lines(given.teacher)[: given.paragraphs]
    gathered.add(paragraphs, (0.25, 0.02, 0.05, 0.1), 0.5, "wikitext")
    _add_treebanks(gathered, given.treebanks)
    texts = gathered.texts
    for text in read_messages(given.messages):
        texts += [text, *varied(text, tickets, (0.2, 0.05, 0.0, 0.0))]
    for text in dialogues(300, given.seed):
        texts += [replace(text, weight=0.3)]
    for _ in range(given.tickets):
        ticket = tickets.ticket()
        text = Text(ticket.text, ticket.spans, 0.7)
        copies = varied(text, tickets, (0.5, 0.05, 0.3, 0.0))
        texts.append(tickets.draw.choice([text, *copies]))
    return gathered


def _add_sentences(gathered: Gathered, folder: Path, more: Path) -> None:
    """Posts, tweets and sentences of an encyclopedia in which people labeled the names."""
    draw = gathered.tickets.draw
    posts = [folder / f"{part}.conll.gz" for part in TRAINING]
    for path in posts + [more / f"{part}.conll" for part in MORE]:
        some = [join(one, close=draw.random() < 0.5) for one in read_sentences(path)]
        gathered.add(some, (0.5, 0.05, 0.2, 0.7), 1.0, path.name.split("-")[0])
    for path in [more / "wikigold.conll", *sorted((more / "crossner").glob("*.txt"))]:
        some = [join(one, close=draw.random() < 0.8) for one in read_sentences(path)]
        gathered.add(some, (0.3, 0.02, 0.1, 0.3), 0.7)


def _add_treebanks(gathered: Gathered, banks: Path) -> None:
    for path in sorted(banks.glob("*.iob2")):
        if path.name.startswith("en_ewt-ud-dev"):
            gathered.add(read_named(path), (0.5, 0.05, 0.2, 0.5), 1.0, "ewt")
        elif "ewt" not in path.name:
            gathered.add(read_named(path), (0.3, 0.02, 0.1, 0.1), 1.0)
    for path in sorted(banks.glob("*.conllu")):
        gathered.add(read_treebank(path), (0.3, 0.02, 0.1, 0.1), 1.0)


def main() -> None:
    """Train, write, score."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("resources", type=Path)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--teacher-test", type=Path, required=True)
    parser.add_argument("--treebanks", type=Path, required=True)
    parser.add_argument("--more", type=Path, required=True)
    parser.add_argument("--messages", type=Path, required=True)
    parser.add_argument("--paragraphs", type=int, default=6000)
    parser.add_argument("--tickets", type=int, default=14_000)
    parser.add_argument("--epochs", type=float, default=4.5, help="0, with --start: none")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--start", type=Path, help="weights to go on from")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--scores", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    if not given.epochs and not given.start:
        parser.error("without --epochs there must be weights to go on from (--start)")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    places = read_places(PLACES)
    if given.start:
        with np.load(given.start, allow_pickle=False) as stored:
            known = dict(stored)
        rare = {name: known[name] for name in RARE}
    else:
        rare = rare_words(given.resources / "vectors" / "glove-6b-50d.npy", extra_lists(places))
    gathered = gather(given, places)
    if not given.epochs:
        finish(known, gathered, given)
        return
    texts = gathered.texts
    material = Material(texts, Network.rare_of(rare))
    print(f"{len(texts):,} texts, {len(material.tokens):,} tokens", flush=True)
    torch.manual_seed(given.seed)
    model = new_model(material)
    if given.start:
        model = started(model, known)
    arrays = written(fit(material, model, given.rate, given.epochs, given.seed), rare)
    finish(arrays, gathered, given)


def finish(arrays: dict[str, NDArray[Any]], gathered: Gathered, given: argparse.Namespace) -> None:
    """Choose what is added to scores and where they count, by what was held out; write, score."""
    arrays["shifts"] = np.zeros((len(SHAPES), len(KINDS)), dtype=np.float32)
    arrays["shifts"] = shifts(Network.read(arrays), gathered.held)
    arrays["thresholds"] = choose(Network.read(arrays), gathered.held)
    np.savez_compressed(given.output, allow_pickle=False, **arrays)
    print(f"{given.output.stat().st_size / 1e6:.2f} MB")
    if given.scores:
        print_scores(Network.read(arrays), gathered.scored)


if __name__ == "__main__":
    main()
