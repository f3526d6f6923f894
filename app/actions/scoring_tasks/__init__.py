"""Score tasks: scoring, rescoring, and upgrades to a newer scorer version."""
