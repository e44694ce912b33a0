"""Train a masked-language head on a public encoder that has none, and write a model folder.

    python scripts/build_masked_head.py ENCODER TEXT [TEXT ...] -o FOLDER [--steps 600] [--seed 1]

ENCODER is the folder of a transformer of BERT's kind without a head, such as all-MiniLM-L6-v2;
each TEXT is public text (a TSV with a header, plain, or gzipped). The head's transform is new, its
decoder is tied to the word embeddings, and the last layers of the encoder are tuned with it;
embeddings and the first layers stay as they are. One sentence in fifty is held out: printed is how
often the likeliest token at one masked place of it is the one that stood there. ``masked`` reads
the folder: ``--mechanism masked --set model=FOLDER``.

Texts that overlap, such as SST-2's phrases of one sentence, make that figure too good: part of what
is held out was seen. ``python -m benchmarks models_that_rewrite`` measures on its test part.

600 steps on SST-2's training part take about eight minutes of one core. The same text, seed and
version of torch give the same weights on the same kind of processor, with one thread.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import AutoModelForMaskedLM, AutoTokenizer

from public_text import read_public_sentences

FEWEST, MOST, LONGEST = 5, 40, 48
BATCH = 32
# Of the new head, and of what it stands on.
RATES = 2e-3, 3e-4
HELD_OUT, MEASURED = 50, 400
# Many places are masked at first, because each is something to learn from; the mechanism masks one.
SHARES = 0.35, 0.15


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("encoder", type=Path)
    parser.add_argument("text", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--frozen", type=int, default=3, help="layers that stay as they are")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    random.seed(given.seed)
    tokenizer = AutoTokenizer.from_pretrained(given.encoder)
    network: Any = AutoModelForMaskedLM.from_pretrained(given.encoder, dtype=torch.float32)
    rows = encode(read_public_sentences(given.text, FEWEST, MOST), tokenizer)
    tested, learned = rows[::HELD_OUT], [one for n, one in enumerate(rows) if n % HELD_OUT]
    print(f"{len(learned):,} sentences to learn from, {len(tested):,} held out", flush=True)
    freeze(network, given.frozen)
    start_from_counts(network, learned)
    train(network, learned, tokenizer, given.steps)
    network.eval()
    print(f"masked accuracy {accuracy(network, tested[:MEASURED], tokenizer):.3f}")
    network.save_pretrained(given.output)
    tokenizer.save_pretrained(given.output)
    print(f"the model is in {given.output}")


def encode(sentences: list[str], tokenizer: Any) -> list[list[int]]:
    """Rows of tokens with what the model expects around them."""
    found = tokenizer(sentences, truncation=True, max_length=LONGEST)["input_ids"]
    return [list(row) for row in found]


def freeze(network: Any, layers: int) -> None:
    """Leave the embeddings (and with them the decoder) and the first layers as they are."""
    still = [network.base_model.embeddings, *network.base_model.encoder.layer[:layers]]
    for module in still:
        module.requires_grad_(requires_grad=False)


def start_from_counts(network: Any, rows: list[list[int]]) -> None:
    """Let the head begin with how frequent tokens are, which steps would learn first."""
    counts = torch.ones(network.config.vocab_size)
    for row in rows:
        counts += torch.bincount(torch.tensor(row), minlength=len(counts))
    network.cls.predictions.bias.data.copy_((counts / counts.sum()).log())


def train(network: Any, rows: list[list[int]], tokenizer: Any, steps: int) -> None:
    """Plain steps on batches of rows of about one length."""
    head = [one for one in network.cls.parameters() if one.requires_grad]
    below = [one for one in network.base_model.parameters() if one.requires_grad]
    moving = [*head, *below]
    groups = [{"params": head, "lr": RATES[0]}, {"params": below, "lr": RATES[1]}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 60) * max(0.02, 1 - step / steps)
    )
    network.train()
    start, losses = time.process_time(), []
    for step in range(steps):
        some = sorted(random.sample(rows, BATCH * 4), key=len)
        place = random.randrange(4) * BATCH
        ids, real = pad(some[place : place + BATCH], tokenizer)
        share = SHARES[0] + (SHARES[1] - SHARES[0]) * step / steps
        special = torch.tensor(tokenizer.all_special_ids)
        hidden = (torch.rand(ids.shape) < share) & ~torch.isin(ids, special)
        if not hidden.any():
            continue
        scores = scores_at(network, ids.masked_fill(hidden, tokenizer.mask_token_id), real, hidden)
        loss = cross_entropy(scores, ids[hidden])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(moving, 1.0)
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if (step + 1) % 50 == 0:
            spent = time.process_time() - start
            print(f"step {step + 1}: loss {sum(losses[-50:]) / 50:.3f}, {spent:.0f} s", flush=True)


def scores_at(network: Any, ids: Tensor, real: Tensor, hidden: Tensor) -> Tensor:
    """The head's scores at hidden places alone: the decoder is the dearest part."""
    states = network.base_model(input_ids=ids, attention_mask=real).last_hidden_state
    found: Tensor = network.cls(states[hidden])
    return found


def pad(rows: list[list[int]], tokenizer: Any) -> tuple[Tensor, Tensor]:
    """Rows of one width, and which of their places are real."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), tokenizer.pad_token_id)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row)
    real = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    return ids, real


def accuracy(network: Any, rows: list[list[int]], tokenizer: Any) -> float:
    """How often the likeliest token is the one that stood there, one place masked at a time."""
    right = places = 0
    for row in rows:
        inner = list(range(1, len(row) - 1))
        ids = torch.tensor([row] * len(inner))
        hidden = torch.zeros_like(ids, dtype=torch.bool)
        hidden[range(len(inner)), inner] = True
        with torch.no_grad():
            masked = ids.masked_fill(hidden, tokenizer.mask_token_id)
            scores = scores_at(network, masked, torch.ones_like(ids), hidden)
        right += int((scores.argmax(1) == ids[hidden]).sum())
        places += len(inner)
    return right / places


if __name__ == "__main__":
    main()
