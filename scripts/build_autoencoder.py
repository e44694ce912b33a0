"""Train a small recurrent autoencoder on public text and write its folder.

    python scripts/build_autoencoder.py TEXT [TEXT ...] -o FOLDER [--size 64] [--steps 3000]

Each TEXT is public text (a TSV with a header, plain, or gzipped). A text becomes a vector of
``--size`` numbers and length 1, and the text is written again from the vector *with noise on it*:
what is learned that way survives the noise of ``latent``. One sentence in fifty is held out;
printed is the share of its places at which the greedy text has the right word, without noise and
with that of several levels. ``latent`` reads the folder: ``--mechanism latent --set model=FOLDER``.

Texts that overlap, such as SST-2's phrases of one sentence, make that figure too good: part of what
is held out was seen. ``python -m benchmarks models_that_rewrite`` measures on its test part.

3,000 steps on SST-2's training part take about seven minutes of one core. The same text, seed and
version of torch give the same weights on the same kind of processor, with one thread.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from public_text import read_public_sentences
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.latent_law import LatentLaw
from sfumato.models.autoencoder import Autoencoder, Shape, cut_words, save_autoencoder
from sfumato.models.autoencoder_network import BEGIN, PADDING, UNKNOWN, AutoencoderNetwork

FEWEST = 3
EMBEDDING, HIDDEN = 128, 256
BATCH, RATE = 48, 2e-3
# Noise of each coordinate in training, of unit vectors; and words that the writer must do without.
LOUDEST, HIDDEN_WORDS = 0.12, 0.4
HELD_OUT, MEASURED = 50, 300
# Of public vectors this share lies within what the folder states.
WITHIN = 0.999


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--words", type=int, default=6000)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    random.seed(given.seed)
    sentences = read_public_sentences(given.text, FEWEST, given.tokens)
    counts = Counter(word for one in sentences for word in cut_words(one))
    words = tuple(word for word, _ in counts.most_common(given.words))
    network = AutoencoderNetwork(
        words=len(words), embedding=EMBEDDING, hidden=HIDDEN, size=given.size
    )
    sizes = {"size": given.size, "embedding": EMBEDDING, "hidden": HIDDEN, "tokens": given.tokens}
    shape = Shape(**sizes, clip_norm=1.0, clip_width=1.0)
    made = Autoencoder("autoencoder", shape, words, network)
    rows = [made.row(one) for one in sentences]
    learned = [one for number, one in enumerate(rows) if number % HELD_OUT]
    print(f"{len(learned):,} sentences, {len(words):,} words", flush=True)
    train(network, learned, given.steps)
    network.eval()
    reach = reach_of(made, sentences[:2000])
    shape = Shape(**sizes, clip_norm=reach[0], clip_width=reach[1])
    save_autoencoder(given.output, network, words, shape)
    print(f"length {shape.clip_norm:.4g}, width {shape.clip_width:.4g}; it is in {given.output}")
    report(made, shape, sentences[::HELD_OUT][:MEASURED])


def train(network: AutoencoderNetwork, rows: list[list[int]], steps: int) -> None:
    """Write each text again from its vector with noise, knowing only some of the words before."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 100) * max(0.02, 1 - step / steps)
    )
    network.train()
    start, losses = time.process_time(), []
    for step in range(steps):
        some = sorted(random.sample(rows, BATCH * 4), key=len)
        place = random.randrange(4) * BATCH
        after = pad(some[place : place + BATCH])
        codes = network.encode(after)
        codes = codes + torch.randn_like(codes) * (torch.rand(len(codes), 1) * LOUDEST)
        before = torch.cat([torch.full((len(after), 1), BEGIN), after[:, :-1]], 1)
        unseen = (torch.rand(before.shape) < HIDDEN_WORDS) & (before > UNKNOWN)
        before = before.masked_fill(unseen, UNKNOWN)
        scores, _ = network.step(codes, before, network.begin(codes))
        loss = cross_entropy(scores.flatten(0, 1), after.flatten(), ignore_index=PADDING)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if (step + 1) % 100 == 0:
            spent = time.process_time() - start
            print(f"step {step + 1}: loss {np.mean(losses[-100:]):.3f}, {spent:.0f} s", flush=True)


def pad(rows: list[list[int]]) -> Tensor:
    """Rows of one width."""
    width = max(map(len, rows))
    return torch.tensor([row + [PADDING] * (width - len(row)) for row in rows])


def reach_of(made: Autoencoder, sentences: list[str]) -> tuple[float, float]:
    """How long public vectors are, and how wide, but for a few."""
    vectors = np.stack([made.encode(one) for one in sentences])
    lengths = np.linalg.norm(vectors, axis=1)
    return float(np.quantile(lengths, WITHIN)), float(np.quantile(np.abs(vectors), WITHIN))


def report(made: Autoencoder, shape: Shape, sentences: list[str]) -> None:
    """Right words by place, without noise and with that of several levels."""
    print(f"no noise: {right(made, sentences, None):.3f}", flush=True)
    for epsilon in (100.0, 250.0, 500.0, 1000.0):
        for delta in (0.0, 1e-5):
            law = LatentLaw.of(
                size=shape.size, clip_norm=shape.clip_norm, clip_width=shape.clip_width,
                epsilon=epsilon, delta=delta, kind="gaussian" if delta else "gamma",
            )  # fmt: skip
            print(f"ε {epsilon:g}, δ {delta:g}: {right(made, sentences, law):.3f}", flush=True)


def right(made: Autoencoder, sentences: list[str], law: LatentLaw | None) -> float:
    """The share of places of the texts at which the same word is written."""
    same = places = 0
    for number, text in enumerate(sentences):
        vector = made.encode(text)
        if law is not None:
            vector = law.release(vector, Randomness.reproducible(number))
        wanted = made.row(text)[:-1]
        found = made.row(made.decode(vector, made.shape.tokens))[:-1]
        same += sum(one == other for one, other in zip(wanted, found, strict=False))
        places += len(wanted)
    return same / places


if __name__ == "__main__":
    main()
