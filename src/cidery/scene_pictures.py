"""Pictures of scene graphs: objects in a row, attributes below them, relations above.

Needs the extra `plots`; `cidery.plots.save_figures` writes them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cidery.errors import InputError
from cidery.plots import new_figure
from cidery.scenes.graph import SceneGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Lengths are inches.
_LETTER, _PADDING, _GAP = 0.085, 0.28, 0.3
_LINE, _LEVEL, _FOOT = 0.36, 0.38, 0.16
_OBJECT, _ATTRIBUTE, _RELATION = "#D55E00", "#009E73", "#0072B2"  # Okabe and Ito 2008


@dataclass(frozen=True)
class _Arch:
    """A relation, drawn from one object up, across and down to another."""

    label: str
    start: float
    end: float
    level: int


def plot_scene(graph: SceneGraph) -> Figure:
    """Draw a scene graph.

    ```python
    save_figures(plot_scene(Spice().parse("a brown dog chases two cats")), "dog.svg")
    ```
    """
    if not graph.objects:
        raise InputError("there is nothing to draw: the caption names no object")
    centres, width = _place_objects(graph)
    arches = _build_arches(graph, centres)
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
            axes.plot([centres[name]] * 2, [0, depth_below], color="0.8", linewidth=1, zorder=1)
            _write(axes, centres[name], depth_below, attribute, _ATTRIBUTE)
        for name, centre in centres.items():
            _write(axes, centre, 0, name, _OBJECT, bold=True)
    return figure


def _place_objects(graph: SceneGraph) -> tuple[dict[str, float], float]:
    """Return the middle of each object's column, wide enough for what is in it, and the width."""
    ends = Counter(name for subject, _, other in graph.relations for name in (subject, other))
    centres: dict[str, float] = {}
    at = _GAP
    for name in graph.objects:
        letters = max(len(name), *(len(a) for o, a in graph.attributes if o == name), 3)
        longest = max(
            (len(label) for subject, label, _ in graph.relations if subject == name), default=0
        )
        width = max(_LETTER * letters + _PADDING, _FOOT * (ends[name] + 1), _LETTER * longest)
        centres[name] = at + width / 2
        at += width + _GAP
    return centres, at


def _build_arches(graph: SceneGraph, centres: dict[str, float]) -> list[_Arch]:
    """Give short relations low arches, and each its own place to stand on."""

    def reach(relation: tuple[str, str, str]) -> float:
        return abs(centres[relation[0]] - centres[relation[2]])

    ordered = sorted(graph.relations, key=reach)
    feet = Counter(name for subject, _, other in ordered for name in (subject, other))
    used: Counter[str] = Counter()
    arches: list[_Arch] = []
    for subject, label, other in ordered:
        places = []
        for name in (subject, other):
            places.append(centres[name] + _FOOT * (used[name] - (feet[name] - 1) / 2))
            used[name] += 1
        start, end = places
        half = _LETTER * len(label) / 2 + 0.1
        left, right = (
            min(start, end, (start + end) / 2 - half),
            max(start, end, (start + end) / 2 + half),
        )
        level = 1 + max((a.level for a in arches if _covers(a, left, right)), default=0)
        arches.append(_Arch(label, start, end, level))
    return arches


def _covers(arch: _Arch, left: float, right: float) -> bool:
    half = _LETTER * len(arch.label) / 2
    middle = (arch.start + arch.end) / 2
    return (
        min(arch.start, arch.end, middle - half) < right
        and max(arch.start, arch.end, middle + half) > left
    )


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
    colour: str,
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
        color=colour,
        fontweight="bold" if bold else "normal",
        parse_math=False,
        bbox={
            "boxstyle": "round,pad=0.3" if framed else "round,pad=0.1",
            "facecolor": "white",
            "edgecolor": colour if framed else "none",
        },
        zorder=2,
    )
