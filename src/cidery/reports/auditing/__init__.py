"""Audits: which pipeline made a claimed number, and what is suspicious in captions."""

from cidery.reports.auditing.causes import Cause as Cause
from cidery.reports.auditing.causes import find_cause as find_cause
from cidery.reports.auditing.causes import list_causes as list_causes
from cidery.reports.auditing.claimed import Account as Account
from cidery.reports.auditing.claimed import Audit as Audit
from cidery.reports.auditing.claimed import NearMiss as NearMiss
from cidery.reports.auditing.claimed import apply_causes as apply_causes
from cidery.reports.auditing.claimed import audit as audit
from cidery.reports.auditing.findings import FileAudit as FileAudit
from cidery.reports.auditing.findings import Finding as Finding
from cidery.reports.auditing.findings import audit_files as audit_files

__all__ = [
    "Account",
    "Audit",
    "Cause",
    "FileAudit",
    "Finding",
    "NearMiss",
    "apply_causes",
    "find_cause",
    "list_causes",
]
