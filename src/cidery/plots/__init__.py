"""Figures for print: PDF, SVG, EPS or PNG (extra `plots`).

Functions return a matplotlib `Figure`; `save_figures` writes one or several. matplotlib is imported
when the first figure is drawn.

```python
from cidery.plots import plot_tradeoff, save_figures

save_figures(plot_tradeoff({"ours": ours, "humans": humans}), "tradeoff.pdf")
```
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
