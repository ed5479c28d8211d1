"""PASCAL-50S and ABSTRACT-50S from the authors' MATLAB files.

`consensus_….mat` has a struct array `triplets`: a reference, two captions, and 1 if the
first caption is more similar to the reference. `pair_pascal.mat` has image and captions in
`new_input`, a struct array too or an array of cells, and names kind and systems.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cidery.errors import FormatError, MissingExtraError
from cidery.meta.judgments import JudgedCaptions, Pairs

TRIPLETS = 48
"""Number of triplets per pair."""
KINDS = {1: "HC", 2: "HI", 3: "HM", 4: "MM"}

Triplet: TypeAlias = tuple[str, str, str, int]
"""Reference, first caption, second caption, +1 or -1."""


def read_matlab_pascal(pairs_file: Path, consensus_file: Path) -> Pairs:
    """Read pairs of PASCAL-50S with their 48 references and the votes for each."""
    content = _load(pairs_file)
    rows = _as_list(_get(content, "new_input", pairs_file))
    kinds = np.asarray(_get(content, "category", pairs_file)).reshape(-1)
    systems = np.asarray(_get(content, "new_data", pairs_file)).reshape(-1, 2)
    named = [_read_names(row, number, pairs_file) for number, row in enumerate(rows, start=1)]
    if not len(named) == len(kinds) == len(systems):
        raise FormatError(f"{pairs_file}: new_input, category and new_data differ in length")
    pairs = _build("pascal-50s", _read_triplets(consensus_file), consensus_file)
    if len(pairs) != len(named):
        raise FormatError(
            f"{consensus_file} has {len(pairs)} pairs, {pairs_file.name} has {len(named)}"
        )
    captions = pairs.judged.captions
    for number, (_, first, second) in enumerate(named):
        if (captions[number], captions[number + len(named)]) != (first, second):
            raise FormatError(
                f"{consensus_file}, pair {number + 1}: its captions are not those of "
                f"{pairs_file.name}"
            )
    names, images = np.unique([row[0] for row in named], return_inverse=True)
    judged = JudgedCaptions(
        captions, pairs.judged.documents, pairs.judged.references, images, names.tolist()
    )
    return Pairs(
        pairs.name,
        judged,
        pairs.first,
        pairs.second,
        pairs.votes,
        kinds=[KINDS.get(int(kind), str(int(kind))) for kind in kinds],
        systems=[(f"{first:g}", f"{second:g}") for first, second in systems.tolist()],
        triplets=pairs.triplets,
    )


def read_matlab_abstract(consensus_file: Path) -> Pairs:
    """Read pairs of ABSTRACT-50S from their triplets."""
    return _build("abstract-50s", _read_triplets(consensus_file), consensus_file)


def _build(name: str, triplets: list[Triplet], file: Path) -> Pairs:
    count, rest = divmod(len(triplets), TRIPLETS)
    if rest or not count:
        raise FormatError(f"{file}: expected {TRIPLETS} triplets for each pair")
    groups = [triplets[i * TRIPLETS : (i + 1) * TRIPLETS] for i in range(count)]
    for number, group in enumerate(groups, start=1):
        # The captions of a pair may have changed places from triplet to triplet.
        if len({frozenset(triplet[1:3]) for triplet in group}) != 1:
            raise FormatError(f"{file}, pair {number}: its triplets have different captions")
    signs = [[v if b == group[0][1] else -v for _, b, _, v in group] for group in groups]
    table = np.asarray(signs, np.int8)
    references = [[triplet[0] for triplet in group] for group in groups]
    texts = ["\n".join(sorted(group)) for group in references]
    images = np.unique(texts, return_inverse=True)[1].astype(np.int64)
    judged = JudgedCaptions(
        [group[0][1] for group in groups] + [group[0][2] for group in groups],
        np.tile(np.arange(count), 2),
        references,
        images,
    )
    return Pairs(
        name,
        judged,
        np.arange(count),
        np.arange(count, 2 * count),
        {"triplets": table.sum(axis=1, dtype=np.int64)},
        triplets=table,
    )


def _read_names(row: Any, number: int, file: Path) -> list[str]:
    """Return the image and the two captions of a pair."""
    cells = _get_cells(row)
    if len(cells) < 3:
        raise FormatError(f"{file}, pair {number}: expected three fields, found {len(cells)}")
    return [_get_text(cell, file) for cell in cells[:3]]


def _read_triplets(file: Path) -> list[Triplet]:
    return list(_list_triplets(_get(_load(file), "triplets", file), file))


def _list_triplets(structs: Any, file: Path) -> Iterator[Triplet]:
    for number, struct in enumerate(_as_list(structs), start=1):
        cells = _get_cells(struct)
        if len(cells) < 4:
            raise FormatError(f"{file}, triplet {number}: expected four fields, found {len(cells)}")
        reference, first, second = (_get_text(cell, file) for cell in cells[:3])
        yield reference, first, second, 1 if _get_number(cells[3], file) == 1 else -1


def _load(file: Path) -> dict[str, Any]:
    try:
        from scipy.io import loadmat
    except ImportError:
        raise MissingExtraError.to("read .mat files", package="SciPy", extra="meta") from None
    try:
        return dict(loadmat(str(file), simplify_cells=True))  # it runs nothing of what it reads
    except OSError:
        raise
    except Exception as error:  # damaged files raise nearly anything
        raise FormatError(f"{file}: not a MATLAB file that can be read ({error})") from None


def _get(content: dict[str, Any], name: str, file: Path) -> Any:
    if name not in content:
        known = ", ".join(key for key in content if not key.startswith("__"))
        raise FormatError(f"{file}: there is no variable {name!r}; it has: {known or 'none'}")
    return content[name]


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return list(value.reshape(-1))
    return list(value) if isinstance(value, list | tuple) else [value]


def _get_cells(row: Any) -> list[Any]:
    """Return the fields of a struct in their order, or the cells of a row."""
    return list(row.values()) if isinstance(row, dict) else _as_list(row)


def _unwrap(value: Any) -> Any:
    """Return the content of nested cells."""
    while isinstance(value, np.ndarray | list) and len(_as_list(value)) == 1:
        value = _as_list(value)[0]
    return value


def _get_text(value: Any, file: Path) -> str:
    found = _unwrap(value)
    if not isinstance(found, str):
        raise FormatError(f"{file}: expected text, found {found!r}")
    return found.strip()


def _get_number(value: Any, file: Path) -> float:
    found = _unwrap(value)
    if not isinstance(found, int | float | np.integer | np.floating):
        raise FormatError(f"{file}: expected a number, found {found!r}")
    return float(found)
