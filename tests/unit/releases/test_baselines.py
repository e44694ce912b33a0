"""The Privatizer with baselines: no level, one key for all, and nothing said that was hidden."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone

from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import SEED_TOO, Notion
from sfumato.mechanisms.pseudonym import Pseudonym
from sfumato.mechanisms.redact import Redact
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.sidefile import side_file
from sfumato.releases.workers import Shared

NAME = "Ngozi Okafor"
TEXTS = [f"Mail {NAME} about 145572.", "No name here.", f"{NAME.upper()} said no."]
CODE = re.compile(r"PERSON-[0-9a-f]{12}")


def pseudonyms(**changes: Any) -> Privatizer:
    return Privatizer(policy=f"regex:(?i){NAME}", mechanism="pseudonym", **changes)


def key_file(folder: Path, content: bytes = b"a key of a file, as it happens") -> str:
    (folder / "key").write_bytes(content)
    return str(folder / "key")


def test_redaction_by_name_and_by_object() -> None:
    for mechanism in ("redact", Redact()):
        privatizer = Privatizer(policy="digits", mechanism=mechanism)
        after = privatizer.privatize([*TEXTS, None])
        assert after == [TEXTS[0].replace("145572", "[NUMBER]"), *TEXTS[1:], None]
        assert privatizer.guarantee().notion is Notion.INDEPENDENT
        assert privatizer("Room 12") == "Room [NUMBER]"
        assert privatizer.resumable


def test_the_counts_stay_those_of_words() -> None:
    privatizer = Privatizer(policy=f"regex:(?i){NAME}", mechanism="redact")
    privatizer.privatize(TEXTS)
    tally = privatizer.tally_
    assert (tally.documents, tally.words, tally.selected, tally.places) == (3, 12, 4, 2)


def test_the_side_file_does_not_count_what_a_mask_hides() -> None:
    """One document, one mask: any count of words would be the length of the name."""
    written = []
    for name in ("Zoë", NAME, "Maria del Carmen Ruiz"):
        privatizer = Privatizer(policy=f"regex:{name}", mechanism="redact")
        privatizer.privatize([f"Mail {name}."])
        written.append(json.dumps(side_file(privatizer, privatizer.tally_, has_fields=False)))
    assert len(set(written)) == 1
    counts = json.loads(written[0])["counts"]
    assert counts == {
        "documents": 1,
        "words": None,
        "privatized_words": None,
        "uncovered_words": 0,
        "by_type": {"MATCH": 1},
        "replaced_stretches": 1,
    }
    by_words = Privatizer(policy="digits", mechanism="laplace", epsilon=5)
    by_words.privatize(TEXTS)
    counts = side_file(by_words, by_words.tally_, has_fields=False)["counts"]
    assert (counts["words"], counts["privatized_words"]) == (12, 1)
    assert "replaced_stretches" not in counts


def test_one_privatizer_has_one_key_and_another_one_another() -> None:
    one, two = pseudonyms(), pseudonyms()
    first = one.privatize(TEXTS)
    assert first == one.privatize(TEXTS)
    assert first[1] == TEXTS[1]
    assert not set(first) & set(two.privatize(TEXTS)) - {TEXTS[1]}
    assert not one.resumable


def test_a_copy_draws_a_key_of_its_own_and_workers_are_handed_that_of_the_run() -> None:
    privatizer = pseudonyms()
    first = privatizer.privatize(TEXTS)
    assert pickle.loads(pickle.dumps(privatizer)).privatize(TEXTS) != first
    assert clone(privatizer).privatize(TEXTS) != first
    assert privatizer.key is not None
    assert privatizer.key.secret not in pickle.dumps(privatizer)
    for given in (privatizer, pseudonyms(seed=3), Privatizer(mechanism=Pseudonym())):
        shared = pickle.loads(pickle.dumps(Shared.of(given)))
        assert shared.privatizer.key.secret == given.key.secret or given.seed is None  # type: ignore[union-attr]
        assert shared.selective.mechanism.key.secret == given.key.secret  # type: ignore[union-attr]
        assert "secret" not in repr(shared)


def test_twin_without_the_shared_secret_would_disagree() -> None:
    privatizer = pseudonyms()
    twin = pickle.loads(pickle.dumps(Shared(privatizer, None)))
    assert twin.selective.mechanism.key.secret != privatizer.key.secret  # type: ignore[union-attr]


def test_a_key_file_is_the_same_in_every_copy(tmp_path: Path) -> None:
    path = key_file(tmp_path)
    by_name = pseudonyms(settings={"key_file": path})
    by_object = Privatizer(policy=f"regex:(?i){NAME}", mechanism=Pseudonym(key_file=path))
    first = by_name.privatize(TEXTS)
    assert by_object.privatize(TEXTS) == first
    for privatizer in (by_name, by_object):
        assert privatizer.resumable
        assert pickle.loads(pickle.dumps(privatizer)).privatize(TEXTS) == first


def test_a_seed_decides_the_key_and_is_stamped(tmp_path: Path) -> None:
    one, two, other = pseudonyms(seed=3), pseudonyms(seed=3), pseudonyms(seed=4)
    assert one.privatize(TEXTS) == two.privatize(TEXTS) != other.privatize(TEXTS)
    seeded = Privatizer(policy=f"regex:(?i){NAME}", mechanism=Pseudonym(), seed=3)
    assert seeded.privatize(TEXTS) == one.privatize(TEXTS)
    assert one.resumable
    assert SEED_TOO in one.guarantee().leaks  # names of the same person stay linked anyway
    both = pseudonyms(seed=3, settings={"key_file": key_file(tmp_path)})
    with pytest.raises(InvalidArgument, match="from key_file or from the seed"):
        both.guarantee()


def test_of_a_key_the_settings_tell_its_origin_alone(tmp_path: Path) -> None:
    path = key_file(tmp_path)
    for privatizer, origin in (
        (pseudonyms(), "fresh"),
        (pseudonyms(seed=3), "seed"),
        (pseudonyms(settings={"key_file": path}), "file"),
    ):
        settings = privatizer.public_settings()
        assert settings["mechanism_settings"] == {"key": origin}
        assert (settings["mechanism"], settings["epsilon"]) == ("pseudonym", None)
        assert settings["vectors"] is None
        shown = json.dumps(settings) + repr(privatizer)
        assert path not in shown
        assert NAME not in shown
        assert privatizer.key is not None
        assert privatizer.key.secret.hex() not in shown


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"epsilon": 5}, "'pseudonym' takes no epsilon"),
        ({"vectors": "glove-6b-50d"}, "'pseudonym' uses no word vectors"),
        ({"case": "restore"}, "'pseudonym' uses no word vectors"),
        ({"search": "approximate"}, "'pseudonym' uses no word vectors"),
        ({"settings": {"key": "secret"}}, "unknown setting of pseudonym 'key'"),
        ({"settings": {"lambda": 1}}, "unknown setting of pseudonym"),
    ],
)
def test_what_a_baseline_does_not_understand_is_refused(
    changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        pseudonyms(**changes).privatize(TEXTS)


def test_a_word_mechanism_still_needs_a_level() -> None:
    with pytest.raises(InvalidArgument, match="epsilon is missing: no level fits every space"):
        Privatizer(mechanism="laplace").guarantee()


def test_surrogates_have_their_shape() -> None:
    privatizer = Privatizer(policy="pii", mechanism="pseudonym")
    (after,) = privatizer.privatize(["Ask Ada Lovelace."])
    assert CODE.search(after)
