"""Estimates from few judgments and a metric's scores of all captions."""

from cidery.meta.estimation.choice import choose_next
from cidery.meta.estimation.estimates import Estimates, estimate
from cidery.meta.estimation.plans import Plan, plan

__all__ = ["Estimates", "Plan", "choose_next", "estimate", "plan"]
