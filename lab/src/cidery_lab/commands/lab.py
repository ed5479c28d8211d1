"""`cidery lab`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cidery.cli import examples, new_app

if TYPE_CHECKING:
    from cidery_lab import LabData

app = new_app(no_args_is_help=True)

Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        help="Features of images: .npz, .npy or HDF5; FILE#ARRAY where a file has several arrays. "
        "Given more than once, the features of an image stand side by side. Default: invented "
        "scenes.",
        metavar="FILE",
        show_default=False,
    ),
]
Captions = Annotated[
    str | None,
    typer.Option(
        help="Captions of these images: Karpathy's JSON, Flickr8k.token.txt, or any file of "
        "references that cidery reads.",
        metavar="FILE",
        show_default=False,
    ),
]
Array = Annotated[
    str | None,
    typer.Option(
        help="The array of features, where --data is one file and has several.",
        metavar="NAME",
        show_default=False,
    ),
]
Splits = Annotated[
    str | None,
    typer.Option(
        help='JSON {image: "train"|"val"|"test"}, where no other file says it.',
        metavar="FILE",
        show_default=False,
    ),
]
Least = Annotated[
    int, typer.Option(help="Words that occur fewer times are read as unknown.", metavar="N", min=1)
]
Missing = Annotated[
    str,
    typer.Option(
        help="error, or skip: leave out images that have no features or no captions.",
        metavar="WHAT",
    ),
]
Model = Annotated[
    str, typer.Option(help="Captioner; `cidery lab list` has their names.", metavar="NAME")
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="Folder for results and checkpoints. If it has checkpoints of the same run, "
        "training goes on.",
        metavar="FOLDER",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        help="cpu, cuda, … Default: a GPU where there is one.", metavar="NAME", show_default=False
    ),
]
Hidden = Annotated[
    int | None,
    typer.Option(help="Size of the model.", metavar="N", min=1, show_default=False),
]
Epochs = Annotated[
    int | None,
    typer.Option(help="Epochs of cross-entropy.", metavar="N", min=1, show_default=False),
]
RewardEpochs = Annotated[
    int | None,
    typer.Option(help="Epochs with a reward.", metavar="N", min=1, show_default=False),
]
Batch = Annotated[
    int | None,
    typer.Option(
        help="Captions in a step; with a reward, at most a quarter as many images.",
        metavar="N",
        min=1,
        show_default=False,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(help="Threads of torch.", metavar="N", min=1, show_default=False),
]


@app.callback(
    epilog=examples(
        "cidery lab list",
        "cidery lab train --model fc --reward cider-d -o runs/fc",
        "cidery lab run repetition -o lab",
    )
)
def lab() -> None:
    """Train captioners and try the claims of papers (extra train)."""


@app.command("list", epilog=examples("cidery lab list"))
def list_all() -> None:
    """List experiments and captioners."""
    from cidery_lab.experiments import EXPERIMENTS, get_experiment
    from cidery_lab.models import MODELS

    typer.echo("experiments (cidery lab run NAME):")
    for name in EXPERIMENTS:
        typer.echo(f"  {name:12} {get_experiment(name).ABOUT}")
    typer.echo("\ncaptioners (--model NAME):")
    for name, model in MODELS.items():
        typer.echo(f"  {name:12} {model.about}")


@app.command(
    epilog=examples(
        "cidery lab run repetition",
        "cidery lab run repetition --data resnet50_global.npz --captions Flickr8k.token.txt -o out",
        "cidery lab run balance --families lambda,beta --weights 0,1,5 --model att2in",
        "cidery lab run rewards --rewards cider-d,meteor,spice,consensus",
    )
)
def run(
    name: Annotated[str, typer.Argument(help="Experiment; see `cidery lab list`.", metavar="NAME")],
    data: Data = None,
    captions: Captions = None,
    array: Array = None,
    splits: Splits = None,
    least: Least = 5,
    missing: Missing = "error",
    model: Model = "fc",
    seeds: Annotated[
        int, typer.Option(help="Train everything with so many seeds.", metavar="N", min=1)
    ] = 3,
    hidden: Hidden = None,
    epochs: Epochs = None,
    reward_epochs: RewardEpochs = None,
    batch: Batch = None,
    test_images: Annotated[
        int | None,
        typer.Option(
            help="Compare systems on so many test images.",
            metavar="N",
            min=2,
            show_default=False,
        ),
    ] = None,
    families: Annotated[
        str,
        typer.Option(
            help="balance: families of losses, of lambda, beta, alpha, gamma and zeta.",
            metavar="NAMES",
        ),
    ] = "lambda",
    weights: Annotated[
        str | None,
        typer.Option(
            help="balance, kr: weights instead of the papers'.",
            metavar="NUMBERS",
            show_default=False,
        ),
    ] = None,
    rewards: Annotated[
        str | None,
        typer.Option(
            help="rewards: metrics to train with; redteam: metrics to attack.",
            metavar="NAMES",
            show_default=False,
        ),
    ] = None,
    generators: Annotated[
        str | None,
        typer.Option(
            help="generators: those to compare, of rs, rci, gnc, ss, drv, beam, diverse-beam.",
            metavar="NAMES",
            show_default=False,
        ),
    ] = None,
    spice: Annotated[
        bool, typer.Option("--spice", help="Measure SPICE too (extra spice).")
    ] = False,
    output: Output = "lab",
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Run an experiment with several seeds; write JSON, plots and an HTML page."""
    from dataclasses import replace

    from cidery_lab import Lab, LiveView, Scale, run_experiment
    from cidery_lab.experiments import get_experiment
    from cidery_lab.experiments.base import SCENES_SCALE

    get_experiment(name)
    scale = Scale() if data else SCENES_SCALE
    given: dict[str, Any] = {
        "hidden": hidden,
        "epochs": epochs,
        "reward_epochs": reward_epochs,
        "batch": batch,
        "test_images": test_images,
    }
    scale = replace(scale, **{key: value for key, value in given.items() if value is not None})
    read = _read_data(data, captions, array, splits, least, missing)
    _set_threads(threads)
    folder = Path(output) / name
    options = {
        "families": tuple(_split(families) or ()),
        "weights": _numbers(weights),
        "rewards": _split(rewards),
        "generators": _split(generators),
    }
    with LiveView() as watch:
        settings = Lab(
            read,
            model,
            tuple(range(seeds)),
            scale,
            Path(output),
            device,
            spice,
            watch,
            {key: value for key, value in options.items() if value},
        )
        done = run_experiment(name, settings, folder)
    for line in done.lines():
        typer.echo(line)
    typer.echo(f"\nwritten: {folder / 'index.html'}, {folder / 'results.json'}")


@app.command(
    epilog=examples(
        "cidery lab train --model fc --reward cider-d -o runs/fc",
        "cidery lab train --data resnet50_grid4x4.npz --captions Flickr8k.token.txt --model att2in",
    )
)
def train(
    data: Data = None,
    captions: Captions = None,
    array: Array = None,
    splits: Splits = None,
    least: Least = 5,
    missing: Missing = "error",
    model: Model = "fc",
    reward: Annotated[
        str | None,
        typer.Option(
            help="After cross-entropy, train with this metric.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str,
        typer.Option(
            help="What a sample is compared with: others, greedy or group (as GRPO does).",
            metavar="NAME",
        ),
    ] = "others",
    sharpen: Annotated[
        float,
        typer.Option(
            help="Before the reward, multiply the scores of words by this: what is drawn comes "
            "nearer to what is likeliest, and greedy captions become better sooner.",
            metavar="FACTOR",
        ),
    ] = 2.0,
    smoothing: Annotated[
        float | None,
        typer.Option(help="Label smoothing of cross-entropy.", metavar="SHARE", show_default=False),
    ] = None,
    scheduled: Annotated[
        float, typer.Option(help="Scheduled sampling in the last epoch.", metavar="SHARE")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of all that is random.", metavar="N")] = 0,
    hidden: Hidden = None,
    epochs: Epochs = None,
    reward_epochs: RewardEpochs = None,
    batch: Batch = None,
    output: Output = "runs",
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Train one captioner, and score its captions of the test images."""
    from dataclasses import replace

    from cidery_lab import LiveView, Losses, ModelCard, Scale, train_stage
    from cidery_lab.experiments.base import SCENES_SCALE

    scale = Scale() if data else SCENES_SCALE
    given: dict[str, Any] = {
        "hidden": hidden,
        "epochs": epochs,
        "reward_epochs": reward_epochs,
        "batch": batch,
        "smoothing": smoothing,
    }
    scale = replace(scale, **{key: value for key, value in given.items() if value is not None})
    read = _read_data(data, captions, array, splits, least, missing)
    _set_threads(threads)
    card = ModelCard(model, len(read.vocabulary), read.width, scale.hidden, scale.dropout, seed)
    stages = [replace(scale.cross_entropy(), scheduled=scheduled)]
    if reward is not None:
        rewarded = scale.rewarded(reward, Losses(0, {reward: 1.0}))
        rewarded = replace(rewarded, baseline=baseline, sharpen=sharpen)  # type: ignore[arg-type]
        stages.append(rewarded)
    captioner = None
    for stage in stages:
        with LiveView() as watch:
            done = train_stage(
                card,
                read,
                stage,
                Path(output) / stage.name,
                start=captioner,
                device=device,
                watch=watch,
            )
        captioner = done.model
        for line in done.lines():
            typer.echo(line)
        typer.echo(f"written: {done.folder / 'results.json'}, checkpoint.pt, log.json, log.svg")


def _read_data(
    data: list[str] | None,
    captions: str | None,
    array: str | None,
    splits: str | None,
    least: int,
    missing: str,
) -> LabData:
    from cidery_lab import invented_scenes, read_data

    if (not data) != (captions is None):
        raise typer.BadParameter(
            "features and captions go together: give both --data and --captions, or none for "
            "invented scenes"
        )
    if not data or captions is None:
        return invented_scenes()
    return read_data(data, captions, array=array, splits=splits, least=least, missing=missing)


def _set_threads(threads: int | None) -> None:
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def _split(names: str | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(n.strip() for n in names.split(",") if n.strip())


def _numbers(text: str | None) -> tuple[float, ...] | None:
    try:
        return None if text is None else tuple(float(number) for number in text.split(","))
    except ValueError:
        raise typer.BadParameter(
            f"{text!r}: expected numbers, as 0,1,5", param_hint="--weights"
        ) from None
