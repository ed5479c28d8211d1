"""cidery where people live: Hugging Face `evaluate`, torchmetrics, pandas and polars.

Each adapter is one file, imported by its own name, so that nothing unused is loaded:

```python
from cidery.adapters.huggingface import CaptionMetrics
from cidery.adapters.torchmetrics import CaptionScore   # pip install 'cidery[torch]'
from cidery.adapters.frames import score_frame          # pip install 'cidery[pandas]' or [polars]
```
"""
