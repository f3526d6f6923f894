"""Vectorized readers: NumPy reads files of one uniform, faultless layout; the strict reader reads all others.

A vectorized reader reports no problems. It accepts a file only if the strict reader would read the same values without
a problem; anything else raises UnsupportedLayout, and the file is read again by the strict reader.
"""
