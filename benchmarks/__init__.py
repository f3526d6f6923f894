"""Speed, measured beside peers as ratios in one run."""
