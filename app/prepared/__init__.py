"""Prepared gold: files that all scoring processes of a service map into memory, so that gold is read only once."""
