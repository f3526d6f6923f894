"""Detailed reports of one submission."""
