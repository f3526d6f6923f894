"""Texts that people type or read: confusable names, e-mail addresses, spreadsheet cells, JSON pointers."""
