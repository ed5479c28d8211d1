"""Imported when Python starts, if this folder is on PYTHONPATH: see cidery.coco.startup."""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def _run_hidden() -> None:
    """Run the environment's own sitecustomize, which this file shadows."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - quick to import
    others = [folder for folder in sys.path if os.path.abspath(folder) != here]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("CIDERY_COCO", "") not in ("", "0"):
    try:
        from cidery.coco.startup import install_if_enabled
    except ImportError as error:
        print(f"CIDERY_COCO is set, but this Python has no cidery: {error}", file=sys.stderr)
    else:
        install_if_enabled()
_run_hidden()
