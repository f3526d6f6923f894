"""Versions of gold, recipe and scorer: what boards become under others, and what a correction changed."""
