"""Caption generation: greedy, sampling, beam search.

All functions return token ids, padded after the end. `<pad>`, `<bos>` and `<unk>` are never
generated.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cidery.errors import SettingError
from cidery_lab.data import BOS, EOS, PAD, UNKNOWN
from cidery_lab.models.base import Captioner, State

FORBIDDEN = [PAD, BOS, UNKNOWN]
"""Tokens that are never generated."""


def log_probabilities(scores: Tensor) -> Tensor:
    """Return log-probabilities over the words that may be generated."""
    scores = scores.clone()
    scores[..., FORBIDDEN] = -torch.inf
    return scores.log_softmax(-1)


@torch.no_grad()
def generate_captions(
    model: Captioner,
    images: Tensor,
    max_words: int,
    generator: torch.Generator | None = None,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    nucleus: float = 1.0,
    latent: Tensor | None = None,
) -> Tensor:
    """Return int64[images, max_words]: sampled words, or, without a generator, greedy ones.

    Args:
        model: In evaluation mode, unless dropout is wanted.
        images: One row per caption.
        max_words: Maximum length of a caption.
        generator: Random generator for sampling.
        temperature: Divisor of the scores: below 1, likely words become more likely.
        top_k: Sample among the k most likely words; 0: among all (Fan et al. 2018).
        nucleus: Sample among the most likely words that together have this probability (Holtzman
            et al. 2020).
        latent: [images, model.latent], for models that have one.
    """
    if temperature <= 0:
        raise SettingError(f"temperature must be > 0, not {temperature}")
    if not 0 < nucleus <= 1:
        raise SettingError(f"nucleus must be in (0, 1], not {nucleus}")
    if top_k < 0:
        raise SettingError(f"top_k must be >= 0, not {top_k}")
    state = model.init_state(images, latent)
    token = torch.full((len(images),), BOS, device=images.device)
    written = torch.full((len(images), max_words), PAD, device=images.device)
    rows = torch.arange(len(images), device=images.device)
    for position in range(max_words):
        scores, state = model.step(token, state)
        scores[:, FORBIDDEN] = -torch.inf
        if generator is None:
            token = scores.argmax(1)
        else:
            token = _sample(_truncate(scores / temperature, top_k, nucleus).softmax(1), generator)
        written[rows, position] = token
        # Finished captions are dropped from the batch.
        active = (token != EOS).nonzero()[:, 0]
        if len(active) < len(rows):
            rows, token, state = rows[active], token[active], _pick(state, active)
        if not len(rows):
            break
    return written


def _sample(probabilities: Tensor, generator: torch.Generator) -> Tensor:
    """Sample a word per row, with one random number each; `multinomial` draws one per word."""
    sums = probabilities.cumsum(1)
    drawn = (
        torch.rand(len(probabilities), 1, generator=generator, device=probabilities.device)
        * sums[:, -1:]
    )
    words = torch.searchsorted(sums, drawn, right=True)[:, 0]
    # Rounding may exceed the last word, once in millions of samples.
    return torch.where(words < probabilities.shape[1], words, probabilities.argmax(1))


def _truncate(scores: Tensor, top_k: int, nucleus: float) -> Tensor:
    """Exclude all but the most likely words."""
    if top_k:
        worst = scores.topk(min(top_k, scores.shape[1]), 1).values[:, -1:]
        scores = scores.masked_fill(scores < worst, -torch.inf)
    if nucleus < 1:
        ordered, words = scores.softmax(1).sort(1, descending=True)
        # A word stays if those before it have less than the probability; one always does.
        beyond = ordered.cumsum(1) - ordered >= nucleus
        scores = scores.masked_fill(beyond.gather(1, words.argsort(1)), -torch.inf)
    return scores


@torch.no_grad()
def search_beams(
    model: Captioner,
    images: Tensor,
    max_words: int,
    width: int = 3,
    *,
    groups: int = 1,
    penalty: float = 0.5,
    length: float = 0.7,
    latent: Tensor | None = None,
) -> Tensor:
    """Return int64[images, width, max_words]: captions by beam search, the best first.

    The log-probability of a caption is divided by its number of words to the power `length`; 0
    favors short captions.

    With several groups, each of width / groups beams, `penalty` is subtracted for a word that
    earlier groups chose at the same position: diverse beam search (Vijayakumar et al. 2018). The
    best captions of all groups come first.
    """
    if width < 1 or groups < 1 or width % groups:
        raise SettingError(f"width ({width}) must be a multiple of groups ({groups})")
    count, each = len(images), width // groups
    device = images.device
    initial = model.init_state(images, latent)
    rows = torch.arange(count, device=device).repeat_interleave(each)
    states = [_pick(initial, rows) for _ in range(groups)]
    written = [torch.full((count, each, max_words), PAD, device=device) for _ in range(groups)]
    sums = [torch.full((count, each), -torch.inf, device=device) for _ in range(groups)]
    for found in sums:
        found[:, 0] = 0  # beams are equal before the first word
    tokens = [torch.full((count * each,), BOS, device=device) for _ in range(groups)]
    done = [torch.zeros(count, each, dtype=torch.bool, device=device) for _ in range(groups)]
    words_in = [torch.zeros(count, each, device=device) for _ in range(groups)]
    firsts = torch.arange(count, device=device)[:, None] * each
    for position in range(max_words):
        chosen = torch.zeros(count, model.card.words, device=device)
        for group in range(groups):
            scores, state = model.step(tokens[group], states[group])
            scores = log_probabilities(scores).view(count, each, -1)
            scores[done[group]] = -torch.inf
            scores[..., PAD] = torch.where(done[group], 0.0, -torch.inf)
            totals = sums[group][:, :, None] + scores
            words_in[group] += ~done[group]
            ranked = totals
            if groups > 1:
                paid = penalty * chosen[:, None].expand(-1, each, -1)
                ranked = totals - paid.masked_fill(done[group][:, :, None], 0.0)
            ranked = ranked / words_in[group][:, :, None] ** length
            places = ranked.flatten(1).topk(each, 1).indices
            beams, words = places // model.card.words, places % model.card.words
            sums[group] = totals.flatten(1).gather(1, places)
            words_in[group] = words_in[group].gather(1, beams)
            done[group] = done[group].gather(1, beams) | (words == EOS)
            written[group] = written[group].gather(1, beams[:, :, None].expand(-1, -1, max_words))
            written[group][:, :, position] = words
            states[group] = _pick(state, (firsts + beams).flatten())
            tokens[group] = words.flatten()
            chosen.scatter_add_(1, words, (words != PAD).float())
        if all(found.all() for found in done):
            break
    ordered = []
    for group in range(groups):
        best = (sums[group] / words_in[group] ** length).argsort(1, descending=True)
        ordered.append(written[group].gather(1, best[:, :, None].expand(-1, -1, max_words)))
    return torch.stack(ordered, 2).reshape(count, width, max_words)


def _pick(state: State, rows: Tensor) -> State:
    return tuple(part.index_select(0, rows) for part in state)
