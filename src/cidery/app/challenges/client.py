"""A team's side of the evaluation server: submit a file and wait for its scores.

It needs nothing but Python, so that the machine that trains a model need not have the server's
packages.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from cidery.errors import InputError
from cidery.store import Report, no_report

MEGABYTE = 1024 * 1024
LARGEST_UPLOAD = 50 * MEGABYTE
"""What the server takes."""
BLOCK = 1 << 16
TIMEOUT = 60
POLL_SECONDS = 1.0


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

    def submit(self, challenge: str, path: Path, title: str, report: Report = no_report) -> int:
        """Send a file of results, plain or packed, and return the submission's number."""
        if path.stat().st_size > LARGEST_UPLOAD:
            most = LARGEST_UPLOAD // MEGABYTE
            raise InputError(f"{path}: larger than {most} MB; pack it as .gz or .zip")
        boundary = uuid4().hex
        head, tail = _frame(boundary, title, path.name)
        content = path.read_bytes()
        body = head + content + tail

        def blocks() -> Iterator[bytes]:
            for start in range(0, len(body), BLOCK):
                yield body[start : start + BLOCK]
                report("sending", min(start + BLOCK, len(body)) / len(body))

        request = self._request(f"challenges/{quote(challenge, safe='')}/submissions", blocks())
        request.add_header("Content-Type", f"multipart/form-data; boundary={boundary}")
        request.add_header("Content-Length", str(len(body)))
        return int(self._ask(request)["id"])

    def wait(self, submission: int, report: Report = no_report) -> dict[str, Any]:
        """Return the submission's page once it is scored."""
        while True:
            page = self._ask(self._request(f"submissions/{submission}"))
            found = page["submission"]
            if found["state"] == "failed":
                raise InputError(
                    f"submission {submission} could not be scored; it does not count, and the "
                    "organisers can have it scored again"
                )
            if found["state"] == "scored":
                return page
            report(found["state"], found["steps_done"] / max(found["steps"], 1))
            time.sleep(POLL_SECONDS)

    def _request(self, path: str, body: Iterator[bytes] | None = None) -> urllib.request.Request:
        if not self.url.startswith(("http://", "https://")):
            raise InputError(
                f"the server's address must begin with http:// or https://: {self.url}"
            )
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        url = f"{self.url.rstrip('/')}/api/{path}"
        return urllib.request.Request(url, data=body, headers=headers)

    def _ask(self, request: urllib.request.Request) -> dict[str, Any]:
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                content: dict[str, Any] = json.load(answer)
                return content
        except urllib.error.HTTPError as error:
            with error:
                raise InputError(_explain(error)) from None
        except urllib.error.URLError as error:
            raise InputError(f"{self.url} does not answer: {error.reason}") from None
        except ValueError:
            raise InputError(f"{self.url} answers, but it is no cidery server") from None


def _frame(boundary: str, title: str, name: str) -> tuple[bytes, bytes]:
    """Return what comes before and after the file in the form that a browser would send."""
    quoted = name.replace('"', "_").replace("\r", "_").replace("\n", "_")
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="title"\r\n\r\n{title}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{quoted}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode(), f"\r\n--{boundary}--\r\n".encode()


def _explain(error: urllib.error.HTTPError) -> str:
    """Return the server's own words, field by field where it complains of a form."""
    try:
        content = json.load(error)
    except ValueError:
        return f"{error.url} answers with status {error.code}"
    problems = [
        problem if field in ("file", "non_field_errors") else f"{field}: {problem}"
        for field, problems in content.get("errors", {}).items()
        for problem in problems
    ]
    return " ".join(problems) or str(content.get("detail", f"status {error.code}"))
