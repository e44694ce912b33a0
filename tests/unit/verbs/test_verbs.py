"""The verbs: as the commands, with objects in and out."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

import sfumato
from sfumato import catalog
from sfumato.attacks.inference.token_inference import TokenInference
from sfumato.attacks.membership.attack import Membership
from sfumato.attacks.text_target import Known
from sfumato.cli.main import app, main
from sfumato.core.errors import InvalidArgument, MissingInput, StorageFailed
from sfumato.core.settings import settings_of
from sfumato.mechanisms.redact import Redact
from sfumato.metrics.comparison import Comparison
from sfumato.policies.patterns import Digits
from sfumato.studies.measures.perplexity import PerplexityMeasure
from sfumato.verbs.inputs import choose_policy, choose_selection

SECRET = "Zyxquorthane"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text(f"My ID is 145572, ask {SECRET}.\nNothing here.\n", encoding="utf-8")
    return path


def say(*arguments: str) -> Any:
    """What a command prints as JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([*arguments, "--json"]) == 0
    return json.loads(out.getvalue())


# How a command's options are called where the names differ, and what only one side has.
ONLY_COMMAND = {
    "json",  # objects have as_dict
    "show",  # how many documents a person sees
    "output",  # results have chart().save(...)
    "overwrite",
    "exhibit",  # verify_exhibits is a verb of its own
    "word",  # explain_word is a verb of its own, and these are its
    "focus",
    "most",
    "config",
    "no_config",
    "preset",  # sfumato.preset gives keywords
    "quiet",
    "verbose",  # what a person sees on the way
}
ONLY_PYTHON = {"announce"}  # what the command shows while it trains
VERBS: dict[str, Callable[..., object]] = {
    "attack": sfumato.attack,
    "audit": sfumato.audit,
    "calibrate": sfumato.calibrate,
    "compare": sfumato.compare,
    "deniability": sfumato.deniability,
    "embed": sfumato.embed,
    "evaluate-synthetic": sfumato.evaluate_synthetic,
    "explain": sfumato.explain,
    "federate": sfumato.federate,
    "footprint": sfumato.footprint,
    "ngrams": sfumato.ngrams,
    "privatize": sfumato.privatize,
    "report": sfumato.report,
    "restore": sfumato.restore,
    "scan": sfumato.scan,
    "suggest": sfumato.suggest,
    "synthesize": sfumato.synthesize,
    "topics": sfumato.topics,
    "train": sfumato.train,
    "tune": sfumato.tune,
    "verify": sfumato.verify,
    "write": sfumato.write_corpus,
    "data customersim": sfumato.make_dialogues,
    "data canaries": sfumato.plant_canaries,
    "data coins": sfumato.toss_coins,
    "data classifier-canaries": sfumato.plant_classifier_canaries,
    "data wikitext": sfumato.convert_wikitext,
    "data vectors": sfumato.convert_vectors,
    "policy score": sfumato.score_policy,
    "tokenizer train": sfumato.train_tokenizer,
}
RENAMED: dict[str, dict[str, str]] = {
    "audit": {"runs": "run"},
    "attack": {"name": "attack", "no_header": "header"},
    "privatize": {"no_header": "header"},
    "embed": {"no_header": "header"},
    "ngrams": {"no_header": "header"},
    "evaluate-synthetic": {"no_header": "header"},
    "federate": {"output": "folder", "no_header": "header"},
    "scan": {"no_header": "header"},
    "synthesize": {"no_header": "header"},
    "tokenizer train": {"output": "folder", "no_header": "header"},
    "topics": {"no_header": "header"},
    "train": {"output": "folder", "no_header": "header"},
    "tune": {"output": "folder", "no_header": "header"},
    "write": {"no_header": "header"},
}
# Commands that show what the package is, or that objects of the package do by methods.
WITHOUT_VERB = {
    "budget close": "Budget.end",
    "budget export": "Budget.history",
    "budget history": "Budget.history",
    "budget key": "Key",
    "budget list": "Budget.accounts",
    "budget open": "Budget.open",
    "budget show": "Budget.show",
    "evaluate": "Run.evaluate",
    "generate": "Run.generate",
    "init": "sfumato.preset",
    "list": "sfumato.catalog",
    "measure": "sfumato.measure",
    "plan": "Plan",
    "serve token": "sfumato.service.Tokens",
    "show": "sfumato.catalog",
    "studio": "sfumato.service.make_app",
    "study": "Study",
}


def commands() -> Iterator[tuple[str, click.Command]]:
    whole: Any = typer.main.get_command(app)
    for name, command in whole.commands.items():
        inner = {} if name == "study" else getattr(command, "commands", {})
        yield from ((f"{name} {one}", found) for one, found in inner.items())
        if not inner:
            yield name, command


def test_every_command_has_a_verb() -> None:
    names = {name for name, _ in commands()}
    assert names == set(VERBS) | set(WITHOUT_VERB)


@pytest.mark.parametrize("name", sorted(VERBS))
def test_a_command_and_its_verb_take_the_same(name: str) -> None:
    command = dict(commands())[name]
    renamed = RENAMED.get(name, {})
    options = {
        renamed.get(one.name or "", one.name or "")
        for one in command.params
        if one.name != "help" and not getattr(one, "hidden", False)
    }
    options = {"format" if one == "file_format" else one for one in options}
    taken = set(inspect.signature(VERBS[name]).parameters)
    # What only one training method has is a setting of it from Python.
    of_methods = {
        key for entry in catalog.entries("methods").values() for key in settings_of(entry.load())
    }
    assert options - taken <= ONLY_COMMAND | (of_methods if name == "train" else set())
    assert taken - options <= ONLY_PYTHON


def test_scanning_streams_documents_and_counts(notes: Path) -> None:
    scan = sfumato.scan(notes, policy="digits")
    found = [(document.text, len(spans)) for document, spans in scan]
    assert [number for _, number in found] == [1, 0]
    assert (scan.documents, scan.selected) == (2, 1)
    assert SECRET not in repr(scan) + scan._repr_html_()
    assert sfumato.scan(notes, policy=Digits()).finish().selected == 1


def test_explaining_shows_originals_to_their_owner_only_where_asked() -> None:
    found = sfumato.explain(f"Ask {SECRET} for 12", policy="digits", epsilon=5, draws=20, seed=1)
    assert [word.original for word in found.words] == ["12"]
    assert SECRET not in repr(found)
    assert SECRET in found._repr_html_()
    command = say(
        "explain", f"Ask {SECRET} for 12", "-p", "digits", "-e", "5", "--draws", "20", "--seed", "1"
    )
    assert command == json.loads(json.dumps(found.as_dict()))


@pytest.mark.usefixtures("small_vectors")
def test_measuring_words_gives_what_the_command_prints() -> None:
    found = sfumato.deniability("exponential", [2, 8], words=20, seed=3)
    command = say("deniability", "exponential", "-e", "2,8", "--words", "20", "--seed", "3")
    assert command == json.loads(json.dumps(found.as_dict()))
    assert list(found.levels) == [2.0, 8.0]
    assert "median word stays" in repr(found)


@pytest.mark.usefixtures("small_vectors")
def test_suggesting_gives_what_the_command_prints() -> None:
    found = sfumato.suggest("exponential", 0.3, words=20, seed=3)
    command = say("suggest", "exponential", "--keep", "0.3", "--words", "20", "--seed", "3")
    assert command["epsilon"] == found.epsilon
    with pytest.raises(InvalidArgument, match="no policy"):
        sfumato.suggest("exponential", 0.3, settings={"pii.regions": "DE"})


@pytest.mark.usefixtures("small_vectors")
def test_comparing_gives_what_the_command_prints() -> None:
    found = sfumato.compare(["laplace", "redact"], epsilon=5, sample=50, seed=2)
    assert isinstance(found, Comparison)
    assert [row.mechanism for row in found.rows] == ["laplace"]
    assert [one.mechanism for one in found.skipped] == ["redact"]
    assert "laplace at epsilon 5" in repr(found)
    with pytest.raises(InvalidArgument, match="either"):
        sfumato.compare("laplace")


def test_an_object_is_verified_with_its_own_claim() -> None:
    from sfumato.audits.candidates import color_space

    class Honest(sfumato.Laplace):
        """A mechanism of somebody's own."""

    verdict = sfumato.verify(Honest(space=color_space(2.0), epsilon=2.0), draws=2000, seed=1)
    assert not verdict.refuted
    assert "Not refuted" in repr(verdict)
    with pytest.raises(InvalidArgument, match="claims its own level"):
        sfumato.verify(Honest(space=color_space(2.0), epsilon=2.0), epsilon=1)
    with pytest.raises(InvalidArgument, match="epsilon"):
        sfumato.verify("laplace")


def test_twin_an_object_that_claims_too_much_is_refuted() -> None:
    from sfumato.audits.candidates import color_space
    from sfumato.core.arrays import Points
    from sfumato.core.randomness import Randomness

    class Lying(sfumato.Laplace):
        """Says one level, draws at another."""

        def privatize(self, points: Points, randomness: Randomness) -> Points:
            loud = sfumato.Laplace(space=self.space, epsilon=20 * self.epsilon)
            return loud.privatize(points, randomness)

    assert sfumato.verify(Lying(space=color_space(2.0), epsilon=2.0), seed=1).refuted


def test_what_is_missing_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(MissingInput, match="coins"):
        sfumato.audit(tmp_path)
    with pytest.raises(StorageFailed, match="there is no"):
        sfumato.attack("membership", tmp_path / "nowhere")
    with pytest.raises(InvalidArgument, match="settings already"):
        sfumato.attack(Membership(), tmp_path, settings={"signals": "loss"})


def test_policies_are_names_or_objects_and_two_ways_do_not_mix() -> None:
    assert choose_policy(None) is None
    digits = Digits()
    assert choose_policy(digits) is digits
    both = choose_policy([digits, "regex:a"], "regex:b")
    assert both is not None
    assert [span.start for span in both.find(sfumato.Document("1 a b"))] == [0, 2]
    with pytest.raises(InvalidArgument, match="leave out"):
        choose_selection("pii", 5.0, [(2.0, "digits")], (), None)
    with pytest.raises(InvalidArgument, match="say what is sensitive"):
        choose_selection(None, 5.0, (), (), None)


def test_a_class_in_the_place_of_an_object_is_told_so(notes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(InvalidArgument, match=r"Digits is a class.*Digits\(…\)"):
        sfumato.privatize(notes, out, policy=Digits, mechanism="redact")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="Redact is a class"):
        sfumato.privatize(notes, out, policy="digits", mechanism=Redact)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="Membership is a class"):
        sfumato.attack(Membership, notes)  # type: ignore[arg-type]


def test_no_pattern_stands_in_a_representation() -> None:
    for made in (
        TokenInference(policy="regex:zanzibar"),
        Known(policy="regex:zanzibar"),
        PerplexityMeasure(policy=("regex:zanzibar",)),
        sfumato.Privatizer(policy=["digits", "regex:zanzibar"], mechanism="laplace", epsilon=1),
        sfumato.Privatizer(policy="regex:zanzibar", mechanism="laplace", epsilon=1),
    ):
        assert "zanzibar" not in repr(made)


# --- one text of a record ------------------------------------------------------------------------

PAIR: Any = ["a", "b"]
READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "train": (
        lambda path: sfumato.train(path, f"{path}.run", field=PAIR, epsilon=8, model="lstm"),
        "train IN -o IN.run --epsilon 8 --model lstm",
    ),
    "federate": (
        lambda path: sfumato.federate(
            path, f"{path}.run", field=PAIR, author_field="c", epsilon=8, model="lstm"
        ),
        "federate IN -o IN.run --author-field c --epsilon 8 --model lstm",
    ),
    "scan": (lambda path: sfumato.scan(path, field=PAIR, policy="digits").finish(), "scan IN"),
    "compare": (
        lambda path: sfumato.compare("redact", corpus=path, field=PAIR, epsilon=5),
        "compare redact --corpus IN --epsilon 5",
    ),
    "deniability": (
        lambda path: sfumato.deniability("laplace", 5, corpus=path, field=PAIR),
        "deniability laplace --corpus IN --epsilon 5",
    ),
    "measure": (
        lambda path: sfumato.measure("text", path, originals=path, field=PAIR),
        "measure text IN --originals IN",
    ),
    "attack": (
        lambda path: sfumato.attack("authorship", path, field=PAIR, author_field="c"),
        "attack authorship IN --author-field c",
    ),
    "report": (
        lambda path: sfumato.report(path, f"{path}.html", field=PAIR),
        "report IN -o IN.html",
    ),
    "canaries": (
        lambda path: sfumato.plant_canaries(path, f"{path}.out", field=PAIR),
        "data canaries IN -o IN.out",
    ),
    "coins": (
        lambda path: sfumato.toss_coins(path, f"{path}.out", field=PAIR),
        "data coins IN -o IN.out",
    ),
    "classifier-canaries": (
        lambda path: sfumato.plant_classifier_canaries(path, f"{path}.out", field=PAIR),
        "data classifier-canaries IN -o IN.out",
    ),
    "tokenizer": (
        lambda path: sfumato.train_tokenizer(path, f"{path}.out", field=PAIR, epsilon=1),
        "tokenizer train IN -o IN.out --epsilon 1",
    ),
    "embed": (
        lambda path: sfumato.embed(path, f"{path}.npy", field=PAIR, epsilon=1),
        "embed IN -o IN.npy --epsilon 1",
    ),
    "synthesize": (
        lambda path: sfumato.synthesize(
            path, f"{path}.jsonl", field=PAIR, epsilon=1, settings={"pool": path}
        ),
        "synthesize IN -o IN.jsonl --epsilon 1 --set pool=IN",
    ),
    "evaluate-synthetic": (
        lambda path: sfumato.evaluate_synthetic(path, originals=path, held_out=path, field=PAIR),
        "evaluate-synthetic IN --originals IN --held-out IN",
    ),
    "topics": (
        lambda path: sfumato.topics(path, f"{path}.out", field=PAIR, epsilon=1),
        "topics IN -o IN.out --epsilon 1",
    ),
    "tune": (
        lambda path: sfumato.tune(
            path, f"{path}.out", field=PAIR, epsilon=1, search={"epochs": [1, 2]}, hold_out=0.5
        ),
        "tune IN -o IN.out --epsilon 1 --search epochs=1,2 --hold-out 0.5",
    ),
    "ngrams": (
        lambda path: sfumato.ngrams(path, f"{path}.out", field=PAIR, epsilon=1),
        "ngrams IN -o IN.out --epsilon 1",
    ),
}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    record = {"a": f"My {SECRET} is 12", "b": "the same person", "c": "x", "label": "y"}
    path.write_text("".join(json.dumps(record) + "\n" for _ in range(4)))
    return path


@pytest.mark.parametrize("name", READERS)
def test_only_privatize_takes_several_fields(
    name: str, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verb, command = READERS[name]
    with pytest.raises(InvalidArgument, match=r"`field=\.\.\.` takes one name here, and 2"):
        verb(str(pairs))
    words = command.replace("IN", str(pairs)).split()
    assert main([*words, "--field", "a", "--field", "b"]) == 2
    assert "--field takes one name here, and 2 were given" in capsys.readouterr().err
    assert [one.name for one in pairs.parent.iterdir()] == [pairs.name]


def test_every_command_that_reads_a_field_refuses_two() -> None:
    taking = {name for name, one in commands() if any("--field" in at.opts for at in one.params)}
    tried = {words.partition(" IN")[0] for _, words in READERS.values()}
    tried = {one.split()[0] if one.split()[0] in taking else one for one in tried}
    # A run is asked by a method of its own; see the tests of training and of written corpora.
    assert taking == tried | {"privatize", "restore", "evaluate", "write"}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"field": 2.5}, "field=2.5 must be the name of a column"),
        ({"drop": [None]}, "drop=None must be the name of a column"),
        ({"policy": 5}, "a policy is a name"),
        ({"settings": ["recall=high"]}, "settings must be a table"),
        ({"language_field": ["a", "b"]}, "takes one name"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_so(
    given: dict[str, Any], problem: str, notes: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        sfumato.privatize(notes, tmp_path / "out.jsonl", **{"policy": "digits"} | given)


def test_columns_without_names_are_named_by_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("1,call 555\n2,none\n", encoding="utf-8")
    made = sfumato.privatize(
        tmp_path / "notes.csv",
        tmp_path / "out.csv",
        field=2,  # type: ignore[arg-type]  # a number counts as a name
        header=False,
        keep=[1],  # type: ignore[list-item]
        policy="digits",
        mechanism="redact",
    )
    assert made.path.read_text(encoding="utf-8") == '1,"call [NUMBER]"\n2,none\n'
    seen = sfumato.scan(tmp_path / "notes.csv", field="2", header=False, policy="digits").finish()
    assert (seen.documents, seen.counts.total()) == (2, 1)
