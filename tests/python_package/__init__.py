"""Tests of the Python package `assay`."""
