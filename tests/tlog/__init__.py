"""Tests of the transparency log's arithmetic."""
