"""Checkpoints: written completely or not at all, read without running what they hold."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from cidery.errors import DataError, MismatchError
from cidery.storage import write_atomically
from cidery_lab.data import LabData, Vocabulary
from cidery_lab.models import build_model
from cidery_lab.models.base import Captioner, ModelCard
from cidery_lab.stages import Stage

FORMAT = "cidery lab checkpoint 1"


@dataclass(eq=False)
class Checkpoint:
    """How far a run is."""

    stage: int
    epoch: int = 0
    step: int = 0
    worse: int = 0
    """Epochs since the best one."""
    best_score: float = -1.0
    best: dict[str, Any] | None = None
    """The weights of the best epoch."""
    model: dict[str, Any] = field(default_factory=dict)
    optimizer: dict[str, Any] | None = None
    signals: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=dict)
    """Of what the steps of this epoch measured."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    reward_seconds: float = 0.0

    @classmethod
    def begin(cls, stage: int) -> Checkpoint:
        """Return the start of a stage."""
        return cls(stage)

    def add(self, values: Mapping[str, float], times: tuple[float, float, float]) -> None:
        """Take up what a step measured, and its seconds: by the clock, of CPUs, for the reward."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        self.seconds += times[0]
        self.cpu_seconds += times[1]
        self.reward_seconds += times[2]

    def means(self) -> dict[str, float]:
        """Return the means of this epoch so far."""
        return {name: value / max(1, self.step) for name, value in self.sums.items()}

    def finish_epoch(self, score: float, model: Captioner, *, keep_best: bool) -> None:
        """Go on to the next epoch; keep the weights if they are the best so far."""
        if not keep_best:
            pass
        elif score > self.best_score:
            self.best_score, self.worse = score, 0
            self.best = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            self.worse += 1
        self.epoch, self.step = self.epoch + 1, 0
        self.sums, self.seconds, self.cpu_seconds, self.reward_seconds = {}, 0.0, 0.0, 0.0


@dataclass(frozen=True)
class Identity:
    """What makes two runs the same."""

    card: Mapping[str, Any]
    data: str
    data_name: str
    vocabulary: str
    stages: tuple[str, ...]
    batches: tuple[int, ...]
    start: str
    """A digest of the weights that the run started from."""

    @classmethod
    def make(
        cls, card: ModelCard, data: LabData, stages: Sequence[Stage], start: Captioner | None
    ) -> Identity:
        """Return the identity of a run."""
        digest = hashlib.sha256()
        for name, value in {} if start is None else start.state_dict().items():
            digest.update(name.encode())
            digest.update(value.cpu().contiguous().numpy().tobytes())
        return cls(
            card.as_dict(),
            data.fingerprint,
            data.name,
            json.dumps([data.vocabulary.words, data.vocabulary.knows_unknown]),
            tuple(stage.identify() for stage in stages),
            tuple(stage.batch for stage in stages),
            digest.hexdigest()[:16],
        )


def save_checkpoint(file: Path, progress: Checkpoint, identity: Identity) -> None:
    """Write a checkpoint; after a failure the one before is still there."""
    content = {
        "format": FORMAT,
        "identity": json.dumps(vars(identity)),
        "progress": {**vars(progress), "rows": json.dumps(progress.rows)},
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_atomically(file, buffer.getvalue())


def load_checkpoint(file: Path, identity: Identity, device: torch.device) -> Checkpoint | None:
    """Return the checkpoint of this run, None if there is none; that of another is an error."""
    if not file.exists():
        return None
    content = _read(file, device)
    known = json.loads(content["identity"])
    progress = Checkpoint(
        **{**content["progress"], "rows": json.loads(content["progress"]["rows"])}
    )
    _compare(file, identity, known, progress.stage)
    if known["batches"][progress.stage] != identity.batches[progress.stage]:
        # Another size of batch cuts the epoch otherwise: it begins again.
        progress.step, progress.sums = 0, {}
    return progress


def _compare(file: Path, identity: Identity, known: Mapping[str, Any], reached: int) -> None:
    """Raise an error that says in what a checkpoint's run differs from this one."""
    advice = "name another folder, or remove the file"
    for name, value in identity.card.items():
        if known["card"].get(name) != value:
            raise MismatchError(
                f"{file} is a checkpoint of another model: its {name} is "
                f"{known['card'].get(name)!r}, not {value!r}; {advice}"
            )
    if known["data"] != identity.data:
        raise MismatchError(
            f"{file} is a checkpoint of other data ({known['data_name']}, {known['data']}; these "
            f"are {identity.data_name}, {identity.data}); {advice}"
        )
    if known["start"] != identity.start:
        raise MismatchError(f"{file} is a checkpoint of a run from other weights; {advice}")
    if reached >= len(identity.stages):
        raise MismatchError(
            f"{file} is at stage {reached + 1} of a run, and this run has "
            f"{len(identity.stages)}; {advice}"
        )
    for number, (ours, theirs) in enumerate(zip(identity.stages, known["stages"], strict=False)):
        if ours != theirs and number <= reached:
            raise MismatchError(
                f"{file} was trained with other settings in stage {number + 1} "
                f"({_find_difference(json.loads(ours), json.loads(theirs))}); {advice}"
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
    words, knows_unknown = json.loads(identity["vocabulary"])
    return model, Vocabulary(tuple(words), knows_unknown)


def _read(file: Path, device: torch.device) -> dict[str, Any]:
    try:
        # weights_only: tensors and plain values; nothing in the file is run.
        content = torch.load(file, map_location=device, weights_only=True)
    except OSError:
        raise
    except Exception as error:
        raise DataError(
            f"{file} cannot be read as a checkpoint ({type(error).__name__}); it is damaged, or "
            "not a checkpoint of cidery's lab"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{file} is not a checkpoint of cidery's lab")
    return content


def _find_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    name = next(name for name in ours if ours[name] != theirs.get(name))
    return f"{name} was {theirs.get(name)!r}, and is {ours[name]!r}"
