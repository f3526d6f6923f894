"""Accounts: sign-up, login, tokens and passwords."""
