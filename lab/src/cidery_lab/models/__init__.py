"""Captioners, one file each, by name.

```python
from cidery_lab.models import build_model

model = build_model(ModelCard("fc", words=len(data.vocabulary), width=data.width, hidden=8))
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from cidery.errors import SettingError

if TYPE_CHECKING:
    from cidery_lab.models.base import Captioner, ModelCard


@dataclass(frozen=True)
class Model:
    """Module, class and description of a captioner."""

    module: str
    name: str
    about: str


MODELS: Mapping[str, Model] = MappingProxyType(
    {
        "fc": Model("fc", "FC", "maxout LSTM, image as first input (Rennie et al. 2017)"),
        "nic": Model("fc", "NIC", "show and tell (Vinyals et al. 2015)"),
        "softatt": Model(
            "soft_attention", "SoftAttention", "show, attend and tell (Xu et al. 2015)"
        ),
        "adapatt": Model(
            "adaptive_attention", "AdaptiveAttention", "attention with a sentinel (Lu et al. 2017)"
        ),
        "att2in": Model(
            "att2in", "Att2in", "maxout LSTM with attention in its cell (Rennie et al. 2017)"
        ),
        "aoa": Model(
            "attention_on_attention",
            "AttentionOnAttention",
            "attention on attention, one encoder layer (Huang et al. 2019)",
        ),
        "transformer": Model(
            "transformer", "Transformer", "two decoder layers (Vaswani et al. 2017)"
        ),
        "cvae": Model("latent", "CVAE", "variational, with a latent vector (Wang et al. 2017)"),
        "cgan": Model("latent", "CGAN", "generator of a conditional GAN (Dai et al. 2017)"),
    }
)
"""The captioners, by name."""


def build_model(card: ModelCard) -> Captioner:
    """Build a captioner; the card's seed determines its initial weights."""
    if card.model not in MODELS:
        raise SettingError(f"no model named {card.model!r}; known: {', '.join(MODELS)}")
    import torch

    entry = MODELS[card.model]
    kind = getattr(import_module(f"{__name__}.{entry.module}"), entry.name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(card.seed)
        built: Captioner = kind(card)
    return built
