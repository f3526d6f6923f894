"""Item analysis: which instances systems get right, how far systems agree, and what a relabelling would move."""
