"""Charts are written whole and without a network; their colors can be told apart by everybody."""

from __future__ import annotations

import json
import socket
import struct
import sys
import xml.etree.ElementTree as ET
import zlib
from itertools import combinations
from pathlib import Path

import altair
import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.charts import chart as saving
from sfumato.charts.chart import COLORS, FAINT_INK, INK, PAPER, Chart, format_of, ready_for
from sfumato.core.errors import MissingExtra, OutputExists, StorageFailed, UnknownName


@pytest.fixture(scope="module")
def chart() -> Chart:
    rows = altair.InlineData(values=[{"x": 1, "y": 2}, {"x": 2, "y": 3}])
    return Chart.of(altair.Chart(rows).mark_line().encode(x="x:Q", y="y:Q"))


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a chart asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.usefixtures("no_network")
def test_a_png_is_whole(chart: Chart, tmp_path: Path) -> None:
    chart.save(tmp_path / "chart.png")
    content = (tmp_path / "chart.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert width > 300
    assert height > 300
    place, data = 8, b""
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        kind, body = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", content[place + 8 + length : place + 12 + length])
        assert zlib.crc32(kind + body) == check
        data += body if kind == b"IDAT" else b""
        place += 12 + length
    assert kind == b"IEND"
    pixels = zlib.decompress(data)
    assert len(set(pixels)) > 10, "the picture is empty"


@pytest.mark.usefixtures("no_network")
def test_an_svg_is_a_picture_that_loads_nothing(chart: Chart, tmp_path: Path) -> None:
    chart.save(tmp_path / "chart.svg")
    root = ET.parse(tmp_path / "chart.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.findall(".//{http://www.w3.org/2000/svg}text")
    assert "href" not in (tmp_path / "chart.svg").read_text().replace("xlink", "", 1)


@pytest.mark.usefixtures("no_network")
def test_a_page_holds_all_it_needs_and_sends_nothing(chart: Chart, tmp_path: Path) -> None:
    chart.save(tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text()
    assert "<script src" not in page
    assert 'src="http' not in page
    assert '"editor":false' in page
    assert "vegaEmbed" in page


def test_the_description_can_be_read_again(chart: Chart, tmp_path: Path) -> None:
    chart.save(tmp_path / "chart.json")
    spec = json.loads((tmp_path / "chart.json").read_text())
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert altair.Chart.from_dict(spec).to_dict()["mark"] == {"type": "line"}


def test_an_existing_file_is_not_replaced_silently(chart: Chart, tmp_path: Path) -> None:
    target = tmp_path / "chart.svg"
    target.write_text("precious")
    with pytest.raises(OutputExists, match="`overwrite=True`"):
        chart.save(target)
    assert target.read_text() == "precious"
    chart.save(target, overwrite=True)
    assert target.read_text().startswith("<svg")
    assert [path.name for path in tmp_path.iterdir()] == ["chart.svg"]


@pytest.mark.parametrize("name", ["chart", "chart.gif", "chart.svg.gz", "-"])
def test_an_unknown_format_is_refused(name: str) -> None:
    with pytest.raises(UnknownName, match="format of charts"):
        format_of(Path(name))


def test_what_would_fail_after_the_work_fails_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StorageFailed, match="no folder"):
        ready_for(tmp_path / "no" / "chart.svg", overwrite=False)
    ready_for(tmp_path / "chart.svg", overwrite=False)
    for module in ("altair", "vl_convert"):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, module, None)
            with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[charts\]'"):
                ready_for(tmp_path / "chart.svg", overwrite=False)
    assert list(tmp_path.iterdir()) == []


def test_a_chart_that_asks_for_data_from_elsewhere_is_not_drawn(chart: Chart) -> None:
    elsewhere = Chart({**chart.spec, "data": {"url": "https://example.org/data.csv"}})
    for name in ("svg", "png"):
        with pytest.raises(ValueError, match=r"example\.org"):
            saving._DRAWN[name](elsewhere.spec)


def test_drawing_one_chart_does_not_change_another(chart: Chart) -> None:
    assert altair.theme.active == "default"
    assert chart.spec["config"]["font"]


# Vienot, Brettel and Mollon 1999, for linear RGB: what red-blind and green-blind people see.
SIGHTS = {
    "all cones": np.eye(3),
    "red-blind": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
    "green-blind": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
}


def linear(color: str) -> NDArray[np.float64]:
    channels = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def luminance(color: str) -> float:
    return float(linear(color) @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHTS)
def test_no_two_colors_look_alike(sight: str) -> None:
    seen = {color: SIGHTS[sight] @ linear(color) for color in COLORS}
    for first, second in combinations(COLORS, 2):
        assert np.linalg.norm(seen[first] - seen[second]) > 0.08, (first, second)


def test_red_and_green_of_a_traffic_light_would_be_caught() -> None:
    red, green = (SIGHTS["green-blind"] @ linear(color) for color in ("#cc3311", "#5f7a11"))
    assert np.linalg.norm(red - green) < 0.08


def test_text_can_be_read() -> None:
    assert contrast(INK, PAPER) > 7
    assert contrast(FAINT_INK, PAPER) > 4.5
