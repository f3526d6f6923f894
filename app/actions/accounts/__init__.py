"""Accounts: sign up, log in, tokens and passwords."""
