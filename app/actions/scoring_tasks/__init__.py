"""Score tasks: score, score again, and move to a newer scorer version."""
