"""Seconds to write a report, its size, and seconds until a browser shows it.

    python benchmarks/run.py report

Three systems each: 5,000 images with one caption of a real system where it is at hand, and the
40,504 images of COCO val2014; the other captions are references of the same or another image.
A page is ready when the explorer has drawn its first image, in Debian's Chromium; pictures are
drawn after that. Wall time, and seconds of a processor for writing.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import workloads

import cidery
from support.browsing import open_page, opened_browser


def make_systems(
    workload: tuple[workloads.Candidates, workloads.References],
) -> tuple[dict[str, workloads.Candidates], workloads.References]:
    """Return three systems: the given one, a person, and captions of other images now and then."""
    candidates, references = workload
    images = list(references)
    others = {
        image: references[images[number - 1] if number % 3 == 0 else image][-1]
        for number, image in enumerate(images)
    }
    first = {image: captions[0] for image, captions in references.items()}
    return {"given": candidates, "person": first, "mixed": others}, references


def main() -> None:
    """Measure both sizes."""
    print("| images | written in | processor | size | ready after | all pictures after |")
    print("|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as temporary, opened_browser() as browser:
        for name, workload in (("5,000", workloads.small), ("40,504", workloads.large)):
            systems, references = make_systems(workload())
            path = Path(temporary) / "report.html"
            start, before = time.perf_counter(), time.process_time()
            report = cidery.write_report(path, systems, references)
            wall, processor = time.perf_counter() - start, time.process_time() - before
            page = open_page(browser)
            page.set_default_timeout(600_000)
            page.goto(path.as_uri())
            page.locator("#x-row-0").wait_for()
            ready = page.evaluate(
                "performance.getEntriesByName('cidery-ready').map((e) => e.startTime)[0]"
            )
            page.locator("figure").first.wait_for()
            page.locator(".plot[data-drawn]").nth(page.locator(".plot").count() - 1).wait_for()
            drawn = page.evaluate("performance.now()")
            page.close()
            print(
                f"| {name} | {wall:.1f} s | {processor:.1f} s | {report.size / 1e6:.1f} MB | "
                f"{ready / 1000:.2f} s | {drawn / 1000:.1f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
