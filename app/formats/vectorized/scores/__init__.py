"""The vectorized reader of scores: from bytes to binary64, without a Python object for any number.

It parses the first row, and accepts the file only if all other rows equal that one everywhere except in the values: known
ids, and numbers in the grammar of JSON. Like the vectorized reader of labels it reports no problems.
"""

from app.formats.vectorized.scores.score_reader import read_scores

__all__ = ["read_scores"]
