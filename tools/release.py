"""Check that everything is ready for a release, and tag it: `python tools/release.py [--tag]`.

The version is written in src/cidery/_version.py. CITATION.cff and the pages that show signatures
name it too, and CHANGELOG.md has its section: this says where they disagree. Standard library only.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "docs/*.md", "docs/*/*.md", "docs/images/*.svg"]
SIGNATURE = re.compile(r"\bversion:(\d+\.\d+\.\d+\w*)")


def read_version(root: Path = ROOT) -> str:
    """Return the version."""
    text = (root / "src" / "cidery" / "_version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)"$', text, re.MULTILINE)
    if not found:
        raise SystemExit('src/cidery/_version.py must say __version__ = "MAJOR.MINOR.PATCH"')
    return found[1]


def find_disagreements(version: str, root: Path = ROOT) -> Iterator[str]:
    """Yield what in the files does not fit the version, and how to go on."""
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$", changes, re.MULTILINE
    )
    if section is None:
        yield f"CHANGELOG.md has no section: add `## [{version}] - YYYY-MM-DD`"
    if f"\n[{version}]: " not in changes:
        yield f"CHANGELOG.md has no link for [{version}]: add it at the end"
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {version}\n" not in citation:
        yield f"CITATION.cff names another version: write `version: {version}`"
    if section and f'\ndate-released: "{section[1]}"\n' not in citation:
        yield f'CITATION.cff has not the changelog\'s date: write `date-released: "{section[1]}"`'
    for companion in ("server/pyproject.toml", "lab/pyproject.toml"):
        text = (root / companion).read_text(encoding="utf-8")
        if f'\nversion = "{version}"' not in text or f'"cidery=={version}"' not in text:
            yield f"{companion} names another version: write `{version}`"
    for pattern in PAGES:
        for page in sorted(root.glob(pattern)):
            shown = set(SIGNATURE.findall(page.read_text(encoding="utf-8"))) - {version}
            if shown:
                place = page.relative_to(root)
                yield f"{place} shows signatures of version {', '.join(sorted(shown))}"


def git(*arguments: str) -> str:
    """Return what git prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def find_obstacles(version: str) -> Iterator[str]:
    """Yield what in the repository stands against a release."""
    if changed := git("status", "--porcelain"):
        yield f"the tree is not clean; commit or stash:\n{changed}"
    if (branch := git("rev-parse", "--abbrev-ref", "HEAD")) != "main":
        yield f"the branch is {branch}: releases are tagged on main"
    if git("tag", "--list", f"v{version}"):
        yield f"v{version} is tagged already: raise the version in src/cidery/_version.py"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", action="store_true", help="tag the commit after the checks")
    parser.add_argument(
        "--yes", action="store_true", help="`make test` passed on this commit: do not ask"
    )
    arguments = parser.parse_args()
    version = read_version()
    problems = [*find_disagreements(version), *find_obstacles(version)]
    for problem in problems:
        print(f"✗ {problem}", file=sys.stderr)
    if problems:
        return 1
    print(f"✓ {version} can be released")
    if not arguments.tag:
        return 0
    if not arguments.yes and input("Did `make test` pass on this commit? [y/N] ").lower() != "y":
        print("run `make test` first", file=sys.stderr)
        return 1
    git("tag", "--annotate", f"v{version}", "--message", f"cidery {version}")
    print(f"tagged v{version}; `git push origin v{version}` builds the wheels and uploads them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
