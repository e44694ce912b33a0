"""``sfumato attack`` on real targets: every attack, what is missing, and what must not be said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sfumato.cli.main import main

TINY = ("--set", "context=48", "--batch-size", "8", "--epsilon", "inf", "--epochs", "1")
LSTM = ("--model", "lstm", "--set", "hidden=16", "--set", "embedding=16")
GPT = ("--model", "gpt-small", "--set", "width=16", "--set", "layers=2", "--set", "heads=2")
# Words that stand in the private files and nowhere else.
PRIVATE = ("quillifer", "brambleton", "oxenholme", "dashwickle")

EACH = {
    "exposure": ("run", "--canaries", "planted.jsonl.canaries.json", "--set", "controls=40"),
    "membership": (
        "run", "--members", "planted.jsonl", "--others", "others.jsonl",
        "--canaries", "planted.jsonl.canaries.json", "--set", "signals=loss,secrets",
    ),
    "memorization": (
        "run", "--members", "planted.jsonl", "--set", "prefix=6", "--set", "suffix=3",
    ),
    "gradient-candidates": (
        "run", "--members", "planted.jsonl", "--set", "most=4", "--set", "releases=20",
    ),
    "gradient-tokens": ("run", "--members", "planted.jsonl", "--set", "most=4"),
    "gradient-span": (
        "classifier", "--members", "posts.jsonl", "--label-field", "label", "--set", "most=2",
        "--set", "noise=run", "--set", "batch=1",
    ),
    "gradient-imprint": (
        "run", "--members", "planted.jsonl", "--set", "most=2", "--set", "width=16",
        "--set", "layers=2", "--set", "tokens=12", "--set", "sigma=0.01",
    ),
    "gradient-matching": (
        "classifier", "--members", "posts.jsonl", "--label-field", "label", "--set", "most=2",
        "--set", "tokens=8", "--set", "moves=2", "--set", "starts=1", "--set", "rounds=0",
        "--set", "sweeps=0",
    ),
    "classifier-extraction": (
        "classifier", "--canaries", "marked.jsonl.classifier-canaries.json", "--set", "beam=5",
    ),
    "property-inference": (
        "run", "--others", "public.jsonl", "--members", "planted.jsonl",
        "--set", "property=word:mills", "--set", "shadows=8", "--set", "documents=6",
    ),
    "token-inference": (
        "soft.jsonl", "--originals", "posts.jsonl", "--set", "candidates=200", "--set", "top=3",
    ),
    "context-inference": ("soft.jsonl", "--originals", "posts.jsonl", "--set", "candidates=4"),
    "matching": ("soft.jsonl", "--originals", "posts.jsonl", "--set", "documents=10"),
    "reidentification": ("soft.jsonl", "--originals", "posts.jsonl", "--set", "documents=10"),
    "author-attributes": (
        "soft.jsonl", "--originals", "posts.jsonl", "--author-field", "writer",
        "--label-field", "label", "--set", "folds=2",
    ),
    "authorship": ("soft.jsonl", "--originals", "posts.jsonl", "--author-field", "who"),
    "attribute-inference": ("soft.jsonl", "--originals", "posts.jsonl", "--label-field", "label"),
    "vector-attributes": (
        "soft.npy", "--originals", "posts.jsonl", "--label-field", "label", "--set", "folds=2",
    ),
    "vector-inversion": (
        "soft.npy", "--originals", "posts.jsonl", "--others", "others.jsonl",
        "--set", "vocabulary=600",
    ),
    "vector-keywords": (
        "soft.npy", "--originals", "posts.jsonl", "--others", "others.jsonl",
        "--set", "keywords=mills,ships",
    ),
    "vector-membership": ("soft.npy", "--originals", "posts.jsonl", "--others", "others.jsonl"),
    "vector-reidentification": ("soft.npy", "--originals", "posts.jsonl"),
}  # fmt: skip
THINGS = ("mills", "ships")


def rows(path: Path, some: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in some), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, small_vectors: None) -> Path:
    """A run with canaries, a classifier, a privatized file, and what they were made from."""
    folder = tmp_path_factory.mktemp("attack")
    rows(
        folder / "notes.jsonl",
        [{"text": f"Mr Quillifer met Brambleton {n} times in the old mill."} for n in range(12)],
    )
    rows(
        folder / "others.jsonl",
        [
            {"text": f"Nobody met Oxenholme {n} times in the old {THINGS[n % 2]}."}
            for n in range(12)
        ],
    )
    rows(
        folder / "public.jsonl",
        [{"text": f"Somebody saw {n} old {THINGS[n % 2]}."} for n in range(60)],
    )
    posts = [
        {
            "who": "ab"[n % 2],
            "writer": "abcdef"[n % 6],
            "label": ("good", "bad")[n % 2],
            "text": f"Dashwickle saw {n} {THINGS[n % 2]}",
        }
        for n in range(12)
    ]
    rows(folder / "posts.jsonl", posts)

    def made(*arguments: str) -> None:
        paths = [str(folder / one) if "." in one or "/" in one else one for one in arguments]
        assert main([one.removesuffix("/") for one in paths]) == 0

    made("data", "canaries", "notes.jsonl", "-o", "planted.jsonl", "-k", "0,1,1,4,4", "--digits=2")
    made("train", "planted.jsonl", "-o", "run/", *LSTM, *TINY)
    made("data", "classifier-canaries", "posts.jsonl", "-o", "marked.jsonl", "-n", "2", "-k", "2",
         "--candidates", "100")  # fmt: skip
    labels = ("--label-field", "label", "--classes", "good,bad")
    made("train", "marked.jsonl", "-o", "classifier/", *GPT, *TINY, *labels)
    made("privatize", "posts.jsonl", "-o", "soft.jsonl", "-m", "custom", "-e", "2", "-p", "digits")
    made("embed", "posts.jsonl", "-o", "soft.npy", "-e", "50")
    return folder


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def diverge(run: Path) -> None:
    """Weights as a learning rate too large leaves them."""
    from safetensors.torch import load_file, save_file

    (path,) = (run / "model").glob("*.safetensors")
    weights = {name: one * float("nan") for name, one in load_file(path).items()}
    save_file(weights, path, {"format": "pt"})


def say_nothing_private(said: str) -> None:
    for word in PRIVATE:
        assert word not in said.lower()


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("name", EACH)
def test_every_attack_gives_figures_a_control_and_what_was_known(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["attack", name, *EACH[name], "--json", "--seed", "1"]) == 0
    said = capsys.readouterr()
    say_nothing_private(said.out + said.err)
    found = json.loads(said.out, parse_constant=pytest.fail)
    assert found["attack"] == name
    assert found["knowledge"]
    assert found["seconds"] > 0
    assert found["control"]["what"]
    assert found["control"]["figures"]
    for figure in (*found["figures"], *found["control"]["figures"]):
        assert figure["n"] > 0
        assert figure["low"] is None or figure["low"] <= figure["value"] <= figure["high"]

    assert main(["attack", name, *EACH[name], "--seed", "1"]) == 0
    said = capsys.readouterr()
    say_nothing_private(said.out + said.err)
    assert "95 % interval" in said.out
    assert "null control" in said.out
    assert found["knowledge"][:40] in said.out
    assert all(figure["metric"] in said.out for figure in found["figures"])


def test_scores_are_kept_beside_a_run_and_never_in_it(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted((inside / "run").rglob("*"))
    loss = ("--members", "planted.jsonl", "--others", "others.jsonl", "--set", "signals=loss")
    # The model inside a run is part of what is given away.
    assert main(["attack", "membership", "run/model", *loss]) == 0
    assert list((inside / "run.attacks").glob("*.npz"))
    assert (inside / "run.attacks").stat().st_mode & 0o077 == 0
    for cache in ("run", "run/cache", "run/model/x/y"):
        assert main(["attack", "membership", "run", *loss, "--cache", cache]) == 2
        assert "would lie in the run" in capsys.readouterr().err
    assert sorted((inside / "run").rglob("*")) == before
    files = [path for path in (inside / "run.attacks").rglob("*") if path.is_file()]
    kept = b"".join(path.read_bytes() for path in files)
    say_nothing_private(kept.decode("latin-1"))


LOSS = ("--members", "planted.jsonl", "--others", "others.jsonl", "--set", "signals=loss")


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["exposure", "soft.jsonl"], 3, "sfumato data canaries CORPUS"),
        (["exposure", "run"], 3, "plant some before training"),
        (["exposure", "run", "--canaries", "posts.jsonl"], 3, "not a manifest"),
        (["exposure", "run", "--canaries", "deep.json"], 3, "not a manifest"),
        (["exposure", "nowhere"], 4, "there is no nowhere"),
        (
            ["exposure", "classifier", "--canaries", "planted.jsonl.canaries.json"],
            3,
            "is a classifier",
        ),
        (["membership", "run"], 3, "--members FILE and --others FILE"),
        (["membership", "run", *LOSS[:2]], 3, "lacks --others"),
        (["membership", "run", "--members", "gone", *LOSS[2:]], 4, "there is no file gone"),
        (["membership", "run", *LOSS, "--set", "neighbors=1000000"], 2, "between 1 and 1000"),
        (["membership", "run", *LOSS, "--reference", "classifier"], 2, "of the target's kind"),
        (["membership", "damaged", *LOSS], 3, "guarantee.json is damaged"),
        (["membership", "unfinished", *LOSS], 3, "not finished"),
        (["membership", "diverged", *LOSS], 3, "its training may have diverged"),
        (["memorization", "run"], 3, "--members FILE is missing"),
        (["memorization", "classifier", "--members", "posts.jsonl"], 2, "classifier-extraction"),
        (["memorization", *EACH["memorization"], "--reference", "run"], 2, "the target itself"),
        (["memorization", *EACH["memorization"], "--reference", "gone"], 3, "the reference gone"),
        (["memorization", *EACH["memorization"], "--set", f"tries={10**400}"], 2, "tries="),
        (["classifier-extraction", "classifier"], 3, "sfumato data classifier-canaries"),
        (
            ["classifier-extraction", "run", *EACH["classifier-extraction"][1:]],
            3,
            "is a language model",
        ),
        (["token-inference", "run", "--originals", "posts.jsonl"], 3, "sfumato privatize IN"),
        (["token-inference", "posts.jsonl"], 3, "posts.jsonl.guarantee.json is missing"),
        (["token-inference", "soft.jsonl"], 3, "--originals IN"),
        (["authorship", "soft.jsonl"], 3, "--author-field NAME"),
        (
            ["author-attributes", "soft.jsonl", "--originals", "posts.jsonl"],
            3,
            "--author-field NAME",
        ),
        (["property-inference", "run"], 3, "--set property=word:refund"),
        (["property-inference", "run", "--set", "property=word:mills"], 3, "--others FILE"),
        (["membership", "run", *LOSS[:4], "--set", "signals=gap"], 3, "need a classifier"),
        (["authorship", "run"], 3, "is not a file of documents"),
        (["attribute-inference", "soft.jsonl"], 3, "--originals"),
        (["attribute-inference", "soft.jsonl", "--originals", "posts.jsonl"], 3, "--label-field"),
        (["all", "run"], 3, "no attack could be run on run"),
        (["all", "run", "--set", "prefix=3"], 2, "'all' runs each with its own defaults"),
        (["exposer", "run"], 2, "did you mean 'exposure'"),
    ],
)
def test_what_is_missing_or_wrong_is_said(
    folder: Path,
    arguments: list[str],
    code: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "damaged" in arguments and not (folder / "damaged").exists():
        shutil.copytree(folder / "run", folder / "damaged")
        (folder / "damaged" / "guarantee.json").write_text("[]")
    if "unfinished" in arguments and not (folder / "unfinished").exists():
        shutil.copytree(folder / "run", folder / "unfinished")
        (folder / "unfinished" / "guarantee.json").unlink()
    if "diverged" in arguments and not (folder / "diverged").exists():
        diverge(shutil.copytree(folder / "run", folder / "diverged"))
    (folder / "deep.json").write_text("[" * 100_000)
    capsys.readouterr()
    assert main(["attack", *arguments]) == code
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.startswith("sfumato: ")
    assert said.err.count("\n") == 1
    say_nothing_private(said.out + said.err)


@pytest.mark.usefixtures("inside")
def test_all_runs_what_it_can_and_lists_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("attack", "all", "soft.jsonl", "--author-field", "who", "--seed", "1")
    capsys.readouterr()
    assert main([*given, "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert [one["attack"] for one in found["attacks"]] == ["authorship"]
    assert set(found["skipped"]) == set(EACH) - {"authorship"}
    assert "originals=IN" in found["skipped"]["token-inference"]
    say_nothing_private(said.out + said.err)
    assert main(list(given)) == 0
    told = capsys.readouterr().out
    assert "not run:" in told
    for name, why in found["skipped"].items():
        assert f"  {name}: {why[:30]}" in told
