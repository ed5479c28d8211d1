"""Client of a challenge: submit a file and wait for its scores.

It works without the packages of cidery-server.
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from cidery.errors import InputError
from cidery.runtime import ProgressCallback, ignore_progress

MEGABYTE = 1024 * 1024
LARGEST_UPLOAD = 50 * MEGABYTE
"""Maximum size of a submitted file, before it is unpacked."""
TIMEOUT_SECONDS = 60
POLL_SECONDS = 1.0


class ReportedFile(io.FileIO):
    """File that reports the share of it that has been read."""

    def __init__(self, path: Path, report: ProgressCallback) -> None:
        super().__init__(path)
        self._report, self._size = report, path.stat().st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """Read some bytes."""
        content = super().read(-1 if size is None else size) or b""
        if content:
            self._report("sending", self.tell() / self._size)
        return content


@dataclass(frozen=True)
class Client:
    """A server's address and an account's token.

    ```python
    client = Client("https://captions.example.org", token)
    page = client.wait(client.submit("captions-2026", Path("results.json"), "first try"))
    {score["metric"]: score["value"] for score in page["scores"]}
    ```
    """

    url: str
    token: str

    def submit(
        self,
        challenge: str,
        path: Path,
        title: str,
        report: ProgressCallback = ignore_progress,
        *,
        private: bool = False,
        run_of: int | None = None,
    ) -> int:
        """Send a file of results, plain or compressed, and return the submission's number.

        Args:
            challenge: short name of the challenge or phase.
            path: file of results.
            title: title of the submission.
            report: progress callback.
            private: do not show it on the leaderboard.
            run_of: number of your team's submission of which this is another run, such as a
                training with another seed; the leaderboard shows the mean of the runs.
        """
        if path.stat().st_size > LARGEST_UPLOAD:
            most = LARGEST_UPLOAD // MEGABYTE
            raise InputError(f"{path}: larger than {most} MB; compress it as .gz or .zip")
        fields = {"title": title, **({"private": "true"} if private else {})}
        if run_of is not None:
            fields["run_of"] = str(run_of)
        with ReportedFile(path, report) as file:
            answer = self._request(
                "POST",
                f"challenges/{quote(challenge, safe='')}/submissions",
                data=fields,
                files={"file": (path.name, file, "application/octet-stream")},
            )
        return int(answer["id"])

    def wait(self, submission: int, report: ProgressCallback = ignore_progress) -> dict[str, Any]:
        """Return the submission's page once it is scored."""
        while True:
            page = self._request("GET", f"submissions/{submission}")
            found = page["submission"]
            if found["state"] == "failed":
                raise InputError(
                    f"submission {submission} could not be scored; it does not count, and the "
                    "organizers can have it scored again"
                )
            if found["state"] == "scored":
                return page
            report(found["state"], found["steps_done"] / max(found["steps"], 1))
            time.sleep(POLL_SECONDS)

    def find_quota(self, challenge: str) -> dict[str, Any] | None:
        """Return the numbers of submissions: left_today, per_day, left, in_all."""
        page = self._request("GET", f"challenges/{quote(challenge, safe='')}")
        quota: dict[str, Any] | None = page.get("quota")
        return quota

    def _request(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        if not self.url.startswith(("http://", "https://")):
            raise InputError(
                f"the server's address must begin with http:// or https://: {self.url}"
            )
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        url = f"{self.url.rstrip('/')}/api/{path}"
        try:
            answer = httpx.request(method, url, headers=headers, timeout=TIMEOUT_SECONDS, **content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise InputError(
                f"no answer from {self.url}: {error}; check the address and the connection"
            ) from None
        except UnicodeEncodeError:
            raise InputError("the token has characters other than ASCII; copy it again") from None
        if answer.has_redirect_location:
            target = answer.headers["Location"]
            raise InputError(f"{self.url} redirects to {target}; give that server as the URL")
        found = _read_object(answer)
        if answer.is_error:
            raise InputError(_explain(answer, found))
        if not found:
            raise InputError(f"{self.url} is not a cidery server")
        return found


def _read_object(answer: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of an answer; an empty one where there is none."""
    try:
        content = answer.json()
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _explain(answer: httpx.Response, content: dict[str, Any]) -> str:
    """Return the server's own message, field by field where a form has errors."""
    problems = [
        problem if field in ("file", "run_of", "non_field_errors") else f"{field}: {problem}"
        for field, problems in content.get("errors", {}).items()
        for problem in problems
    ]
    unexplained = f"{answer.url} answers with status {answer.status_code}"
    return " ".join(problems) or str(content.get("detail", unexplained))
