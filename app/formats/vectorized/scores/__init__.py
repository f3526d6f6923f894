"""The vectorized reader of scores: from bytes to binary64, without a Python object for any number.

It parses the first row, and accepts the file only if all other rows equal that one everywhere except in the values: known
ids, and numbers in the grammar of JSON.
"""
