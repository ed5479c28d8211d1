"""Figures for print: PDF, SVG, EPS or PNG (extra `plots`).

Functions return a matplotlib `Figure`; `save_figures` writes one or several. matplotlib is imported
when the first figure is drawn.

```python
from cidery.plots import plot_tradeoff, save_figures

save_figures(plot_tradeoff({"ours": ours, "humans": humans}), "tradeoff.pdf")
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cidery.plots.agreement import plot_correlations, plot_references, plot_wins
    from cidery.plots.captions import plot_map, plot_radar, plot_word_frequencies
    from cidery.plots.diversity import (
        plot_counts,
        plot_diversity,
        plot_f_scores,
        plot_tradeoff,
    )
    from cidery.plots.figures import FORMATS, new_figure, save_figures
    from cidery.plots.hackability import plot_hackability
    from cidery.plots.lengths import plot_lengths
    from cidery.plots.measures import plot_ranks, plot_vocabulary
    from cidery.plots.overview import plot_overview
    from cidery.plots.scenes import plot_scene
    from cidery.plots.slices import plot_slices

_MODULES = {
    "FORMATS": "figures",
    "new_figure": "figures",
    "plot_correlations": "agreement",
    "plot_counts": "diversity",
    "plot_diversity": "diversity",
    "plot_f_scores": "diversity",
    "plot_hackability": "hackability",
    "plot_lengths": "lengths",
    "plot_map": "captions",
    "plot_radar": "captions",
    "plot_ranks": "measures",
    "plot_references": "agreement",
    "plot_scene": "scenes",
    "plot_overview": "overview",
    "plot_slices": "slices",
    "plot_tradeoff": "diversity",
    "plot_vocabulary": "measures",
    "plot_wins": "agreement",
    "plot_word_frequencies": "captions",
    "save_figures": "figures",
}
"""The module of each name; it is imported when the name is first used."""

__all__ = [
    "FORMATS",
    "new_figure",
    "plot_correlations",
    "plot_counts",
    "plot_diversity",
    "plot_f_scores",
    "plot_hackability",
    "plot_lengths",
    "plot_map",
    "plot_overview",
    "plot_radar",
    "plot_ranks",
    "plot_references",
    "plot_scene",
    "plot_slices",
    "plot_tradeoff",
    "plot_vocabulary",
    "plot_wins",
    "plot_word_frequencies",
    "save_figures",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
