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
from cidery.statistics.paired_tests import (
    PairedTest,
    check_margin,
    find_detectable,
    holm,
    paired_test,
    paired_test_of_runs,
    plan_comparison,
)
from cidery.statistics.pairwise_ranking import (
    Calibration,
    PairsWithin,
    compare_samples,
    rank_metrics,
)
from cidery.statistics.permutation import permutation_p
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
    Pool,
    bootstrap_interval,
    check_sampling,
    draw_part,
    draw_sums,
    sum_by_group,
)
from cidery.statistics.runs import (
    MeanOfRuns,
    RunScores,
    find_error,
    find_interval,
    pool_excess,
    student_p,
    student_quantile,
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
    "MeanOfRuns",
    "PairedTest",
    "PairsWithin",
    "Pool",
    "RunScores",
    "Sample",
    "adjust_together",
    "bootstrap_interval",
    "check_margin",
    "check_sampling",
    "compare_samples",
    "correlation_p",
    "draw_part",
    "draw_sums",
    "estimate_contrast",
    "find_detectable",
    "find_error",
    "find_interval",
    "fleiss_kappa",
    "forecast_answers",
    "holm",
    "krippendorff_alpha",
    "order_evenly",
    "paired_test",
    "paired_test_of_runs",
    "pearson_rows",
    "permutation_p",
    "plan_comparison",
    "plan_images",
    "pool_excess",
    "pool_pearson",
    "pool_share",
    "rank_metrics",
    "student_p",
    "student_quantile",
    "sum_by_group",
    "sum_exactly",
    "williams_test",
]
