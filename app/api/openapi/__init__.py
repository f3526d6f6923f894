"""The OpenAPI document, its examples and the page that shows it."""
