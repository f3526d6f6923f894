"""Assay: a centralized challenge-scoring service, one authority that weighs every submission on the same scales."""

__version__ = "0.1.0"
