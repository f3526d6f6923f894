"""Analyses for the command line: what-if reports, and counts reconstructed from published figures."""
