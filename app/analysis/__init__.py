"""Analyses that are not part of the service: what-if reports, and counts from published figures."""
