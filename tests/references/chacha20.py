"""ChaCha20 written out from RFC 8439, to compare the stream of noise with."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

MASK = 0xFFFFFFFF


def chacha20_block(key: bytes, tail: bytes) -> bytes:
    """One block as RFC 8439 section 2.3 writes it; ``tail`` is the counter and the nonce."""
    start = struct.unpack("<16I", b"expand 32-byte k" + key + tail)
    state = list(start)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & MASK
            mixed = state[z] ^ state[x]
            state[z] = (mixed << turn | mixed >> (32 - turn)) & MASK

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter(
                diagonal,
                4 + (diagonal + 1) % 4,
                8 + (diagonal + 2) % 4,
                12 + (diagonal + 3) % 4,
            )
    mixed_in = ((new + old) & MASK for new, old in zip(state, start, strict=True))
    return struct.pack("<16I", *mixed_in)


def keystream(key: int, blocks: int) -> NDArray[np.uint64]:
    """The keystream for counter 0, 1, 2, … and a nonce of zeros."""
    content = b"".join(
        chacha20_block(key.to_bytes(32, "little"), number.to_bytes(16, "little"))
        for number in range(blocks)
    )
    return np.frombuffer(content, dtype="<u8")
