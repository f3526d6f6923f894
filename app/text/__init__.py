"""Text typed or read by people: confusable names, e-mail addresses, spreadsheet cells, close matches, JSON pointers."""
