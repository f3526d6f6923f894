"""Challenges: their recipe, phases, gold and teams."""
