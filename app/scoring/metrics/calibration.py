"""How far probabilities are from the shares that come true."""
