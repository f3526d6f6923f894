"""The audit trail: recording acts and reading them."""
