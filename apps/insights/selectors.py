"""Reads of a team's insights."""

from __future__ import annotations

from apps.insights.fault_report import fault_report
from apps.insights.query_report import query_report
from apps.insights.shape_report import shape_report

__all__ = ["fault_report", "query_report", "shape_report"]
