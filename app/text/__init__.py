"""Text typed by people: confusable names, e-mail addresses, cells of spreadsheets."""
