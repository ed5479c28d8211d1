"""Training in stages, with checkpoints from which a run resumes with the same results.

The randomness of a step depends on the seed, the stage and the step alone, so that checkpoints need
no state of a random generator.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from cidery.errors import SettingError
from cidery.rewards import group_normalize, leave_one_out, per_token, self_critical
from cidery_lab.checkpoints import Checkpoint, Identity, load_checkpoint, save_checkpoint
from cidery_lab.data import BOS, EOS, PAD, UNKNOWN, LabData
from cidery_lab.decoding import generate_captions, log_probabilities
from cidery_lab.evaluation import choose_device, score_greedy
from cidery_lab.logs import write_log
from cidery_lab.models import build_model
from cidery_lab.models.base import Captioner, ModelCard
from cidery_lab.signals import Signals
from cidery_lab.stages import Stage

Row = dict[str, Any]
LogCallback = Callable[[Row], None]
SECONDS_BETWEEN_CHECKPOINTS = 60.0
CHECKPOINT = "checkpoint.pt"


@dataclass(frozen=True, eq=False)
class Run:
    """A trained captioner and the log of its training, a row per epoch."""

    model: Captioner
    rows: tuple[Row, ...]

    @property
    def best(self) -> float:
        """The highest CIDEr-D on the validation images in the last stage."""
        last = self.rows[-1]["stage"]
        return max(float(row["cider-d"]) for row in self.rows if row["stage"] == last)


def train(
    card: ModelCard,
    data: LabData,
    stages: Sequence[Stage],
    *,
    folder: str | Path | None = None,
    start: Captioner | None = None,
    device: str | None = None,
    callback: LogCallback | None = None,
    validation_images: int | None = None,
) -> Run:
    """Train a captioner on data, stage by stage.

    Args:
        card: Model, sizes, and the seed of all that is random.
        data: FeatureProjection `read_data` and `synthetic_scenes`.
        stages: Training stages, in this order.
        folder: Folder of checkpoints and the log. Training resumes from a checkpoint of the same
            run, with the same results.
        start: Model whose weights are copied.
        device: As in torch. Default: a GPU if there is one.
        callback: Function that is called with each row of the log, also within epochs.
        validation_images: Validation images scored after each epoch. Default: all.
    """
    if not stages:
        raise SettingError("stages must contain at least one stage")
    if card.words != len(data.vocabulary) or card.width != data.width:
        raise SettingError(
            f"the model has {card.words} words and {card.width} features, but the data have "
            f"{len(data.vocabulary)} and {data.width}"
        )
    place = choose_device(device)
    model = build_model(card).to(place)
    if start is not None:
        model.load_state_dict(start.state_dict())
    file = None if folder is None else Path(folder) / CHECKPOINT
    known = None
    identity = Identity.make(card, data, stages, start, validation_images)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        known = load_checkpoint(file, identity, place)
    trainer = _Trainer(model, data, stages, place, file, callback, validation_images, identity)
    if start is None:
        init_output_bias(model, trainer.captions)
    with torch.random.fork_rng(devices=[]):
        trainer.run(known)
    model.eval()
    return Run(model, tuple(trainer.rows))


class _Trainer:
    """A run in progress."""

    def __init__(
        self,
        model: Captioner,
        data: LabData,
        stages: Sequence[Stage],
        device: torch.device,
        file: Path | None,
        callback: LogCallback | None,
        validation_images: int | None,
        identity: Identity,
    ) -> None:
        self.model, self.data, self.stages = model, data, stages
        self.identity = identity
        self.device, self.file, self.callback = device, file, callback
        self.val = data.val.head(validation_images)
        self.features = torch.from_numpy(data.train.features)
        self.captions = [
            [data.vocabulary.encode(words, f"image {image!r}") for words in group if words]
            for image, group in zip(data.train.images, data.train.captions, strict=True)
        ]
        self.rows: list[Row] = []

    def run(self, known: Checkpoint | None) -> None:
        """Train all stages that a checkpoint has not finished."""
        first = 0 if known is None else known.stage
        if known is not None:
            self.model.load_state_dict(known.model)
            self.rows = list(known.rows)
        for number in range(first, len(self.stages)):
            self.run_stage(number, known if number == first else None)

    def run_stage(self, number: int, known: Checkpoint | None) -> None:
        """Train one stage; restore the weights of the best epoch."""
        stage = self.stages[number]
        signals = Signals.build(stage, self.data, self.model.card, self.device)
        parameters = [*self.model.parameters(), *signals.parameters()]
        optimizer = torch.optim.AdamW(
            parameters, stage.learning_rate, weight_decay=stage.weight_decay, fused=True
        )
        progress = Checkpoint(number) if known is None else known
        if progress.optimizer is not None:
            optimizer.load_state_dict(progress.optimizer)
            signals.load_state_dict(progress.signals)
        else:  # a new stage
            self.model.scale_logits(stage.logit_scale)
            self.save(progress, optimizer, signals)
        for epoch in range(progress.epoch, stage.epochs):
            if _is_finished(stage, progress):
                break
            self.run_epoch(number, epoch, progress, optimizer, signals)
            self.finish_epoch(number, epoch, progress, optimizer, signals)
        if progress.best is not None:
            self.model.load_state_dict(progress.best)
        if number + 1 < len(self.stages):
            self.save(Checkpoint(number + 1), None, None)

    def run_epoch(
        self,
        number: int,
        epoch: int,
        progress: Checkpoint,
        optimizer: torch.optim.Optimizer,
        signals: Signals,
    ) -> None:
        """Run the remaining steps of one epoch."""
        stage = self.stages[number]
        batches = list(self.batches(stage, number, epoch))
        saved = time.perf_counter()
        for step in range(progress.step, len(batches)):
            begun, begun_cpu = time.perf_counter(), time.process_time()
            # The rate in the middle of the step, which is never 0.
            for group in optimizer.param_groups:
                group["lr"] = stage.learning_rate_at(epoch, (step + 0.5) / len(batches))
            seed = _mix(self.model.card.seed, number, epoch, step)
            torch.manual_seed(seed)
            self.model.train()
            spent = signals.seconds
            try:
                values = self.run_step(stage, epoch, batches[step], seed, optimizer, signals)
            except (RuntimeError, MemoryError) as error:
                raise _explain_memory_error(error, stage, self.file) from error
            progress.step = step + 1
            now = time.perf_counter()
            cpu = time.process_time() - begun_cpu
            progress.add(values, (now - begun, cpu, signals.seconds - spent))
            if self.file is not None and now - saved > SECONDS_BETWEEN_CHECKPOINTS:
                self.save(progress, optimizer, signals)
                saved = time.perf_counter()
            if self.callback is not None:
                self.callback(
                    {
                        "stage": stage.name,
                        "epoch": epoch + 1,
                        "share": (step + 1) / len(batches),
                        **progress.means(),
                    }
                )

    def finish_epoch(
        self,
        number: int,
        epoch: int,
        progress: Checkpoint,
        optimizer: torch.optim.Optimizer,
        signals: Signals,
    ) -> None:
        """Score the validation images, write the log and a checkpoint."""
        stage = self.stages[number]
        self.model.eval()
        found = score_greedy(self.model, self.data, self.val, stage.max_words)
        row = {
            "stage": stage.name,
            "epoch": epoch + 1,
            **progress.means(),
            "seconds": progress.seconds,
            "CPU seconds": progress.cpu_seconds,
            "reward share": progress.reward_seconds / max(progress.seconds, 1e-9),
            "cider-d": found,
        }
        self.rows.append(row)
        progress.finish_epoch(found, self.model, keep_best=stage.patience > 0)
        self.save(progress, optimizer, signals)
        if self.file is not None:
            write_log(self.file.parent, self.rows)
        if self.callback is not None:
            self.callback(row)

    def save(
        self,
        progress: Checkpoint,
        optimizer: torch.optim.Optimizer | None,
        signals: Signals | None,
    ) -> None:
        """Write a checkpoint and the log."""
        if self.file is None:
            return
        progress.model = self.model.state_dict()
        progress.optimizer = None if optimizer is None else optimizer.state_dict()
        progress.signals = {} if signals is None else signals.state_dict()
        progress.rows = self.rows
        save_checkpoint(self.file, progress, self.identity)

    def batches(self, stage: Stage, number: int, epoch: int) -> Iterator[list[tuple[int, int]]]:
        """Yield (image, caption) pairs; captions of a batch have nearly the same length."""
        generator = torch.Generator().manual_seed(_mix(self.model.card.seed, number, epoch))
        if stage.losses.samples_captions:
            order = torch.randperm(len(self.captions), generator=generator).tolist()
            draws = torch.rand(len(order), generator=generator).tolist()
            pairs = [
                (image, int(draw * len(self.captions[image])))
                for image, draw in zip(order, draws, strict=True)
                if self.captions[image]
            ][: stage.max_images]
            yield from (
                pairs[i : i + stage.batch_size] for i in range(0, len(pairs), stage.batch_size)
            )
            return
        pairs = [(i, c) for i, group in enumerate(self.captions) for c in range(len(group))]
        shuffled = [pairs[i] for i in torch.randperm(len(pairs), generator=generator).tolist()]
        shuffled.sort(key=lambda pair: len(self.captions[pair[0]][pair[1]]))
        groups = [
            shuffled[i : i + stage.batch_size] for i in range(0, len(shuffled), stage.batch_size)
        ]
        yield from (groups[i] for i in torch.randperm(len(groups), generator=generator).tolist())

    def run_step(
        self,
        stage: Stage,
        epoch: int,
        batch: list[tuple[int, int]],
        seed: int,
        optimizer: torch.optim.Optimizer,
        signals: Signals,
    ) -> dict[str, float]:
        """Run one step and return its log values."""
        images = self.features[[image for image, _ in batch]].to(self.device)
        losses, values = stage.losses, {}
        total = torch.zeros((), device=self.device)
        if losses.cross_entropy:
            tokens = pad_captions([self.captions[i][c] for i, c in batch]).to(self.device)
            share = stage.scheduled_sampling * epoch / max(1, stage.epochs - 1)
            read = self.choose_inputs(images, tokens, share, seed)
            read = drop_words(read, stage.word_dropout)
            known = self.model.loss(images, read, tokens[:, 1:], stage.label_smoothing)
            total = total + losses.cross_entropy * known
            values["cross-entropy"] = float(known.detach())
        if losses.samples_captions:
            policy, found = self.compute_policy_loss(stage, images, batch, seed, signals)
            total = total + policy
            values |= found
        values["loss"] = float(total.detach())
        optimizer.zero_grad(set_to_none=True)
        total.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), stage.max_gradient_norm)
        optimizer.step()
        return values

    def choose_inputs(self, images: Tensor, tokens: Tensor, share: float, seed: int) -> Tensor:
        """Return the input words: the reference, with a share of words sampled from the model."""
        read = tokens[:, :-1]
        if share <= 0:
            return read
        generator = torch.Generator(device=self.device).manual_seed(seed)
        with torch.no_grad():
            chances = log_probabilities(self.model(images, read)).exp().flatten(0, 1)
            drawn = chances.multinomial(1, generator=generator).view(read.shape)
        drawn = torch.cat([read[:, :1], drawn[:, :-1]], 1)
        replaced = torch.rand(read.shape, generator=generator, device=self.device) < share
        return torch.where(replaced & (read != PAD) & (read != BOS), drawn, read)

    def compute_policy_loss(
        self,
        stage: Stage,
        images: Tensor,
        batch: list[tuple[int, int]],
        seed: int,
        signals: Signals,
    ) -> tuple[Tensor, dict[str, float]]:
        """Sample captions, and return the policy-gradient loss of their rewards."""
        generator = torch.Generator(device=self.device).manual_seed(seed)
        # Dropout of image features is the same for a caption and its gradient.
        hidden = self.model.card.dropout
        repeated = functional.dropout(images.repeat_interleave(stage.samples, 0), hidden)
        rows = [image for image, _ in batch]
        latent = self.draw_latent(len(repeated), generator)
        _stop_dropout(self.model)  # captions and their gradient are those of one policy
        sampled = generate_captions(self.model, repeated, stage.max_words, generator, latent=latent)
        rewards = signals.reward(rows, images, sampled, stage.samples)
        if stage.baseline == "greedy":
            greedy = generate_captions(self.model, images, stage.max_words)
            advantages = self_critical(rewards, signals.reward(rows, images, greedy, 1))
        elif stage.baseline == "group":
            advantages = group_normalize(rewards, stage.samples)
        else:
            advantages = leave_one_out(rewards, stage.samples)
        longest = int((sampled != PAD).any(0).sum())
        sampled = sampled[:, :longest]
        chosen = sampled != PAD
        weights = torch.as_tensor(
            per_token(advantages, chosen.cpu().numpy()), dtype=torch.float32, device=self.device
        )
        read = torch.cat([torch.full_like(sampled[:, :1], BOS), sampled[:, :-1]], 1)
        scores = log_probabilities(self.model.score_chosen(repeated, read, chosen, latent))
        picked = scores.gather(1, sampled[chosen][:, None])[:, 0]
        loss = -(weights[chosen] * picked).mean()
        values = {
            "reward": float(np.mean(rewards)),
            "words": float(chosen.sum() / len(sampled)) - 1,
        }
        if stage.losses.entropy:
            finite = scores.masked_fill(scores.isinf(), 0.0)
            entropy = -(finite * scores.exp()).sum(1).mean()
            loss = loss - stage.losses.entropy * entropy
            values["entropy"] = float(entropy.detach())
        references = [self.captions[i][c] for i, c in batch]
        evaluator = signals.evaluator_loss(images, sampled[:: stage.samples], references)
        return (loss if evaluator is None else loss + evaluator), values

    def draw_latent(self, count: int, generator: torch.Generator) -> Tensor | None:
        """Return random latent vectors for models that have them."""
        if not self.model.latent:
            return None
        return torch.randn(count, self.model.latent, generator=generator, device=self.device)


def drop_words(read: Tensor, share: float) -> Tensor:
    """Replace a random share of words by `<unk>`."""
    if share <= 0:
        return read
    drawn = (torch.rand(read.shape, device=read.device) < share) & (read > UNKNOWN)
    return read.masked_fill(drawn, UNKNOWN)


@torch.no_grad()
def init_output_bias(model: Captioner, captions: Sequence[Sequence[Sequence[int]]]) -> None:
    """Set the output bias of a new captioner to the word frequencies of the captions."""
    counts = np.full(model.card.words, 0.1)
    for group in captions:
        for words in group:
            np.add.at(counts, [*words, EOS], 1)
    model.output.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))


def pad_captions(captions: Sequence[Sequence[int]]) -> Tensor:
    """Return int64[captions, longest + 2]: begin, words, end, padding."""
    longest = max(map(len, captions))
    rows = torch.full((len(captions), longest + 2), PAD)
    for row, words in zip(rows, captions, strict=True):
        row[: len(words) + 2] = torch.tensor([BOS, *words, EOS])
    return rows


def _stop_dropout(model: Captioner) -> None:
    """Disable dropout only: recurrent layers need training mode for their gradients."""
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.eval()


def _is_finished(stage: Stage, progress: Checkpoint) -> bool:
    return 0 < stage.patience <= progress.epochs_since_best


def _mix(*numbers: int) -> int:
    """Return a seed for a combination of numbers."""
    return zlib.crc32(",".join(map(str, numbers)).encode())


def _explain_memory_error(error: BaseException, stage: Stage, file: Path | None) -> BaseException:
    """Return a SettingError with a remedy for lack of memory; other errors are unchanged."""
    text = str(error).lower()
    if not isinstance(error, MemoryError) and "memory" not in text:
        return error
    checkpoint = "without a folder there is no checkpoint"
    if file is not None:
        checkpoint = f"rerun to resume from {file}"
    return SettingError(
        f"a batch of {stage.batch_size} in stage {stage.name!r} does not fit in memory; use a "
        f"smaller batch (--batch-size {max(1, stage.batch_size // 2)}), fewer samples or a "
        f"smaller model; {checkpoint}"
    )
