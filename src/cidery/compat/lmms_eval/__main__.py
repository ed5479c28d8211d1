"""`python -m cidery.compat.lmms_eval` prints the folder for lmms-eval's `--include_path`."""

from cidery.compat.lmms_eval import TASKS

print(TASKS)
