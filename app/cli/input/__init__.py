"""Input of commands: small files, pipes, gold and predictions."""
