"""Arguments and options that several commands share."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

MOST_THREADS = 4096
"""More than any machine has cores; systems refuse to start many more."""


def new_app(**settings: Any) -> typer.Typer:
    """Return the Typer of a command, set as all of them are."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **settings,
    )


def check_confidence(value: float | None) -> float | None:
    """Refuse a confidence that no interval can have."""
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} must be greater than 0 and less than 1")
    return value


def check_output(output: str, *inputs: str, option: str = "--output") -> None:
    """Refuse, before long work, a file that cannot be written or would replace what is read."""
    path = Path(output)
    if path.is_dir():
        raise typer.BadParameter(f"{output} is a folder; name a file", param_hint=option)
    if not path.parent.is_dir():
        problem = f"{output} cannot be written: there is no folder {path.parent}"
        raise typer.BadParameter(problem, param_hint=option)
    if any(path.exists() and Path(i).exists() and path.samefile(i) for i in inputs):
        problem = f"{output} is also read, and would be replaced; name another file"
        raise typer.BadParameter(problem, param_hint=option)


def name_systems(given: list[str]) -> dict[str, str]:
    """Return files by name: the name given, or the file's, or the whole path where two clash."""
    pairs = []
    for item in given:
        name, equals, file = item.partition("=")
        named = bool(equals) and not Path(item).exists()
        pairs.append((name, file) if named else (Path(item).name.partition(".")[0], item))
    counts = Counter(name for name, _ in pairs)
    named_files = {file if counts[name] > 1 else name: file for name, file in pairs}
    if len(named_files) < len(pairs):
        raise typer.BadParameter("the same system is given twice", param_hint="SYSTEM")
    return named_files


def examples(*lines: str) -> str:
    """Return an epilog for `--help`; a backspace keeps its lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  $ {line}" for line in lines)])


def complete_metrics(incomplete: str) -> list[str]:
    """Complete the name of a metric."""
    from cidery.metrics import FAMILIES, METRICS
    from cidery.plugins import list_names

    names = (*FAMILIES, *list_names("metric", METRICS))
    return [name for name in names if name.startswith(incomplete)]


def complete_presets(incomplete: str) -> list[str]:
    """Return the presets that begin so."""
    from cidery.metrics.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def complete_frequencies(incomplete: str) -> list[str]:
    """Complete the name of a set of frequencies, or `references`."""
    from cidery.frequencies import SHIPPED

    return [name for name in ("references", *SHIPPED) if name.startswith(incomplete)]


def complete_shipped(incomplete: str) -> list[str]:
    """Complete the name of a set that is shipped."""
    return [name for name in complete_frequencies(incomplete) if name != "references"]


def _complete_tokenizers(incomplete: str) -> list[str]:
    from cidery.plugins import list_names
    from cidery.text import SEGMENTERS, TOKENIZERS

    names = list_names("tokenizer", (*TOKENIZERS, *SEGMENTERS))
    return [name for name in names if name.startswith(incomplete)]


def read_segmenters(given: str | None) -> Any:
    """Return `all`, or the names in a list with commas."""
    return given if given in (None, "all") else [name.strip() for name in given.split(",")]


def _complete_languages(incomplete: str) -> list[str]:
    from cidery.text import LANGUAGES

    return [code for code in sorted(LANGUAGES) if code.startswith(incomplete)]


@dataclass(frozen=True)
class ReadSystems:
    """References, systems' captions and slices, as they were in their files."""

    references: dict[Any, list[str]]
    captions: dict[str, Any]
    slices: Any
    """What `by=` takes; None: no slices were asked for."""


def read_systems(
    step: Callable[[str], None],
    references: str,
    files: Mapping[str, str],
    *,
    split: str | None,
    caption_field: str | None,
    reference_field: str | None,
    id_field: str | None,
    reference_id_field: str | None,
    by: str | None,
) -> ReadSystems:
    """Read a file of references and several of captions; `step` is told what is read."""
    from cidery.files import read_candidates, read_references
    from cidery.files.slices import find_slices

    named_by = reference_id_field or id_field
    step("reading references")
    known = read_references(
        references, split=split, caption_field=reference_field, id_field=named_by
    )
    captions = {}
    for name, file in files.items():
        step(f"reading {name}")
        captions[name] = read_candidates(file, caption_field=caption_field, id_field=id_field)
    fields = [(references, named_by), *((file, id_field) for file in files.values())]
    return ReadSystems(known, captions, None if by is None else find_slices(by, fields, known))


def refuse_swapped(read: ReadSystems, references: str, files: Mapping[str, str]) -> None:
    """Refuse a file of references given as a system, where one of captions is the references."""
    if len(read.references) < 2 or any(len(group) > 1 for group in read.references.values()):
        return
    for name, rows in read.captions.items():
        counts = Counter(row[0] for row in rows)
        if counts and min(counts.values()) > 1:
            raise typer.BadParameter(
                f"{references} has one caption per image and {files[name]} several, so they seem "
                "to be swapped: the file of references comes first, then those of systems; from "
                "Python, cidery.write_report takes them as they are",
                param_hint="REFERENCES",
            )


_FILE_NAME = re.compile(r"\S+\.(json|jsonl|ndjson|csv|tsv|parquet|arrow)(\.gz)?", re.IGNORECASE)


def check_captions_or_files(
    caption: str | None,
    reference: list[str] | None,
    has_results: bool,
    references: str | None,
    image: list[str] | None,
) -> None:
    """Refuse captions and files together, either by halves, and a file's name as a caption."""
    if not has_results and references is None:
        if caption is None or not reference:
            raise typer.BadParameter(
                "give a caption and its references, or files: --results FILE --references FILE",
                param_hint="CAPTION REFERENCE…",
            )
        for text in filter(_FILE_NAME.fullmatch, (caption, *reference)):
            raise typer.BadParameter(
                f"{text} looks like a file, and its name would be read as a caption: name files by "
                "--results FILE --references FILE",
                param_hint="CAPTION REFERENCE…",
            )
        if image:
            raise typer.BadParameter(
                "it names an image of a file: add --results and --references", param_hint="--image"
            )
    elif caption is not None:
        raise typer.BadParameter(
            "a caption is given and files too; leave one out", param_hint="CAPTION"
        )
    elif not has_results or references is None:
        lacking = "--references" if has_results else "--results"
        raise typer.BadParameter("both files are needed", param_hint=lacking)


def check_plot(plot: str | None, by: str | None, *inputs: str) -> None:
    """Refuse, before long work, a figure that cannot be drawn or written."""
    if plot is None:
        return
    if by is None:
        raise typer.BadParameter("it draws slices: name them with --by", param_hint="--plot")
    from importlib.util import find_spec

    from cidery.errors import MissingExtraError
    from cidery.plots.figures import check_figure_file

    if find_spec("matplotlib") is None:
        raise MissingExtraError.to("draw", package="matplotlib", extra="plots")
    check_output(plot, *inputs, option="--plot")
    check_figure_file(plot)


_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def read_metrics(names: list[str] | None) -> list[str | Callable[..., Any]] | None:
    """Return names of metrics as they are, and import what is written as `module:function`.

    Only the command line does this: a name in a file or a web form runs no code.
    """
    return [read_metric(name) for name in names] if names else None


def read_metric(name: str) -> str | Callable[..., Any]:
    """Return the name of a metric as it is, or import what is written as `module:function`."""
    from cidery.metrics import FAMILIES, METRICS

    if _FUNCTION.fullmatch(name) is None:
        return name
    is_known = name.partition(":")[0] in (*METRICS, *FAMILIES)
    return name if is_known else _import_function(name)


def _import_function(name: str) -> Callable[..., Any]:
    """Import a function; modules in the current folder are found too."""
    import importlib

    from cidery.errors import SettingError

    module, _, path = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # the executable's own folder stands there
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise SettingError(
            f"the function {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise SettingError(f"{name!r} is {type(found).__name__}, expected a function")
    function: Callable[..., Any] = found
    return function


References: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="File of reference captions, in any format cidery reads; - is standard input.",
        metavar="REFERENCES",
        show_default=False,
    ),
]
Caption: TypeAlias = Annotated[
    str | None,
    typer.Argument(help="A caption of any length.", metavar="CAPTION", show_default=False),
]
CaptionReferences: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        help="A reference caption of the same image; several may be given.",
        metavar="REFERENCE…",
        show_default=False,
    ),
]
Metrics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric, a family of metrics, name:setting=value,… or a Python function as "
        "module:function; may be repeated. Default: bleu, rouge-l, cider-d and cider-r.",
        metavar="NAME",
        show_default=False,
        autocompletion=complete_metrics,
    ),
]
Preset: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--preset",
        help="Metrics that are reported together: coco, nocaps, dcase, dense-video, vlm, or a TOML "
        "file; `cidery metrics --presets` lists them. -m adds others.",
        metavar="NAME",
        show_default=False,
        autocompletion=complete_presets,
    ),
]
Format: TypeAlias = Annotated[
    Literal["table", "json", "csv", "markdown", "latex"],
    typer.Option("--format", "-f", help="How to print the result."),
]
TableOrJson: TypeAlias = Annotated[
    Literal["table", "json"], typer.Option("--format", "-f", help="How to print the result.")
]
TableJsonOrPage: TypeAlias = Annotated[
    Literal["table", "json", "html"],
    typer.Option("--format", "-f", help="How to print the result."),
]
Tokenizer: TypeAlias = Annotated[
    str,
    typer.Option(
        help="What cuts captions into words: ptb, ptb-coco, whitespace, words, char, a segmenter "
        "such as jieba, or one that an installed package adds.",
        metavar="NAME",
        autocompletion=_complete_tokenizers,
    ),
]
LanguageTokenizer: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        help="What cuts captions into words: ptb, ptb-coco, whitespace, words, char, a segmenter "
        "such as jieba, or one that an installed package adds. Default: that of the language, or "
        "ptb.",
        metavar="NAME",
        show_default=False,
        autocompletion=_complete_tokenizers,
    ),
]
Language: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The captions' language, such as zh or de: chooses the tokenizer, the spelling, the "
        "stemmer and METEOR's data. Default: as for English.",
        metavar="CODE",
        show_default=False,
        autocompletion=_complete_languages,
    ),
]
Segmenters: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Score under other tokenizers too, and show how far scores move: all (those of "
        "--language that are installed, and characters), or names such as jieba,words,char.",
        metavar="all|NAMES",
        show_default=False,
    ),
]
Stemmer: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Reduce words to their stems, by Snowball's rules for a language such as english, or "
        "to lemmas: simplemma-de. Default: neither.",
        metavar="LANGUAGE",
        show_default=False,
    ),
]
Frequencies: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Document frequencies, on which CIDEr's weights are counted: references (count the "
        "references given), coco-val2014, coco-train2014 or a file made by `cidery frequencies`.",
        metavar="NAME|FILE",
        autocompletion=complete_frequencies,
    ),
]
SHARED: dict[str, Any] = {
    "tokenizer": LanguageTokenizer,
    "language": Language,
    "frequencies": Frequencies,
}
"""Options whose fields `with_settings` finds in settings."""
FrequenciesOrDefault: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--frequencies",
        help="Document frequencies, on which CIDEr's weights are counted: references (count the "
        "references given), coco-val2014, coco-train2014 or a file made by `cidery frequencies`. "
        "Default: coco-train2014 for English, otherwise references.",
        metavar="NAME|FILE",
        show_default=False,
        autocompletion=complete_frequencies,
    ),
]
Faithful: TypeAlias = Annotated[
    Literal["coco", "paper"] | None,
    typer.Option(
        help="Compute as the community's code does (coco) or as the papers' equations say "
        "(paper); default: each metric's own.",
        show_default=False,
    ),
]
Missing: TypeAlias = Annotated[
    Literal["error", "skip"],
    typer.Option(
        help="Images that lack captions or references are an error, or are left out (skip)."
    ),
]
Split: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Keep references of this split only, such as test or train+restval.",
        metavar="NAME",
        show_default=False,
    ),
]
CaptionField: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Field that has the captions to score; default: a well-known one, such as caption.",
        metavar="NAME",
        show_default=False,
    ),
]
ReferenceField: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Field that has the references; default: a well-known one, such as references.",
        metavar="NAME",
        show_default=False,
    ),
]
IdField: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Field that names the image, in all files; default: a well-known one, such as "
        "image_id.",
        metavar="NAME",
        show_default=False,
    ),
]
ReferenceIdField: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Field that names the image in the file of references, where it is another one.",
        metavar="NAME",
        show_default=False,
    ),
]
Resamples: TypeAlias = Annotated[
    int,
    typer.Option(
        help="How many bootstrap samples (and permutations, for tests) are drawn.",
        metavar="COUNT",
        min=2,
    ),
]
Seed: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Seed of the random numbers: the same seed draws the same samples.",
        metavar="NUMBER",
        min=0,
    ),
]
Threads: TypeAlias = Annotated[
    int,
    typer.Option(
        help="How many threads to use; 0: one per core. The result is the same for any number.",
        metavar="COUNT",
        min=0,
        max=MOST_THREADS,
    ),
]
Stream: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Read Parquet, Arrow or JSON lines (files, folders, patterns, URLs) piece by piece, "
        "in bounded memory; by itself where the files would not fit.",
        show_default=False,
    ),
]
Engine: TypeAlias = Annotated[
    Literal["local", "ray"],
    typer.Option(
        help="What runs streams and slow metrics: processes of this machine, or a Ray cluster."
    ),
]
Address: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The Ray cluster, as `ray.init` takes it; auto: the one this machine belongs to. "
        "Default: what RAY_ADDRESS names, or this machine alone.",
        metavar="ADDRESS",
        show_default=False,
    ),
]
Work: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The folder for what a stream has begun; the same command goes on there. It is "
        "removed at the end. Default: cidery-work-… in the present folder.",
        metavar="FOLDER",
        show_default=False,
    ),
]


def make_engine(engine: str, address: str | None, threads: int) -> Any:
    """Return the engine that options name."""
    from cidery.engines import get_engine

    if engine == "ray":
        return get_engine("ray", address=address)
    if address is not None:
        raise typer.BadParameter("it goes with --engine ray", param_hint="--address")
    return get_engine("local", processes=threads)


def check_no_engine(engine: str, address: str | None, work: str | None) -> None:
    """Refuse options of streams for captions that are scored in memory."""
    given = {"--engine": engine if engine != "local" else None, "--address": address}
    for option, value in {**given, "--work": work}.items():
        if value is not None:
            raise typer.BadParameter(
                "it is for streams, and this is none; add --stream", param_hint=option
            )


@contextmanager
def slow_work(engine: str, address: str | None) -> Iterator[None]:
    """Have the engine that options name do the slow work of metrics inside the block."""
    if engine == "local" and address is None:
        yield
        return
    from cidery.engines import use_engine

    with use_engine(make_engine(engine, address, 0)):
        yield


By: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Score slices of the images apart: a file of slices by image (CSV, TSV, JSON, JSON "
        "lines, Parquet), FILE:COLUMN, a field of the file of references or captions such as "
        "domain, length, length:8,12 (words of the references) or references (how many).",
        metavar="FILE|FIELD",
        show_default=False,
    ),
]
Slices: TypeAlias = Annotated[
    Literal["whole", "separate"],
    typer.Option(
        help="A slice has the scores that its captions have in the whole set (whole), or is scored "
        "by itself, with its own document frequencies (separate)."
    ),
]
Plot: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Also draw the scores of the slices with their intervals: .pdf, .svg, .eps or .png.",
        metavar="FILE",
        show_default=False,
    ),
]
Output: TypeAlias = Annotated[
    str, typer.Option("--output", "-o", help="File to write.", metavar="FILE", show_default=False)
]

RESAMPLES = 1000
"""As `cidery.statistics.RESAMPLES`, which would cost an import of NumPy; a test compares them."""
