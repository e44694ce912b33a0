"""Studies of several corpora: the grid on each, and nothing of one mixed with another."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from sfumato.calibration.select import select_rows
from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.reports.html import write_html
from sfumato.reports.samples import Showing
from sfumato.reports.series import points, quantities
from sfumato.reports.study import study_page
from sfumato.results.row import Row
from sfumato.studies.cell import CORPUS, MEASURE, RELEASE
from sfumato.studies.compare import compare_studies
from sfumato.studies.grid import list_cells
from sfumato.studies.parsing import parse_spec, template
from sfumato.studies.spec import StudySpec
from sfumato.studies.study import Study
from small_study import SMALL

pytestmark = pytest.mark.usefixtures("small_vectors")

TWO = """
[corpora.short]
kind = "customersim"
count = 4

[corpora.long]
kind = "customersim"
count = 6
seed = 1

[policies.private]
find = "digits"

[corpora.long.policies.private]
find = "pii"

[[methods]]
name = "SMDP"
mechanism = "exponential"
policy = "private"
epsilon = [1, 9]

[[methods]]
name = "masks"
mechanism = "redact"
policy = "private"
corpora = "long"

[measures.text]
"""
# Everything that a study with one corpus may have.
WITH_MODEL = """
seeds = [1, 2]
groups = "label"

[corpus]
kind = "customersim"
count = 20

[test]
kind = "customersim"
count = 10
seed = 1

[canaries]
repetitions = [3, 1]

[coins]
count = 10

[policies.private]
find = ["pii", "digits"]

[model]
name = "lstm"
epochs = 1

[[methods]]
name = "DP-SGD"
training = "private"
epsilon = [2, 8]

[[methods]]
name = "Selective-DPSGD"
training = "selective"
policy = "private"
epsilon = 8
seeds = [1]

[[methods]]
name = "SMDP"
mechanism = "laplace"
policy = "private"
epsilon = 9

[attacks.exposure]

[attacks.membership]

[measures.perplexity]
policy = "digits"

[measures.text]
"""


def _spec(text: str) -> StudySpec:
    return parse_spec(text, Path(), "s")


@pytest.mark.parametrize(
    ("text", "count", "digest"),
    [
        (SMALL, 21, "6501bc2263bc0c354c88"),
        (template(), 65, "2afedd628cb80a136114"),
        (WITH_MODEL, 64, "33a9eed32905fe01ac5d"),
    ],
    ids=["small", "template", "model"],
)
def test_cells_of_one_corpus_have_the_keys_they_always_had(
    text: str, count: int, digest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digests of all keys: what recomputes every study must be a change on purpose."""
    monkeypatch.setattr("sfumato.studies.cell.version", lambda _: "0.1.0")
    keys = [cell.key for cell in list_cells(_spec(text)).cells]
    assert (len(keys), sha256(" ".join(keys).encode()).hexdigest()[:20]) == (count, digest)


def test_a_name_for_the_corpus_computes_nothing_again() -> None:
    named = SMALL.replace("[corpus]", '[corpora."any name"]')
    assert [cell.key for cell in list_cells(_spec(named)).cells] == [
        cell.key for cell in list_cells(_spec(SMALL)).cells
    ]


def test_the_grid_is_multiplied_by_the_corpora() -> None:
    cells = list_cells(_spec(TWO)).cells
    assert [cell.corpus for cell in cells if cell.kind == CORPUS] == ["short", "long"]
    releases = [(one.corpus, one.method, one.level) for one in cells if one.kind == RELEASE]
    ends = ["no privacy", "random output"]
    assert releases == [
        *(("short", end, None) for end in ends),
        *(("short", "SMDP", level) for level in (1.0, 9.0)),
        *(("long", end, None) for end in ends),
        *(("long", "SMDP", level) for level in (1.0, 9.0)),
        ("long", "masks", None),
    ]
    for cell in cells:
        assert {one.corpus for one in cell.inputs} <= {cell.corpus}


def test_a_policy_means_what_the_corpus_says() -> None:
    found = {
        (cell.corpus, *cell.settings["policy"]["find"])
        for cell in list_cells(_spec(TWO)).cells
        if cell.kind == RELEASE
    }
    assert found == {("short", "digits"), ("long", "pii")}


def test_a_measure_by_a_named_policy_is_another_where_the_name_means_something_else() -> None:
    same = WITH_MODEL.replace('policy = "digits"', 'policy = "private"')
    other = same.replace('find = ["pii", "digits"]', 'find = "digits"')

    def perplexities(text: str) -> set[str]:
        return {
            cell.key
            for cell in list_cells(_spec(text)).cells
            if cell.kind == MEASURE and cell.name == "perplexity" and cell.method == "DP-SGD"
        }

    assert perplexities(same).isdisjoint(perplexities(other))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[corpus]\nkind = "customersim"\ncount = 4\n' + TWO, "not both"),
        ("corpora = 5\n" + SMALL.partition("[corpus]")[0], "table of tables"),
        ("[corpora]\n", "table of tables"),
        ("[corpora]\na = 5\n", r"corpora\.a\] must be a table"),
        (TWO.replace("[corpora.short]", '[corpora.""]'), "name of a corpus"),
        (TWO.replace("count = 4", "cuont = 4"), r"corpora\.short\].*'count'"),
        (TWO.replace("count = 4", 'count = 4\ngroups = "author"'), r"corpora\.short\].*one field"),
        (TWO + "[corpora.short.test]\nkind = 'file'\n", r"needs a path"),
        (TWO.replace('corpora = "long"', 'corpora = "lang"'), "'long'"),
        (TWO.replace('corpora = "long"', "corpora = []"), "at least one corpus"),
        (TWO.replace('corpora = "long"', "corpora = 5"), "a list"),
        (SMALL.replace('"redact"', '"redact"\ncorpora = "a"'), r"\[corpora\.NAME\]"),
    ],
)
def test_what_is_wrong_with_corpora_is_said(text: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        list_cells(_spec(text))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study.parse(TWO, folder=tmp_path_factory.mktemp("two"), name="two").run(workers=0)


def test_rows_carry_the_name_of_their_corpus(two: Study) -> None:
    assert two.outcome.complete
    rows = [row for row in two.rows() if row.metric == "word overlap"]
    assert [(row.corpus, row.method) for row in rows if row.method == "masks"] == [
        ("long", "masks")
    ]
    ends = {row.corpus: row.n for row in rows if row.method == "no privacy"}
    assert ends == {"short": 4, "long": 6}


def _mixed(rows: list[Row]) -> bool:
    """Whether a point of the report was made of rows of more than one corpus."""
    for quantity in quantities(rows):
        for point in points(rows, quantity):
            if point.seeds != 1:
                return True
    return False


def test_no_report_averages_two_corpora(two: Study) -> None:
    """Each corpus has one seed here, so a point of two rows is a mean over corpora."""
    assert not _mixed(two.rows())
    # The twin: rows that do not say what they are of become one.
    assert _mixed([replace(row, corpus=None) for row in two.rows()])
    compared = compare_studies(two.rows(), two.rows())
    assert all(one.first is not None and one.first.seeds == 1 for one in compared)


def test_the_page_has_sections_for_each_corpus(two: Study) -> None:
    page = write_html(study_page(two.folder, Showing(samples=1))).decode()
    for title in ("short: Every method at every level", "long: Every method at every level"):
        assert title in page
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len(set(names))
    assert "SMDP on long" in page  # a text before and after


def _leaking(corpus: str | None, value: float) -> list[Row]:
    return [
        Row(
            cell="c", corpus=corpus, method="SMDP", parameter="epsilon", level=level, seed=1,
            role="leakage", by="exposure", metric="exposure", better="lower", value=value + level,
        )
        for level in (1.0, 2.0)
    ]  # fmt: skip


def test_calibration_takes_one_corpus() -> None:
    both = [*_leaking("a", 0.0), *_leaking("b", 5.0)]
    with pytest.raises(InvalidArgument, match=r"name one \(a, b\)"):
        select_rows(both)
    with pytest.raises(UnknownName, match="'a'"):
        select_rows(both, corpus="aa")
    assert [row.value for row in select_rows(both, corpus="b").leakage.rows] == [6.0, 7.0]
    assert len(select_rows(_leaking(None, 0.0)).leakage.rows) == 2


def test_the_commands_name_corpora(two: Study, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "compare", str(two.folder), str(two.folder)]) == 0
    assert "corpus" in capsys.readouterr().out.splitlines()[0]
    assert main(["calibrate", str(two.folder), "--corpus", "short"]) == 3
    assert "no figure of leakage" in capsys.readouterr().err


def test_a_private_corpus_among_others_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"text": "Zyxwv 1"}\n{"text": "Zyxwv 2"}\n')
    notes = '[corpora.notes]\npath = "notes.jsonl"\n\n[policies.private]\nfind = "everything"\n'
    text = TWO.replace('[policies.private]\nfind = "digits"\n', notes)
    text = text.replace('name = "SMDP"', 'name = "SMDP"\ncorpora = ["short", "long"]')
    text = text.replace('corpora = "long"', 'corpora = "notes"')
    study = Study.parse(text, folder=tmp_path, name="mixed").run(workers=0)
    assert study.outcome.complete, study.status()
    holding = [
        path.name
        for path in study.folder.rglob("*")
        if path.is_file() and b"Zyxwv" in path.read_bytes()
    ]
    links = [path.name for path in study.folder.rglob("*") if path.is_symlink()]
    # "No privacy" is a link to the originals, and "random output" may draw any word but this one.
    assert holding == links == ["text.jsonl"]
    assert main(["calibrate", str(study.folder), "--corpus", "short"]) == 2  # none is chosen by
