"""Imports of phases from archives of other installations."""
