"""Parses many JSON numbers in a buffer of bytes to binary64 at once, each correctly rounded.

Digits are checked and converted eight at a time inside 64-bit words (Lemire 2021, Number parsing at a gigabyte per
second). The decimal is then scaled by its power of ten in twice the precision of binary64 (Dekker 1971). Where the error
bound does not determine the rounding, or a number is written in an unusual way, Python parses it (as float does).
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.span_window import LEADING_BYTES
from app.scoring.numeric.exact import Floats
from app.scoring.string_table import Bytes, Int, Words, words_of

MAX_NUMBER_LENGTH: Final = 300
"""Characters of the longest number that is parsed here."""

_U: Final = np.uint64
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MAX_EXPONENT: Final = 200
"""Larger powers of ten are left to Python: products with them could lose bits to underflow."""
_MIN_EXPONENT: Final = -_MAX_EXPONENT - LEADING_BYTES
_LAST_BYTES_MASKS: Final = np.array([((1 << 8 * k) - 1) << (64 - 8 * k) for k in range(9)], dtype=np.uint64)
_POWERS_OF_TEN: Final = np.array([10**k for k in range(20)], dtype=np.uint64)
_EVERY_BYTE: Final = _U(0x0101010101010101)
_ZEROS, _POINTS, _HIGH, _LETTER = (_U(sign) * _EVERY_BYTE for sign in (0x30, 0x2E, 0x80, 0x40))
_ABOVE_NINE: Final = _U(0x76) * _EVERY_BYTE
"""Added to the values of eight characters, it sets the high bit of each that is above 9: 0x76 + 10 = 0x80."""
_PAIR_MASK: Final = _U(0x000000FF000000FF)
_MAX_MANTISSA: Final = 1e19
"""Mantissas below it fit into 64 bits."""
_EXACT_INTEGER_LIMIT: Final = 1 << 53
_VELTKAMP_FACTOR: Final = 2.0**27 + 1
_MINUS, _PLUS, _POINT, _ZERO = (ord(sign) for sign in "-+.0")


def _powers_of_ten() -> tuple[Floats, Floats]:
    """Powers of ten as unevaluated sums of two binary64 numbers; the relative error is below 2**-106."""
    exact = [Fraction(10) ** k for k in range(_MIN_EXPONENT, _MAX_EXPONENT + 1)]
    upper = [float(power) for power in exact]
    lower = [float(power - Fraction(high)) for power, high in zip(exact, upper, strict=True)]
    return np.array(upper), np.array(lower)


_UPPER, _LOWER = _powers_of_ten()


def parse_binary64(text: Bytes, starts: Int, ends: Int) -> Floats | None:
    """The numbers in k spans of a buffer (see LEADING_BYTES); None unless each is a finite JSON number and not -0.

    The integer -0 is refused because it is 0 in some formats and -0.0 in others. Source: RFC 8259, section 6.
    """
    if not (ends > starts).all():
        return None
    view = words_of(text)
    minus = text[starts] == _MINUS
    has_sign = bool(minus.any())
    begin = starts + minus if has_sign else starts
    tail = view[ends - 8]
    tail &= _LAST_BYTES_MASKS.take(np.minimum(ends - begin, 8))
    # Most scores look like 0.123: one digit, a point, and no letter (of an exponent) among the last eight characters.
    is_simple = text[begin + 1] == _POINT
    is_simple &= (tail & _LETTER) == 0
    general = np.flatnonzero(~is_simple)
    if 8 * len(general) < len(begin):
        # Where few are not simple, it is cheaper to parse them twice than to put all others aside.
        numbers = _parse_simple(text, view, begin, ends, tail)
    else:
        simple, numbers = np.flatnonzero(is_simple), np.empty(len(begin))
        if len(simple):
            numbers[simple] = _parse_simple(text, view, begin[simple], ends[simple], tail[simple])
    if len(general):
        numbers[general] = _parse_general(text, view, begin[general], ends[general], tail[general])
    if has_sign:
        np.negative(numbers, out=numbers, where=minus)
    return numbers if _parse_remaining(text, starts, ends, numbers) else None


def _parse_remaining(text: Bytes, starts: Int, ends: Int, numbers: Floats) -> bool:
    """Let Python parse the numbers that are NaN so far; False where one is not a number."""
    for at in np.flatnonzero(np.isnan(numbers)).tolist():
        token = text[starts[at] : ends[at]].tobytes()
        if not _NUMBER.fullmatch(token) or len(token) > MAX_NUMBER_LENGTH or token == b"-0":
            return False
        numbers[at] = float(token)
        if not math.isfinite(numbers[at]):
            return False
    return True


def _parse_simple(text: Bytes, view: Words, begin: Int, ends: Int, tail: Words) -> Floats:
    """Numbers with one digit before the point and no exponent; NaN where Python must parse the number."""
    integer = (text[begin] ^ np.uint8(_ZERO)).astype(np.uint64)
    counts = ends - begin
    counts -= 2
    return _DecimalParts(view, ends, counts, integer, integer > 9).values(tail, None)


def _parse_general(text: Bytes, view: Words, begin: Int, ends: Int, tail: Words) -> Floats:
    """Numbers of any form; NaN where Python must parse the number."""
    exponents, ends, odd = _parse_exponents(text, ends, tail)
    first_word = view[begin]
    point_bits = first_word ^ _POINTS
    point_bits = (point_bits - _EVERY_BYTE) & ~point_bits & _HIGH  # its lowest set bit marks the first point
    integer_digits = np.minimum(_lowest_set_byte(point_bits), ends - begin)  # digits before the point or the end
    counts = np.maximum(ends - begin - integer_digits - 1, 0)
    has_point = integer_digits < ends - begin
    odd |= (
        (integer_digits == 0)
        | (has_point & (counts == 0))
        | ((integer_digits == 8) & ~_ends_or_has_point(text, begin + 8, has_point))
    )
    has_leading_zero = text[begin] == _ZERO
    odd |= has_leading_zero & (integer_digits > 1)
    odd |= has_leading_zero & ~has_point & (exponents == 0) & (text[begin - 1] == _MINUS)
    faulty = np.zeros(len(begin), dtype=np.uint64)
    shift = (8 * (8 - np.maximum(integer_digits, 1))).astype(np.uint64)
    integer = _parse_eight_digits(first_word << shift, integer_digits, faulty)
    odd |= (faulty & _HIGH) != 0
    return _DecimalParts(view, ends, counts, integer, odd).values(view[ends - 8], exponents)


def _ends_or_has_point(text: Bytes, positions: Int, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether a number ends at these positions, or has its point there."""
    return np.asarray(~inside | (text[positions] == _POINT))


def _lowest_set_byte(bits: Words) -> Int:
    """The index of the byte (0 … 7) that holds the lowest set bit; 8 if there is none."""
    lowest = bits & (~bits + _U(1))
    return np.asarray(np.bitwise_count(lowest - _U(1)) >> 3, dtype=np.int64)


def _parse_exponents(text: Bytes, ends: Int, tail: Words) -> tuple[Int, Int, NDArray[np.bool_]]:
    """The decimal exponents (0 if absent), where the digits before them end, and which numbers Python must parse."""
    exponents, odd = np.zeros(len(ends), dtype=np.int64), np.zeros(len(ends), dtype=bool)
    letters = tail & _LETTER
    with_exponent = np.flatnonzero(letters)
    if not len(with_exponent):
        return exponents, ends, odd
    stops, digits_end = ends.copy(), ends[with_exponent]
    at = digits_end - 8 + _lowest_set_byte(letters[with_exponent])
    stops[with_exponent] = at
    sign = text[at + 1]
    negative = sign == _MINUS
    counts = digits_end - at - 1 - (negative | (sign == _PLUS))
    faulty = np.zeros(len(with_exponent), dtype=np.uint64)
    sizes = _parse_eight_digits(tail[with_exponent], np.maximum(counts, 0), faulty).astype(np.int64)
    wrong = ((text[at] | np.uint8(0x20)) != ord("e")) | (counts < 1) | (sizes > _MAX_EXPONENT) | ((faulty & _HIGH) != 0)
    odd[with_exponent] = wrong
    exponents[with_exponent] = np.where(wrong, 0, np.where(negative, -sizes, sizes))
    return exponents, stops, odd


def _parse_eight_digits(words: Words, counts: Int, faulty: Words) -> Words:
    """The values of the last `counts` (0 … 8) characters of words; `faulty` gets a high bit for each that is not a digit.

    Neighbouring digits are combined to pairs, pairs to fours and fours to eights by multiplications (Lemire 2021).
    """
    words = words ^ _ZEROS
    words &= _LAST_BYTES_MASKS.take(counts)
    faulty |= words + _ABOVE_NINE
    faulty |= words
    pairs = words >> _U(8)
    words *= _U(10)
    words += pairs
    np.right_shift(words, _U(16), out=pairs)
    words &= _PAIR_MASK
    pairs &= _PAIR_MASK
    # The factors hold 10^6 and 100, and 10^4 and 1: the upper half of the sum of the products is the value.
    words *= _U(0x000F424000000064)
    pairs *= _U(0x0000271000000001)
    words += pairs
    words >>= _U(32)
    return words


@dataclass(frozen=True, slots=True)
class _DecimalParts:
    """The parts of numbers: the integer before the point, and the `counts` digits between the point and `ends`.

    Python must parse the `odd` ones.
    """

    view: Words
    ends: Int
    counts: Int
    integer: Words
    odd: NDArray[np.bool_]

    def values(self, tail: Words, exponents: Int | None) -> Floats:
        """The numbers without their signs, NaN where they are odd; `tail` holds their last eight characters."""
        counts, odd = self.counts, self.odd
        longest = int(counts.max())
        if longest > LEADING_BYTES or int(counts.min()) < 1:
            odd = odd | (counts > LEADING_BYTES) | ((counts < 1) & (exponents is None))
            counts = np.clip(counts, 0, LEADING_BYTES)
        faulty = np.zeros(len(counts), dtype=np.uint64)
        mantissa = _parse_eight_digits(tail, np.minimum(counts, 8), faulty)
        for step in (8, 16):
            if longest > step:
                part = _parse_eight_digits(self.view[self.ends - step - 8], np.clip(counts - step, 0, 8), faulty)
                if step == 16:
                    odd = odd | (part >= 1000)
                part *= _POWERS_OF_TEN[step]
                mantissa += part
        # The mantissa must fit into 64 bits; a common bound decides for all numbers before each is checked.
        max_integer = int(self.integer.max()) if longest < 18 else 10
        if max_integer * 10**longest >= _MAX_MANTISSA:
            odd = odd | (self.integer * 10.0**counts >= _MAX_MANTISSA / 2)
        integer = self.integer * _POWERS_OF_TEN.take(np.minimum(counts, 19))
        mantissa += integer
        scales = -counts if exponents is None else exponents - counts
        numbers = _scale_by_power(mantissa, scales)
        faulty &= _HIGH
        odd = odd | (faulty != 0)
        if odd.any():
            numbers[odd] = np.nan
        return numbers


def _scale_by_power(mantissa: Words, scales: Int) -> Floats:
    """Mantissa × 10^scale (-224 … 200), correctly rounded; NaN where the rounding is not certain."""
    if int(mantissa.max()) < _EXACT_INTEGER_LIMIT and int(scales.min()) >= -22 and int(scales.max()) <= 0:
        # Mantissa and power of ten are exact in binary64, so that the division rounds once (Clinger 1990).
        numbers = mantissa.astype(np.float64)
        numbers /= _UPPER.take(-_MIN_EXPONENT - scales)
        return numbers
    scales = scales - _MIN_EXPONENT
    power = _UPPER.take(scales)
    high = mantissa.astype(np.float64)
    with np.errstate(invalid="ignore"):  # the mantissa of an odd number may overflow
        low = (mantissa - high.astype(np.uint64)).view(np.int64).astype(np.float64)
    # most + rest is the mantissa and _UPPER + _LOWER the power of ten; product + error is what they give together.
    product, error = _two_product(high, power)
    error += high * _LOWER.take(scales)
    error += low * power
    # If the sum rounds to the same number at both ends of the error interval, it is the correctly rounded one.
    bound = product * 2.0**-100  # sixteen times the error of the sums above
    lower = product + (error - bound)
    product += error + bound
    product[product != lower] = np.nan
    return product


def _two_product(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """The rounded product of binary64 numbers, and its exact rounding error (Dekker 1971)."""
    product = left * right
    upper_left, lower_left = _veltkamp_split(left)
    upper_right, lower_right = _veltkamp_split(right)
    error = upper_left * upper_right
    error -= product
    error += upper_left * lower_right
    error += lower_left * upper_right
    error += lower_left * lower_right
    return product, error


def _veltkamp_split(values: Floats) -> tuple[Floats, Floats]:
    """Two numbers of half the digits each, whose sum is the value (Veltkamp 1968)."""
    scaled = values * _VELTKAMP_FACTOR
    upper = scaled - (scaled - values)
    return upper, values - upper
