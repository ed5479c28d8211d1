"""`cidery frequencies`: build, import, show, list, merge."""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import goes_on, show_json, show_notes, show_pairs, show_table, show_title
from cidery.tables import Column, Table

if TYPE_CHECKING:
    from cidery.frequencies import DocumentFrequencies

app = parsing.new_app(no_args_is_help=True)

Set = Annotated[
    str,
    typer.Argument(
        help="A shipped set, such as coco-val2014, or a file that `cidery frequencies` made.",
        metavar="SET",
        show_default=False,
        autocompletion=parsing.complete_shipped,
    ),
]


@app.callback()
def _top() -> None:
    """Make and show document frequencies, from which the CIDEr metrics take their weights.

    Document frequencies say in how many images each n-gram occurs.
    """


@app.command(
    epilog=parsing.examples(
        "cidery frequencies build references.json -o mine.df",
        "cidery frequencies build dataset_coco.json --split train+restval -o karpathy.df",
        "cidery frequencies build references.json --stemmer english -o mine.english.df",
        "cidery frequencies build 'references/*.parquet' --stream --min-count 2 -o web.df",
    )
)
def build(
    references: parsing.References,
    output: parsing.Output,
    tokenizer: parsing.LanguageTokenizer = None,
    language: parsing.Language = None,
    stemmer: parsing.Stemmer = None,
    n: Annotated[
        int, typer.Option("-n", help="Count n-grams of up to this many words.", metavar="COUNT")
    ] = 4,
    min_count: Annotated[
        int,
        typer.Option(
            help="Leave out n-grams that occur in fewer images than this; 2 makes the file small "
            "and changes no score.",
            metavar="COUNT",
        ),
    ] = 1,
    name: Annotated[
        str | None,
        typer.Option(
            help="What signatures call the set; default: the file's name.",
            metavar="TEXT",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            help="Where the captions come from, and their license; kept in the file.",
            metavar="TEXT",
            show_default=False,
        ),
    ] = "",
    split: parsing.Split = None,
    reference_field: parsing.ReferenceField = None,
    id_field: parsing.IdField = None,
    stream: parsing.Stream = None,
    engine: parsing.Engine = "local",
    address: parsing.Address = None,
    work: parsing.Work = None,
    threads: parsing.Threads = 0,
) -> None:
    """Count in how many images of a file each n-gram occurs."""
    from cidery.files import read_references
    from cidery.files.chunks import must_stream
    from cidery.frequencies import DocumentFrequencies

    parsing.check_output(output, references)
    if stream or (stream is None and (engine != "local" or must_stream(references))):
        from cidery.engines import count_frequencies

        if split is not None:
            problem = "a stream cannot do this; leave it out"
            raise typer.BadParameter(problem, param_hint="--split")
        with goes_on(), progress(3, references) as step:
            step("reading references")
            counted = count_frequencies(
                references,
                tokenizer=tokenizer,
                language=language,
                stemmer=stemmer,
                n=n,
                min_count=min_count,
                name=name or Path(output).stem,
                source=source,
                caption_field=reference_field,
                id_field=id_field,
                engine=parsing.make_engine(engine, address, threads),
                work=work,
            )
            counted.save(output)
        _report(counted, output)
        return
    with progress(3, references) as step:
        step("reading references")
        known = read_references(
            references, split=split, caption_field=reference_field, id_field=id_field
        )
        step("counting n-grams")
        counted = DocumentFrequencies.from_references(
            known,
            tokenizer=tokenizer,
            language=language,
            stemmer=stemmer,
            n=n,
            min_count=min_count,
            name=name or Path(output).stem,
            source=source,
        )
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
            help="A pickle of n-gram counts; none of the code it may hold is run.",
            metavar="PICKLE",
            show_default=False,
        ),
    ],
    output: parsing.Output,
    images: Annotated[
        int | None,
        typer.Option(
            help="Number of images, where the pickle does not say.",
            metavar="COUNT",
            show_default=False,
        ),
    ] = None,
    tokenizer: Annotated[
        str,
        typer.Option(help="Which tokenizer cut the words, if you know it.", metavar="NAME"),
    ] = "unknown",
) -> None:
    """Import the pickles that captioning code uses."""
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
            help="N-grams to look up, each with blanks between its words.",
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
    format: parsing.TableOrJson = "table",
) -> None:
    """Show what a set holds, or look n-grams up in it."""
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
def list_shipped(format: parsing.TableOrJson = "table") -> None:
    """List the sets that come with cidery."""
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
    output: parsing.Output,
) -> None:
    """Add up the counts of sets of different images."""
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
