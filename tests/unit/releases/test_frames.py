"""Columns of pandas frames, as Dask and Spark hand them over, and Spark itself where it is."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.releases.privatizer import Privatizer

TEXTS = ["Room 12", None, "no number", "call 555"]


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"id": range(4), "text": TEXTS}, index=[3, 5, 7, 9])


@pytest.fixture
def masks() -> Privatizer:
    return Privatizer(policy="digits", mechanism="redact")


def test_a_frame_and_many_keep_their_shape(frame: pd.DataFrame, masks: Privatizer) -> None:
    mapper = pickle.loads(pickle.dumps(masks.frames("text")))
    new = mapper(frame)
    there = new["text"].dropna().tolist()
    assert there == ["Room [NUMBER]", "no number", "call [NUMBER]"]
    assert new.drop(columns="text").equals(frame.drop(columns="text"))
    assert frame["text"].dropna().tolist() == [one for one in TEXTS if one is not None]
    assert [one.equals(new) for one in mapper(iter([frame, frame]))] == [True, True]


def test_parts_of_a_table_never_share_their_noise(frame: pd.DataFrame, small_space: object) -> None:
    words = Privatizer(policy="everything", mechanism="laplace", epsilon=1, vectors=small_space)  # type: ignore[arg-type]
    frame["text"] = "paris rome berlin madrid vienna lisbon athens " * 4
    parts = [pickle.loads(pickle.dumps(words.frames("text")))(frame) for _ in range(2)]
    assert not parts[0].equals(parts[1])
    # The twin is what a seed would do, which is why there may be none.
    words.set_params(seed=5)
    same = [pickle.loads(pickle.dumps(words)).privatize(frame["text"]) for _ in range(2)]
    assert same[0].equals(same[1])
    with pytest.raises(InvalidArgument, match="same noise"):
        words.frames("text")


def test_what_is_wrong_is_said(frame: pd.DataFrame, masks: Privatizer, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no column 'body'"):
        masks.frames("body")(frame)
    with pytest.raises(BadInput, match="name the columns"):
        masks.frames()
    with pytest.raises(BadInput, match="same name"):
        masks.frames("text")(pd.concat([frame, frame], axis=1))
    with pytest.raises(InvalidArgument, match="key_file"):
        Privatizer(policy="digits", mechanism="pseudonym").frames("text")
    (tmp_path / "key").write_text("k" * 32)
    settings = {"key_file": str(tmp_path / "key")}
    keyed = Privatizer(policy="digits", mechanism="pseudonym", settings=settings).frames("text")
    first, second = (pickle.loads(pickle.dumps(keyed))(frame) for _ in range(2))
    assert first.equals(second)


@pytest.mark.skipif(
    find_spec("pyspark") is None or shutil.which("java") is None,
    reason="THE SPARK LINE IS NOT TESTED: it needs pyspark and a Java that runs it",
)
def test_the_line_for_spark(
    masks: Privatizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(tmp_path / "warehouse"))
        .getOrCreate()
    )
    try:
        table = spark.createDataFrame(list(enumerate(TEXTS)), "id int, text string")
        table.mapInPandas(masks.frames("text"), table.schema).write.parquet(str(tmp_path / "soft"))
        rows = spark.read.parquet(str(tmp_path / "soft")).collect()
    finally:
        spark.stop()
    found = {row["id"]: row["text"] for row in rows}
    assert found == {0: "Room [NUMBER]", 1: None, 2: "no number", 3: "call [NUMBER]"}
