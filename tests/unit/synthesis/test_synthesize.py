"""``synthesize``: the files that it writes, what they must not show, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import sfumato
from plugins import installed
from sfumato.cli.main import main
from sfumato.core.errors import BadInput, InvalidArgument, OutputExists, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.synthesis import corpus, evolution, job
from sfumato.synthesis.plan import VotingPlan
from sfumato.synthesis.pool import PoolGenerator
from sfumato.synthesis.voting import tally

pytestmark = pytest.mark.usefixtures("small_vectors")

THINGS = ("the movie", "this film", "the music", "the story", "the team", "the house", "the school")
GOOD = ("is very good", "was a great success", "made people happy", "is the best of all")
BAD = ("is very bad", "was a great loss", "made people angry", "is the worst of all")
PUBLIC = [f"{thing} {said}" for thing in THINGS for said in (*GOOD, *BAD)]
CANARY = "Xylia Quorndon owes the house of Vantablack 145572 crowns"
OWN = '''
class Own:
    """Says the same things again."""

    def __init__(self, ending: str = "today"):
        self.ending = ending

    def invent(self, label, count, randomness):
        return [f"{label} number {n} {self.ending}" for n in range(count)]

    def vary(self, texts, label, count, randomness):
        return [f"{one} again" for one in texts][:count]
'''


def records(count: int, *, bad_first: int = 0) -> list[dict[str, str]]:
    found = []
    for n in range(count):
        good = n % 2 == 0 and n >= bad_first
        said = (GOOD if good else BAD)[n // 2 % 4]
        text = f"{THINGS[n % 7]} {said} for us"
        found.append({"text": text, "label": "good" if good else "bad", "author": f"a{n // 4}"})
    return found


def write(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "public.txt").write_text("\n".join(PUBLIC))
    write(tmp_path / "private.jsonl", records(800))
    return tmp_path


def make(source: str = "private.jsonl", output: str = "made.jsonl", **given: Any) -> Any:
    told: dict[str, Any] = {
        "settings": {"pool": "public.txt"},
        "epsilon": 2,
        "texts": 12,
        "label_field": "label",
        "classes": ("bad", "good"),
    }
    return sfumato.synthesize(source, output, **told | given)


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_corpus_with_its_guarantee(folder: Path) -> None:
    made = make(control="control.jsonl")
    rows = rows_of(folder / "made.jsonl")
    assert len(rows) == made.texts == 12
    assert {one["text"] for one in rows} <= set(PUBLIC)
    assert sum(one["label"] == "good" for one in rows) == 6
    side = json.loads((folder / "made.jsonl.guarantee.json").read_text())
    assert side == made.summary
    assert sfumato.Guarantee.from_dict(side["guarantee"]) == made.guarantee
    assert side["for_release"]
    assert made.guarantee.epsilon == 2
    assert side["replacement"]["epsilon"] > 2
    assert "its place left empty" in repr(made)
    assert "<table>" in made._repr_html_()
    assert {one["text"] for one in rows_of(folder / "control.jsonl")} <= set(PUBLIC)


def test_a_seed_makes_the_same_corpus_which_is_not_for_release(folder: Path) -> None:
    first = make(seed=4)
    again = make(output="again.jsonl", seed=4)
    assert (folder / "made.jsonl").read_bytes() == (folder / "again.jsonl").read_bytes()
    assert not first.guarantee.for_release
    # What is good stands under good, more often than by chance.
    rows = rows_of(folder / "made.jsonl")
    assert sum((one["label"] == "good") == one["text"].endswith(GOOD) for one in rows) >= 9
    assert "NOT FOR RELEASE" in repr(again)


def test_the_private_input_is_no_pool(folder: Path) -> None:
    (folder / "copy.jsonl").write_bytes((folder / "private.jsonl").read_bytes())
    for pool in ("private.jsonl", "copy.jsonl"):
        with pytest.raises(InvalidArgument, match="pool: this is the private input itself"):
            make(settings={"pool": pool})
    secret = {"text": CANARY, "label": "good", "author": "a"}
    write(folder / "some.jsonl", [secret, *records(40)])
    write(folder / "private.jsonl", [*records(800), secret])
    with pytest.raises(InvalidArgument, match="its document 1 is also a document of the private"):
        make(settings={"pool": "some.jsonl"})
    assert not (folder / "made.jsonl").exists()


def test_an_old_corpus_never_stands_beside_a_new_guarantee(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(epsilon=50)

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(corpus, "write_texts", killed)
    with pytest.raises(KeyboardInterrupt):
        make(epsilon=2, overwrite=True)
    stated = json.loads((folder / "made.jsonl.guarantee.json").read_text())
    assert stated["guarantee"]["epsilon"] == 2
    assert not (folder / "made.jsonl").exists()


def everything(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def with_and_without(folder: Path, **given: Any) -> list[dict[str, bytes]]:
    """All files that come out of two private corpora with as many records, under one seed."""
    plain, other = records(400), records(400, bad_first=300)
    other[7] = {**other[7], "text": CANARY}
    found = []
    for name, rows in (("one", plain), ("two", other)):
        place = folder / name
        place.mkdir()
        source = write(folder / f"{name}.jsonl", rows)
        make(str(source), str(place / "made.jsonl"), seed=9, control=place / "control.jsonl",
             **given)  # fmt: skip
        found.append(everything(place))
    return found


def huge_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VotingPlan, "noise", 1e12)
    monkeypatch.setattr(VotingPlan, "refuse_mostly_noise", lambda *_: None)


@pytest.mark.parametrize("labels", ["equal", "noised"])
@pytest.mark.parametrize("unit", ["record", "author"])
def test_under_huge_noise_no_file_depends_on_the_records(
    folder: Path, labels: str, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge_noise(monkeypatch)
    one, two = with_and_without(folder, labels=labels, unit=unit, author_field="author")
    assert sorted(one) == ["control.jsonl", "made.jsonl", "made.jsonl.guarantee.json"]
    assert one == two


def unnoised(votes: Any, *_: Any) -> Any:
    return votes


def true_counts(plan: Any, texts: int, labels: Any, totals: Any, counts: Any) -> list[int]:
    return [texts * counts.get(one, 1) // (1 + sum(counts.values())) for one in labels]


@pytest.mark.parametrize(("name", "twin"), [("add_noise", unnoised), ("shares", true_counts)])
def test_votes_without_noise_and_true_counts_are_found(
    folder: Path, name: str, twin: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    huge_noise(monkeypatch)
    monkeypatch.setattr(evolution, name, twin)
    one, two = with_and_without(folder)
    assert one["made.jsonl"] != two["made.jsonl"]


def test_a_vote_in_the_side_file_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    huge_noise(monkeypatch)
    kept: list[Any] = []
    settings = job._settings

    def counted(*given: Any) -> Any:
        if given[0]:  # the control has no voters
            kept.append(tally(*given).tolist())
        return tally(*given)

    monkeypatch.setattr(evolution, "tally", counted)
    monkeypatch.setattr(job, "_settings", lambda *given: settings(*given) | {"votes": kept[-1]})
    one, two = with_and_without(folder)
    assert one["made.jsonl.guarantee.json"] != two["made.jsonl.guarantee.json"]


def test_too_few_records_are_refused_before_anything_is_made(folder: Path) -> None:
    class Never:
        def invent(self, *_: object) -> list[str]:
            raise AssertionError("nothing may be drawn")

        vary = invent

    write(folder / "few.jsonl", records(20))
    with pytest.raises(InvalidArgument, match=r"of the counts would be noise .* would be needed"):
        make("few.jsonl", generator=Never(), settings=None, texts=500)
    assert not (folder / "made.jsonl").exists()


def test_what_is_wrong_is_said_and_quotes_no_record(folder: Path) -> None:
    rows = records(400)
    rows[4]["label"] = "secret diagnosis"
    write(folder / "odd.jsonl", rows)
    with pytest.raises(BadInput, match=r"line 5 has a label that is not among") as error:
        make("odd.jsonl")
    assert "diagnosis" not in str(error.value)
    with pytest.raises(InvalidArgument, match="labels are public"):
        make(classes=())
    with pytest.raises(InvalidArgument, match="author_field"):
        make(unit="author")
    with pytest.raises(InvalidArgument, match="name a file of public sentences"):
        make(settings={})
    with pytest.raises(InvalidArgument, match="JSON lines"):
        make(output="made.csv")
    with pytest.raises(InvalidArgument, match="votes would choose nothing"):
        make(texts=100, candidates=60)
    with pytest.raises(UnknownName, match="did you mean 'pool'"):
        make(generator="pol")
    with pytest.raises(InvalidArgument, match="another file"):
        make(control="made.jsonl")
    make()
    with pytest.raises(OutputExists):
        make()


def test_records_without_labels_and_authors_as_units(folder: Path) -> None:
    made = make(label_field=None, classes=(), unit="author", author_field="author", votes=3)
    assert all(set(one) == {"text"} for one in rows_of(folder / "made.jsonl"))
    assert made.guarantee.unit == "author"
    assert made.summary["settings"]["labels"] == "none"


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["synthesize", "private.jsonl", "-o", "made.jsonl", "--set", "pool=public.txt",
               "--epsilon", "2", "--texts", "12", "--label-field", "label", "--classes",
               "bad,good", "--labels", "noised"]  # fmt: skip
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "12 synthetic texts in made.jsonl" in said
    assert "sfumato evaluate-synthetic OUT --originals IN --held-out FILE" in said
    assert main([*command, "--json", "--overwrite", "--seed", "3", "--delta", "1e-4"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["for_release"], told["guarantee"]["delta"]) == (False, 1e-4)
    assert main([*command, "--overwrite", "--texts", "5000"]) == 2
    assert "--candidates" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["file", "entry", "object"])
def test_a_generator_of_ones_own(
    folder: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["synthesize", "private.jsonl", "-o", "made.jsonl", "--epsilon", "2", "--texts", "8",
               "--label-field", "label", "--classes", "bad,good"]  # fmt: skip
    ending = "today"
    if way == "object":
        space: dict[str, Any] = {}
        exec(OWN, space)
        make(generator=space["Own"](), settings=None, texts=8)
    elif way == "file":
        (folder / "own.py").write_text(OWN)
        ending = "tomorrow"
        assert main([*command, "--generator", "own.py:Own", "--set", "ending=tomorrow"]) == 0
    else:
        with installed(folder, "generators", "echo = echo_own:Own", OWN):
            assert main([*command, "--generator", "echo"]) == 0
    rows = rows_of(folder / "made.jsonl")
    assert len(rows) == 8
    assert all(one["text"].startswith(f"{one['label']} number") for one in rows)
    assert all(ending in one["text"] for one in rows)
    capsys.readouterr()


def test_what_is_no_generator_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="object is no generator"):
        make(generator=object(), settings=None)

    class Silent:
        def invent(self, *_: object) -> Any:
            return None

        vary = invent

    with pytest.raises(BadInput, match="Silent must give a list of texts"):
        make(generator=Silent(), settings=None)


def test_a_pool_gives_different_sentences_and_near_ones(folder: Path) -> None:
    pool = PoolGenerator(pool="public.txt", neighbors=3)
    draws = Randomness.reproducible(1)
    invented = pool.invent("", 20, draws)
    assert len(set(invented)) == 20
    assert len(pool.invent("", 999, draws)) == len(PUBLIC)
    (parent,) = PUBLIC[:1]
    near = {one for seed in range(9) for one in
            pool.vary([parent], "good", 2, Randomness.reproducible(seed))}  # fmt: skip
    assert parent not in near
    assert len(near) == 3
    vectors = pool.text_pool.vectors
    places = {text: place for place, text in enumerate(pool.text_pool.sentences)}
    cosines = vectors @ vectors[places[parent]]
    nearest = sorted(range(len(cosines)), key=lambda one: -cosines[one])[1:4]
    assert near == {pool.text_pool.sentences[one] for one in nearest}
    assert pool.vary(["not of the pool"], "", 3, draws) == []


def test_a_report_says_what_is_proven_and_shows_synthetic_texts_only(folder: Path) -> None:
    made = make(texts=5)
    written = sfumato.report(made, folder / "page.md", samples=3)
    page = (folder / "page.md").read_text()
    assert not written.private_text
    assert made.guarantee.sentence() in page
    assert "of the generator pool" in page
    assert sum(one in page for one in PUBLIC) == 3
    assert "policy" not in page
    with pytest.raises(InvalidArgument, match="has no original"):
        sfumato.report(made, folder / "other.md", originals="private.jsonl")
