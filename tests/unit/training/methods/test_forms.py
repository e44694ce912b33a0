"""The forms of what was found: public rules, a bounded part for every unit, one draw for a run."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paid_work import Watch, new_payment, used
from sfumato.accounting.budget import Limit
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    CannotResume,
    IncomparableGuarantees,
    InvalidArgument,
)
from sfumato.core.kinds import KINDS
from sfumato.core.randomness import Randomness
from sfumato.histograms import counts
from sfumato.histograms.counts import Tally, items_of_contributors
from sfumato.histograms.thresholds import Contribution, Noise, solve_noise
from sfumato.mechanisms.surrogates.form import FREE
from sfumato.policies.patterns import Digits
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods import forms, streams
from sfumato.training.methods.base import build_method
from sfumato.training.methods.fills import SURROGATES, draw_fills
from sfumato.training.methods.forms import (
    CONTRIBUTION,
    LONGEST,
    NO_FORM,
    SEPARATORS,
    Forms,
    counts_type,
    form_of,
    learn_forms,
    list_forms,
)
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.methods.streams import Split
from sfumato.training.records import TokenRecords
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.settings import Course, Privacy
from teams import all_done, run_as_team
from unit.training.runs import SETTINGS, Killed, tokenizer


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("843-58572-7002", "000-00000-0000"),
        ("+1 (202) 555-0147", "+0 (000) 000-0000"),
        ("0UOKFRS1GA", "**********"),
        ("AB12/7", "****/0"),
        ("AGZIMTKLXW", "AAAAAAAAAA"),
        ("no. 7", "aa. 0"),
        ("iPhone12", "aAaaaa00"),
        ("a1b2", "a0a0"),
        ("DE02 1203", "**** 0000"),
        ("Ada Lovelace", NO_FORM),
        ("ada", NO_FORM),
        ("7 €", NO_FORM),
        ("7\n8", NO_FORM),
        ("٣", NO_FORM),
        ("Ä7", NO_FORM),
        ("²", NO_FORM),
        ("7=8", NO_FORM),
        ("--", NO_FORM),
        ("", NO_FORM),
        ("7" * LONGEST, "0" * LONGEST),
        ("7" * (LONGEST + 1), NO_FORM),
    ],
)
def test_the_form_of_a_value(value: str, form: str) -> None:
    assert form_of(value) == form


@given(st.text() | st.text("AZaz09 -.=*"))
def test_a_form_holds_signs_and_separators_and_nothing_of_the_value(value: str) -> None:
    form = form_of(value)
    assert set(form) <= {*"0Aa*", *SEPARATORS}
    assert len(form) in (0, len(value))
    assert form_of(value.translate(str.maketrans("19ZzQ", "08AaB"))) == form
    if form:
        # What is made up for a form fits it again: a sign for a sign.
        made = draw_fills(["CODE"], "en", Randomness.reproducible(1), {"CODE": [form]})[0]
        for sign, one in zip(form, made, strict=True):
            fits = {"0": str.isdigit, "A": str.isupper, "a": str.islower, "*": str.isalnum}
            assert fits.get(sign, sign.__eq__)(one)


def test_names_and_places_are_never_counted_nor_what_has_a_value() -> None:
    counted = {kind for kind in KINDS if counts_type(kind)}
    assert not counted & {*FREE, "EMAIL", "URL", "DATE_TIME", "TIME", "AGE", "MONEY"}
    assert counted >= {"PHONE", "CODE", "CREDIT_CARD", "NUMBER"}
    assert not counts_type("first name")
    assert counts_type("MY OWN")


def document(*found: tuple[str, str], author: str | None = None) -> Split:
    """A document whose places have these types and values."""
    text, private, labels = "", [], []
    for label, value in found:
        private.append((len(text) + 1, len(text) + 1 + len(value)))
        labels.append(label)
        text += f" {value}"
    return Split(Document(text, author=author), "", tuple(private), (), tuple(labels))


def test_a_document_gives_its_types_with_their_forms_but_not_those_with_public_patterns() -> None:
    one = document(("PHONE_NUMBER", "55-01"), ("PERSON", "B 2"), ("ORDER", "A7"), ("a=b", "x"))
    assert list(list_forms(one, ())) == ["PHONE=00-00", "CODE=**", "a=b="]
    assert list(list_forms(one, {"CODE": ["000"]})) == ["PHONE=00-00", "a=b="]


# Sensitivity, by search: every small corpus, and the one that lacks what is found in one unit.

SMALL = Contribution(words=2, weights="by-length")
VALUES = ("1", "22", "333")
TEXTS = [chosen for size in range(4) for chosen in combinations_with_replacement(VALUES, size)]
Grains = dict[str, float]


def corpora() -> Iterator[list[Split]]:
    """Every corpus of two documents of up to three values each."""
    for texts in product(TEXTS, repeat=2):
        yield [document(*(("NUMBER", one) for one in text)) for text in texts]


def tallied(splits: Sequence[Split], seed: int = 0, unit: str = "example") -> Grains:
    """The counts to which noise is added, of the code as it is: in units of weight 1."""
    seen: list[Grains] = []

    class Watched(Tally):
        def release(self, noise: Noise, randomness: Randomness) -> Any:
            seen.append({word: grains / 2**20 for word, grains in self._grains.items()})
            return super().release(noise, randomness)

    noise = solve_noise(1.0, 1e-3, SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "Tally", Watched)
        learn_forms(splits, (), unit, noise, Randomness.reproducible(seed))
    return seen[0]


def without(one: Split) -> Split:
    """The document whose private part is missing: the same places, and nothing there."""
    return replace(one, private=tuple((start, start) for start, _ in one.private))


def moved(ones: Grains, others: Grains) -> float:
    return math.hypot(
        *(ones.get(key, 0.0) - others.get(key, 0.0) for key in ones.keys() | others.keys())
    )


def worst_pair() -> tuple[float, int]:
    """How far one document moves all counts, and how many pairs exist because of it, at most."""
    far, new = 0.0, 0
    for splits in corpora():
        with_one, lacking = tallied(splits), tallied([splits[0], without(splits[1])])
        far = max(far, moved(with_one, lacking))
        new = max(new, len(with_one.keys() - lacking.keys()))
    return far, new


def test_a_unit_moves_all_counts_by_one_and_shows_no_more_pairs_than_it_may_give() -> None:
    far, new = worst_pair()
    assert far == pytest.approx(1.0, abs=1e-5)
    assert far <= 1.0
    assert new == SMALL.words


def gives_everything(self: Tally, words: list[str], _: Randomness) -> list[str]:
    return words


def weighs_plainly(*_: object) -> int:
    return 2**20


def counts_places(self: Tally, words: Collection[str], _: Randomness) -> None:
    self.contributors += 1
    for one in list(words):
        self._grains[one] = self._grains.get(one, 0) + 2**20


def each_place(given: Any, _: str) -> Iterator[list[str]]:
    yield from ([*items] for _, items in given)


TWINS: dict[str, Sequence[tuple[object, str, object]]] = {
    "no bound on forms": [(Tally, "_choose", gives_everything)],
    "plain weights": [(counts, "_weight", weighs_plainly)],
    "every place counts": [
        (Tally, "add", counts_places),
        (forms, "items_of_contributors", each_place),
    ],
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_twin_that_moves_more_is_found(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name, other in TWINS[twin]:
        monkeypatch.setattr(place, name, other)
    far, new = worst_pair()
    assert far > 1.0 + 1e-5 or new > SMALL.words


def test_another_secret_in_its_place_moves_more_which_is_why_that_is_two_steps() -> None:
    """A level for exchanged secrets with this noise would be wrong: √2 times as far."""
    each = [tallied([document(("NUMBER", value))]) for value in VALUES]
    far = max(moved(one, other) for one, other in product(each, repeat=2))
    assert far == pytest.approx(math.sqrt(2), abs=1e-5)


def test_an_author_is_one_unit_however_many_documents() -> None:
    written = [document(("NUMBER", value), author="a") for value in VALUES]
    other = document(("NUMBER", "1"), author="b")
    both = tallied([*written, other], unit="author")
    lacking = tallied([*map(without, written), other], unit="author")
    assert moved(both, lacking) <= 1.0
    # A twin that counts documents moves as many counts as there are documents.
    assert moved(tallied([*written, other]), tallied([*map(without, written), other])) > 1.5


def test_which_forms_a_document_gives_does_not_depend_on_others() -> None:
    """A unit with too many draws from its own, and everybody else's stay as they were."""
    rich = document(*(("NUMBER", "7" * size) for size in range(1, 4)))
    others = [document(("NUMBER", "1")) for _ in range(5)]
    for seed in range(20):
        added = tallied([rich, *others], seed)
        alone = tallied([rich], seed)
        # What the others have is no reason to give it.
        assert moved(added, {"NUMBER=0": 5.0}) == pytest.approx(moved(alone, {}), abs=1e-9)
        assert len(alone) == SMALL.words
    given_forms = Counter(key for seed in range(60) for key in tallied([rich], seed))
    assert set(given_forms) == {"NUMBER=0", "NUMBER=00", "NUMBER=000"}


def many(count: int, value: str = "55-01", label: str = "PHONE") -> list[Split]:
    return [document((label, value)) for _ in range(count)]


NOISE = solve_noise(1.0, 1e-3, CONTRIBUTION)


def learned(splits: Sequence[Split], given: Collection[str] = (), seed: int = 1) -> Forms:
    return learn_forms(splits, given, "example", NOISE, Randomness.reproducible(seed))


def test_common_forms_are_released_and_rare_ones_are_not() -> None:
    found = learned([*many(400), *many(200, "7"), document(("PHONE", "8-8-8"))])
    assert list(found.counts) == ["PHONE"]
    assert list(found.counts["PHONE"]) == ["00-00", "0"]
    shares = dict(found.shares()["PHONE"])
    assert shares["00-00"] == pytest.approx(2 / 3, abs=0.05)
    assert "PHONE 00-00 6" in found.summary()
    assert found.contributors == 601


def test_twin_without_a_threshold_shows_the_form_of_one() -> None:
    splits = [*many(400), document(("PHONE", "8-8-8"))]
    low = replace(NOISE, threshold=-1e6)
    found = learn_forms(splits, (), "example", low, Randomness.reproducible(1))
    assert "0-0-0" in found.counts["PHONE"]
    assert all("0-0-0" not in learned(splits, seed=seed).counts["PHONE"] for seed in range(50))


def test_a_type_with_public_patterns_is_not_counted() -> None:
    splits = [*many(400), *many(400, "A7", "CODE")]
    assert set(learned(splits).counts) == {"CODE", "PHONE"}
    assert set(learned(splits, {"CODE": ["000"]}).counts) == {"PHONE"}


def test_weights_are_those_of_noisy_counts_and_no_form_means_the_usual_value() -> None:
    noisy = Forms({"PHONE": {"00": 30.4, NO_FORM: 10.2}, "a=b": {"A": 0.2}}, NOISE, 50)
    assert noisy.weights() == {"PHONE": {"00": 30, NO_FORM: 10}, "a=b": {"A": 1}}
    drawn = draw_fills(["PHONE"] * 4000, "en", Randomness.reproducible(1), noisy.weights())
    followed = sum(len(one) == 2 for one in drawn)
    assert followed / 4000 == pytest.approx(0.75, abs=0.05)
    assert all(len(one) == 2 or len(one) > 6 for one in drawn)
    assert Forms.from_dict(json.loads(json.dumps(noisy.as_dict()))).as_dict() == noisy.as_dict()


# Runs.

TEXTS_OF_RUN = [Document(f"all about {n % 7} and {10 + n % 80}") for n in range(60)]
PRIVACY = Privacy(epsilon=8.0, delta=1e-2, epochs=0.1, batch_sizes=(2,), accountant="rdp")


def request(**method: object) -> Request:
    own = {"public_epochs": 0.1, "fill": SURROGATES, "fill_epsilon": 4.0}
    return Request(
        model="lstm",
        settings=SETTINGS["lstm"],
        tokenizer=tokenizer(),
        privacy=PRIVACY,
        method=build_method(str(method.pop("method", "selective")), own | method),
        protection=PolicyPromise(Digits()),
        course=Course(checkpoint_every=1),
    )


REQUEST = request()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train_model(REQUEST, TEXTS_OF_RUN, RunFolder(tmp_path_factory.mktemp("forms") / "run"))


def test_the_level_is_the_one_asked_for_and_covers_the_forms(run: Run) -> None:
    stated = run.guarantee
    assert 7.9 < stated.epsilon <= 8.0
    assert stated.delta == 1e-2
    assert stated.scope.startswith("the forms of made-up values, and the weights")
    assert "lacks what the policy digits finds in one example" in stated.neighbors
    parts = run.parts
    assert parts["forms"] == {"epsilon": 4.0, "delta": pytest.approx(1e-3)}
    assert parts["model"]["epsilon"] < parts["together"]["epsilon"] == stated.epsilon
    assert stated.epsilon < parts["model"]["epsilon"] + 4.0
    head = json.loads((run.folder / "ledger.jsonl").read_text().splitlines()[0])
    assert head["record"]["forms"]["epsilon"] == 4.0
    settings = run.files.settings()
    assert settings["public"]["fill_epsilon"] == 4.0
    rows = {row["metric"]: row["value"] for row in run.files.measured()}
    assert (rows["epsilon"], rows["delta"]) == (stated.epsilon, stated.delta)


def test_the_folder_shows_the_released_forms_and_no_text(run: Run) -> None:
    kept = json.loads((run.folder / "forms.json").read_text())
    assert set(kept["forms"]) <= {"NUMBER"}
    assert set(kept["forms"]["NUMBER"]) == {"0", "00"}
    assert kept["contributors"] == len(TEXTS_OF_RUN)
    assert "all about" not in "".join(one.read_text() for one in run.folder.glob("*.json*"))


def test_forms_take_from_the_level_of_the_steps(run: Run, tmp_path: Path) -> None:
    plain = train_model(request(fill_epsilon=None), TEXTS_OF_RUN, RunFolder(tmp_path / "plain"))
    assert plain.guarantee.epsilon <= 8.0
    assert run.plan.noise_multiplier > plain.plan.noise_multiplier
    assert not (plain.folder / "forms.json").exists()


def test_twice_learns_them_too(tmp_path: Path) -> None:
    done = train_model(request(method="twice"), TEXTS_OF_RUN, RunFolder(tmp_path / "run"))
    assert (done.folder / "forms.json").is_file()
    assert done.guarantee.epsilon <= 8.0


def test_a_finished_run_draws_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tally, "release", pytest.fail)
    again = train_model(REQUEST, TEXTS_OF_RUN, RunFolder(run.folder), resume=True)
    assert again.already_finished
    assert again.guarantee == run.guarantee


def killed_at(step: int) -> Callable[..., Any]:
    def watch(now: Any) -> None:
        if now.step >= step:
            raise Killed

    return lambda *_: watch


def test_a_killed_run_goes_on_with_the_forms_that_were_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Killed):
        train_model(REQUEST, TEXTS_OF_RUN, folder, announce=killed_at(1))
    drawn = folder.forms.read_bytes()
    monkeypatch.setattr(Tally, "release", pytest.fail)
    with pytest.raises(CannotResume):
        train_model(request(fill_epsilon=3.0), TEXTS_OF_RUN, folder, resume=True)
    with pytest.raises(CannotResume):
        train_model(request(fill_epsilon=None), TEXTS_OF_RUN, folder, resume=True)
    note = tmp_path / "run" / "forms.spent.json"
    kept = note.read_bytes()
    for there, error in ((folder.forms, BudgetExceeded), (note, CannotResume)):
        held = there.read_bytes()
        there.unlink()
        with pytest.raises(error):
            train_model(REQUEST, TEXTS_OF_RUN, folder, resume=True)
        there.write_bytes(held)
    folder.forms.unlink()
    note.unlink()
    with pytest.raises(CannotResume, match=r"forms.json is gone; a second draw is not paid"):
        train_model(REQUEST, TEXTS_OF_RUN, folder, resume=True)
    note.write_bytes(kept)
    folder.forms.write_text('{"schema": 1, "forms": []}')
    with pytest.raises(BadInput, match="damaged"):
        train_model(REQUEST, TEXTS_OF_RUN, folder, resume=True)
    folder.forms.write_bytes(drawn)
    done = train_model(REQUEST, TEXTS_OF_RUN, folder, resume=True)
    assert not done.already_finished
    assert folder.forms.read_bytes() == drawn
    assert done.guarantee.epsilon <= 8.0


def test_a_draw_that_was_interrupted_is_spent_and_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder(tmp_path / "run")

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Forms, "as_dict", kill)  # after the draw, before it is stored
        with pytest.raises(Killed):
            train_model(REQUEST, TEXTS_OF_RUN, folder)
    assert not folder.forms.exists()
    assert "forms" not in capsys.readouterr().err
    monkeypatch.setattr(Tally, "release", pytest.fail)
    with pytest.raises(BudgetExceeded, match=r"ε = 4 is spent on a draw.*count both"):
        train_model(REQUEST, TEXTS_OF_RUN, folder, resume=True)


def test_the_note_is_there_before_the_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")

    def released(*_: object) -> None:
        assert (folder.path / "forms.spent.json").is_file()
        raise Killed

    monkeypatch.setattr(Tally, "release", released)
    with pytest.raises(Killed):
        train_model(REQUEST, TEXTS_OF_RUN, folder)


def test_a_run_that_was_killed_before_the_draw_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(forms, "learn_forms", kill)
        with pytest.raises(Killed):
            train_model(REQUEST, TEXTS_OF_RUN, folder)
    assert train_model(REQUEST, TEXTS_OF_RUN, folder, resume=True).guarantee.epsilon <= 8.0


class Stop(Exception):
    """Raised in the place of the first public step."""


def read_by_public_steps(
    texts: list[Document], folder: Path, patch: pytest.MonkeyPatch
) -> TokenRecords:
    seen: list[TokenRecords] = []

    def watched(_: object, records: TokenRecords, *__: object) -> None:
        seen.append(records)
        raise Stop

    patch.setattr(streams, "PublicSteps", watched)
    asked = replace(REQUEST, seed=5)
    with pytest.raises(Stop):
        train_model(asked, texts, RunFolder(folder))
    return seen[0]


RELEASED = Forms({"NUMBER": {"000": 40.0, "A0": 20.0}}, NOISE, 60)
OTHERS = [Document(f"all about {987654 + n} and {n}") for n in range(60)]


def test_public_text_is_a_function_of_what_was_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same release, whatever the secrets are, the public steps read the same."""
    monkeypatch.setattr(forms, "learn_forms", lambda *_, **__: RELEASED)
    one = read_by_public_steps(TEXTS_OF_RUN, tmp_path / "one", monkeypatch)
    other = read_by_public_steps(OTHERS, tmp_path / "other", monkeypatch)
    assert one.tokens.tolist() == other.tokens.tolist()

    # A twin whose weights are the true counts.
    def truly(splits: Sequence[Split], *_: object, **__: object) -> Forms:
        given = ((split.original, list_forms(split, ())) for split in splits)
        found = Counter(key for items in items_of_contributors(given, "example") for key in items)
        true = {key.partition("=")[2]: float(count) for key, count in found.items()}
        return replace(RELEASED, counts={"NUMBER": true})

    monkeypatch.setattr(forms, "learn_forms", truly)
    one = read_by_public_steps(TEXTS_OF_RUN, tmp_path / "a", monkeypatch)
    other = read_by_public_steps(OTHERS, tmp_path / "b", monkeypatch)
    assert one.tokens.tolist() != other.tokens.tolist()


def test_forms_are_paid_for_before_they_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = new_payment(tmp_path, Limit.of("approximate", 9.0, delta=0.1))
    watch = Watch(payment)
    monkeypatch.setattr(Tally, "release", watch.over(Tally.release))
    done = train_model(REQUEST, TEXTS_OF_RUN, RunFolder(tmp_path / "run"), payment=payment)
    assert (watch.draws, watch.unpaid) == (1, 0)
    assert used(payment)[0] == pytest.approx(done.guarantee.epsilon, abs=1e-3)
    with pytest.raises(BudgetExceeded):
        train_model(REQUEST, TEXTS_OF_RUN, RunFolder(tmp_path / "more"), payment=payment)
    assert watch.draws == 1
    # Something may be shown for certain, and no divergence is finite.
    (tmp_path / "renyi").mkdir()
    other = new_payment(tmp_path / "renyi", Limit.of("renyi", 90.0, order=8.0))
    with pytest.raises(IncomparableGuarantees, match="no divergence is finite"):
        train_model(REQUEST, TEXTS_OF_RUN, RunFolder(tmp_path / "third"), payment=other)


def test_of_several_processes_one_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draws: list[int] = []
    release = Tally.release

    def watched(self: Tally, noise: Noise, randomness: Randomness) -> Any:
        draws.append(1)
        return release(self, noise, randomness)

    monkeypatch.setattr(Tally, "release", watched)
    folder = tmp_path / "run"
    runs = all_done(run_as_team(2, lambda _: train_model(REQUEST, TEXTS_OF_RUN, RunFolder(folder))))
    assert len(draws) == 1
    assert runs[0].guarantee == runs[1].guarantee
    weights = [one.loaded.network.state_dict() for one in runs if one.loaded is not None]
    assert all(bool((weights[0][key] == weights[1][key]).all()) for key in weights[0])


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"fill_epsilon": 8.0}, "nothing would be left for the private steps"),
        ({"fill_epsilon": 9.0}, "part of `epsilon=8`"),
        ({"fill_epsilon": 0.0}, "fill_epsilon"),
        ({"fill_epsilon": -1.0}, "fill_epsilon"),
        ({"fill_epsilon": math.nan}, "fill_epsilon"),
        ({"fill_epsilon": math.inf}, "fill_epsilon"),
        ({"fill": "masks"}, "it needs `fill='surrogates'`"),
    ],
)
def test_what_means_nothing_is_refused(own: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        request(**own)


@pytest.mark.parametrize("method", ["private", "plain", "interleaved", "redacted"])
def test_other_methods_have_no_forms(method: str) -> None:
    with pytest.raises(InvalidArgument, match="fill_epsilon"):
        build_method(method, {"fill_epsilon": 1.0})


def test_without_a_level_there_is_no_part_of_it() -> None:
    with pytest.raises(InvalidArgument, match="`epsilon=inf` promises none"):
        replace(REQUEST, privacy=replace(PRIVACY, epsilon=math.inf))


def test_what_would_be_paid_for_nothing_is_refused_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By types and numbers of units, which are public."""
    monkeypatch.setattr(Tally, "release", pytest.fail)
    given = request(fill_patterns=("NUMBER=000",))
    with pytest.raises(BadInput, match="no numbers or codes whose forms could be learned"):
        train_model(given, TEXTS_OF_RUN, RunFolder(tmp_path / "given"))
    few = request(fill_epsilon=0.01)
    with pytest.raises(
        BadInput, match=r"about \d+ examples have it, and there are 60.*nothing is spent"
    ):
        train_model(few, TEXTS_OF_RUN, RunFolder(tmp_path / "few"))
    assert not list(tmp_path.iterdir())


def test_a_run_for_authors_counts_authors(tmp_path: Path) -> None:
    texts = [
        Document(one.text, author=f"author {number // 2}")
        for number, one in enumerate(TEXTS_OF_RUN * 3)
    ]
    asked = replace(REQUEST, privacy=replace(PRIVACY, unit="author"))
    done = train_model(
        asked, [*texts, Document("nothing", author="x")], RunFolder(tmp_path / "run")
    )
    assert "finds in all documents of one author" in done.guarantee.neighbors
    assert done.guarantee.epsilon <= 8.0
    kept = json.loads((done.folder / "forms.json").read_text())
    assert kept["contributors"] == len(texts) // 2


def test_a_message_names_no_option_that_there_is_not() -> None:
    """The command has `--fill-pattern`, so a message must not say `fill_patterns=...`."""
    with pytest.raises(InvalidArgument) as refused:
        replace(REQUEST, privacy=replace(PRIVACY, epsilon=math.inf))
    assert "fill_patterns" not in str(refused.value)


@pytest.mark.parametrize("each", [{}, {"00": math.nan}, {"00": math.inf}])
def test_a_file_of_forms_that_cannot_be_drawn_from_is_damaged(
    each: dict[str, float], tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path)
    folder.forms.write_text(json.dumps(Forms({"PHONE": each}, NOISE, 50).as_dict()))
    with pytest.raises(BadInput, match="damaged"):
        forms.load_forms(folder)
