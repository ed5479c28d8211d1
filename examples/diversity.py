"""Draw the figures of docs/diversity.md from the bundled example.

    python examples/diversity.py [FOLDER]

The sampled captions of one imaginary system stand for three: as they are, only the best three
of each image, and the best one repeated. Humans are the references, each scored against the
others.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cidery.corpus import bundled
from cidery.diversity import (
    compare_diversity,
    count_words,
    diversity_by_count,
    latent_semantics,
    map_captions,
)
from cidery.files import read_candidates, read_references
from cidery.plots import (
    plot_counts,
    plot_f_scores,
    plot_map,
    plot_radar,
    plot_ranks,
    plot_tradeoff,
    plot_vocabulary,
    plot_word_frequencies,
    save_figures,
)


def main(folder: Path) -> None:
    """Write one PNG file and one page of a PDF per figure."""
    sampled: dict[int, list[str]] = {}
    for image, caption in read_candidates(bundled.path("sampled_a.json")):
        sampled.setdefault(int(image), []).append(caption)
    references = {
        image: captions
        for image, captions in read_references(bundled.path("references.json")).items()
        if image in sampled
    }
    systems = {
        "sampled": sampled,
        "three kept": {image: c[:3] + c[:2] for image, c in sampled.items()},
        "one repeated": {image: c[:1] * 5 for image, c in sampled.items()},
    }
    measures = ["self-cider", "lsa", "mbleu-mix", "vocabulary"]
    tables = compare_diversity(systems, measures, references=references).tables
    image = next(iter(sampled))
    figures = {
        "tradeoff": plot_tradeoff(tables),
        "f": plot_f_scores(tables),
        "counts": plot_counts(
            {
                name: diversity_by_count(sets, references, counts=(2, 3, 4, 5))
                for name, sets in systems.items()
            }
        ),
        "vocabulary": plot_vocabulary(tables),
        "ranks": plot_ranks(tables),
        "words": plot_word_frequencies(
            {"sampled": count_words(sampled), "humans": count_words(references)}
        ),
        "radar": plot_radar(
            {
                "humans": latent_semantics(references[image]),
                "sampled": latent_semantics(sampled[image]),
                "sampled, LSA": latent_semantics(sampled[image], "lsa", stop_words="english"),
            }
        ),
        "map": plot_map(map_captions({i: sampled[i] for i in list(sampled)[:8]})),
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_figures(figures, folder / "diversity.pdf")
    save_figures(figures, folder / "diversity.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
