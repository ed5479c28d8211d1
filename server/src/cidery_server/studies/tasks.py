"""Background jobs of studies."""

from __future__ import annotations

from cidery_server.studies.lifecycle import stop_if_decided
from cidery_server.studies.models import Study
from cidery_server.web.queue import sweep


@sweep
def sweep_studies() -> None:
    """Check if studies with automatic stop are decided."""
    for study in Study.objects.filter(state=Study.State.OPEN, stop_when_decided=True):
        stop_if_decided(study)
