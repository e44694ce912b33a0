"""Test data about no real person: generated dialogues, canaries, coins, WikiText."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.corpora.canaries import Canary as Canary
    from sfumato.corpora.canaries import Manifest as Manifest
    from sfumato.corpora.canaries import PlantedCanary as PlantedCanary
    from sfumato.corpora.canaries import draw_secret as draw_secret
    from sfumato.corpora.canaries import insert_canaries as insert_canaries
    from sfumato.corpora.canaries import plan_insertions as plan_insertions
    from sfumato.corpora.canaries import read_manifest as read_manifest
    from sfumato.corpora.canaries import remove_canaries as remove_canaries
    from sfumato.corpora.classifier_canaries import ClassifierCanaries as ClassifierCanaries
    from sfumato.corpora.classifier_canaries import (
        read_classifier_canaries as read_classifier_canaries,
    )
    from sfumato.corpora.coins import Coins as Coins
    from sfumato.corpora.coins import read_coins as read_coins
    from sfumato.corpora.coins import toss as toss
    from sfumato.corpora.customersim import generate_customersim as generate_customersim
    from sfumato.corpora.labeled import Labeled as Labeled
    from sfumato.corpora.labeled import labeled_from_record as labeled_from_record
    from sfumato.corpora.labeled import read_labeled as read_labeled
    from sfumato.corpora.planting import plant_in_file as plant_in_file
    from sfumato.corpora.wikitext import read_wikitext as read_wikitext
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.corpora.canaries": (
                "Canary Manifest PlantedCanary draw_secret insert_canaries "
                "plan_insertions read_manifest remove_canaries "
            ),
            "sfumato.corpora.classifier_canaries": "ClassifierCanaries read_classifier_canaries",
            "sfumato.corpora.coins": "Coins read_coins toss",
            "sfumato.corpora.customersim": "generate_customersim",
            "sfumato.corpora.labeled": "Labeled labeled_from_record read_labeled",
            "sfumato.corpora.planting": "plant_in_file",
            "sfumato.corpora.wikitext": "read_wikitext",
        },
    )

__all__ = [
    "Canary",
    "ClassifierCanaries",
    "Coins",
    "Labeled",
    "Manifest",
    "PlantedCanary",
    "draw_secret",
    "generate_customersim",
    "insert_canaries",
    "labeled_from_record",
    "plan_insertions",
    "plant_in_file",
    "read_classifier_canaries",
    "read_coins",
    "read_labeled",
    "read_manifest",
    "read_wikitext",
    "remove_canaries",
    "toss",
]
