"""The fast tier of reading scores: numbers straight from bytes to binary64, for files about which nothing is doubtful.

Like the fast tier of labels it tells nobody what is wrong. It takes the first row of a file apart, and accepts the file
only if all others differ from that one in nothing but the values: known ids, and numbers by the grammar of JSON.
"""

from app.formats.vectorized.scores.score_reader import read_scores

__all__ = ["read_scores"]
