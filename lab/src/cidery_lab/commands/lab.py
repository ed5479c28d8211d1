"""`cidery lab`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cidery.cli import examples, new_app, show_table

if TYPE_CHECKING:
    from cidery_lab import LabData

app = new_app(no_args_is_help=True)

Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        help="Features of images: .npz, .npy or HDF5; FILE#ARRAY where a file has several arrays. "
        "May be repeated: features are concatenated. Default: synthetic scenes.",
        metavar="FILE",
        show_default=False,
    ),
]
Captions = Annotated[
    str | None,
    typer.Option(
        help="Captions: Karpathy's JSON, Flickr8k.token.txt, or any file of references.",
        metavar="FILE",
        show_default=False,
    ),
]
Array = Annotated[
    str | None,
    typer.Option(
        help="Array of features, if --data is one file with several arrays.",
        metavar="NAME",
        show_default=False,
    ),
]
Splits = Annotated[
    str | None,
    typer.Option(
        help='JSON file {image: "train"|"val"|"test"}, if no other file has splits.',
        metavar="FILE",
        show_default=False,
    ),
]
MinCount = Annotated[
    int, typer.Option(help="Minimum count of a word of the vocabulary.", metavar="N", min=1)
]
Missing = Annotated[
    str,
    typer.Option(
        help="Images without features or captions: error or skip.",
        metavar="CHOICE",
    ),
]
Model = Annotated[str, typer.Option(help="Captioner; see `cidery lab list`.", metavar="NAME")]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="Folder of results and checkpoints. Rerun the same command to resume.",
        metavar="FOLDER",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        help="cpu, cuda, … Default: a GPU if there is one.", metavar="NAME", show_default=False
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
        help="Captions per step; with a reward, at most a quarter as many images.",
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
    """Train captioners, and run experiments."""


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
    min_count: MinCount = 5,
    missing: Missing = "error",
    model: Model = "fc",
    seeds: Annotated[int, typer.Option(help="Number of seeds.", metavar="N", min=1)] = 3,
    hidden: Hidden = None,
    epochs: Epochs = None,
    reward_epochs: RewardEpochs = None,
    batch_size: Batch = None,
    test_images: Annotated[
        int | None,
        typer.Option(
            help="Number of test images. Default: all.",
            metavar="N",
            min=2,
            show_default=False,
        ),
    ] = None,
    families: Annotated[
        str,
        typer.Option(
            help="balance: families of losses: lambda, beta, alpha, gamma, zeta.",
            metavar="NAMES",
        ),
    ] = "lambda",
    weights: Annotated[
        str | None,
        typer.Option(
            help="balance, kr: weights. Default: those of the papers.",
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
            help="generators: rs, rci, gnc, ss, drv, beam, diverse-beam.",
            metavar="NAMES",
            show_default=False,
        ),
    ] = None,
    spice: Annotated[bool, typer.Option("--spice", help="Compute SPICE (extra spice).")] = False,
    output: Output = "lab",
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Run an experiment with several seeds.

    Writes JSON files, plots and an HTML page.
    """
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
        "batch_size": batch_size,
        "test_images": test_images,
    }
    scale = replace(scale, **{key: value for key, value in given.items() if value is not None})
    read = _read_data(data, captions, array, splits, min_count, missing)
    _set_threads(threads)
    folder = Path(output) / name
    options = {
        "families": tuple(_split(families) or ()),
        "weights": _numbers(weights),
        "rewards": _split(rewards),
        "generators": _split(generators),
    }
    with LiveView() as callback:
        settings = Lab(
            read,
            model,
            tuple(range(seeds)),
            scale,
            Path(output),
            device,
            spice,
            callback,
            {key: value for key, value in options.items() if value},
        )
        done = run_experiment(name, settings, folder)
    show_table(done.table())
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
    min_count: MinCount = 5,
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
            help="Baseline of a sample's reward: others, greedy or group (as in GRPO).",
            metavar="NAME",
        ),
    ] = "others",
    logit_scale: Annotated[
        float,
        typer.Option(
            help="Factor of the word scores before training with the reward; above 1, greedy "
            "captions improve sooner.",
            metavar="FACTOR",
        ),
    ] = 2.0,
    label_smoothing: Annotated[
        float | None,
        typer.Option(help="Label smoothing of cross-entropy.", metavar="SHARE", show_default=False),
    ] = None,
    scheduled_sampling: Annotated[
        float, typer.Option(help="Scheduled sampling: share in the last epoch.", metavar="SHARE")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.", metavar="N")] = 0,
    hidden: Hidden = None,
    epochs: Epochs = None,
    reward_epochs: RewardEpochs = None,
    batch_size: Batch = None,
    output: Output = "runs",
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Train one captioner, and score captions of the test images."""
    from dataclasses import replace

    from cidery_lab import LiveView, Losses, ModelCard, Scale, train_stage
    from cidery_lab.experiments.base import SCENES_SCALE

    scale = Scale() if data else SCENES_SCALE
    given: dict[str, Any] = {
        "hidden": hidden,
        "epochs": epochs,
        "reward_epochs": reward_epochs,
        "batch_size": batch_size,
        "label_smoothing": label_smoothing,
    }
    scale = replace(scale, **{key: value for key, value in given.items() if value is not None})
    read = _read_data(data, captions, array, splits, min_count, missing)
    _set_threads(threads)
    card = ModelCard(model, len(read.vocabulary), read.width, scale.hidden, scale.dropout, seed)
    stages = [replace(scale.cross_entropy(), scheduled_sampling=scheduled_sampling)]
    if reward is not None:
        rewarded = scale.rewarded(reward, Losses(0, {reward: 1.0}))
        rewarded = replace(rewarded, baseline=baseline, logit_scale=logit_scale)  # type: ignore[arg-type]
        stages.append(rewarded)
    captioner = None
    for stage in stages:
        with LiveView() as callback:
            done = train_stage(
                card,
                read,
                stage,
                Path(output) / stage.name,
                start=captioner,
                device=device,
                callback=callback,
            )
        captioner = done.model
        show_table(done.table())
        typer.echo(f"written: {done.folder / 'results.json'}, checkpoint.pt, log.json, log.svg")


def _read_data(
    data: list[str] | None,
    captions: str | None,
    array: str | None,
    splits: str | None,
    min_count: int,
    missing: str,
) -> LabData:
    from cidery_lab import read_data, synthetic_scenes

    if (not data) != (captions is None):
        raise typer.BadParameter(
            "--data and --captions must be given together; without both, synthetic scenes are used"
        )
    if not data or captions is None:
        return synthetic_scenes()
    return read_data(
        data, captions, array=array, splits=splits, min_count=min_count, missing=missing
    )


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
            f"{text!r}: expected numbers such as 0,1,5", param_hint="--weights"
        ) from None
