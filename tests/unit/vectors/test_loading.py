"""Word vectors from the files people have, and what is said about files that are broken."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from backports import zstd
from numpy.typing import NDArray

from sfumato.core.errors import MalformedVectors, StorageFailed, UnknownName
from sfumato.vectors.load import load_vectors, save_vectors, vocabulary_path
from sfumato.vectors.space import Space

WORDS = ["the", ". . .", "zoë", "at name@domain.com"]
VECTORS = np.array([[1, 2.5, -3], [0, 0.125, 1e-3], [-1, 4, 7], [9, 8, 7.25]], dtype=np.float32)


def as_text(header: bool = False, end: str = "\n") -> bytes:
    lines = [f"{len(WORDS)} 3"] if header else []
    for word, vector in zip(WORDS, VECTORS, strict=True):
        lines.append(" ".join([word, *(repr(float(number)) for number in vector)]))
    return "".join(line + end for line in lines).encode()


def as_binary(breaks: bool, words: tuple[str, ...] = ("the", "of", "zoë", "end")) -> bytes:
    content = f"{len(words)} 3\n".encode()
    for word, vector in zip(words, VECTORS, strict=True):
        content += word.encode() + b" " + vector.tobytes() + (b"\n" if breaks else b"")
    return content


def write_matrix(path: Path, words: list[str], vectors: NDArray[np.generic]) -> Path:
    np.save(path, vectors)
    vocabulary_path(path).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    return path


def assert_loaded(space: Space, words: list[str] = WORDS) -> None:
    assert list(space.words) == words
    assert space.vectors.dtype == np.float32
    assert space.vectors.tolist() == VECTORS[: len(words)].tolist()


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"], ids=["lf", "crlf", "trailing space"])
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("suffix", [".txt", ".vec"])
def test_text_is_read_with_or_without_a_header(
    tmp_path: Path, suffix: str, header: bool, end: str
) -> None:
    # GloVe has entries with spaces in them; word2vec and fastText write a header.
    path = tmp_path / f"vectors{suffix}"
    path.write_bytes(as_text(header, end))
    space = load_vectors(path)
    assert_loaded(space)
    assert space.name == "vectors"


def test_compressed_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "one.txt.gz").write_bytes(gzip.compress(as_text()))
    (tmp_path / "two.vec.zst").write_bytes(zstd.compress(as_text(header=True)))
    assert_loaded(load_vectors(tmp_path / "one.txt.gz"))
    assert_loaded(load_vectors(tmp_path / "two.vec.zst"))
    assert load_vectors(tmp_path / "one.txt.gz").name == "one"


@pytest.mark.parametrize("breaks", [True, False], ids=["with breaks", "without"])
def test_word2vec_binary_is_read(tmp_path: Path, breaks: bool) -> None:
    path = tmp_path / "vectors.bin"
    path.write_bytes(as_binary(breaks))
    assert_loaded(load_vectors(path), ["the", "of", "zoë", "end"])


def test_numbers_that_look_like_breaks_and_spaces_do_not_confuse_the_binary_reader(
    tmp_path: Path,
) -> None:
    odd = np.frombuffer(b"\n   \x20\n\x20\n", dtype="<f4")
    content = b"2 2\n" + b"".join(word + b" " + odd.tobytes() + b"\n" for word in (b"a", b"b"))
    (tmp_path / "odd.bin").write_bytes(content)
    space = load_vectors(tmp_path / "odd.bin")
    assert list(space.words) == ["a", "b"]
    assert (space.vectors == odd).all()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_matrix_is_read_in_any_precision(tmp_path: Path, kind: type[np.floating]) -> None:
    vectors = np.array([[1, 2.5], [0.125, -4]], dtype=kind)
    space = load_vectors(write_matrix(tmp_path / "m.npy", ["a", "b c"], vectors))
    assert list(space.words) == ["a", "b c"]
    assert space.vectors.dtype == np.float32
    assert space.vectors.tolist() == vectors.tolist()


def _owners(array: object) -> Iterator[object]:
    while array is not None:
        yield array
        array = getattr(array, "base", None)


def test_a_matrix_in_single_precision_stays_in_its_file(tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "m.npy", WORDS, VECTORS)
    for limit in (None, 3):
        owners = list(_owners(load_vectors(path, limit).vectors))
        assert any(isinstance(owner, np.memmap) for owner in owners)


def test_a_saved_space_comes_back(tmp_path: Path) -> None:
    space = Space("s", WORDS, VECTORS)
    save_vectors(space, tmp_path / "kept.npy")
    again = load_vectors(tmp_path / "kept.npy")
    assert_loaded(again)
    assert again.name == "kept"


def test_a_word_with_a_line_break_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(MalformedVectors, match="line break"):
        save_vectors(Space("s", ["a\nb", "c"], VECTORS[:2]), tmp_path / "x.npy")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".txt", ".npy", ".bin"])
def test_only_the_first_words_are_read_when_limited(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"v{suffix}"
    if suffix == ".npy":
        write_matrix(path, WORDS, VECTORS)
    else:
        path.write_bytes(as_text() if suffix == ".txt" else as_binary(breaks=True))
    assert len(load_vectors(path, limit=2)) == 2
    assert load_vectors(path, limit=2).vectors.tolist() == VECTORS[:2].tolist()
    assert len(load_vectors(path, limit=99)) == 4


def test_a_limit_spares_what_comes_after_it(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(as_text() + b"broken line\n")
    assert len(load_vectors(path, limit=4)) == 4


def test_of_two_entries_with_one_spelling_the_first_is_used(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"rome 1 2\nparis 3 4\nrome 5 6\n")
    space = load_vectors(path)
    assert space.point_of("rome") == 0
    assert space.point_of("ROME") == 0


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"secret 1 2\nsecond 1\n", 2),
        (b"secret 1 2\nsecond 1 x\n", 2),
        (b"secret 1 2\nsecond 3 4\n\n", 3),
        (b"2 3\nsecret 1 2 3\nsecond 1 2\n", 3),
        (b"secret\n", 1),
        (b"secret 1 2\nsecond 1 \xff\n", 2),
        (b"secret 1 2\n\x00\x01\n", 2),
    ],
)
def test_a_broken_line_is_named_by_its_number_and_not_quoted(
    tmp_path: Path, content: bytes, line: int
) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(MalformedVectors, match=rf"v\.txt: line {line}\b") as caught:
        load_vectors(path)
    assert "secret" not in str(caught.value)
    assert "second" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"4 3\n"], ids=["empty", "header only"])
def test_a_file_without_vectors_says_so(tmp_path: Path, content: bytes) -> None:
    for name in ("v.txt", "v.vec"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MalformedVectors, match="holds no vectors"):
            load_vectors(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "two numbers"),
        (b"not a header\n", "two numbers"),
        (as_binary(breaks=True)[:-5], "ends inside entry 4"),
        (b"2 3\nnospacehere", "ends inside entry 1"),
        (b"0 3\n", "holds no vectors"),
    ],
)
def test_a_broken_binary_file_says_where(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "v.bin").write_bytes(content)
    with pytest.raises(MalformedVectors, match=reason):
        load_vectors(tmp_path / "v.bin")


def test_a_matrix_and_its_words_must_fit(tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "m.npy", WORDS[:3], VECTORS)
    with pytest.raises(MalformedVectors, match=r"shape \(4, 3\).*3 words"):
        load_vectors(path)
    with pytest.raises(MalformedVectors, match="shape"):
        load_vectors(write_matrix(tmp_path / "m.npy", WORDS, VECTORS.ravel()))


def test_what_is_no_matrix_is_refused_without_running_it(tmp_path: Path) -> None:
    # A pickled array could run code when it is opened.
    objects = np.array([[{}, 1], [2, 3]], dtype=object)
    with pytest.raises(MalformedVectors, match="not a matrix"):
        load_vectors(write_matrix(tmp_path / "m.npy", ["a", "b"], objects))
    (tmp_path / "m.npy").write_bytes(b"garbage, not numpy")
    with pytest.raises(MalformedVectors, match="not a matrix"):
        load_vectors(tmp_path / "m.npy")


@pytest.mark.parametrize(
    "content", [b"a nan 1\nb 1 2\n", b"a inf 1\nb 1 2\n", b"a 1e300 1\nb 1 2\n"]
)
@pytest.mark.filterwarnings("error")
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "v.txt").write_bytes(content)
    with pytest.raises(MalformedVectors, match="not finite"):
        load_vectors(tmp_path / "v.txt")


def test_an_unknown_format_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"\.bin, \.npy, \.txt, \.vec"):
        load_vectors(tmp_path / "v.parquet")
    with pytest.raises(UnknownName, match=r"\.npy"):
        save_vectors(Space("s", WORDS, VECTORS), tmp_path / "v.txt")


@pytest.mark.parametrize("name", ["no.txt", "no.npy", "no.bin", "no.vec.gz"])
def test_a_missing_file_is_a_storage_failure(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageFailed, match="No such file"):
        load_vectors(tmp_path / name)


@pytest.mark.resources
def test_the_real_glove_matrices_load(resources: Path) -> None:
    space = load_vectors(resources / "vectors" / "glove-840b-300d-34k.npy", limit=1000)
    assert (len(space), space.dimension) == (1000, 300)
    assert space.point_of("London") < space.unknown or space.point_of("the") < space.unknown


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.txt.zst", b"not packed at all", "damaged, cut short"),
        ("a.txt.gz", b"not packed at all", "damaged, cut short"),
        ("a.txt.gz", gzip.compress(b"a 1 2\nb 3 4\n", mtime=0)[:-6], "damaged, cut short"),
        ("a.vec", b"3 2\na 1 2\nb 3 4\n", "promises 3 words and has 2"),
        ("a.txt", b"1\n2\n", "line 1 has fewer than 1 numbers"),
        ("a.npy.gz", b"", "only text may be compressed"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MalformedVectors, match=complaint):
        load_vectors(tmp_path / name)


def test_a_word_list_from_another_system_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(2, dtype=np.float32))
    (tmp_path / "a.vocab.txt").write_bytes("\ufeffone\r\ntwo\r\n".encode())
    assert load_vectors(tmp_path / "a.npy").words == ["one", "two"]


def test_a_matrix_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.vocab.txt").write_text("one\ntwo\n")
    for matrix in (np.array([["x"], ["y"]]), np.eye(2, dtype=np.complex64)):
        np.save(tmp_path / "a.npy", matrix)
        with pytest.raises(MalformedVectors, match="not real numbers"):
            load_vectors(tmp_path / "a.npy")


def test_a_limit_below_two_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="limit=1 must be at least 2"):
        load_vectors(tmp_path / "a.txt", limit=1)
