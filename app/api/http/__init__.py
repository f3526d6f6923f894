"""HTTP parts that all routes share: bodies, uploads, negotiation, headers and errors."""
