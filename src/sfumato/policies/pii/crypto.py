"""Addresses of Bitcoin and Ethereum wallets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Cue, Page, Reading

_SHORTEST = 26


@dataclass(frozen=True)
class Crypto:
    """Where somebody can be sent coins, and what they own can be looked up."""

    label: ClassVar[str] = "CRYPTO"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a word as long as an address."""
        firsts, lasts = page.alphanumerics
        return page.documents_at(firsts[lasts - firsts >= _SHORTEST])

    def find(self, reading: Reading) -> Iterator[Found]:
        """Words as long as an address: those that pass its check, and announced ones."""
        for match in _long().finditer(reading.text) if reading.starts else ():
            found = _judged(reading, match)
            if found:
                yield Found(match.start(), match.end(), self.label, *found)


def _judged(reading: Reading, match: re.Match[str]) -> tuple[str, str] | None:
    word = match[0]
    if _ethereum().fullmatch(word):
        return "crypto-ethereum", "written like an address of Ethereum"
    if not _bitcoin().fullmatch(word):
        return None
    from stdnum import bitcoin

    if bitcoin.is_valid(word):
        return "crypto-bitcoin", "passes the check of an address of Bitcoin"
    if reading.near(match.start(), match.end(), _cue()):
        return "crypto-context", "looks like the address of a wallet, in context"
    return None


@cache
def _long() -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9]{{{_SHORTEST},90}}+(?![A-Za-z0-9])")


@cache
def _ethereum() -> re.Pattern[str]:
    return re.compile(r"0x[0-9a-fA-F]{40}")


@cache
def _bitcoin() -> re.Pattern[str]:
    base58 = r"[13][1-9A-HJ-NP-Za-km-z]{25,34}"
    bech32 = r"bc1[02-9ac-hj-np-z]{11,71}|BC1[02-9AC-HJ-NP-Z]{11,71}"
    return re.compile(f"{base58}|{bech32}")


@cache
def _cue() -> Cue:
    return Cue(r"btc|bitcoins?|wallet\w*|crypto\w*|coins?|monedero|portefeuille|adresse|address")
