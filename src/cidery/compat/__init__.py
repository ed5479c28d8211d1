"""cidery where people live: Hugging Face `evaluate`, torchmetrics, data frames, harnesses, RL.

Each adapter is one file, imported by its own name, so that nothing unused is loaded:

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
