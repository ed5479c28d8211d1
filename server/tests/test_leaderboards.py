"""Leaderboards with many columns: groups, slices side by side, CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest

from server.tests.support.challenges import Host, captions, references

IMAGES = range(48)
DOMAINS = {n: ("in", "near", "=out")[n % 3] for n in IMAGES}


@pytest.fixture(scope="module")
def host(local_app: None) -> Iterator[Host]:
    from cidery_server.challenges.definition import NamedSlices

    made = Host()
    sets = {"c2": references(IMAGES), "c3": references(IMAGES, "runs")}
    for slug, rules in (("wide", {}), ("sealed", {"scores_hidden": True})):
        made.challenge(slug, sets, NamedSlices("domain", DOMAINS), **rules)
        made.approve(slug, "Wide", "=SUM(A1)")
        made.submit("Wide", slug, captions(IMAGES, "walks over"), title="=1+1")
        made.submit("=SUM(A1)", slug, captions(IMAGES, "quite long it seems"))
    yield made
    made.close()


def read(host: Host, name: str, slug: str = "wide") -> list[dict[str, str]]:
    answer = host.person(name).get(f"/challenges/{slug}/leaderboard.csv")
    assert answer.headers["content-disposition"] == f'attachment; filename="{slug}.csv"'
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_columns_are_grouped_by_their_references(host: Host) -> None:
    board = host.stranger().get("/api/challenges/wide").json()["leaderboard"]
    assert board["groups"] == [{"title": "c2", "count": 2}, {"title": "c3", "count": 2}]
    assert [c["title"] for c in board["columns"]] == ["rouge-l", "bleu-1"] * 2
    page = host.stranger().get("/challenges/wide").content.decode()
    assert page.count('<th scope="colgroup" class="group" colspan="2">') == 2


def test_slices_side_by_side(host: Host) -> None:
    query = {"by_slice": "bleu-1", "sort": "c3.bleu-1.near"}
    page = host.stranger().get("/api/challenges/wide", **query).json()
    board = page["leaderboard"]
    slices = ["", "=out", "in", "near"]
    assert sorted(c["slice"] for c in board["columns"][:4]) == slices
    assert board["groups"][1] == {"title": "c3 bleu-1", "count": 4}
    for entry in board["entries"]:
        shown = host.owner.get(f"/api/submissions/{entry['submission']}").json()
        expected = {
            (s["reference_set"], s.get("slice", "")): s["value"]
            for s in shown["scores"] + shown["slice_scores"]
            if s["metric"] == "bleu-1"
        }
        for column, cell in zip(board["columns"], entry["cells"], strict=True):
            value = expected[column["reference_set"], column["slice"]]
            assert cell["value"] == round(value, column["decimals"])
    by = [c["key"] for c in board["columns"]].index("c3.bleu-1.near")
    values = [entry["cells"][by]["value"] for entry in board["entries"]]
    assert values == sorted(values, reverse=True)
    html = host.stranger().get("/challenges/wide", **query).content.decode()
    assert "by_slice=bleu-1&amp;order=asc" in html
    wrong = host.stranger().get("/api/challenges/wide", by_slice="spice")
    assert (wrong.status_code, wrong.json()["detail"]) == (400, "unknown metric 'spice'")


def test_the_file_has_every_column(host: Host) -> None:
    first, second = read(host, "Wide")
    assert (first["team"], first["title"], second["team"]) == ("Wide", "'=1+1", "'=SUM(A1)")
    scores = [name for name in first if re.fullmatch(r"c\d\.[-\w]+(\.(in|near|=out))?", name)]
    assert len(scores) == 2 * 2 * 4
    assert first["c2.rouge-l.near.mark"] == "best"


def test_the_file_tells_no_more_than_the_page(host: Host) -> None:
    """Digits, hidden scores and closed leaderboards hold for it, and for columns of slices."""

    def decimals(name: str) -> int:
        cells = [v for row in read(host, name) for k, v in row.items() if k.startswith("c2.")]
        return max(len(cell.partition(".")[2]) for cell in cells)

    assert decimals("Wide") <= 2 < decimals("the host")
    slices: Any = [
        cell
        for entry in host.person("Wide")
        .get("/api/challenges/wide", by_slice="rouge-l")
        .json()["leaderboard"]["entries"]
        for cell in entry["cells"]
    ]
    assert all(round(cell["value"], cell["decimals"]) == cell["value"] for cell in slices)
    assert {cell["decimals"] for cell in slices} == {1, 2}  # 16 images of a slice, 48 in all
    for path in ("leaderboard.csv", "chart"):
        assert host.person("Wide").get(f"/challenges/sealed/{path}").status_code == 404
    for path in ("", "/leaderboard.csv"):
        shown = host.person("Wide").get(f"/api/challenges/sealed{path}", by_slice="rouge-l")
        assert shown.json()["leaderboard"] is None
    assert read(host, "the host", "sealed")
