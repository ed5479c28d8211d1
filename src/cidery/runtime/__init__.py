"""Running work: progress callbacks, worker processes, and results shared within one run."""
