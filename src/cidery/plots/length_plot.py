"""Distributions of caption lengths of several files.

Functions return a matplotlib `Figure`; `cidery.plots.save_figures` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from cidery.corpus import Description
from cidery.plots.figures import COLORS, LINES, new_figure, require_some

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

MOST_BINS = 60


def plot_lengths(descriptions: Description | Mapping[str, Description]) -> Figure:
    """Draw the distribution of caption lengths: figure 2 of Santos, Colombini, Avila 2021.

    Shares are per file and per word of length; the legend has the mean and the standard deviation.
    The last bin has all longer captions.

    ```python
    plot_lengths({"mine": cidery.describe({"a": ["a dog runs", "a big brown dog"]})})
    ```
    """
    found = {"": descriptions} if isinstance(descriptions, Description) else dict(descriptions)
    require_some(found)
    counts = [np.array(one.lengths, np.int64).reshape(-1, 2) for one in found.values()]
    longest = max(_find_usual_end(rows) for rows in counts)
    width = -(-longest // MOST_BINS)
    edges = np.arange(0, longest + width + 1, width) - 0.5 * (width == 1)
    with new_figure(5.2, 3.0) as figure:
        axes = figure.subplots()
        axes.grid(True, axis="y")
        styles = zip(cycle(COLORS[:6]), cycle(LINES), strict=False)
        for (name, one), rows, (color, line) in zip(found.items(), counts, styles, strict=False):
            words = np.minimum(rows[:, 0], longest)
            captions, _ = np.histogram(words, edges, weights=rows[:, 1])
            heights = 100 * captions / one.captions / width
            label = f"{one.length.mean:.1f} words, sd {one.length.deviation:.1f}"
            axes.stairs(
                heights,
                edges,
                color=color,
                linestyle=line,
                linewidth=1.4,
                label=f"{name}: {label}" if name else label,
            )
            axes.stairs(heights, edges, fill=True, color=color, alpha=0.12)
        longer = any(rows[-1, 0] > longest for rows in counts)
        axes.set_xlabel("words (the last bin has all longer captions)" if longer else "words")
        axes.set_ylabel("captions, % per word")
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(bottom=0)
        for text in axes.legend().get_texts():
            text.set_parse_math(False)  # file names may contain $
    return figure


def _find_usual_end(rows: NDArray[np.int64]) -> int:
    """Return the 99th percentile of lengths; `rows` are lengths and captions."""
    reached = np.cumsum(rows[:, 1]) >= 0.99 * rows[:, 1].sum()
    return max(1, int(rows[reached.argmax(), 0]))
