"""Networks whose rows are computed apart: what one row says owes nothing to the others.

Guarantee
    A writer that passes is of none of the kinds that are known to couple rows, and read a public
    batch of the given shape with the same result, bit for bit, for every row but the last, whatever
    stood in that one: little or as much as fits, with other tokens. What had been read before made
    no difference either.

Why it holds
    Most networks multiply, normalize and attend within a row. Three kinds do not, and are known by
    their configuration or by the names of their parts:

    - positions whose frequencies follow the longest row of a batch (``longrope``, once ``su``);
    - positions whose frequencies follow the longest row that was ever read (``dynamic``): the
      network keeps them, so reading one row at a time does not help;
    - mixtures of experts: an expert multiplies the tokens of all rows that were sent to it, so the
      shape of its product, and with it the last digits, depend on the others; where an expert has
      room for so many tokens only, more than those.

    The first and the last are harmless as long as each row is read by itself. Others are looked
    for by trying (``_coupled``).

Care
    A trial is no proof: what couples rows only for other tokens, or for longer rows than those of
    the trial, passes it. The kinds above can: a ``longrope`` of 4,096 places shows nothing in a
    short trial, and experts often enough nothing at all. So they are refused by name. It is also
    a trial on this machine: another one may sum in another way, but so will the trial there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.models.writing import Writer

# What the positions of a network may be called that follow a whole batch, or all that was read.
_BY_BATCH = frozenset({"longrope", "su"})
_BY_ALL = frozenset({"dynamic"})
# Numbers of experts that a configuration may name, and parts of names that mean something else.
_OTHER_NUMBERS = ("_per_", "shared", "active", "top_k", "topk")
_STEPS = 2


def refuse_coupled_rows(writer: Writer, *, rows: int, width: int) -> None:
    """Refuse a writer that, in batches of so many rows and places, lets one row change others."""
    config = writer.network.config.to_dict()
    ropes = set(_ropes(config))
    if ropes & _BY_ALL:
        raise InvalidArgument(
            f"the positions of {writer.name} ({', '.join(sorted(ropes & _BY_ALL))}) follow the "
            "longest text that it has read, so each text changes how others are read; take a model "
            "without them"
        )
    if rows > 1:
        _refuse_batches(writer, config, ropes)
    if _coupled(writer, rows, width):
        raise InvalidArgument(
            f"{writer.name} reads a text differently if another text was read with it or before "
            f"it, in a trial with {rows:,} public rows, so nothing could be said about each text "
            f"by itself; {_ADVICE if rows > 1 else 'take another model'}"
        )


_ADVICE = "take another model, or read one text at a time, `settings={'batch': 1}`"


def _refuse_batches(writer: Writer, config: Mapping[str, Any], ropes: set[str]) -> None:
    if ropes & _BY_BATCH:
        raise InvalidArgument(
            f"the positions of {writer.name} ({', '.join(sorted(ropes & _BY_BATCH))}) follow the "
            f"longest text of a batch, so each text changes how the others are read; {_ADVICE}"
        )
    parts = {name.rpartition(".")[2] for name, _ in writer.network.named_modules()}
    if has_experts(config) or "experts" in parts:
        raise InvalidArgument(
            f"{writer.name} is a mixture of experts: an expert multiplies the tokens of all texts "
            f"of a batch at once, so the texts change each other's last digits; {_ADVICE}"
        )


def has_experts(config: Mapping[str, Any]) -> bool:
    """Whether a configuration names two experts or more, under any of the usual names.

    >>> has_experts({"num_local_experts": 8}), has_experts({"ffn": {"moe_num_experts": [4]}})
    (True, True)
    >>> has_experts({"num_experts_per_tok": 2, "num_local_experts": 0, "n_routed_experts": None})
    False
    """
    for name, value in _entries(config):
        counts = "experts" in name and ("num" in name or name.startswith("n_"))
        if counts and not any(part in name for part in _OTHER_NUMBERS):
            several = value if isinstance(value, list | tuple) else (value,)
            if any(isinstance(one, int) and one > 1 for one in several):
                return True
    return False


def _ropes(config: Mapping[str, Any]) -> Iterator[str]:
    """The kinds of positions that turn, of all layers and parts of a network."""
    for name, value in _entries(config):
        if isinstance(value, Mapping) and "rope" in name:
            for inner, kind in _entries(value):
                if inner in ("rope_type", "type") and isinstance(kind, str):
                    yield kind.lower()
        elif name == "rope_type" and isinstance(value, str):
            yield value.lower()


def _entries(config: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """All settings, those of parts as well."""
    for name, value in config.items():
        yield str(name), value
        if isinstance(value, Mapping):
            yield from _entries(value)


def _coupled(writer: Writer, rows: int, width: int) -> bool:
    """Whether a row changes with the last one of its batch, or with what was read before."""
    places = max(2, min(width, writer.context - _STEPS))
    lengths = (places // 2, places - 1, 1)
    last = [_row(writer, rows, length, shift) for shift, length in enumerate(lengths)]
    # Rows of all lengths; none fills its places, as in a batch of records.
    others = [_row(writer, one, 1 + one % (places - 1), 0) for one in range(rows - 1)]
    first, *again = [_read(writer, [*others, one], places) for one in last]
    if not others:  # then only the same row, read again, can tell of what was read before
        return not np.array_equal(first, _read(writer, last[:1], places), equal_nan=True)
    return any(not np.array_equal(first[:, :-1], one[:, :-1], equal_nan=True) for one in again)


def _row(writer: Writer, number: int, length: int, shift: int) -> list[int]:
    """Public tokens, different from row to row."""
    return [(31 * number + 7 * place + 101 * shift + 1) % writer.outputs for place in range(length)]


def _read(writer: Writer, rows: list[list[int]], width: int) -> Floats:
    """Scores after the rows and after each of a few more tokens."""
    state = writer.begin(rows, width=width)
    found = [state.scores]
    for _ in range(min(_STEPS, writer.longest - 1)):
        state.step([1 % writer.outputs] * len(rows))
        found.append(state.scores)
    return np.array(found)
