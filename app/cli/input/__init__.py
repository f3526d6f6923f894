"""Input of commands: option values, small files, pipes, gold and predictions."""
