"""Output on a terminal: tables, messages and equations as text."""
