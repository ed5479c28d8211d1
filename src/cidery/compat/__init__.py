"""Adapters for Hugging Face `evaluate`, torchmetrics, data frames, harnesses and RL trainers.

Each adapter is a module of its own:

```python
from cidery.compat.huggingface import CaptionMetrics
from cidery.compat.torchmetrics import CaptionScore   # pip install 'cidery[torch]'
from cidery.compat.frames import score_frame          # pip install 'cidery[pandas]' or [polars]
from cidery.compat.aac_metrics import Evaluate        # pip install 'cidery[torch]'
from cidery.compat.capevalkit import CaptionMetric
from cidery.compat.vlmeval import CaptionScorer
from cidery.compat.verl import compute_score
from cidery.compat.ms_swift import make_orm
```
"""
