"""`cidery audit`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import (
    show_advice,
    show_json,
    show_notes,
    show_pairs,
    show_table,
    show_title,
    show_tree,
)
from cidery.tables import Column, Table

if TYPE_CHECKING:
    from cidery.auditing import Audit, FileAudit

app = parsing.new_app()

_CLAIM = re.compile(r"[\w@-]+=\S*")
_SHOWN = 5


@app.command(
    epilog=parsing.examples(
        "cidery audit results.json references.json",
        "cidery audit results.json references.json --claimed cider=0.993 bleu-4=0.31",
        "cidery audit results.json references.json --claimed CIDEr=99.3 --format json",
        "cidery audit results.json references.json --apply no-tokenizer -m cider -m bleu-4",
        "cidery audit --list-causes",
    )
)
@options.with_options(without=("missing", "by", "slices", "strict", "clean"))
def audit(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="File of the captions, file of references, and further claims metric=number.",
            metavar="RESULTS REFERENCES",
            show_default=False,
        ),
    ] = None,
    *,
    inputs: options.InputOptions,
    claimed: Annotated[
        list[str] | None,
        typer.Option(
            help="Claimed score, such as cider=0.993; more may follow it. A score fits within "
            "its printed precision; one above the metric's range is read as multiplied by 100. "
            "cider is coco-caption's CIDEr, that is cider-d.",
            metavar="METRIC=NUMBER",
            show_default=False,
        ),
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option(
            help="Print the scores of the pipeline that has these causes, separated by commas; "
            "none: the unmodified pipeline.",
            metavar="CAUSE[,CAUSE]",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="With --apply: metric to compute; may be repeated. Default: cider, bleu-4 and "
            "rouge-l.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    list_causes: Annotated[
        bool, typer.Option("--list-causes", help="List all causes and exit.")
    ] = False,
    frequencies: Annotated[
        list[str] | None,
        typer.Option(
            help="Further document frequencies that CIDEr's weights may have been counted on: a "
            "file made by `cidery frequencies`; may be repeated.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        bool | None,
        typer.Option(
            "--pairs/--no-pairs",
            help="Always or never try pairs of causes. Default: if no single cause fits.",
            show_default=False,
        ),
    ] = None,
    format: options.TableOrJson = "table",
    resamples: options.Resamples = options.RESAMPLES,
    seed: options.Seed = 0,
    threads: options.Threads = 0,
) -> None:
    """Explain a claimed score, or find problems in files.

    With --claimed, search for the pipeline that reproduces the score; else, check the files.
    """
    import cidery
    from cidery.auditing import apply_causes

    if list_causes:
        _list_causes(format)
        return
    named, claims = _sort_arguments(files or [], claimed or [])
    results, references = named
    if metric and (apply is None or claims):
        raise typer.BadParameter(
            "only valid with --apply and without --claimed", param_hint="--metric"
        )
    with progress(4 if claims else 3, *named) as step:
        read = inputs.read(step, references, {results: results})
        candidates, known = read.captions[results], read.references
        step("auditing")
        if apply is not None:
            causes = [] if apply == "none" else [id.strip() for id in apply.split(",")]
            chosen = {"metrics": metric} if metric else {}
            scores = apply_causes(
                candidates, known, causes, claims or None, frequencies=frequencies or (), **chosen
            )
        elif claims:
            found = cidery.audit(
                candidates,
                known,
                claims,
                pairs=pairs,
                threads=threads,
                resamples=resamples,
                seed=seed,
                candidates_name=results,
                references_name=references,
                options=inputs.list_field_options(),
                frequencies=frequencies or (),
            )
        else:
            audited = cidery.audit_files(
                candidates, known, candidates_name=results, references_name=references
            )
    if apply is not None:
        _show_scores(apply, scores, format)
    elif claims:
        show_json(found.to_dict()) if format == "json" else _show_audit(found, results, references)
    elif format == "json":
        show_json(audited.to_dict())
    else:
        _show_findings(audited, results, references)


def _sort_arguments(files: list[str], claimed: list[str]) -> tuple[tuple[str, str], list[str]]:
    """Separate files from claims that follow the first one without their option."""
    claims = [word for given in claimed for word in re.split(r"[,\s]+", given) if word]
    names: list[str] = []
    for word in files:
        is_claim = _CLAIM.fullmatch(word) is not None and not Path(word).exists()
        (claims if is_claim else names).append(word)
    if len(names) != 2:
        found = f"found {len(names)}: {', '.join(names)}" if names else "found none"
        raise typer.BadParameter(
            f"two files are needed, of captions and of references; {found}",
            param_hint="RESULTS REFERENCES",
        )
    return (names[0], names[1]), claims


def _list_causes(format: str) -> None:
    from cidery.auditing import list_causes

    causes = list_causes()
    if format == "json":
        show_json([{"id": c.id, "family": c.family, "sentence": c.sentence} for c in causes])
        return
    families: dict[str, list[str]] = {}
    for cause in causes:
        families.setdefault(cause.family, []).append(f"{cause.id}: {cause.sentence}")
    show_tree(families.items())


def _show_scores(causes: str, scores: dict[str, float], format: str) -> None:
    if format == "json":
        ids = [] if causes == "none" else causes.split(",")
        show_json({"causes": ids, "scores": scores})
        return
    columns = [Column("metric"), Column("score", ".4f")]
    show_table(Table.of(columns, list(scores.items()), title=f"pipeline: {causes}"))


def _show_audit(found: Audit, results: str, references: str) -> None:
    show_title(f"{results} against {references}")
    show_table(found.table())
    if found.verdict != "confirmed":
        typer.echo()
    explained_by = found.explanations if found.verdict != "confirmed" else ()
    for number, account in enumerate(explained_by[:_SHOWN], 1):
        leaves = [f"{cause.id}: {cause.sentence}" for cause in account.causes]
        leaves.append(f"$ {account.command}")
        if not account.is_convincing:
            leaves.append(f"expected by chance: {account.chance:.2g} pipelines as likely as this")
        if account.alternatives:
            same = "; ".join(" and ".join(ids) for ids in account.alternatives)
            leaves.append(f"identical scores: {same}")
        show_tree([(f"explanation {number}", leaves)])
    if len(found.explanations) > _SHOWN:
        typer.echo(f"and {len(found.explanations) - _SHOWN} more (--format json)")
    if not found.explanations:
        show_tree(
            (f"near {number}", _describe_near(near.causes, near.scores))
            for number, near in enumerate(found.nearest, 1)
        )
    show_notes(*_list_notes(found))
    if not found.explanations:
        show_advice(
            [
                "check that these captions and references were scored: cidery audit without "
                "--claimed checks the files",
                "claim one number at a time: each may have its own cause",
                "compare signatures, or ask for the evaluation code",
            ]
        )


def _describe_near(causes: tuple[object, ...], scores: object) -> list[str]:
    ids = " and ".join(getattr(cause, "id", "") for cause in causes) or "the standard pipeline"
    numbers = ", ".join(f"{name}={value:.4f}" for name, value in dict(scores).items())  # type: ignore[call-overload]
    return [f"{ids}: {numbers}"]


def _list_notes(found: Audit) -> list[str]:
    verb = "reproduces" if found.fitting == 1 else "reproduce"
    what = f"{found.tried:,} pipelines scored, {found.fitting} {verb} these numbers"
    if found.pairs_tried:
        what += f"; {found.ruled_out:,} pairs of causes ruled out by an estimate"
    else:
        what += "; pairs of causes not tried (use --pairs)"
    others = []
    if found.also_fit:
        ids = ", ".join(" and ".join(c.id for c in a.causes) for a in found.also_fit[:_SHOWN])
        others.append(f"same rounded numbers by coincidence: {ids}")
    return [what, *others, *found.notes, f"standard: $ {found.standard_command}"]


def _show_findings(audited: FileAudit, results: str, references: str) -> None:
    show_title(f"{results} against {references}")
    show_pairs(
        {
            "images": f"{audited.images:,}",
            "captions": f"{audited.captions:,}",
            "references": f"{audited.references:,}",
            "CIDEr-D": f"{audited.score:.4f}",
        }
    )
    if not audited.findings:
        typer.echo("No problems found.")
        return
    for finding in audited.findings:
        leaves = [finding.title, *(f"  {example}" for example in finding.examples)]
        if finding.cost is not None:
            after = audited.score + finding.cost
            leaves.append(f"CIDEr-D {audited.score:.4f} → {after:.4f} ({finding.cost:+.4f})")
        show_tree([(finding.id, [*leaves, finding.advice])])
