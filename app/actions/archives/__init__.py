"""Archives of phases: what an export holds."""
