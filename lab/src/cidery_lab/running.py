"""run_experiment() and train_stage(): train, evaluate, and write JSON, plots and a page."""

from __future__ import annotations

import base64
import json
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cidery import __version__
from cidery.markup import escape
from cidery.storage import write_atomically
from cidery.tables import Column, Table, Tabular
from cidery_lab.experiments import get_experiment
from cidery_lab.experiments.base import SCORES, Findings, Lab, mean_by_system

if TYPE_CHECKING:
    from cidery_lab.data import LabData
    from cidery_lab.models.base import Captioner, ModelCard
    from cidery_lab.stages import Stage

RESULTS, PAGE = "results.json", "index.html"
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}table{border-collapse:collapse;margin:1rem 0}"
    "td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd}img{max-width:100%}"
    ".outcome{font-weight:600}pre{background:#f5f5f5;padding:.6rem;overflow:auto}"
)


@dataclass(frozen=True, eq=False)
class Experiment(Tabular):
    """A finished experiment and the folder of its files."""

    name: str
    findings: Findings
    folder: Path
    results: Mapping[str, Any]

    def table(self) -> Table:
        """Return a row per verdict, and below the mean scores of the systems."""
        columns = [Column("outcome"), Column("claim"), Column("evidence")]
        rows = [asdict(verdict) for verdict in self.findings.verdicts]
        return Table(columns, rows, below=[tabulate_means(self.findings)])


def run_experiment(name: str, lab: Lab, folder: str | Path) -> Experiment:
    """Run an experiment, or resume it from its checkpoints.

    `results.json`, `index.html` and the plots as SVG are written to `folder`; checkpoints to the
    lab's folder.

    ```python
    scale = Scale(hidden=4, epochs=1, reward_epochs=1, max_words=5, set_size=2)
    run_experiment("kr", Lab(data, seeds=(0,), scale=scale, options={"weights": (0.8,)}), "out")
    ```
    """
    target = Path(folder)
    module = get_experiment(name)
    target.mkdir(parents=True, exist_ok=True)
    start, commit = time.perf_counter(), find_commit()
    findings: Findings = module.run(lab)
    results = {
        "experiment": name,
        "about": module.ABOUT,
        **_describe_program(commit),
        "seconds": round(time.perf_counter() - start, 1),
        "data": lab.data.describe(),
        "model": lab.model,
        "scale": asdict(lab.scale),
        "seeds": list(lab.seeds),
        "options": {key: value for key, value in lab.options.items() if value},
        "rows": findings.rows,
        "verdicts": [asdict(verdict) for verdict in findings.verdicts],
        "notes": findings.notes,
        "captions": findings.captions,
    }
    pictures = _save_plots(findings, target)
    text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    write_atomically(target / RESULTS, text.encode())
    write_atomically(target / PAGE, make_page(results, findings, pictures).encode())
    return Experiment(name, findings, target, results)


@dataclass(frozen=True, eq=False)
class TrainedStage(Tabular):
    """A captioner after a stage, its folder and its test scores."""

    model: Captioner
    folder: Path
    results: Mapping[str, Any]

    def table(self) -> Table:
        """Return a row of test scores per decoding."""
        test = self.results["test"]
        names = list(dict.fromkeys(name for scores in test.values() for name in scores))
        return Table(
            [Column("decoding"), *(Column(name, ".4f") for name in names)],
            [{"decoding": decoding, **scores} for decoding, scores in test.items()],
            f"{self.results['stage']['name']}: test scores",
        )


def train_stage(
    card: ModelCard,
    data: LabData,
    stage: Stage,
    folder: str | Path,
    *,
    start: Captioner | None = None,
    device: str | None = None,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> TrainedStage:
    """Train one stage, and score captions of the test images: greedy and with three beams.

    The checkpoint, the log and `results.json` (settings, log, scores, commit) are written to
    `folder`.

    ```python
    card = ModelCard("fc", len(data.vocabulary), data.width, hidden=4)
    train_stage(card, data, Stage("xe", epochs=1, max_words=5), "runs/xe").results["test"]
    ```
    """
    from cidery_lab.evaluation import caption_images, score_captions
    from cidery_lab.training import train

    target = Path(folder)
    commit = find_commit()
    run = train(card, data, [stage], folder=target, start=start, device=device, callback=callback)
    found = {}
    for beams, decoding in ((1, "greedy"), (3, "3 beams")):
        captions = caption_images(
            run.model, data, data.test, max_words=stage.max_words, beams=beams
        )
        found[decoding] = score_captions(captions, data.test, SCORES, data)
    results = {
        **_describe_program(commit),
        "data": data.describe(),
        "card": card.as_dict(),
        "stage": stage.as_dict(),
        "log": list(run.rows),
        "test": found,
    }
    text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    write_atomically(target / RESULTS, text.encode())
    return TrainedStage(run.model, target, results)


def _describe_program(commit: str | None) -> dict[str, Any]:
    return {
        "cidery": __version__,
        "commit": commit,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }


def tabulate_means(findings: Findings) -> Table:
    """Return the mean scores over seeds, a row per system."""
    means = {name: mean_by_system(findings, name) for name in findings.score_names()}
    return Table.of(
        ["system", *(Column(name, ".4f") for name in means)],
        [(system, *(m.get(system) for m in means.values())) for system in findings.systems()],
    )


def make_page(results: Mapping[str, Any], findings: Findings, pictures: Sequence[Path]) -> str:
    """Return an HTML page with verdicts, scores, plots, captions and settings."""
    verdicts = "".join(
        f'<li><span class="outcome">{escape(v.outcome)}</span>: {escape(v.claim)} '
        f"({escape(v.source)})<br><small>{escape(v.evidence)}</small></li>"
        for v in findings.verdicts
    )
    images = "".join(
        f'<p><img alt="{escape(file.stem)}" src="data:image/svg+xml;base64,'
        f'{base64.b64encode(file.read_bytes()).decode()}"></p>'
        for file in pictures
    )
    shown = "".join(_show_captions(entry) for entry in findings.captions)
    settings = {key: results[key] for key in ("data", "model", "scale", "seeds", "options")}
    notes = "".join(f"<p>{escape(note)}</p>" for note in findings.notes)
    title = f"{results['experiment']}: {results['about']}"
    made = f"cidery {results['cidery']}, commit {results['commit'] or 'unknown'}"
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1><h2>Verdicts</h2><ul>{verdicts}</ul>{notes}"
        f"<h2>Means over {len(results['seeds'])} seeds</h2>"
        f"{tabulate_means(findings).to_html()}{images}"
        f"<h2>Captions</h2>{shown or '<p>none</p>'}<h2>Settings</h2>"
        f"<pre>{escape(json.dumps(settings, indent=1, ensure_ascii=False))}</pre>"
        f"<p>{escape(made)}; {results['seconds']} seconds, {escape(results['machine'])}</p>"
        "</body></html>"
    )


def _show_captions(entry: Mapping[str, Any]) -> str:
    rows = [["reference", text] for text in entry["references"]]
    rows += [[system, caption] for system, caption in entry["captions"].items()]
    return f"<h3>{escape(str(entry['image']))}</h3>{Table.of(['', ''], rows).to_html()}"


def _save_plots(findings: Findings, folder: Path) -> list[Path]:
    from cidery.plots import save_figures

    return [
        path
        for name, figure in findings.plots.items()
        for path in save_figures(figure, folder / f"{name}.svg")
    ]


def find_commit(package: Path = Path(__file__).parent) -> str | None:
    """Return the commit of cidery's checkout that contains the package; None outside of one.

    A package that is installed inside another repository, such as in its `.venv`, is not part of
    that repository.
    """
    root = package.parents[2]  # root/lab/src/cidery_lab
    if not (root / ".git").exists() or not (root / "src" / "cidery").is_dir():
        return None
    command = ["git", "--git-dir", str(root / ".git"), "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
