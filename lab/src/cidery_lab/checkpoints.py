"""Checkpoints: written atomically, read without executing code."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cidery
from cidery.errors import DataError, MismatchError
from cidery.storage import write_atomically
from cidery_lab.data import LabData, Vocabulary
from cidery_lab.models import build_model
from cidery_lab.models.base import Captioner, ModelCard
from cidery_lab.stages import Stage

FORMAT = "cidery lab checkpoint 3"


@dataclass(eq=False)
class Checkpoint:
    """State of a run."""

    stage: int
    epoch: int = 0
    step: int = 0
    epochs_since_best: int = 0
    best_score: float = -1.0
    best: dict[str, Any] | None = None
    """Weights of the best epoch."""
    model: dict[str, Any] = field(default_factory=dict)
    optimizer: dict[str, Any] | None = None
    signals: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=dict)
    """Sums of the log values of this epoch's steps."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    reward_seconds: float = 0.0

    def add(self, values: Mapping[str, float], times: tuple[float, float, float]) -> None:
        """Add log values of a step and its seconds: wall clock, CPU, reward."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        self.seconds += times[0]
        self.cpu_seconds += times[1]
        self.reward_seconds += times[2]

    def means(self) -> dict[str, float]:
        """Return the means of this epoch so far."""
        return {name: value / max(1, self.step) for name, value in self.sums.items()}

    def finish_epoch(self, score: float, model: Captioner, *, keep_best: bool) -> None:
        """Advance to the next epoch; store the weights if they are the best so far."""
        if not keep_best:
            pass
        elif score > self.best_score:
            self.best_score, self.epochs_since_best = score, 0
            self.best = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            self.epochs_since_best += 1
        self.epoch, self.step = self.epoch + 1, 0
        self.sums, self.seconds, self.cpu_seconds, self.reward_seconds = {}, 0.0, 0.0, 0.0


@dataclass(frozen=True)
class Identity:
    """Identity of a run: two runs with equal fields are the same."""

    card: Mapping[str, Any]
    data: str
    data_name: str
    vocabulary: str
    stages: tuple[str, ...]
    batches: tuple[int, ...]
    start: str
    """Digest of the initial weights."""
    validation_images: int
    """Number of validation images, by whose scores the best epoch is chosen."""
    versions: Mapping[str, str]
    """Versions of the packages that train."""

    @classmethod
    def make(
        cls,
        card: ModelCard,
        data: LabData,
        stages: Sequence[Stage],
        start: Captioner | None,
        validation_images: int | None = None,
    ) -> Identity:
        """Return the identity of a run; `validation_images` is as for `train`."""
        digest = hashlib.sha256()
        for name, value in {} if start is None else start.state_dict().items():
            digest.update(name.encode())
            digest.update(value.cpu().contiguous().numpy().tobytes())
        return cls(
            card.as_dict(),
            data.fingerprint,
            data.name,
            json.dumps([data.vocabulary.words, data.vocabulary.has_unknown]),
            tuple(stage.identify() for stage in stages),
            tuple(stage.batch_size for stage in stages),
            digest.hexdigest()[:16],
            len(data.val.head(validation_images)),
            {"cidery": cidery.__version__, "torch": torch.__version__, "numpy": np.__version__},
        )


def save_checkpoint(file: Path, progress: Checkpoint, identity: Identity) -> None:
    """Write a checkpoint atomically."""
    content = {
        "format": FORMAT,
        "identity": json.dumps(vars(identity)),
        "progress": {**vars(progress), "rows": json.dumps(progress.rows)},
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_atomically(file, buffer.getvalue())


def load_checkpoint(file: Path, identity: Identity, device: torch.device) -> Checkpoint | None:
    """Return the checkpoint of this run, or None; one of another run is an error."""
    if not file.exists():
        return None
    content = _read(file, device)
    known = json.loads(content["identity"])
    progress = Checkpoint(
        **{**content["progress"], "rows": json.loads(content["progress"]["rows"])}
    )
    _compare(file, identity, known, progress.stage)
    if known["batches"][progress.stage] != identity.batches[progress.stage]:
        # Another batch size changes the batches: the epoch starts again.
        progress.step, progress.sums = 0, {}
    return progress


def _compare(file: Path, identity: Identity, known: Mapping[str, Any], reached: int) -> None:
    """Raise an error for a checkpoint of another run."""
    advice = "use another folder, or remove the file"
    for name, value in identity.card.items():
        if known["card"].get(name) != value:
            raise MismatchError(
                f"{file} is a checkpoint of another model: its {name} is "
                f"{known['card'].get(name)!r}, not {value!r}; {advice}"
            )
    if known["data"] != identity.data:
        raise MismatchError(
            f"{file} is a checkpoint of other data: {known['data_name']} ({known['data']}), not "
            f"{identity.data_name} ({identity.data}); {advice}"
        )
    if known["start"] != identity.start:
        raise MismatchError(f"{file} is a checkpoint of a run with other initial weights; {advice}")
    if known["validation_images"] != identity.validation_images:
        raise MismatchError(
            f"{file} is a checkpoint of a run that chose the best epoch by "
            f"{known['validation_images']} validation images, not {identity.validation_images}; "
            f"{advice}"
        )
    for package, version in identity.versions.items():
        if (saved := known["versions"].get(package)) != version:
            raise MismatchError(
                f"{file} was written with {package} {saved}, not {version}; install that version, "
                f"{advice}"
            )
    if reached >= len(identity.stages):
        raise MismatchError(
            f"{file} is at stage {reached + 1}, but this run has {len(identity.stages)} stages; "
            f"{advice}"
        )
    for number, (current, past) in enumerate(zip(identity.stages, known["stages"], strict=False)):
        if current != past and number <= reached:
            raise MismatchError(
                f"{file} was trained with other settings in stage {number + 1} "
                f"({_find_difference(json.loads(current), json.loads(past))}); {advice}"
            )


def load_model(
    file: str | Path, device: torch.device | None = None
) -> tuple[Captioner, Vocabulary]:
    """Return the captioner of a checkpoint, and its vocabulary.

    ```python
    train(card, data, stages, folder="runs/fc")
    model, vocabulary = load_model("runs/fc/checkpoint.pt")
    ```
    """
    content = _read(Path(file), device or torch.device("cpu"))
    identity = json.loads(content["identity"])
    model = build_model(ModelCard(**identity["card"]))
    progress = content["progress"]
    model.load_state_dict(progress["best"] or progress["model"])
    model.eval()
    words, has_unknown = json.loads(identity["vocabulary"])
    return model, Vocabulary(tuple(words), has_unknown)


def _read(file: Path, device: torch.device) -> dict[str, Any]:
    try:
        # weights_only: tensors and plain values, no code.
        content = torch.load(file, map_location=device, weights_only=True)
    except OSError:
        raise
    except Exception as error:
        raise DataError(
            f"{file} is damaged, or not a checkpoint of cidery-lab ({type(error).__name__})"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{file} is not a checkpoint of this version of cidery-lab")
    return content


def _find_difference(current: Mapping[str, Any], saved: Mapping[str, Any]) -> str:
    name = next(name for name in current if current[name] != saved.get(name))
    return f"{name} was {saved.get(name)!r}, and is {current[name]!r}"
