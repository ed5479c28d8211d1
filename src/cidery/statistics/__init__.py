"""Statistics on arrays: intervals, tests, correlations, annotator agreement."""

from cidery.statistics.correlation import (
    COEFFICIENTS,
    Correlation,
    correlation_p,
    pearson_rows,
    pool_pearson,
    pool_share,
    williams_test,
)
from cidery.statistics.exact_sums import ExactSums, sum_exactly
from cidery.statistics.length_control import LengthControl
from cidery.statistics.pairwise_ranking import (
    Calibration,
    PairsWithin,
    compare_samples,
    rank_metrics,
)
from cidery.statistics.prediction_powered import (
    MIN_GROUPS,
    MIN_GROUPS_TO_DECIDE,
    Estimate,
    Sample,
    adjust_together,
    estimate_contrast,
)
from cidery.statistics.reliability import fleiss_kappa, krippendorff_alpha
from cidery.statistics.resampling import (
    RESAMPLES,
    Floats,
    Interval,
    PairedTest,
    Pool,
    bootstrap_interval,
    draw_part,
    draw_sums,
    holm,
    paired_test,
    sum_by_group,
)
from cidery.statistics.sample_size import forecast_answers, order_evenly, plan_images

__all__ = [
    "COEFFICIENTS",
    "MIN_GROUPS",
    "MIN_GROUPS_TO_DECIDE",
    "RESAMPLES",
    "Calibration",
    "Correlation",
    "Estimate",
    "ExactSums",
    "Floats",
    "Interval",
    "LengthControl",
    "PairedTest",
    "PairsWithin",
    "Pool",
    "Sample",
    "adjust_together",
    "bootstrap_interval",
    "compare_samples",
    "correlation_p",
    "draw_part",
    "draw_sums",
    "estimate_contrast",
    "fleiss_kappa",
    "forecast_answers",
    "holm",
    "krippendorff_alpha",
    "order_evenly",
    "paired_test",
    "pearson_rows",
    "plan_images",
    "pool_pearson",
    "pool_share",
    "rank_metrics",
    "sum_by_group",
    "sum_exactly",
    "williams_test",
]
