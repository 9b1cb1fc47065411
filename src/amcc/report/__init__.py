"""HTML pages about a fitted model and about an audit."""

from amcc.report.audit import write_audit_report
from amcc.report.consensus import write_report

__all__ = ["write_audit_report", "write_report"]
