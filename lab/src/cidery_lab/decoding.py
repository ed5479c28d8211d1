"""From a captioner to captions: the likeliest words, draws, beams.

All return token ids, padded behind the end. `<pad>`, `<bos>` and `<unk>` are never written.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cidery.errors import SettingError
from cidery_lab.data import BOS, EOS, PAD, UNKNOWN
from cidery_lab.models.base import Captioner, State

NEVER = [PAD, BOS, UNKNOWN]
"""What no caption has."""


def log_probabilities(scores: Tensor) -> Tensor:
    """Return log-probabilities over the words that may be written."""
    scores = scores.clone()
    scores[..., NEVER] = -torch.inf
    return scores.log_softmax(-1)


@torch.no_grad()
def write(
    model: Captioner,
    images: Tensor,
    most: int,
    generator: torch.Generator | None = None,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    nucleus: float = 1.0,
    latent: Tensor | None = None,
) -> Tensor:
    """Return int64[images, most]: drawn words, or, without a generator, the likeliest.

    Args:
        model: In evaluation mode, unless dropout is wanted.
        images: One row for each caption to write.
        most: The length at which captions are cut off.
        generator: What words are drawn with.
        temperature: Scores are divided by it: below 1 likely words are likelier still.
        top_k: Draw among so many of the likeliest words; 0 draws among all (Fan et al. 2018).
        nucleus: Draw among the likeliest words that together have this probability (Holtzman et
            al. 2020).
        latent: [images, model.latent], for models that have one.
    """
    if temperature <= 0:
        raise SettingError(f"temperature must be greater than 0, not {temperature}")
    if not 0 < nucleus <= 1:
        raise SettingError(f"nucleus is greater than 0 and at most 1, not {nucleus}")
    if top_k < 0:
        raise SettingError(f"top_k must not be negative, not {top_k}")
    state = model.begin(images, latent)
    token = torch.full((len(images),), BOS, device=images.device)
    written = torch.full((len(images), most), PAD, device=images.device)
    rows = torch.arange(len(images), device=images.device)
    for position in range(most):
        scores, state = model.step(token, state)
        scores[:, NEVER] = -torch.inf
        if generator is None:
            token = scores.argmax(1)
        else:
            token = _draw(_narrow(scores / temperature, top_k, nucleus).softmax(1), generator)
        written[rows, position] = token
        # Captions that have ended are not carried on.
        going = (token != EOS).nonzero()[:, 0]
        if len(going) < len(rows):
            rows, token, state = rows[going], token[going], _pick(state, going)
        if not len(rows):
            break
    return written


def _draw(chances: Tensor, generator: torch.Generator) -> Tensor:
    """Draw a word for each row; `multinomial` would draw a number for every word."""
    sums = chances.cumsum(1)
    drawn = torch.rand(len(chances), 1, generator=generator, device=chances.device) * sums[:, -1:]
    words = torch.searchsorted(sums, drawn, right=True)[:, 0]
    # Rounding may lead beyond the last word, once in millions of draws.
    return torch.where(words < chances.shape[1], words, chances.argmax(1))


def _narrow(scores: Tensor, top_k: int, nucleus: float) -> Tensor:
    """Forbid all but the likeliest words."""
    if top_k:
        worst = scores.topk(min(top_k, scores.shape[1]), 1).values[:, -1:]
        scores = scores.masked_fill(scores < worst, -torch.inf)
    if nucleus < 1:
        ordered, words = scores.softmax(1).sort(1, descending=True)
        # A word stays where those before it do not yet have the probability: one always does.
        beyond = ordered.cumsum(1) - ordered >= nucleus
        scores = scores.masked_fill(beyond.gather(1, words.argsort(1)), -torch.inf)
    return scores


@torch.no_grad()
def search_beams(
    model: Captioner,
    images: Tensor,
    most: int,
    width: int = 3,
    *,
    groups: int = 1,
    penalty: float = 0.5,
    length: float = 0.7,
    latent: Tensor | None = None,
) -> Tensor:
    """Return int64[images, width, most]: the likeliest captions found, the best first.

    The log-probability of a caption is divided by its number of words to the power `length`: at 0
    short captions win, since every word costs.

    With several groups, each of width / groups beams, a group pays `penalty` for a word that
    groups before it chose at the same place: diverse beam search (Vijayakumar et al. 2018). The
    best caption of every group comes first.
    """
    if width < 1 or groups < 1 or width % groups:
        raise SettingError(f"{width} beams cannot be shared among {groups} groups")
    count, each = len(images), width // groups
    device = images.device
    begun = model.begin(images, latent)
    rows = torch.arange(count, device=device).repeat_interleave(each)
    states = [_pick(begun, rows) for _ in range(groups)]
    written = [torch.full((count, each, most), PAD, device=device) for _ in range(groups)]
    sums = [torch.full((count, each), -torch.inf, device=device) for _ in range(groups)]
    for found in sums:
        found[:, 0] = 0  # the beams of an image are the same before the first word
    tokens = [torch.full((count * each,), BOS, device=device) for _ in range(groups)]
    done = [torch.zeros(count, each, dtype=torch.bool, device=device) for _ in range(groups)]
    words_in = [torch.zeros(count, each, device=device) for _ in range(groups)]
    firsts = torch.arange(count, device=device)[:, None] * each
    for position in range(most):
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
            written[group] = written[group].gather(1, beams[:, :, None].expand(-1, -1, most))
            written[group][:, :, position] = words
            states[group] = _pick(state, (firsts + beams).flatten())
            tokens[group] = words.flatten()
            chosen.scatter_add_(1, words, (words != PAD).float())
        if all(found.all() for found in done):
            break
    ordered = []
    for group in range(groups):
        best = (sums[group] / words_in[group] ** length).argsort(1, descending=True)
        ordered.append(written[group].gather(1, best[:, :, None].expand(-1, -1, most)))
    return torch.stack(ordered, 2).reshape(count, width, most)


def _pick(state: State, rows: Tensor) -> State:
    return tuple(part.index_select(0, rows) for part in state)
