"""AES-128 written out from FIPS 197, to compare the stream of noise with."""

from __future__ import annotations


def _times(a: int, b: int) -> int:
    """The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def _substitution() -> list[int]:
    """The S-box: the inverse in GF(2^8), then an affine map (FIPS 197, section 5.1.1)."""
    inverse = [0] * 256
    for a in range(1, 256):
        inverse[a] = next(b for b in range(1, 256) if _times(a, b) == 1)
    return [
        b ^ _turned(b, 1) ^ _turned(b, 2) ^ _turned(b, 3) ^ _turned(b, 4) ^ 0x63 for b in inverse
    ]


def _turned(byte: int, places: int) -> int:
    return ((byte << places) | (byte >> (8 - places))) & 0xFF


SBOX = _substitution()


def round_keys(key: bytes) -> list[list[int]]:
    """Eleven keys of sixteen bytes (section 5.2)."""
    words = [list(key[place : place + 4]) for place in range(0, 16, 4)]
    constant = 1
    for place in range(4, 44):
        word = list(words[-1])
        if place % 4 == 0:
            word = [SBOX[byte] for byte in word[1:] + word[:1]]
            word[0] ^= constant
            constant = _times(constant, 2)
        words.append([a ^ b for a, b in zip(words[-4], word, strict=True)])
    return [
        [byte for word in words[place : place + 4] for byte in word] for place in range(0, 44, 4)
    ]


def encrypted(key: bytes, block: bytes) -> bytes:
    """One block (section 5.1)."""
    keys = round_keys(key)
    state = [a ^ b for a, b in zip(block, keys[0], strict=True)]
    for number in range(1, 11):
        state = [SBOX[byte] for byte in state]
        state = [state[(place + 4 * (place % 4)) % 16] for place in range(16)]
        if number < 10:
            state = [
                _times(state[4 * column + row], 2)
                ^ _times(state[4 * column + (row + 1) % 4], 3)
                ^ state[4 * column + (row + 2) % 4]
                ^ state[4 * column + (row + 3) % 4]
                for column in range(4)
                for row in range(4)
            ]
        state = [a ^ b for a, b in zip(state, keys[number], strict=True)]
    return bytes(state)
