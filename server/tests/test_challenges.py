"""The evaluation server end to end, on SQLite and PostgreSQL, with real workers."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

import cidery
from cidery.corpus import bundled
from cidery.files import read_candidates, read_references
from server.tests.support.installations import Installation, Visitor, wait_for_morning, wait_until

METRICS = ["cider-d", "bleu-4", "rouge-l"]
CHALLENGE: dict[str, Any] = {
    "slug": "orchard",
    "title": "Orchard captions",
    "description": "Describe 72 images.\n\nMore at https://example.org <script>alert(1)</script>",
    "metrics": METRICS,
    "frequencies": "coco-val2014",
    "per_day": 1000,
    "in_all": 1000,
    "entry": "open",
    "probes_shown": 1000,
    "references": {"c5": "references.json", "c4": "fewer.json"},
}


@dataclass
class Orchard:
    """A challenge with two teams that have submitted."""

    app: Installation
    folder: Path
    owner: Visitor
    good: Visitor
    poor: Visitor

    def results(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def submit(
        self, team: Visitor, content: bytes, title: str = "try", to: str = "orchard"
    ) -> httpx.Response:
        return team.post(
            f"/api/challenges/{to}/submissions",
            data={"title": title},
            files={"file": ("results.json", content)},
        )

    def wait_for(self, number: int) -> dict[str, Any]:
        page: dict[str, Any] = {}

        def scored() -> bool:
            page.update(self.owner.get(f"/api/submissions/{number}").json())
            assert page["submission"]["state"] != "failed"
            return bool(page["submission"]["state"] == "scored")

        wait_until(scored, what=f"scoring submission {number}")
        return page

    def create(self, slug: str, **fields: Any) -> None:
        """Make another challenge, as a program does."""
        content = CHALLENGE | {"slug": slug, "references_name": "c5"} | fields
        content |= {"metrics": " ".join(METRICS), "leaderboard_open": True} | fields
        del content["references"]
        answer = self.owner.post(
            "/api/new-challenge",
            data=content,
            files={"references": ("references.json", self.results("references.json"))},
        )
        assert answer.status_code == 201, answer.text


@pytest.fixture(scope="module")
def orchard(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Orchard:
    folder = tmp_path_factory.mktemp("orchard")
    for name in bundled.NAMES:
        shutil.copy(bundled.path(name), folder)
    content = json.loads((folder / "references.json").read_text())
    content["annotations"] = [a for n, a in enumerate(content["annotations"]) if n % 5]
    (folder / "fewer.json").write_text(json.dumps(content))
    good, poor = installation.visitor(), installation.visitor()
    good.sign_up("Good <i>team</i> $")
    poor.sign_up("Poor team")
    made = Orchard(installation, folder, installation.owner(), good, poor)
    (folder / "orchard.json").write_text(json.dumps(CHALLENGE))
    made.app.run("challenge", "create", str(folder / "orchard.json"))
    numbers = [
        made.submit(team, made.results(file), title).json()["id"]
        for team, file, title in (
            (good, "system_a.json", "system A <b>"),
            (poor, "system_b.json", "system B"),
        )
    ]
    for number in numbers:
        made.wait_for(number)
    return made


def entries(orchard: Orchard, visitor: Visitor | None = None, query: str = "") -> list[Any]:
    page = (visitor or orchard.good).get(f"/api/challenges/orchard{query}").json()
    return list(page["leaderboard"]["entries"])


@pytest.mark.both_databases
def test_scores_are_those_of_cidery_score(orchard: Orchard) -> None:
    number = next(e["submission"] for e in entries(orchard) if e["team"] == "Poor team")
    shown = orchard.wait_for(number)["scores"]
    for name, file in (("c5", "references.json"), ("c4", "fewer.json")):
        table = cidery.score(
            dict(read_candidates(orchard.folder / "system_b.json")),
            read_references(orchard.folder / file),
            METRICS,
            frequencies="coco-val2014",
        )
        for metric in METRICS:
            (score,) = [s for s in shown if (s["reference_set"], s["metric"]) == (name, metric)]
            interval = table.interval(metric)
            assert score["value"] == table.corpus[metric]
            assert (score["low"], score["high"]) == (interval.low, interval.high)
            assert score["signature"] == table.signatures[metric]


@pytest.mark.both_databases
def test_the_leaderboard_marks_what_is_apart(orchard: Orchard) -> None:
    wait_until(lambda: "untested" not in str(entries(orchard)[1]["cells"]))
    first, second = entries(orchard)[:2]
    assert (first["rank"], first["team"]) == (1, "Good <i>team</i> $")
    assert {cell["mark"] for cell in first["cells"]} == {"best"}
    assert {cell["mark"] for cell in second["cells"]} == {"apart"}
    assert all(cell["p"] < 0.05 for cell in second["cells"])


def test_the_leaderboard_can_be_sorted(orchard: Orchard) -> None:
    backwards = entries(orchard, query="?sort=c4.rouge-l&order=asc")
    assert [entry["rank"] for entry in backwards] == [2, 1]
    answer = orchard.good.get("/api/challenges/orchard?sort=c4.unheard-of")
    assert answer.status_code == 400
    assert "unknown column 'c4.unheard-of'" in answer.json()["detail"]


def test_a_tie_is_marked(orchard: Orchard) -> None:
    """A third team hands in the best captions again, but for one."""
    orchard.create("ties")
    captions = json.loads(orchard.results("system_a.json"))
    captions[0]["caption"] = "a picture"
    copied = json.dumps(captions).encode()
    for team, content in ((orchard.good, orchard.results("system_a.json")), (orchard.poor, copied)):
        orchard.wait_for(orchard.submit(team, content, to="ties").json()["id"])

    def marks() -> list[str]:
        page = orchard.good.get("/api/challenges/ties").json()
        return [cell["mark"] for cell in page["leaderboard"]["entries"][1]["cells"]]

    wait_until(lambda: "untested" not in marks())
    assert set(marks()) <= {"tied", "best"}
    assert "≈" in orchard.good.get("/challenges/ties").text


def test_pages_show_markup_as_text(orchard: Orchard) -> None:
    for path in ("/challenges/orchard", "/submissions/1", "/challenges/orchard/compare"):
        page = orchard.owner.get(path).text
        assert "<script>alert" not in page
        assert "<i>team" not in page
        assert "<b>" not in page


def test_the_chart_is_a_picture(orchard: Orchard) -> None:
    orchard.create("deserted")
    assert orchard.good.get("/challenges/deserted/chart").status_code == 200
    assert "No submission has been scored yet." in orchard.good.get("/challenges/deserted").text
    answer = orchard.good.get("/challenges/orchard/chart")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "<i>" not in answer.text


def test_long_names_leave_room_in_the_chart(local_app: None) -> None:
    from cidery_server.challenges.pages.charts import MAX_NAME_LENGTH, shorten

    assert shorten("Apple pickers") == "Apple pickers"
    assert shorten("W" * 60) == "W" * (MAX_NAME_LENGTH - 1) + "…"


@pytest.mark.both_databases
def test_two_submissions_compared(orchard: Orchard) -> None:
    one, other = (entry["submission"] for entry in entries(orchard)[:2])

    def compare(first: int, second: int) -> dict[str, Any]:
        query = {"first": first, "second": second}
        content: dict[str, Any] = {}

        def ready() -> bool:
            answer = orchard.owner.get("/api/challenges/orchard/compare", params=query)
            assert answer.status_code == 200, answer.text
            content.update(answer.json())
            return bool(content["is_ready"])

        wait_until(ready)
        return {(c["reference_set"], c["metric"]): c for c in content["contrasts"]}

    there, back = compare(one, other), compare(other, one)
    expected = cidery.compare(
        {
            name: dict(read_candidates(orchard.folder / f"system_{name}.json"))
            for name in ("a", "b")
        },
        read_references(orchard.folder / "references.json"),
        ["rouge-l"],
    ).tests["rouge-l"]["a", "b"]
    found = there["c5", "rouge-l"]
    assert found["difference"] == pytest.approx(expected.difference)
    assert (found["low"], found["wins"]) == pytest.approx((expected.low, expected.wins))
    turned = back["c5", "rouge-l"]
    assert turned["difference"] == -found["difference"]
    assert (turned["low"], turned["high"]) == (-found["high"], -found["low"])
    page = orchard.good.get(f"/challenges/orchard/compare?first={one}&second={one}")
    assert page.status_code == 400


def test_messages_reach_the_team(orchard: Orchard) -> None:
    captions = json.loads(orchard.results("system_a.json"))
    answer = orchard.submit(orchard.good, json.dumps(captions[:-2]).encode())
    assert answer.status_code == 400
    missing = ", ".join(str(entry["image_id"]) for entry in captions[-2:])
    expected = f"2 of 72 images have no caption: {missing}."
    assert answer.json()["errors"] == {"file": [expected]}
    page = orchard.good.post(
        "/challenges/orchard/submissions",
        data={"title": "x"},
        files={"file": ("r.json", json.dumps(captions[:-2]).encode())},
    )
    assert page.status_code == 400
    assert expected in page.text
    answer = orchard.good.post("/api/challenges/orchard/submissions", json={"title": "x"})
    assert answer.json()["errors"] == {"file": ["No file was submitted."]}


@pytest.mark.both_databases
def test_limits_hold_when_many_come_at_once(orchard: Orchard) -> None:
    orchard.create("limited", per_day=3, in_all=4)
    team = orchard.app.visitor()
    team.sign_up("Eager")
    content = orchard.results("system_a.json")
    wait_for_morning()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: orchard.submit(team, content, to="limited"), range(8)))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [400] * 5
    (refused,) = {a.json()["errors"]["file"][0] for a in answers if a.status_code == 400}
    assert refused.startswith("Your team has used its 3 submissions of today; the next is possible")


@pytest.mark.both_databases
def test_dates(orchard: Orchard) -> None:
    orchard.create("tomorrow", opens="2999-01-01T00:00:00Z")
    answer = orchard.submit(orchard.good, b"[]", to="tomorrow")
    assert answer.json()["errors"]["file"] == ["The challenge opens on 1 January 2999, 00:00 UTC."]
    listed = orchard.good.get("/challenges").text
    assert "opens later" in listed and "1 January 2999, 00:00 UTC" in listed
    orchard.create("yesterday")
    assert orchard.app.run("challenge", "close", "yesterday") == "closed yesterday\n"
    answer = orchard.submit(orchard.good, b"[]", to="yesterday")
    assert answer.json()["errors"]["file"][0].startswith("The challenge closed on ")
    assert ">closed<" in orchard.good.get("/challenges/yesterday").text


def test_visibility(orchard: Orchard) -> None:
    for slug in ("unlisted", "hidden"):
        orchard.create(slug, visibility=slug)
    listed = [c["slug"] for c in orchard.good.get("/api/challenges").json()["challenges"]]
    assert "orchard" in listed
    assert not {"unlisted", "hidden"} & set(listed)
    assert orchard.good.get("/api/challenges/unlisted").status_code == 200
    for below in ("", "/images", "/submissions", "/compare", "/chart"):
        assert orchard.good.get(f"/api/challenges/hidden{below}").status_code == 404
    assert orchard.owner.get("/api/challenges/hidden").status_code == 200


def test_a_closed_leaderboard(orchard: Orchard) -> None:
    orchard.create("private", leaderboard_open=False)
    content = orchard.results("system_a.json")
    number = orchard.submit(orchard.good, content, to="private").json()["id"]
    orchard.wait_for(number)
    assert orchard.good.get("/api/challenges/private").json()["leaderboard"] is None
    assert orchard.good.get(f"/api/submissions/{number}").status_code == 200
    assert orchard.poor.get(f"/api/submissions/{number}").status_code == 404
    assert orchard.poor.get("/challenges/private/chart").status_code == 404
    assert orchard.poor.get("/api/challenges/private/compare").json()["choices"] == []
    assert orchard.owner.get("/api/challenges/private").json()["leaderboard"]["entries"]


def test_scores_of_single_images_are_opened_by_the_owner(orchard: Orchard) -> None:
    orchard.create("images")
    number = orchard.submit(orchard.good, orchard.results("system_a.json"), to="images").json()[
        "id"
    ]
    orchard.wait_for(number)
    path = f"/api/submissions/{number}/images"
    assert orchard.good.get(path).status_code == 403
    assert orchard.owner.get(path).status_code == 200
    orchard.app.run("challenge", "open-scores", "images")
    content = orchard.good.get(path).json()
    table = cidery.score(
        dict(read_candidates(orchard.folder / "system_a.json")),
        read_references(orchard.folder / "references.json"),
        ["rouge-l"],
    )
    column = content["columns"].index("c5.rouge-l")
    by_image = {row["image"]: row["values"][column] for row in content["images"]}
    assert by_image == pytest.approx(dict(zip(table.ids, table.each["rouge-l"], strict=True)))
    assert orchard.poor.get(path).status_code == 403
    assert orchard.app.visitor().get(path).status_code == 401
    assert orchard.good.get(f"{path}?page=2").status_code == 404


def test_the_owners_forms(orchard: Orchard) -> None:
    fields = {
        "slug": "from-a-form",
        "title": "From a form",
        "metrics": "rouge-l bleu",
        "per_day": "2",
        "in_all": "20",
        "visibility": "public",
        "frequencies": "references",
        "references_name": "c5",
        "more_references_name": "c4",
        "leaderboard_open": "true",
    }
    files = {
        "references": ("r.json", orchard.results("references.json")),
        "more_references": ("f.json.gz", gzip.compress(orchard.results("fewer.json"))),
    }
    assert orchard.good.get("/new-challenge").status_code == 403
    empty = orchard.owner.get("/new-challenge").text
    assert re.search(r'name="leaderboard_open"[^>]* checked', empty)  # as it is by default
    assert re.search(r'name="per_day"[^>]* value="5"', empty)
    refused = orchard.owner.post(
        "/new-challenge", data=fields | {"metrics": "clairvoyance"}, files=files
    )
    assert refused.status_code == 400
    assert "clairvoyance" in refused.text
    made = orchard.owner.post("/new-challenge", data=fields, files=files)
    assert made.headers["location"] == "/challenges/from-a-form"
    shown = orchard.good.get("/api/challenges/from-a-form").json()["challenge"]
    assert shown["metrics"] == ["rouge-l", "bleu-1", "bleu-2", "bleu-3", "bleu-4"]
    assert shown["reference_sets"] == ["c5", "c4"]
    again = orchard.owner.post("/api/new-challenge", data=fields, files=files)
    assert again.status_code == 400
    changed = orchard.owner.post(
        "/api/challenges/from-a-form/settings", json={"title": "Renamed", "per_day": 7}
    )
    assert (changed.json()["title"], changed.json()["per_day"]) == ("Renamed", 7)
    path = "/api/challenges/from-a-form/settings"
    assert orchard.owner.post(path, json={"opens": "2030-01-01T00:00Z"}).status_code == 200
    refused = orchard.owner.post(path, json={"closes": "2029-01-01T00:00Z"})
    assert refused.json()["errors"] == {
        "closes": ["The closing time must be after the opening time."]
    }
    form = orchard.owner.get("/challenges/from-a-form/settings").text
    assert 'value="Renamed"' in form


def test_the_command_line(orchard: Orchard) -> None:
    token = orchard.poor.make_token()
    where = ("--url", orchard.app.url, "--token", token)
    file = orchard.folder / "system_b.json"
    printed = orchard.app.run("submit", "orchard", str(file), *where, "--title", "by hand")
    assert "c5          cider-d   0.28" in printed
    assert "0.2838" not in printed  # 72 images make two decimals significant
    packed = orchard.folder / "packed.json.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    page = json.loads(orchard.app.run("submit", "orchard", str(packed), *where, "--format", "json"))
    assert page["submission"]["title"] == "packed.json.gz"
    address = orchard.app.run("submit", "orchard", str(file), *where, "--no-wait").strip()
    assert address.startswith(f"{orchard.app.url}/submissions/")
    first, other = page["submission"]["id"], str(file)
    again = orchard.app.run(
        *("submit", "orchard", other, *where, "--run-of", str(first), "--private"),
        *("--format", "json"),
    )
    assert json.loads(again)["submission"]["run_of"] == first
    message = orchard.app.run("submit", "orchard", other, *where, "--run-of", "999999", status=2)
    assert message == "error: Your team has no submission 999999 to this challenge.\n"
    wrong = orchard.folder / "fewer.json"
    message = orchard.app.run("submit", "orchard", str(wrong), *where, status=2)
    assert "error: results.json" in message
    message = orchard.app.run("submit", "nowhere", str(file), *where, status=2)
    assert message == "error: There is no such challenge.\n"
    message = orchard.app.run("submit", "orchard", str(file), *where[:3], "cidery_wrong", status=2)
    assert message == "error: Invalid token.\n"
    large = orchard.folder / "large.json"
    with large.open("wb") as sparse:
        sparse.truncate(51 * 2**20)
    message = orchard.app.run("submit", "orchard", str(large), *where, status=2)
    assert message == f"error: {large}: larger than 50 MB; compress it as .gz or .zip\n"
    listed = orchard.app.run("challenge", "list")
    assert "orchard" in listed
    board = list(
        csv.DictReader(
            io.StringIO(orchard.app.run("challenge", "export", "orchard", "--format", "csv"))
        )
    )
    assert [row["team"] for row in board] == ["Good <i>team</i> $", "Poor team"]
    assert float(board[1]["c5.cider-d"]) == pytest.approx(0.2838, abs=1e-4)
    assert "unknown challenge 'pear'" in orchard.app.run("challenge", "close", "pear", status=2)


def test_a_challenge_from_toml(orchard: Orchard) -> None:
    path = orchard.folder / "toml.toml"
    path.write_text(
        'slug = "toml"\ntitle = "TOML"\nmetrics = ["rouge-l"]\ncloses = "2999-01-01T00:00Z"\n'
        '[references]\nc5 = "references.json"\n'
    )
    assert orchard.app.run("challenge", "create", str(path)) == "created toml: 72 images\n"


@pytest.mark.both_databases
def test_scoring_again(orchard: Orchard) -> None:
    orchard.create("again")
    content = orchard.results("system_a.json")
    number = orchard.submit(orchard.good, content, to="again").json()["id"]
    before = orchard.wait_for(number)
    assert orchard.app.run("challenge", "rescore", "again") == "queued 1 submissions\n"
    after = orchard.wait_for(number)
    assert after["scores"] == before["scores"]
    assert after["submission"]["scored"] > before["submission"]["scored"]


def test_hidden_references_stay_hidden(orchard: Orchard) -> None:
    """No sentence of them is on any page, in its JSON, in the log or in a message."""
    hidden = {
        caption
        for captions in read_references(orchard.folder / "references.json").values()
        for caption in captions
    } - {caption for _, caption in read_candidates(orchard.folder / "system_a.json")}
    seen = [orchard.app.log.read_text()]
    for visitor in (orchard.app.visitor(), orchard.good, orchard.owner):
        for path in (
            *("/challenges", "/challenges/orchard", "/challenges/orchard/images"),
            *("/challenges/orchard/submissions", "/challenges/orchard/settings"),
            *("/challenges/orchard/compare?first=1&second=2", "/challenges/orchard/chart"),
            *("/submissions/1", "/submissions/1/images", "/openapi.json"),
        ):
            seen += [visitor.get(path).text, visitor.get(f"/api{path}").text]
    seen.append(orchard.submit(orchard.good, b'[{"image_id": 1, "caption": 5}]').text)
    assert not [caption for caption in hidden if any(caption in text for text in seen)]


def test_the_owner_is_told_of_captions_that_cannot_be_cut(orchard: Orchard) -> None:
    references = {str(image): ["一个男人正在攀登雪山"] for image in range(3)}
    made = orchard.owner.post(
        "/new-challenge",
        data={"slug": "chinese", "title": "Chinese", "metrics": "rouge-l", "references_name": "c1"},
        files={"references": ("references.json", json.dumps(references).encode())},
    )
    shown = orchard.owner.get(made.headers["location"]).text
    assert "c1: Chinese has no spaces between words" in shown


def test_slices_on_the_web(orchard: Orchard) -> None:
    """A form takes slices as a file or a field; the leaderboard has a choice of them."""
    images = list(read_references(orchard.folder / "references.json"))
    table = "image_id,domain\n" + "".join(f"{i},{'<in>' if i % 2 else 'out'}\n" for i in images)

    def create(slug: str, **slices: Any) -> httpx.Response:
        fields = {"slug": slug, "title": slug, "metrics": "rouge-l", "leaderboard_open": True}
        fields |= {"entry": "open", "exact_scores": True}
        text = {name: value for name, value in slices.items() if isinstance(value, str)}
        files = {name: value for name, value in slices.items() if name not in text}
        files["references"] = ("references.json", orchard.results("references.json"))
        return orchard.owner.post("/api/new-challenge", data=fields | text, files=files)

    answer = create("sliced", slices_file=("domains.csv", (table + "99,out\n").encode()))
    assert answer.status_code == 201, answer.text
    assert answer.json()["slices"] == {"<in>": 36, "out": 36}
    # A text names a field of the uploaded file and never a file of the server.
    for text in ("no-such-field", "/etc/passwd", "/etc/passwd:root"):
        refused = create("refused", slices=text)
        assert refused.status_code == 400
        assert f"there is no column '{text}': references.json has " in refused.text
    assert create("by-length", slices="length:11,12").json()["slices_by"] == "length"
    number = orchard.submit(orchard.good, orchard.results("system_a.json"), to="sliced").json()[
        "id"
    ]
    shown = orchard.wait_for(number)
    assert [s["slice"] for s in shown["slice_scores"]] == ["<in>", "out"]
    board = orchard.good.get("/api/challenges/sliced", params={"slice": "out"}).json()[
        "leaderboard"
    ]
    (cell,) = board["entries"][0]["cells"]
    assert (board["slice"], cell["value"]) == ("out", shown["slice_scores"][1]["value"])
    page = orchard.good.get("/challenges/sliced", params={"slice": "<in>"}).text
    assert "<option selected>&lt;in&gt;</option>" in page
    assert "chart?slice=%3Cin%3E" in page
    assert ", &lt;in&gt;, interval" in orchard.good.get("/challenges/sliced/chart?slice=<in>").text
    assert orchard.good.get("/challenges/sliced?slice=other").status_code == 400
    assert orchard.good.get("/challenges/sliced/chart?slice=other").status_code == 404
    assert "Scores by slice" in orchard.good.get(f"/submissions/{number}").text
