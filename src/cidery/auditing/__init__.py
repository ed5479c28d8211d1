"""Audits: the pipeline behind a claimed score, and problems in captions."""

from cidery.auditing.causes import Cause as Cause
from cidery.auditing.causes import find_cause as find_cause
from cidery.auditing.causes import list_causes as list_causes
from cidery.auditing.claim_audit import Audit as Audit
from cidery.auditing.claim_audit import FittingPipeline as FittingPipeline
from cidery.auditing.claim_audit import NearMiss as NearMiss
from cidery.auditing.claim_audit import apply_causes as apply_causes
from cidery.auditing.claim_audit import audit as audit
from cidery.auditing.file_audit import FileAudit as FileAudit
from cidery.auditing.file_audit import Finding as Finding
from cidery.auditing.file_audit import audit_files as audit_files
from cidery.auditing.file_audit import audit_systems as audit_systems

__all__ = [
    "Audit",
    "Cause",
    "FileAudit",
    "Finding",
    "FittingPipeline",
    "NearMiss",
    "apply_causes",
    "find_cause",
    "list_causes",
]
