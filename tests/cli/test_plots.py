"""Pictures: axes, the plot of characters, and the SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from rich.console import Console

from seis.plots.frame import Axis, Curve, axis, label
from seis.plots.svg import svg
from seis.plots.terminal import plot

OLD = Curve("baseline", ((10.0, 20000.0), (50.0, 9000.0), (200.0, 100.0)))
NEW = Curve("discovered", ((12.0, 21000.0), (60.0, 10000.0), (220.0, 120.0)))


def _plain(text: str) -> list[str]:
    console = Console(width=80, file=None, no_color=True)
    with console.capture() as capture:
        console.print(text)
    return capture.get().splitlines()


def test_ticks_are_round_and_few() -> None:
    found = Axis(8.0, 250.0).ticks(12)
    assert found == (10.0, 20.0, 50.0, 100.0, 200.0)
    assert len(Axis(0.001, 1e6).ticks(5)) <= 5
    assert [label(v) for v in (0.5, 20.0, 2000.0, 1e6)] == ["0.5", "20", "2k", "1M"]


def test_an_axis_holds_its_values() -> None:
    found = axis([3.0, 300.0])
    assert found.low < 3 < 300 < found.high
    single = axis([5.0])
    assert single.low < 5 < single.high
    assert 0 < single.at(5.0) < 1


def test_a_terminal_plot_fits_80_columns_and_is_labelled() -> None:
    lines = _plain(plot([OLD, NEW], "tokens/s/user", "tokens/s/GPU"))
    assert max(map(len, lines)) <= 80
    assert "baseline" in lines[0]
    assert "discovered" in lines[0]
    assert "tokens/s/GPU" in lines[0]
    assert lines[-1].endswith("tokens/s/user")
    assert re.search(r"\b10k ┤", "\n".join(lines))
    assert any(0x2800 < ord(c) < 0x2900 for line in lines[1:-3] for c in line)


def test_a_plot_of_nothing_says_so() -> None:
    assert plot([Curve("baseline", ())], "x", "y") == "no point fits in memory"


def test_svg_is_well_formed_and_names_its_lines() -> None:
    text = svg([OLD, NEW], "A <model>", "decode", "x", "y", ((50.0, 9000.0), (60.0, 10000.0), "+11 %"))
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    words = [t.text for t in root.iter(f"{space}text")]
    assert {"baseline", "discovered", "A <model>", "+11 %"} <= set(words)
    assert len(list(root.iter(f"{space}polyline"))) == 2
    assert len(list(root.iter(f"{space}circle"))) == 6
    for circle in root.iter(f"{space}circle"):
        assert 0 < float(circle.attrib["cx"]) < 880
        assert 0 < float(circle.attrib["cy"]) < 560
