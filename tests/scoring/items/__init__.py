"""Tests of item analysis."""
