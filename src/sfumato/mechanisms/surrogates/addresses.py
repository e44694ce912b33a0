"""Addresses, towns and companies from public lists, in the order of their country.

Towns are real and postcodes begin as theirs do, so that an address reads like one. No range is
reserved for examples here: an address may exist by chance, as any address that is made up.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.lists import Local

_INWARD = "ABDEFGHJLNPQRSTUWXYZ"


@dataclass(frozen=True)
class Town:
    """A town with a postcode of its own, and its state in the United States."""

    name: str
    code: str
    state: str = ""


def draw_town(chance: Chance, local: Local) -> Town:
    """A town of the country."""
    name, _, begin = chance.pick(local.land[f"towns {local.country}"]).rpartition(" ")
    if local.country == "GB":
        inward = f"{chance.below(10)}{chance.pick(_INWARD)}{chance.pick(_INWARD)}"
        return Town(name, f"{begin}{chance.between(1, 9)} {inward}")
    code = begin + chance.digits(5 - len(begin))
    if local.country == "US":
        name, _, state = name.rpartition(" ")
        return Town(name, code, state)
    return Town(name, code)


def draw_address(chance: Chance, local: Local) -> str:
    """Street and number, postcode and town, as the country orders them."""
    street = chance.pick(local.land["streets"])
    number = chance.between(1, 180)
    town = draw_town(chance, local)
    match local.country:
        case "US":
            return f"{number} {street}, {town.name}, {town.state} {town.code}"
        case "GB":
            return f"{number} {street}, {town.name} {town.code}"
        case "FR":
            return f"{number} {street}, {town.code} {town.name}"
        case "ES":
            return f"{street} {number}, {town.code} {town.name}"
    return f"{street} {number}, {town.code} {town.name}"


def draw_company(chance: Chance, local: Local) -> str:
    """A company called after a family and what it does."""
    family = chance.pick(local.land["family"])
    business = chance.pick(local.land["business"])
    return f"{family} {business} {chance.pick(local.land[f'legal {local.country}'])}"
