"""Placement of labels beside points with the least overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cidery.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OFFSETS = ((5, 5), (5, -5), (-5, 5), (-5, -5), (9, 0), (-9, 0), (0, 9), (0, -9))
"""Candidate positions of a label, in points from its marker."""


def label_points(
    figure: Figure, axes: Axes, points: Sequence[tuple[Interval, Interval, str]]
) -> None:
    """Label points, with the least overlap of labels, markers and intervals."""
    figure.draw_without_rendering()
    taken = _find_taken(figure, axes, points)
    inside = axes.get_window_extent()
    for x, y, name in points:
        options: list[tuple[float, int, Any, Any]] = []
        for dx, dy in _OFFSETS:
            text = axes.annotate(
                name,
                (x.score, y.score),
                (dx, dy),
                textcoords="offset points",
                ha="center" if dx == 0 else "left" if dx > 0 else "right",
                va="center" if dy == 0 else "bottom" if dy > 0 else "top",
            )
            box = text.get_window_extent()
            hidden = sum(overlap(box, other) for other in taken)
            outside = box.width * box.height - overlap(box, inside)
            options.append((hidden + outside, len(options), text, box))
            text.remove()
        _, _, text, box = min(options, key=lambda option: option[:2])
        axes.add_artist(text)
        taken.append(box)


def _find_taken(
    figure: Figure, axes: Axes, points: Sequence[tuple[Interval, Interval, str]]
) -> list[Any]:
    """Return the bounding boxes of all markers and intervals, in pixels."""
    from matplotlib.transforms import Bbox

    place = axes.transData.transform
    size = 5 * figure.dpi / 72
    taken = []
    for x, y, _ in points:
        center = place((x.score, y.score))
        across = place([(x.low, y.score), (x.high, y.score)])
        up = place([(x.score, y.low), (x.score, y.high)])
        taken += [
            Bbox([corners[0] - pad, corners[1] + pad])
            for corners, pad in ((across, 2), (up, 2), ((center, center), size))
        ]
    return taken


def overlap(one: Any, other: Any) -> float:
    """Return the overlap area of two boxes."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(0.0, float(width)) * max(0.0, float(height))
