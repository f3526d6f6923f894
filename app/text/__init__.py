"""Texts that people type: which names look alike, e-mail addresses, cells of spreadsheets."""
