"""Cross-validation: F pooled over folds, the mean over folds, and the table of folds."""
