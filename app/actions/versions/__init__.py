"""Versions of gold, recipe and scorer: their scores, and the switch of a board from one to another."""
