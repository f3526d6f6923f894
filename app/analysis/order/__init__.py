"""How sure the order of systems in a table is: reading the table, intervals and rank sets, charts and reports."""
