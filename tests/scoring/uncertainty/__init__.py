"""Tests of intervals, tests of differences and rank intervals."""
