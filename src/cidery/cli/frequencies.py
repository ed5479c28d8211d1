"""`cidery frequencies`: build, import, show, list, merge."""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import (
    resumable,
    show_json,
    show_notes,
    show_pairs,
    show_table,
    show_title,
)
from cidery.tables import Column, Table

if TYPE_CHECKING:
    from cidery.frequencies import DocumentFrequencies

app = parsing.new_app(no_args_is_help=True)

Set = Annotated[
    str,
    typer.Argument(
        help="Shipped set, such as coco-val2014, or a file made by `cidery frequencies`.",
        metavar="SET",
        show_default=False,
        autocompletion=parsing.complete_shipped,
    ),
]


@app.callback()
def _top() -> None:
    """Build and show document frequencies for the CIDEr metrics.

    The document frequency of an n-gram is the number of images whose references contain it.
    """


@app.command(
    epilog=parsing.examples(
        "cidery frequencies build references.json -o mine.df",
        "cidery frequencies build dataset_coco.json --split train+restval -o karpathy.df",
        "cidery frequencies build references.json --stemmer english -o mine.english.df",
        "cidery frequencies build 'references/*.parquet' --stream --min-count 2 -o web.df",
    )
)
@options.with_options(
    only=(
        "tokenizer",
        "language",
        "threads",
        "split",
        "reference_field",
        "id_field",
        "stream",
        "engine",
        "address",
        "work",
    )
)
def build(
    references: options.References,
    output: options.Output,
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    engine: options.EngineOptions,
    stemmer: options.Stemmer = None,
    n: Annotated[
        int, typer.Option("-n", help="Count n-grams of up to this many words.", metavar="COUNT")
    ] = 4,
    min_count: Annotated[
        int,
        typer.Option(
            help="Drop n-grams of fewer images than this; 2 makes the file small and changes "
            "no score.",
            metavar="COUNT",
        ),
    ] = 1,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the set in signatures. Default: the file's name.",
            metavar="TEXT",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            help="Source and license of the captions; saved in the file.",
            metavar="TEXT",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Count the document frequencies of a file of references."""
    from cidery.engines import count_frequencies
    from cidery.frequencies import DocumentFrequencies

    parsing.check_output(output, references)
    settings: dict[str, Any] = {
        "tokenizer": pipeline.tokenizer,
        "language": pipeline.language,
        "stemmer": stemmer,
        "n": n,
        "min_count": min_count,
        "name": name or Path(output).stem,
        "source": source,
    }
    if engine.is_stream(references):
        if inputs.split is not None:
            raise typer.BadParameter("not supported with --stream", param_hint="--split")
        with resumable(), progress(3, references) as step:
            step("reading references")
            counted = count_frequencies(
                references,
                caption_field=inputs.reference_field,
                id_field=inputs.id_field,
                engine=engine.open(pipeline.threads),
                work=engine.work,
                **settings,
            )
            counted.save(output)
    else:
        with progress(3, references) as step:
            step("reading references")
            known = inputs.read_references(references)
            step("counting n-grams")
            counted = DocumentFrequencies.from_references(known, **settings)
            step("writing")
            counted.save(output)
    _report(counted, output)


@app.command(
    "import",
    epilog=parsing.examples(
        "cidery frequencies import coco-train-words.p -o coco-train-words.df",
        "cidery frequencies import coco-val-df.p --images 40504 -o coco-val.df",
    ),
)
def import_pickle(
    pickle: Annotated[
        str,
        typer.Argument(
            help="Pickle of n-gram counts; code in it is not run.",
            metavar="PICKLE",
            show_default=False,
        ),
    ],
    output: options.Output,
    images: Annotated[
        int | None,
        typer.Option(
            help="Number of images, if the pickle does not have it.",
            metavar="COUNT",
            show_default=False,
        ),
    ] = None,
    tokenizer: Annotated[
        str,
        typer.Option(help="Tokenizer of the words, if known.", metavar="NAME"),
    ] = "unknown",
) -> None:
    """Import a pickle of captioning code."""
    from cidery.frequencies import DocumentFrequencies

    parsing.check_output(output, pickle)
    with progress(2, pickle) as step:
        step("reading counts")
        counted = DocumentFrequencies.from_pickle(pickle, image_count=images, tokenizer=tokenizer)
        step("writing")
        counted.save(output)
    _report(counted, output)


@app.command(
    epilog=parsing.examples(
        "cidery frequencies show coco-val2014",
        'cidery frequencies show mine.df "a dog" frisbee',
    )
)
def show(
    frequencies: Set,
    ngrams: Annotated[
        list[str] | None,
        typer.Argument(
            help="N-grams to look up, with spaces between words.",
            metavar="[NGRAM...]",
            show_default=False,
        ),
    ] = None,
    stemmer: Annotated[
        str | None,
        typer.Option(
            help="Show the shipped set of stems: english.", metavar="LANGUAGE", show_default=False
        ),
    ] = None,
    format: options.TableOrJson = "table",
) -> None:
    """Describe a set, or look up n-grams in it."""
    found = _open(frequencies, stemmer)
    counts = {ngram: found.count(ngram.split()) for ngram in ngrams or []}
    if format == "json":
        show_json(_describe(found) | ({"counts": counts} if ngrams else {}))
    elif counts:
        columns = [Column("n-gram"), Column(f"images of {found.image_count:g}", ",")]
        show_table(Table.of(columns, list(counts.items())))
        if found.min_count > 1:
            show_notes(f"fewer than {found.min_count} images count as 0 in this set")
    else:
        show_title(found.name)
        show_pairs({key: str(value) for key, value in _describe(found).items() if value})


@app.command("list", epilog=parsing.examples("cidery frequencies list"))
def list_shipped(format: options.TableOrJson = "table") -> None:
    """List the shipped sets."""
    from cidery.frequencies import SHIPPED

    sets = [_describe(_open(name, stemmer)) for name in SHIPPED for stemmer in (None, "english")]
    if format == "json":
        show_json(sets)
        return
    columns = ("name", "stemmer", "images", "n-grams", "fingerprint", "source")
    show_table(Table([Column(name) for name in columns], sets))


@app.command(epilog=parsing.examples("cidery frequencies merge train.df val.df -o both.df"))
def merge(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Two or more files of document frequencies.", metavar="FILE...", show_default=False
        ),
    ],
    output: options.Output,
) -> None:
    """Merge sets of different images."""
    from cidery.frequencies import DocumentFrequencies

    if len(files) < 2:
        raise typer.BadParameter("give at least two files", param_hint="FILE")
    parsing.check_output(output)
    merged = reduce(or_, map(DocumentFrequencies.load, files))
    merged.save(output)
    _report(merged, output)


def _open(frequencies: str, stemmer: str | None) -> DocumentFrequencies:
    from cidery.frequencies import SHIPPED, DocumentFrequencies, load_shipped

    if frequencies in SHIPPED:
        return load_shipped(frequencies, stemmer)
    return DocumentFrequencies.load(frequencies)


def _describe(found: DocumentFrequencies) -> dict[str, Any]:
    return {
        "name": found.name,
        "images": found.image_count,
        "n-grams": len(found),
        "order": found.order,
        "words": len(found.words),
        "tokenizer": found.tokenizer,
        "stemmer": found.stemmer,
        "min_count": found.min_count,
        "fingerprint": found.fingerprint,
        "source": found.source,
    }


def _report(counted: DocumentFrequencies, output: str) -> None:
    typer.echo(
        f"{output}: {len(counted):,} n-grams up to {counted.order} words, of "
        f"{counted.image_count:,g} images; fingerprint {counted.fingerprint}"
    )
