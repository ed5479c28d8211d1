"""Options that several commands share, each declared once, in groups that commands take as a whole.

```py
@app.command()
@with_options(without=("by", "slices"))
def rank(references: References, pipeline: PipelineOptions, inputs: InputOptions) -> None: ...
```
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from cidery.cli import parsing

if TYPE_CHECKING:
    from cidery.engines import StreamResult
    from cidery.meta import Dataset
    from cidery.scoring.pipeline import PipelineSettings

Command: TypeAlias = Callable[..., Any]

MAX_THREADS = 4096
"""Maximum number of threads; operating systems refuse to start many more."""
RESAMPLES = 1000
"""Same as `cidery.statistics.RESAMPLES`, which would import NumPy; a test compares them."""
DEBRIS = (
    *("reasoning", "special-tokens", "code-fence", "html-entities", "markdown", "prefix", "quotes"),
)
"""Kinds of `cidery.text.KINDS` that can be removed; a test compares them."""

References: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="File of reference captions, in any format that cidery reads; - is standard input.",
        metavar="REFERENCES",
        show_default=False,
    ),
]
Caption: TypeAlias = Annotated[
    str | None,
    typer.Argument(help="Caption of any length.", metavar="CAPTION", show_default=False),
]
CaptionReferences: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        help="Reference caption of the same image; may be repeated.",
        metavar="REFERENCE…",
        show_default=False,
    ),
]
Format: TypeAlias = Annotated[
    Literal["table", "json", "csv", "markdown", "latex"],
    typer.Option("--format", "-f", help="Output format."),
]
TableOrJson: TypeAlias = Annotated[
    Literal["table", "json"], typer.Option("--format", "-f", help="Output format.")
]
TableJsonOrPage: TypeAlias = Annotated[
    Literal["table", "json", "html"], typer.Option("--format", "-f", help="Output format.")
]
Output: TypeAlias = Annotated[
    str, typer.Option("--output", "-o", help="File to write.", metavar="FILE", show_default=False)
]
Percent: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--percent/--no-percent",
        help="Show scores times 100, with one decimal, as papers do. JSON and CSV have the scores "
        "themselves, with all digits.",
        show_default=False,
    ),
]
Digits: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Decimals of scores. Default: 4, or 1 of scores times 100.",
        metavar="COUNT",
        min=0,
        max=15,
        show_default=False,
    ),
]
PRINT_FORMATS = ("markdown", "latex")
"""Formats of tables for papers."""
Stemmer: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Replace words by their stems, by Snowball's rules for a language such as english, "
        "or by lemmas: simplemma-de. Default: none.",
        metavar="LANGUAGE",
        show_default=False,
    ),
]
Segmenters: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Also score with other tokenizers and show the range of scores: all (those of "
        "--language that are installed, and characters), or names such as jieba,words,char.",
        metavar="all|NAMES",
        show_default=False,
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
Confidence: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Confidence of the intervals, between 0 and 1.",
        metavar="SHARE",
        callback=parsing.check_confidence,
    ),
]
Resamples: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Number of bootstrap samples (and of permutations, for tests).",
        metavar="COUNT",
        min=2,
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option(help="Seed of the random numbers.", metavar="NUMBER", min=0)
]
Threads: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Maximum number of threads; 0: one per core. Results do not depend on it.",
        metavar="COUNT",
        min=0,
        max=MAX_THREADS,
    ),
]


def make_metric_option(default: str) -> Any:
    """Return the option `--metric`, whose help ends with the default."""
    return typer.Option(
        "--metric",
        "-m",
        help="Metric, family of metrics, name:setting=value,… or Python function as "
        f"module:function; may be repeated. Default: {default}.",
        metavar="NAME",
        show_default=False,
        autocompletion=parsing.complete_metrics,
    )


def make_frequencies_option(default: str) -> Any:
    """Return the option `--frequencies`, whose help ends with the default."""
    return typer.Option(
        "--frequencies",
        help="Document frequencies of the CIDEr metrics: references (counted on the references "
        "given), coco-val2014, coco-train2014 or a file made by `cidery frequencies`. "
        f"Default: {default}.",
        metavar="NAME|FILE",
        show_default=False,
        autocompletion=parsing.complete_frequencies,
    )


Metrics: TypeAlias = Annotated[
    list[str] | None, make_metric_option("bleu, rouge-l, cider-d and cider-r")
]
Frequencies: TypeAlias = Annotated[str | None, make_frequencies_option("references")]
EnglishFrequencies: TypeAlias = Annotated[
    str | None, make_frequencies_option("coco-train2014 for English, otherwise references")
]
Tokenizer: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        help="Tokenizer: ptb, ptb-coco, whitespace, words, char, a segmenter such as jieba, or one "
        "of an installed package. Default: that of the language, or ptb.",
        metavar="NAME",
        show_default=False,
        autocompletion=parsing.complete_tokenizers,
    ),
]
Language: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Language of the captions, such as zh or de; chooses the tokenizer, the spelling, the "
        "stemmer and METEOR's data. Default: English.",
        metavar="CODE",
        show_default=False,
        autocompletion=parsing.complete_languages,
    ),
]


@dataclass(frozen=True)
class PipelineOptions:
    """Options of `cidery.Pipeline`."""

    metric: Metrics = None
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="Metrics that are reported together: coco, nocaps, dcase, dense-video, vlm, or a "
            "TOML file; `cidery metrics --presets` lists them. -m adds others.",
            metavar="NAME",
            show_default=False,
            autocompletion=parsing.complete_presets,
        ),
    ] = None
    tokenizer: Tokenizer = None
    language: Language = None
    frequencies: Frequencies = None
    faithful: Annotated[
        Literal["coco", "paper"] | None,
        typer.Option(
            help="Compute as the community's code (coco) or as the equations of the papers "
            "(paper). Default: each metric's own.",
            show_default=False,
        ),
    ] = None
    threads: Threads = 0

    @property
    def metrics(self) -> list[Any] | None:
        """Names of metrics, and functions that were named as `module:function`."""
        return parsing.read_metrics(self.metric)

    @property
    def settings(self) -> PipelineSettings:
        """Keyword arguments of `Pipeline.choose`."""
        return {
            "preset": self.preset,
            "tokenizer": self.tokenizer,
            "language": self.language,
            "frequencies": self.frequencies,
            "faithful": self.faithful,
            "threads": self.threads,
        }


@dataclass(frozen=True)
class Inputs:
    """References, systems' captions and slices as read from files."""

    references: dict[Any, list[str]]
    captions: dict[str, Any]
    """Captions by system."""
    slices: Any
    """Argument `by`; None without slices."""


CaptionField: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Field of the captions to score. Default: a well-known one, such as caption.",
        metavar="NAME",
        show_default=False,
    ),
]
ReferenceField: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Field of the references. Default: a well-known one, such as references.",
        metavar="NAME",
        show_default=False,
    ),
]
IdField: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Field of the image id, in all files. Default: a well-known one, such as image_id.",
        metavar="NAME",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class JudgmentOptions:
    """Options for reading a file of judgments."""

    references_file: Annotated[
        str | None,
        typer.Option(
            "--references",
            help="File of the references of a file of judgments, in any format that cidery reads. "
            "Default: those in the file itself.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None
    rating_field: Annotated[
        str | None,
        typer.Option(
            help="Field of the ratings in a file of judgments. Default: a well-known one, such as "
            "rating or score.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None
    caption_field: CaptionField = None
    reference_field: ReferenceField = None
    id_field: IdField = None

    def read(self, dataset: str, path: str) -> Dataset:
        """Read a data set of judgments."""
        from cidery.meta import read_dataset

        return read_dataset(
            dataset,
            path,
            references=self.references_file,
            rating_field=self.rating_field,
            caption_field=self.caption_field,
            reference_field=self.reference_field,
            id_field=self.id_field,
        )


@dataclass(frozen=True)
class InputOptions:
    """Options for reading and matching files of captions and references."""

    missing: Annotated[
        Literal["error", "skip"],
        typer.Option(help="Images without captions or references: error or skip."),
    ] = "error"
    split: Annotated[
        str | None,
        typer.Option(
            help="Use references of this split only, such as test or train+restval.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None
    caption_field: CaptionField = None
    reference_field: ReferenceField = None
    id_field: IdField = None
    reference_id_field: Annotated[
        str | None,
        typer.Option(
            help="Field of the image id in the file of references, if it differs.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None
    by: Annotated[
        str | None,
        typer.Option(
            help="Score slices of the images separately: a file of slices by image (CSV, TSV, "
            "JSON, JSON lines, Parquet), FILE:COLUMN, a field of the file of references or "
            "captions such as domain, length, length:8,12 (words of the references) or references "
            "(number of references).",
            metavar="FILE|FIELD",
            show_default=False,
        ),
    ] = None
    slices: Annotated[
        Literal["whole", "separate"],
        typer.Option(
            help="Scores of a slice: those of its captions in the whole set (whole), or computed "
            "from the slice alone, with its own document frequencies (separate)."
        ),
    ] = "whole"
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Fail where captions look wrong, such as repeated or empty ones, instead of "
            "warning.",
        ),
    ] = False
    clean: Annotated[
        str | None,
        typer.Option(
            help="Remove debris of these kinds from captions before scoring; signatures name them: "
            f"{', '.join(DEBRIS)}.",
            metavar="KIND[,KIND]",
            show_default=False,
        ),
    ] = None

    def read_references(self, file: str, *, inspect: bool = True) -> dict[Any, list[str]]:
        """Read a file of references, and warn of those that look wrong if `inspect` is True."""
        from cidery.corpus import inspect_references, issue_notices
        from cidery.files import read_references

        found = read_references(
            file,
            split=self.split,
            caption_field=self.reference_field,
            id_field=self.reference_id_field or self.id_field,
        )
        if inspect:
            issue_notices(inspect_references(found, file), strict=self.strict)
        return found

    def read_captions(self, file: str, *, inspect: bool = True) -> Any:
        """Read a file of captions to score, and warn of those that look wrong."""
        from cidery.corpus import inspect_candidates, issue_notices
        from cidery.files import read_candidates

        found = read_candidates(file, caption_field=self.caption_field, id_field=self.id_field)
        if inspect:
            issue_notices(inspect_candidates(found, file), strict=self.strict)
        return found

    def read(
        self, step: Callable[[str], None], references: str, systems: Mapping[str, str]
    ) -> Inputs:
        """Read a file of references, and files of captions by system; `step` shows progress.

        `score` and the other functions of the library that take both inspect them.
        """
        from cidery.cli.parsing import split_runs
        from cidery.corpus import Runs
        from cidery.files import find_slices

        runs = {name: split_runs(file) for name, file in systems.items()}
        listed = [file for files in runs.values() for file in files]
        if [references, *listed].count("-") > 1:
            raise typer.BadParameter("standard input can be read once only", param_hint="-")
        step("reading references")
        known = self.read_references(references, inspect=False)
        captions = {}
        for name, own in runs.items():
            step(f"reading {name}")
            read = [self.read_captions(file, inspect=False) for file in own]
            captions[name] = read[0] if len(read) == 1 else Runs(read)
        slices = None
        if self.by is not None:
            ids = [(file, self.id_field) for file in listed]
            files = [(references, self.reference_id_field or self.id_field), *ids]
            slices = find_slices(self.by, files, known)
        return Inputs(known, captions, slices)

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        """Return the keyword arguments of `score` about images and slices."""
        return {
            "missing": self.missing,
            "by": inputs.slices,
            "by_name": self.by,
            "slices": self.slices,
            "strict": self.strict,
            "clean": self.clean or (),
        }

    def list_field_options(self) -> list[str]:
        """Return the options about fields and splits as they were given."""
        names = ("split", "caption_field", "reference_field", "id_field", "reference_id_field")
        given = {name: getattr(self, name) for name in names}
        return [
            word
            for name, value in given.items()
            if value
            for word in (f"--{name.replace('_', '-')}", value)
        ]


Address: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Address of the Ray cluster, as in `ray.init`; auto: the cluster of this machine. "
        "Default: RAY_ADDRESS, or a local cluster.",
        metavar="ADDRESS",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class EngineOptions:
    """Options for large inputs and slow metrics."""

    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read Parquet, Arrow or JSON lines (files, folders, patterns, URLs) in chunks, in "
            "bounded memory. Default: if the files do not fit in memory.",
            show_default=False,
        ),
    ] = None
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            help="Where streams and slow metrics run: processes of this machine, or a Ray cluster."
        ),
    ] = "local"
    address: Address = None
    work: Annotated[
        str | None,
        typer.Option(
            help="Working directory of a stream. Rerun the same command to resume; it is removed "
            "at the end. Default: cidery-work-… in the current folder.",
            metavar="FOLDER",
            show_default=False,
        ),
    ] = None

    def is_stream(self, *inputs: str) -> bool:
        """Return True if the inputs are to be read in chunks."""
        if self.stream is not None:
            return self.stream
        if self.engine != "local":
            return True
        from cidery.files import must_stream

        return must_stream(*inputs)

    def open(self, threads: int = 0) -> Any:
        """Return the engine."""
        from cidery.engines import get_engine

        if self.engine == "ray":
            return get_engine("ray", address=self.address)
        if self.address is not None:
            raise typer.BadParameter("only valid with --engine ray", param_hint="--address")
        return get_engine("local", processes=threads)

    def score(
        self,
        results: str,
        references: str,
        pipeline: PipelineOptions,
        inputs: InputOptions,
        captions: str | None = None,
    ) -> StreamResult:
        """Score a stream."""
        import cidery

        return cidery.score_stream(
            results,
            references,
            pipeline.metrics,
            captions=captions,
            missing=inputs.missing,
            caption_field=inputs.caption_field,
            reference_field=inputs.reference_field,
            id_field=inputs.id_field,
            reference_id_field=inputs.reference_id_field,
            engine=self.open(pipeline.threads),
            work=self.work,
            **pipeline.settings,
        )

    def refuse(self) -> None:
        """Refuse options of streams for captions that are scored in memory."""
        given = {"--engine": self.engine != "local", "--address": self.address, "--work": self.work}
        for option, value in given.items():
            if value:
                raise typer.BadParameter("only valid with --stream", param_hint=option)

    @contextmanager
    def run_metrics(self) -> Iterator[None]:
        """Run the slow work of metrics on the engine inside the block."""
        if self.engine == "local" and self.address is None:
            yield
            return
        from cidery.engines import use_engine

        with use_engine(self.open()):
            yield


def with_options(
    *, only: Collection[str] = (), without: Collection[str] = (), **types: Any
) -> Callable[[Command], Command]:
    """Give a command an option for each field of its parameters that are dataclasses.

    Args:
        only: names of the fields that are options; the others have their defaults.
        without: names of fields that are no options.
        types: types of options by name of the field, in place of the field's own.
    """

    def decorate(command: Command) -> Command:
        groups: dict[str, tuple[type[Any], list[str]]] = {}
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            group = parameter.annotation
            if not (isinstance(group, type) and dataclasses.is_dataclass(group)):
                parameters.append(parameter)
                continue
            options = [
                option
                for option in _list_options(group, types)
                if option.name not in without and (not only or option.name in only)
            ]
            groups[parameter.name] = group, [option.name for option in options]
            parameters += options
        signature = _order(parameters)

        @functools.wraps(command)
        def run(*arguments: Any, **options: Any) -> Any:
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            values = dict(bound.arguments)
            for name, (group, fields) in groups.items():
                values[name] = group(**_read_fields({field: values.pop(field) for field in fields}))
            return command(**values)

        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        return run

    return decorate


def _order(parameters: list[inspect.Parameter]) -> inspect.Signature:
    """Return the signature in which everything after the first option is passed by keyword."""
    ordered = []
    only_keywords = False
    for parameter in parameters:
        only_keywords = only_keywords or parameter.kind is parameter.KEYWORD_ONLY
        kind = parameter.KEYWORD_ONLY if only_keywords else parameter.kind
        ordered.append(parameter.replace(kind=kind))
    return inspect.Signature(ordered)


def _list_options(group: type[Any], types: Mapping[str, Any]) -> list[inspect.Parameter]:
    annotations = typing.get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.default == () else field.default,
            annotation=types.get(field.name) or _make_option(field, annotations[field.name]),
        )
        for field in dataclasses.fields(group)
    ]


def _make_option(field: dataclasses.Field[Any], annotated: Any) -> Any:
    """Return the type of an option; of `Annotated[type, Help(text)]`, where a field has that."""
    kind, description = typing.get_args(annotated)
    if not hasattr(description, "text"):
        return annotated
    if typing.get_origin(kind) is tuple:
        kind = list[typing.get_args(kind)[0]] | None  # type: ignore[misc]
    return Annotated[
        kind,
        typer.Option(
            description.option or f"--{field.name.replace('_', '-')}",
            help=description.text,
            metavar=description.metavar,
            show_default=not (field.default in (None, ()) or field.default is False),
        ),
    ]


def _read_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that were given, lists as tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None
    }
