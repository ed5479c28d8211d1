"""What people would say of all captions, from few answers and a metric's scores of everything."""

from cidery.meta.estimation.choice import choose_next
from cidery.meta.estimation.estimates import Estimates, estimate
from cidery.meta.estimation.plans import Plan, plan

__all__ = ["Estimates", "Plan", "choose_next", "estimate", "plan"]
