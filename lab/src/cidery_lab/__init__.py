"""Train captioners on features of images, and try the claims of papers (extra `train`).

```python
from cidery_lab import ModelCard, Stage, describe_images, invented_scenes, train

data = invented_scenes(train=12, val=4, test=4)
card = ModelCard("fc", len(data.vocabulary), data.width, hidden=4)
run = train(card, data, [Stage("cross-entropy", epochs=1)])
describe_images(run.model, data, data.test, beams=3)
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cidery_lab.checkpoints import load_model
    from cidery_lab.data import LabData, Vocabulary, invented_scenes, read_data, read_features
    from cidery_lab.evaluation import describe_images, score_captions
    from cidery_lab.experiments import EXPERIMENTS
    from cidery_lab.experiments.base import Findings, Lab, Scale, Verdict
    from cidery_lab.generators import GENERATORS, generate_sets
    from cidery_lab.models import MODELS, build_model
    from cidery_lab.models.base import Captioner, ModelCard
    from cidery_lab.running import Experiment, TrainedStage, run_experiment, train_stage
    from cidery_lab.stages import Losses, Stage
    from cidery_lab.training import Run, train
    from cidery_lab.view import LiveView

_MODULES = {
    "Captioner": "models.base",
    "EXPERIMENTS": "experiments",
    "Experiment": "running",
    "Findings": "experiments.base",
    "GENERATORS": "generators",
    "Lab": "experiments.base",
    "LabData": "data",
    "LiveView": "view",
    "Losses": "stages",
    "MODELS": "models",
    "ModelCard": "models.base",
    "Run": "training",
    "Scale": "experiments.base",
    "Stage": "stages",
    "TrainedStage": "running",
    "Verdict": "experiments.base",
    "Vocabulary": "data",
    "build_model": "models",
    "describe_images": "evaluation",
    "generate_sets": "generators",
    "invented_scenes": "data",
    "load_model": "checkpoints",
    "read_data": "data",
    "read_features": "data",
    "run_experiment": "running",
    "score_captions": "evaluation",
    "train": "training",
    "train_stage": "running",
}
"""The module of each name; it is imported when the name is first used, and torch with some."""

__all__ = [
    "EXPERIMENTS",
    "GENERATORS",
    "MODELS",
    "Captioner",
    "Experiment",
    "Findings",
    "Lab",
    "LabData",
    "LiveView",
    "Losses",
    "ModelCard",
    "Run",
    "Scale",
    "Stage",
    "TrainedStage",
    "Verdict",
    "Vocabulary",
    "build_model",
    "describe_images",
    "generate_sets",
    "invented_scenes",
    "load_model",
    "read_data",
    "read_features",
    "run_experiment",
    "score_captions",
    "train",
    "train_stage",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from cidery.errors import MissingExtraError

        raise MissingExtraError.to("train captioners", package="torch", extra="train") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
