"""Figures of scene graphs: objects in a row, attributes below them, relations above.

Functions return a matplotlib `Figure`; `cidery.plots.save_figures` writes it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cidery.errors import InputError
from cidery.metrics.spice.graph import SceneGraph
from cidery.plots.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Lengths are inches.
_LETTER, _PADDING, _GAP = 0.085, 0.28, 0.3
_LINE, _LEVEL, _FOOT = 0.36, 0.38, 0.13
_OBJECT, _ATTRIBUTE, _RELATION = "#D55E00", "#009E73", "#0072B2"  # Okabe and Ito 2008


@dataclass(frozen=True)
class _Arch:
    """A relation, drawn from one object up, across and down to another."""

    label: str
    start: float
    end: float
    level: int = 0

    def meets(self, other: _Arch) -> bool:
        """Return True if both arches would overlap at the same height."""
        (left, right), (other_left, other_right) = self.extent, other.extent
        return left < other_right and right > other_left

    @property
    def extent(self) -> tuple[float, float]:
        """Horizontal extent, with the label."""
        half, middle = _LETTER * len(self.label) / 2 + 0.1, (self.start + self.end) / 2
        return min(self.start, self.end, middle - half), max(self.start, self.end, middle + half)


def plot_scene(graph: SceneGraph) -> Figure:
    """Draw a scene graph.

    ```python
    save_figures(plot_scene(Spice().parse("a brown dog chases two cats")), "dog.svg")
    ```
    """
    if not graph.objects:
        raise InputError("nothing to draw: the caption has no objects")
    centers, width = _place_objects(graph)
    arches = _build_arches(graph, centers)
    depth = max(Counter(name for name, _ in graph.attributes).values(), default=0)
    height = 1 + max((arch.level for arch in arches), default=0)
    low, high = -_LINE * (depth + 0.7), _LEVEL * height
    with new_figure(width, high - low) as figure:
        axes = figure.add_subplot()
        axes.set(xlim=(0, width), ylim=(low, high))
        axes.set_axis_off()
        for arch in arches:
            _draw_arch(axes, arch)
        below: Counter[str] = Counter()
        for name, attribute in graph.attributes:
            below[name] += 1
            depth_below = -_LINE * below[name]
            axes.plot([centers[name]] * 2, [0, depth_below], color="0.8", linewidth=1, zorder=1)
            _write(axes, centers[name], depth_below, attribute, _ATTRIBUTE)
        for name, center in centers.items():
            _write(axes, center, 0, name, _OBJECT, bold=True)
    return figure


def _place_objects(graph: SceneGraph) -> tuple[dict[str, float], float]:
    """Return the center of each object's column, and the total width."""
    ends = Counter(name for subject, _, other in graph.relations for name in (subject, other))
    centers: dict[str, float] = {}
    at = _GAP
    for name in graph.objects:
        letters = max(len(name), *(len(a) for o, a in graph.attributes if o == name), 3)
        longest = max(
            (len(label) for subject, label, _ in graph.relations if subject == name), default=0
        )
        width = max(_LETTER * letters + _PADDING, _FOOT * (ends[name] + 1), _LETTER * longest)
        centers[name] = at + width / 2
        at += width + _GAP
    return centers, at


def _build_arches(graph: SceneGraph, centers: dict[str, float]) -> list[_Arch]:
    """Return the height of each arch; longer and overlapping relations are higher."""
    feet = _place_feet(graph, centers)
    spans = [(feet[number, 0], feet[number, 2]) for number in range(len(graph.relations))]
    arches: list[_Arch] = []
    for number in sorted(range(len(spans)), key=lambda n: abs(spans[n][0] - spans[n][1])):
        arch = _Arch(graph.relations[number][1], *spans[number])
        level = 1 + max((other.level for other in arches if other.meets(arch)), default=0)
        arches.append(replace(arch, level=level))
    return arches


def _place_feet(graph: SceneGraph, centers: dict[str, float]) -> dict[tuple[int, int], float]:
    """Return the end points of each relation on its objects, with few crossings.

    Relations to the left start on the left; on each side, longer ones start inside.
    """
    ends: dict[str, list[tuple[bool, float, int, int]]] = {name: [] for name in graph.objects}
    for number, relation in enumerate(graph.relations):
        for side in (0, 2):
            here, there = centers[relation[side]], centers[relation[2 - side]]
            ends[relation[side]].append((there > here, -there, number, side))
    return {
        (number, side): centers[name] + _FOOT * (place - (len(found) - 1) / 2)
        for name, found in ends.items()
        for place, (_, _, number, side) in enumerate(sorted(found))
    }


def _draw_arch(axes: Axes, arch: _Arch) -> None:
    top = _LEVEL * arch.level + 0.08
    axes.plot(
        [arch.start, arch.start, arch.end, arch.end],
        [0, top, top, 0.24],
        color=_RELATION,
        linewidth=1.2,
        solid_joinstyle="round",
        zorder=1,
    )
    axes.annotate(
        "",
        (arch.end, 0.15),
        (arch.end, 0.3),
        arrowprops={"arrowstyle": "-|>", "color": _RELATION, "shrinkA": 0, "shrinkB": 0},
        zorder=1,
    )
    _write(axes, (arch.start + arch.end) / 2, top, arch.label, _RELATION, framed=False)


def _write(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    color: str,
    *,
    bold: bool = False,
    framed: bool = True,
) -> None:
    axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        color=color,
        fontweight="bold" if bold else "normal",
        parse_math=False,
        bbox={
            "boxstyle": "round,pad=0.3" if framed else "round,pad=0.1",
            "facecolor": "white",
            "edgecolor": color if framed else "none",
        },
        zorder=2,
    )
