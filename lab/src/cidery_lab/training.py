"""Train a captioner, stage by stage, so that a killed run goes on to the same numbers.

The randomness of a step comes from the seed, the stage and the step alone. So a checkpoint needs no
state of a generator, and whoever starts again at step 300 draws what the first run would have.
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
from cidery_lab.decoding import log_probabilities, write
from cidery_lab.evaluation import choose_device, score_greedy
from cidery_lab.logs import write_log
from cidery_lab.models import build_model
from cidery_lab.models.base import Captioner, ModelCard
from cidery_lab.signals import Signals
from cidery_lab.stages import Stage

Row = dict[str, Any]
Watch = Callable[[Row], None]
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
    watch: Watch | None = None,
    validate_with: int | None = None,
) -> Run:
    """Train a captioner on data, stage by stage.

    Args:
        card: Which model, its sizes and its seed, which decides all that is random here.
        data: See `read_data` and `invented_scenes`.
        stages: What to minimize, in this order.
        folder: Where checkpoints and the log are kept. If it has a checkpoint of the same run,
            training goes on from there, to the same numbers.
        start: Begin with a copy of this model's weights.
        device: As in torch; by default a GPU where there is one.
        watch: Called with each row of the log, also between epochs.
        validate_with: How many validation images to score after each epoch; all by default.
    """
    if not stages:
        raise SettingError("there are no stages to train with")
    if card.words != len(data.vocabulary) or card.width != data.width:
        raise SettingError(
            f"the model is made for {card.words} words and {card.width} features, and the data "
            f"have {len(data.vocabulary)} and {data.width}"
        )
    place = choose_device(device)
    model = build_model(card).to(place)
    if start is not None:
        model.load_state_dict(start.state_dict())
    file = None if folder is None else Path(folder) / CHECKPOINT
    known = None
    identity = Identity.make(card, data, stages, start)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        known = load_checkpoint(file, identity, place)
    trainer = _Trainer(model, data, stages, place, file, watch, validate_with, identity)
    if start is None:
        expect_words(model, trainer.captions)
    with torch.random.fork_rng(devices=[]):
        trainer.run(known)
    model.eval()
    return Run(model, tuple(trainer.rows))


class _Trainer:
    """A run that is under way."""

    def __init__(
        self,
        model: Captioner,
        data: LabData,
        stages: Sequence[Stage],
        device: torch.device,
        file: Path | None,
        watch: Watch | None,
        validate_with: int | None,
        identity: Identity,
    ) -> None:
        self.model, self.data, self.stages = model, data, stages
        self.identity = identity
        self.device, self.file, self.watch = device, file, watch
        self.val = data.val.take(validate_with)
        self.features = torch.from_numpy(data.train.features)
        self.captions = [
            [data.vocabulary.encode(words, f"image {image!r}") for words in group if words]
            for image, group in zip(data.train.images, data.train.captions, strict=True)
        ]
        self.rows: list[Row] = []

    def run(self, known: Checkpoint | None) -> None:
        """Train all stages, or those that a checkpoint has not."""
        first = 0 if known is None else known.stage
        if known is not None:
            self.model.load_state_dict(known.model)
            self.rows = list(known.rows)
        for number in range(first, len(self.stages)):
            self.run_stage(number, known if number == first else None)

    def run_stage(self, number: int, known: Checkpoint | None) -> None:
        """Train one stage and keep the weights that were best on the validation images."""
        stage = self.stages[number]
        signals = Signals.build(stage, self.data, self.model.card, self.device)
        parameters = [*self.model.parameters(), *signals.parameters()]
        optimizer = torch.optim.AdamW(
            parameters, stage.rate, weight_decay=stage.weight_decay, fused=True
        )
        progress = Checkpoint.begin(number) if known is None else known
        if progress.optimizer is not None:
            optimizer.load_state_dict(progress.optimizer)
            signals.load_state_dict(progress.signals)
        else:  # the stage has not begun
            self.model.sharpen(stage.sharpen)
            self.save(progress, optimizer, signals)
        for epoch in range(progress.epoch, stage.epochs):
            if _is_over(stage, progress):
                break
            self.run_epoch(number, epoch, progress, optimizer, signals)
            self.finish_epoch(number, epoch, progress, optimizer, signals)
        if progress.best is not None:
            self.model.load_state_dict(progress.best)
        if number + 1 < len(self.stages):
            self.save(Checkpoint.begin(number + 1), None, None)

    def run_epoch(
        self,
        number: int,
        epoch: int,
        progress: Checkpoint,
        optimizer: torch.optim.Optimizer,
        signals: Signals,
    ) -> None:
        """Take the steps of one epoch that have not been taken."""
        stage = self.stages[number]
        batches = list(self.batches(stage, number, epoch))
        saved = time.perf_counter()
        for step in range(progress.step, len(batches)):
            begun, begun_cpu = time.perf_counter(), time.process_time()
            # The rate in the middle of the step: it is never 0.
            for group in optimizer.param_groups:
                group["lr"] = stage.rate_at(epoch, (step + 0.5) / len(batches))
            seed = _mix(self.model.card.seed, number, epoch, step)
            torch.manual_seed(seed)
            self.model.train()
            spent = signals.seconds
            try:
                values = self.take_step(stage, epoch, batches[step], seed, optimizer, signals)
            except (RuntimeError, MemoryError) as error:
                raise _explain_memory(error, stage, self.file) from error
            progress.step = step + 1
            now = time.perf_counter()
            cpu = time.process_time() - begun_cpu
            progress.add(values, (now - begun, cpu, signals.seconds - spent))
            if self.file is not None and now - saved > SECONDS_BETWEEN_CHECKPOINTS:
                self.save(progress, optimizer, signals)
                saved = time.perf_counter()
            if self.watch is not None:
                self.watch(
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
        found = score_greedy(self.model, self.data, self.val, stage.most_words)
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
        if self.watch is not None:
            self.watch(row)

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
            ][: stage.most_images]
            yield from (pairs[i : i + stage.batch] for i in range(0, len(pairs), stage.batch))
            return
        pairs = [(i, c) for i, group in enumerate(self.captions) for c in range(len(group))]
        shuffled = [pairs[i] for i in torch.randperm(len(pairs), generator=generator).tolist()]
        shuffled.sort(key=lambda pair: len(self.captions[pair[0]][pair[1]]))
        groups = [shuffled[i : i + stage.batch] for i in range(0, len(shuffled), stage.batch)]
        yield from (groups[i] for i in torch.randperm(len(groups), generator=generator).tolist())

    def take_step(
        self,
        stage: Stage,
        epoch: int,
        batch: list[tuple[int, int]],
        seed: int,
        optimizer: torch.optim.Optimizer,
        signals: Signals,
    ) -> dict[str, float]:
        """Take one step and return what it measured."""
        images = self.features[[image for image, _ in batch]].to(self.device)
        losses, values = stage.losses, {}
        total = torch.zeros((), device=self.device)
        if losses.cross_entropy:
            tokens = pad_captions([self.captions[i][c] for i, c in batch]).to(self.device)
            share = stage.scheduled * epoch / max(1, stage.epochs - 1)
            read = self.choose_read(images, tokens, share, seed)
            read = hide_words(read, stage.hidden_words)
            known = self.model.loss(images, read, tokens[:, 1:], stage.smoothing)
            total = total + losses.cross_entropy * known
            values["cross-entropy"] = float(known.detach())
        if losses.samples_captions:
            policy, found = self.take_reward(stage, images, batch, seed, signals)
            total = total + policy
            values |= found
        values["loss"] = float(total.detach())
        optimizer.zero_grad(set_to_none=True)
        total.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), stage.clip)
        optimizer.step()
        return values

    def choose_read(self, images: Tensor, tokens: Tensor, share: float, seed: int) -> Tensor:
        """Return what the model reads: the reference, some words replaced by its own draws."""
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

    def take_reward(
        self,
        stage: Stage,
        images: Tensor,
        batch: list[tuple[int, int]],
        seed: int,
        signals: Signals,
    ) -> tuple[Tensor, dict[str, float]]:
        """Draw captions, reward them, and return the policy gradient's loss."""
        generator = torch.Generator(device=self.device).manual_seed(seed)
        # Dropout hides features of the image; the caption and its gradient see the same ones.
        hidden = self.model.card.dropout
        repeated = functional.dropout(images.repeat_interleave(stage.samples, 0), hidden)
        rows = [image for image, _ in batch]
        latent = self.draw_latent(len(repeated), generator)
        _stop_dropout(self.model)  # captions and their gradient are those of one policy
        sampled = write(self.model, repeated, stage.most_words, generator, latent=latent)
        rewards = signals.reward(rows, images, sampled, stage.samples)
        if stage.baseline == "greedy":
            greedy = write(self.model, images, stage.most_words)
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
        """Return random vectors for models that start from them."""
        if not self.model.latent:
            return None
        return torch.randn(count, self.model.latent, generator=generator, device=self.device)


def hide_words(read: Tensor, share: float) -> Tensor:
    """Replace this share of words, drawn at random, by `<unk>`."""
    if share <= 0:
        return read
    drawn = (torch.rand(read.shape, device=read.device) < share) & (read > UNKNOWN)
    return read.masked_fill(drawn, UNKNOWN)


@torch.no_grad()
def expect_words(model: Captioner, captions: Sequence[Sequence[Sequence[int]]]) -> None:
    """Let a new captioner expect words as often as the captions of all images have them."""
    counts = np.full(model.card.words, 0.1)
    for group in captions:
        for words in group:
            np.add.at(counts, [*words, EOS], 1)
    model.speak.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))


def pad_captions(captions: Sequence[Sequence[int]]) -> Tensor:
    """Return int64[captions, longest + 2]: begin, words, end, padding."""
    longest = max(map(len, captions))
    rows = torch.full((len(captions), longest + 2), PAD)
    for row, words in zip(rows, captions, strict=True):
        row[: len(words) + 2] = torch.tensor([BOS, *words, EOS])
    return rows


def _stop_dropout(model: Captioner) -> None:
    """Let all pass; other parts stay as they are, since recurrent ones train in that mode only."""
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.eval()


def _is_over(stage: Stage, progress: Checkpoint) -> bool:
    return 0 < stage.patience <= progress.worse


def _mix(*numbers: int) -> int:
    """Return a seed that differs for all of them."""
    return zlib.crc32(",".join(map(str, numbers)).encode())


def _explain_memory(error: BaseException, stage: Stage, file: Path | None) -> BaseException:
    """Return an error that says what to do where memory ran out; any other error as it is."""
    text = str(error).lower()
    if not isinstance(error, MemoryError) and "memory" not in text:
        return error
    kept = "no checkpoint is kept without a folder"
    if file is not None:
        kept = f"what was trained until the last checkpoint is in {file}; run it again to go on"
    return SettingError(
        f"a batch of {stage.batch} in stage {stage.name!r} does not fit in memory; take a smaller "
        f"batch (--batch {max(1, stage.batch // 2)}), fewer samples or a smaller model; {kept}"
    )
