"""What the SVG pictures share: their ink, their text, and the grid behind the lines."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from seis.plots.frame import Axis, label

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # Okabe and Ito: told apart by colour-blind readers
INK, QUIET, RULE, PAPER, OTHER = "#1f2933", "#5f6b76", "#e3e8ec", "#fdfdfc", "#9aa5b1"
FONT = "font-family='Helvetica Neue, Helvetica, Arial, sans-serif'"


def opening(width: int, height: int, title: str) -> str:
    """The start of a document with its paper."""
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' {FONT} role='img' aria-label='{escape(title, quote=True)}'>\n"
        f"<rect width='{width}' height='{height}' fill='{PAPER}'/>"
    )


def text(
    x: float, y: float, content: str, size: int, fill: str, anchor: str = "start", weight: str = "400"
) -> str:
    """A line of text."""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' font-weight='{weight}' fill='{fill}' "
        f"text-anchor='{anchor}'>{escape(content)}</text>"
    )


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle of the picture with a logarithmic axis on two sides."""

    x: Axis
    y: Axis
    left: float
    right: float
    top: float
    bottom: float

    def across(self, value: float) -> float:
        """The pixel of a value of the axis below."""
        return self.left + self.x.at(value) * (self.right - self.left)

    def up(self, value: float) -> float:
        """The pixel of a value of the axis at the left."""
        return self.bottom - self.y.at(value) * (self.bottom - self.top)

    def grid(self, most: tuple[int, int], size: int = 12) -> list[str]:
        """Lines and labels at the ticks, at most so many on either axis."""
        parts = []
        for tick in self.x.ticks(most[0]):
            at = self.across(tick)
            parts.append(
                f"<line x1='{at:.1f}' y1='{self.top}' x2='{at:.1f}' y2='{self.bottom}' stroke='{RULE}'/>"
            )
            parts.append(text(at, self.bottom + 8 + size, label(tick), size, QUIET, "middle"))
        for tick in self.y.ticks(most[1]):
            at = self.up(tick)
            parts.append(
                f"<line x1='{self.left}' y1='{at:.1f}' x2='{self.right}' y2='{at:.1f}' stroke='{RULE}'/>"
            )
            parts.append(text(self.left - 9, at + 4, label(tick), size, QUIET, "end"))
        ends = f"x1='{self.left}' y1='{self.bottom}' x2='{self.right}' y2='{self.bottom}'"
        parts.append(f"<line {ends} stroke='{QUIET}'/>")
        return parts
