"""Audits: which pipeline made a claimed number, and what is suspicious in captions."""

from cidery.auditing.causes import Cause as Cause
from cidery.auditing.causes import find_cause as find_cause
from cidery.auditing.causes import list_causes as list_causes
from cidery.auditing.claimed import Account as Account
from cidery.auditing.claimed import Audit as Audit
from cidery.auditing.claimed import NearMiss as NearMiss
from cidery.auditing.claimed import apply_causes as apply_causes
from cidery.auditing.claimed import audit as audit
from cidery.auditing.findings import FileAudit as FileAudit
from cidery.auditing.findings import Finding as Finding
from cidery.auditing.findings import audit_files as audit_files

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
