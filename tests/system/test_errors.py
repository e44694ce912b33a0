"""Whatever goes wrong is one clear line with the documented exit code; nothing is left behind."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from system.conftest import EXECUTABLE, Command, environment, write_jsonl

SECRET = "Zyxquorthane"


def one_line(result: subprocess.CompletedProcess[bytes]) -> str:
    text = result.stderr.decode()
    assert text.count("\n") == 1, text
    assert text.startswith("sfumato: ")
    assert "Traceback" not in text
    assert SECRET not in text
    assert result.stdout == b""
    return text


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "in.jsonl", [f"{SECRET} has 12 cats", "nothing here"])


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--epsilon", "0"], 2, "epsilon=0.0 must be greater than 0"),
        (["--epsilon", "-1"], 2, "epsilon=-1.0 must be greater than 0"),
        (["--epsilon", "nan"], 2, "epsilon=nan must be a finite number"),
        (["--epsilon", "inf"], 2, "epsilon=inf must be a finite number"),
        (["--epsilon", "1e-30"], 2, "must be at least"),
        (["--epsilon", "much"], 2, "valid number"),
        (["--epsilon", "5", "--policy", "digit"], 2, "did you mean 'digits'"),
        (["--epsilon", "5", "--mechanism", "laplase"], 2, "did you mean 'laplace'"),
        (["--epsilon", "5", "--mechanism", "selective"], 2, "wraps a word mechanism"),
        (["--epsilon", "5", "--unknown", "kep"], 2, "did you mean 'keep'"),
        (["--epsilon", "5", "--case", "restored"], 2, "did you mean 'restore'"),
        (["--epsilon", "5", "--set", "lambda=1"], 2, "unknown setting of auto 'lambda'"),
        (["--epsilon", "5", "--set", "lambda"], 2, "--set takes KEY=VALUE"),
        (["--epsilon", "5", "--field", "txt"], 3, "there is no field 'txt'; did you mean 'text'"),
        (["--epsilon", "5", "--format", "jsonk"], 2, "did you mean 'jsonl'"),
        (["--epsilon", "5", "--encoding", "latin-2000"], 2, "unknown encoding"),
        (["--epsilon", "5", "--encoding", "idna"], 2, "is not an encoding of text"),
        (["--epsilon", "5", "--workers", "0"], 2, "workers=0 must be at least 1"),
        (["--epsilon", "5", "--seed", "-3"], 2, "seed=-3 must be at least 0"),
        (["--epsilon", "5", "--vectors", "no.npy"], 4, "cannot read vectors from no.npy"),
        (["--epsilon", "5", "--vectors", "no.pickle"], 2, "unknown format of vectors"),
        (["--epsilon", "5", "--policy", "regex:("], 2, "regular expression is not valid"),
        (["--epsilon", "5", "--policy", "lexicon:none.txt"], 4, "none.txt"),
        (["--epsilon", "5", "--unknown", "error"], 3, "outside the vocabulary"),
        (["--epsilon", "5", "--polcy", "pii"], 2, "--policy"),
        (["--mechanism", "laplace"], 2, "--epsilon"),
    ],
)
def test_wrong_arguments(
    sfumato: Command, corpus: Path, arguments: list[str], code: int, complaint: str
) -> None:
    policy = [] if "--policy" in arguments or "--polcy" in arguments else ["--policy", "everything"]
    result = sfumato("privatize", corpus, "-o", "out.jsonl", *policy, *arguments, cwd=corpus.parent)
    assert complaint in one_line(result)
    assert result.returncode == code
    assert sorted(path.name for path in corpus.parent.iterdir()) == ["in.jsonl"]


@pytest.mark.parametrize(
    ("content", "code", "complaint"),
    [
        (b'{"text": "%s"}\n{"text": ', 3, "line 2 is not a JSON object"),
        (b'{"text": "ok"}\n{"text": "%s \xff"}', 3, "not valid utf-8 at byte"),
        (b'{"text": "%s \\udc00"}', 3, "line 1: the text is not valid Unicode: lone surrogate"),
        (b'{"body": "%s"}', 3, "line 1: there is no field 'text'"),
    ],
)
def test_bad_input(
    sfumato: Command, tmp_path: Path, content: bytes, code: int, complaint: str
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(content.replace(b"%s", SECRET.encode()))
    result = sfumato("privatize", source, "-o", tmp_path / "out.jsonl", "-e", "5")
    assert complaint in one_line(result)
    assert result.returncode == code
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_pattern_that_hardly_ends(sfumato: Command, tmp_path: Path, workers: str) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ["a 7", "b", f"{SECRET} {'x' * 70} 7"])
    result = sfumato(
        "privatize", source, "-o", tmp_path / "out.jsonl", "-e", "5", "--workers", workers,
        "--policy", "digits", "--policy", "regex:(?:x|xx)+[0-9]", "--set", "regex.seconds=0.1",
    )  # fmt: skip
    complaint = one_line(result)
    assert "policy 2 of 2: the regular expression took over 0.109 seconds" in complaint
    assert "at line 3; simplify it" in complaint
    assert result.returncode == 3
    assert list(tmp_path.iterdir()) == [source]


def test_missing_input_and_folder_and_unreadable_file(sfumato: Command, tmp_path: Path) -> None:
    result = sfumato("privatize", tmp_path / "no.txt", "-o", tmp_path / "out.txt", "-e", "5")
    assert "no such file" in one_line(result)
    assert result.returncode == 4
    (tmp_path / "folder.txt").mkdir()
    result = sfumato("privatize", tmp_path / "folder.txt", "-o", tmp_path / "out.txt", "-e", "5")
    assert result.returncode == 4
    one_line(result)


def test_an_output_folder_that_is_not_there(sfumato: Command, corpus: Path) -> None:
    result = sfumato("privatize", corpus, "-o", corpus.parent / "no" / "out.jsonl", "-e", "5")
    assert result.returncode == 4
    one_line(result)


def test_an_existing_output_is_not_overwritten_silently(sfumato: Command, corpus: Path) -> None:
    output = corpus.with_name("out.jsonl")
    output.write_text("precious")
    result = sfumato("privatize", corpus, "-o", output, "-e", "5")
    assert result.returncode == 4
    assert "--overwrite" in one_line(result)
    assert output.read_text() == "precious"
    assert sfumato("privatize", corpus, "-o", output, "-e", "5", "--overwrite").returncode == 0
    assert output.read_text() != "precious"


def test_the_input_is_never_the_output(sfumato: Command, corpus: Path) -> None:
    before = corpus.read_bytes()
    result = sfumato("privatize", corpus, "-o", corpus, "-e", "5", "--overwrite")
    assert result.returncode == 4
    assert "is the input" in one_line(result)
    assert corpus.read_bytes() == before


def test_another_format_of_the_output_is_refused(sfumato: Command, corpus: Path) -> None:
    result = sfumato("privatize", corpus, "-o", corpus.with_name("out.csv"), "-e", "5")
    assert result.returncode == 2
    assert "looks like csv" in one_line(result)


def test_a_full_disk_says_so_and_leaves_no_output(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ["word " * 200] * 300)
    command = [*EXECUTABLE, "privatize", str(source), "-o", str(tmp_path / "out.jsonl"), "-e", "5"]
    result = subprocess.run(
        [*command, "--policy", "digits"],
        capture_output=True,
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        check=False,
    )
    assert result.returncode == 4
    assert "cannot write" in one_line(result)
    assert not (tmp_path / "out.jsonl").exists()
    assert not list(tmp_path.rglob("*.unfinished"))


def test_a_device_that_is_full(sfumato: Command, corpus: Path) -> None:
    result = sfumato("privatize", corpus, "-o", "/dev/full", "-e", "5")
    assert result.returncode == 4
    assert "No space left" in one_line(result)
    assert Path("/dev/full").is_char_device()


def test_an_unforeseen_error_shows_no_private_text(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [f"{SECRET} 12"])
    program = (
        "import sys\n"
        "from sfumato.policies import patterns\n"
        "def explode(self, document): raise KeyError(document.text)\n"
        "patterns.Digits.find = explode\n"
        "from sfumato.cli.main import main\n"
        f"sys.exit(main(['privatize', {str(source)!r}, '-o', {str(tmp_path / 'o.jsonl')!r}, "
        "'-e', '5', '--policy', 'digits']))"
    )
    result = subprocess.run(
        [*EXECUTABLE[:2], program], capture_output=True, env=environment(), check=False
    )
    assert result.returncode == 70
    assert "internal error: KeyError" in one_line(result)
    assert not (tmp_path / "o.jsonl").exists()


def test_a_row_of_data_instead_of_a_header_is_not_quoted(sfumato: Command, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"tex,{SECRET}\n1,2\n")
    result = sfumato("privatize", tmp_path / "in.csv", "-o", tmp_path / "o.csv", "-e", "5")
    assert result.returncode == 3
    assert "did you mean column 1?" in one_line(result)
    assert "'tex'" not in result.stderr.decode()


def test_a_sentence_without_quotes_is_not_repeated(sfumato: Command) -> None:
    result = sfumato("explain", "My", "name", "is", SECRET, "--epsilon", "5")
    assert result.returncode == 2
    assert "quote a text" in one_line(result)


def test_the_guarantee_takes_nobodys_place(sfumato: Command, corpus: Path) -> None:
    before = corpus.read_bytes()
    folder = corpus.parent
    (folder / "other.json").write_text("precious")
    for output in ("-", "out.jsonl"):
        for guarantee in ("in.jsonl", "other.json", "no/where.json", "-", "out.jsonl"):
            if guarantee == output:
                continue
            result = sfumato(
                "privatize", "in.jsonl", "-o", output, "-e", "5", "--guarantee", guarantee,
                *(["--overwrite"] if guarantee == "in.jsonl" else []), cwd=folder,
            )  # fmt: skip
            refused = not (output == "-" and guarantee == "out.jsonl")
            assert (result.returncode in (2, 4)) is refused, (output, guarantee)
            (folder / "out.jsonl").unlink(missing_ok=True)
    assert corpus.read_bytes() == before
    assert (folder / "other.json").read_text() == "precious"
    assert sorted(path.name for path in folder.iterdir()) == ["in.jsonl", "other.json"]


def test_no_old_guarantee_stands_beside_a_new_output(sfumato: Command, corpus: Path) -> None:
    output, old = corpus.with_name("out.jsonl"), corpus.with_name("out.jsonl.guarantee.json")
    assert sfumato("privatize", corpus, "-o", output, "-e", "1").returncode == 0
    other = corpus.with_name("g.json")
    again = sfumato(
        "privatize", corpus, "-o", output, "-e", "9", "--overwrite", "--guarantee", other
    )
    assert again.returncode == 0
    assert not old.exists()
    assert b'"epsilon": 9' in other.read_bytes()
    output.unlink()
    old.write_text("precious")
    assert sfumato("privatize", corpus, "-o", output, "-e", "9").returncode == 4
    assert old.read_text() == "precious"


def test_a_link_is_followed_and_a_folder_of_somebody_else_is_left_alone(
    sfumato: Command, corpus: Path
) -> None:
    folder = corpus.parent
    (folder / "real.jsonl").write_text("old")
    (folder / "link.jsonl").symlink_to(folder / "real.jsonl")
    result = sfumato("privatize", corpus, "-o", folder / "link.jsonl", "-e", "5", "--overwrite")
    assert result.returncode == 0
    assert (folder / "link.jsonl").is_symlink()
    assert "nothing here" in (folder / "real.jsonl").read_text()
    (folder / "out.jsonl.parts").mkdir()
    (folder / "out.jsonl.parts" / "mine.txt").write_text("precious")
    result = sfumato("privatize", corpus, "-o", folder / "out.jsonl", "-e", "5", "--overwrite")
    assert result.returncode == 4
    assert "not ours" in one_line(result)
    assert (folder / "out.jsonl.parts" / "mine.txt").read_text() == "precious"


@pytest.mark.parametrize(("name", "code"), [("in.txt.gz", 3), ("in.txt.zst", 3), ("in.parquet", 3)])
def test_a_file_that_is_not_what_it_is_called_leaves_nothing_behind(
    sfumato: Command, tmp_path: Path, name: str, code: int
) -> None:
    (tmp_path / name).write_text(SECRET)
    result = sfumato("privatize", tmp_path / name, "-o", tmp_path / f"out{name[2:]}", "-e", "5")
    assert result.returncode == code
    one_line(result)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_going_on_and_starting_again_exclude_each_other(sfumato: Command, corpus: Path) -> None:
    output = corpus.with_name("out.jsonl")
    both = sfumato("privatize", corpus, "-o", output, "-e", "5", "--resume", "--overwrite")
    assert both.returncode == 2
    assert "choose one" in one_line(both)


def test_a_run_that_protects_nothing_says_so(sfumato: Command, corpus: Path) -> None:
    output = corpus.with_name("out.jsonl")
    result = sfumato("privatize", corpus, "-o", output, "-e", "5", "--policy", "regex:zzz")
    assert result.returncode == 0
    assert b"warning: no word was privatized" in result.stderr


def test_bare_commands_print_their_help(sfumato: Command) -> None:
    for command in ([], ["data"], ["policy"]):
        result = sfumato(*command)
        assert b"Usage: sfumato" in result.stdout + result.stderr
        assert (result.stdout + result.stderr).count(b"\n") > 5


def test_mistyped_commands_and_names_are_guessed(sfumato: Command) -> None:
    for arguments, guess in (
        (["privatise", "x"], "privatize"),
        (["show", "laplas"], "laplace"),
        (["list", "mechanism"], "mechanisms"),
        (["show", "policies/digit"], "digits"),
    ):
        result = sfumato(*arguments)
        assert result.returncode == 2
        assert guess in one_line(result)


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["--version"], ["list", "-h"]])
@pytest.mark.parametrize("stream", [">/dev/full", ">&-"])
def test_results_that_cannot_be_written_are_an_error_of_output(
    arguments: list[str], stream: str
) -> None:
    command = ["sh", "-c", f'exec "$@" {stream}', "sh", *EXECUTABLE, *arguments]
    result = subprocess.run(command, capture_output=True, env=environment(), check=False)
    assert result.returncode == 4
    assert "reading or writing failed" in one_line(result)


def test_a_closed_input_is_not_an_empty_one() -> None:
    command = ["sh", "-c", 'exec "$@" <&-', "sh", *EXECUTABLE, "explain", "-", "-e", "5"]
    result = subprocess.run(command, capture_output=True, env=environment(), check=False)
    assert result.returncode == 4
    one_line(result)


def test_a_folder_and_a_name_too_long_are_named(sfumato: Command, corpus: Path) -> None:
    folder = corpus.parent / "folder"
    folder.mkdir()
    result = sfumato("privatize", folder, "-o", corpus.with_name("out.txt"), "-e", "5")
    assert (result.returncode, "is a folder" in one_line(result)) == (4, True)
    result = sfumato("privatize", corpus, "-o", corpus.with_name("a" * 300 + ".jsonl"), "-e", "5")
    assert (result.returncode, "too long" in one_line(result)) == (4, True)


def test_a_narrow_terminal_costs_no_digits() -> None:
    wide, narrow = (
        subprocess.run(
            [*EXECUTABLE, "list"], capture_output=True, env=environment({"COLUMNS": columns}),
            check=True,
        ).stdout
        for columns in ("80", "20")
    )  # fmt: skip
    assert narrow == wide
