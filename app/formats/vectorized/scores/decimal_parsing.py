"""Decimal numbers of JSON in a buffer of bytes to binary64, many at once, each correctly rounded.

Digits are told and added up eight at a time inside 64-bit words (Lemire 2021, Number parsing at a gigabyte per second);
what they are worth is computed in twice the precision of binary64 (Dekker 1971). Where that leaves the rounding open,
or a number is written in an unusual way, Python reads it.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.scoring.numeric.exact import Floats
from app.scoring.string_table import Bytes, Int, Words, words_of

LEADING_PAD_BYTES: Final = 24
"""Bytes that must stand before the first number in a buffer, whatever they are."""
MAX_NUMBER_LENGTH: Final = 300
"""Characters of the longest number that is read here."""

_U: Final = np.uint64
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MAX_EXPONENT: Final = 200
"""Powers of ten beyond it are left to Python: products with them could lose bits to underflow."""
_MIN_EXPONENT: Final = -_MAX_EXPONENT - LEADING_PAD_BYTES
_LAST_BYTES_MASKS: Final = np.array([((1 << 8 * k) - 1) << (64 - 8 * k) for k in range(9)], dtype=np.uint64)
_POWERS_OF_TEN: Final = np.array([10**k for k in range(20)], dtype=np.uint64)
_EVERY_BYTE: Final = _U(0x0101010101010101)
_ZEROS, _POINTS, _HIGH, _LETTER = (_U(sign) * _EVERY_BYTE for sign in (0x30, 0x2E, 0x80, 0x40))
_ABOVE_NINE: Final = _U(0x76) * _EVERY_BYTE
_PAIR_MASK: Final = _U(0x000000FF000000FF)
_MAX_MANTISSA: Final = 1e19
"""Mantissas below it fit into 64 bits, whatever is added to their upper digits."""
_EXACT_INTEGER_LIMIT: Final = 1 << 53
_VELTKAMP_FACTOR: Final = 2.0**27 + 1
_MINUS, _PLUS, _POINT, _ZERO = (ord(sign) for sign in "-+.0")


def _powers_of_ten() -> tuple[Floats, Floats]:
    """Powers of ten as sums of two binary64 numbers, which lack less than one part in 2**106."""
    exact = [Fraction(10) ** k for k in range(_MIN_EXPONENT, _MAX_EXPONENT + 1)]
    upper = [float(power) for power in exact]
    lower = [float(power - Fraction(most)) for power, most in zip(exact, upper, strict=True)]
    return np.array(upper), np.array(lower)


_UPPER, _LOWER = _powers_of_ten()


def parse_binary64(text: Bytes, starts: Int, ends: Int) -> Floats | None:
    """The numbers of k spans of a buffer (see FRONT); None unless every one is a finite JSON number, and not -0.

    The integer -0 is refused because formats differ in what it means. Source: RFC 8259, section 6.
    """
    if not (ends > starts).all():
        return None
    view = words_of(text)
    minus = text[starts] == _MINUS
    signed = bool(minus.any())
    begin = starts + minus if signed else starts
    tail = view[ends - 8]
    tail &= _LAST_BYTES_MASKS.take(np.minimum(ends - begin, 8))
    usual = text[begin + 1] == _POINT
    usual &= (tail & _LETTER) == 0
    if usual.all():
        found = _parse_simple(text, view, begin, ends, tail)
    else:
        found = np.empty(len(begin))
        for chosen, read in ((np.flatnonzero(usual), _parse_simple), (np.flatnonzero(~usual), _parse_general)):
            if len(chosen):
                found[chosen] = read(text, view, begin[chosen], ends[chosen], tail[chosen])
    if signed:
        np.negative(found, out=found, where=minus)
    return found if _parse_remaining(text, starts, ends, found) else None


def _parse_remaining(text: Bytes, starts: Int, ends: Int, found: Floats) -> bool:
    """Let Python read what is NaN so far; False where it reads no number."""
    for at in np.flatnonzero(np.isnan(found)).tolist():
        one = text[starts[at] : ends[at]].tobytes()
        if not _NUMBER.fullmatch(one) or len(one) > MAX_NUMBER_LENGTH or one == b"-0":
            return False
        found[at] = float(one)
        if not math.isfinite(found[at]):
            return False
    return True


def _parse_simple(text: Bytes, view: Words, begin: Int, ends: Int, tail: Words) -> Floats:
    """Numbers whose second character is a point and which have no exponent; NaN where it needs a closer look."""
    whole = (text[begin] ^ np.uint8(_ZERO)).astype(np.uint64)
    counts = ends - begin
    counts -= 2
    return _DecimalParts(view, ends, counts, whole, whole > 9).values(tail, None)


def _parse_general(text: Bytes, view: Words, begin: Int, ends: Int, tail: Words) -> Floats:
    """Numbers of any kind; NaN where it needs a closer look."""
    exponents, ends, odd = _parse_exponents(text, ends, tail)
    head = view[begin]
    other = head ^ _POINTS
    other = (other - _EVERY_BYTE) & ~other & _HIGH  # the lowest bit of it is that of the first point
    before = np.minimum(_lowest_set_byte(other), ends - begin)  # digits before the point, or before the end
    counts = np.maximum(ends - begin - before - 1, 0)
    pointed = before < ends - begin
    odd |= (before == 0) | (pointed & (counts == 0)) | ((before == 8) & ~_ends_or_has_point(text, begin + 8, pointed))
    leading = text[begin] == _ZERO
    odd |= leading & (before > 1)
    odd |= leading & ~pointed & (exponents == 0) & (text[begin - 1] == _MINUS)
    faulty = np.zeros(len(begin), dtype=np.uint64)
    shift = (8 * (8 - np.maximum(before, 1))).astype(np.uint64)
    whole = _parse_eight_digits(head << shift, before, faulty)
    odd |= (faulty & _HIGH) != 0
    return _DecimalParts(view, ends, counts, whole, odd).values(view[ends - 8], exponents)


def _ends_or_has_point(text: Bytes, places: Int, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether a number ends at these places, or has its point there."""
    return np.asarray(~inside | (text[places] == _POINT))


def _lowest_set_byte(bits: Words) -> Int:
    """The number of the byte (0 … 7) that holds the lowest bit; 8 where there is none."""
    lowest = bits & (~bits + _U(1))
    return np.asarray(np.bitwise_count(lowest - _U(1)) >> 3, dtype=np.int64)


def _parse_exponents(text: Bytes, ends: Int, tail: Words) -> tuple[Int, Int, NDArray[np.bool_]]:
    """The decimal exponents (0 where there is none), where the digits before them end, and which need a closer look."""
    found, odd = np.zeros(len(ends), dtype=np.int64), np.zeros(len(ends), dtype=bool)
    letters = tail & _LETTER
    having = np.flatnonzero(letters)
    if not len(having):
        return found, ends, odd
    stops, digits_end = ends.copy(), ends[having]
    at = digits_end - 8 + _lowest_set_byte(letters[having])
    stops[having] = at
    sign = text[at + 1]
    negative = sign == _MINUS
    counts = digits_end - at - 1 - (negative | (sign == _PLUS))
    faulty = np.zeros(len(having), dtype=np.uint64)
    sizes = _parse_eight_digits(tail[having], np.maximum(counts, 0), faulty).astype(np.int64)
    wrong = ((text[at] | np.uint8(0x20)) != ord("e")) | (counts < 1) | (sizes > _MAX_EXPONENT) | ((faulty & _HIGH) != 0)
    odd[having] = wrong
    found[having] = np.where(wrong, 0, np.where(negative, -sizes, sizes))
    return found, stops, odd


def _parse_eight_digits(words: Words, counts: Int, faulty: Words) -> Words:
    """The values of the last `counts` (0 … 8) characters of words; `faulty` gets high bits where one is no digit."""
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
    words *= _U(0x000F424000000064)
    pairs *= _U(0x0000271000000001)
    words += pairs
    words >>= _U(32)
    return words


@dataclass(frozen=True, slots=True)
class _DecimalParts:
    """Numbers taken apart: the value before the point, and the `counts` digits between the point and `ends`.

    `odd` ones need a closer look.
    """

    view: Words
    ends: Int
    counts: Int
    whole: Words
    odd: NDArray[np.bool_]

    def values(self, tail: Words, exponents: Int | None) -> Floats:
        """The numbers without their signs, NaN where they are odd; `tail` has the last eight characters."""
        counts, odd = self.counts, self.odd
        longest = int(counts.max())
        if longest > LEADING_PAD_BYTES or int(counts.min()) < 1:
            odd = odd | (counts > LEADING_PAD_BYTES) | ((counts < 1) & (exponents is None))
            counts = np.clip(counts, 0, LEADING_PAD_BYTES)
        faulty = np.zeros(len(counts), dtype=np.uint64)
        mantissa = _parse_eight_digits(tail, np.minimum(counts, 8), faulty)
        for step in (8, 16):
            if longest > step:
                part = _parse_eight_digits(self.view[self.ends - step - 8], np.clip(counts - step, 0, 8), faulty)
                if step == 16:
                    odd = odd | (part >= 1000)
                part *= _POWERS_OF_TEN[step]
                mantissa += part
        most = int(self.whole.max()) if longest < 18 else 10
        if most * 10**longest >= _MAX_MANTISSA:
            odd = odd | (self.whole * 10.0**counts >= _MAX_MANTISSA / 2)
        whole = self.whole * _POWERS_OF_TEN.take(np.minimum(counts, 19))
        mantissa += whole
        scales = -counts if exponents is None else exponents - counts
        found = _scale_by_power(mantissa, scales)
        faulty &= _HIGH
        odd = odd | (faulty != 0)
        if odd.any():
            found[odd] = np.nan
        return found


def _scale_by_power(mantissa: Words, scales: Int) -> Floats:
    """Mantissa × 10^scale (-224 … 200), correctly rounded; NaN where that is not certain."""
    if int(mantissa.max()) < _EXACT_INTEGER_LIMIT and int(scales.min()) >= -22 and int(scales.max()) <= 0:
        found = mantissa.astype(np.float64)
        found /= _UPPER.take(-_MIN_EXPONENT - scales)
        return found
    scales = scales - _MIN_EXPONENT
    power = _UPPER.take(scales)
    most = mantissa.astype(np.float64)
    with np.errstate(invalid="ignore"):  # what is no number at all may be beyond 64 bits
        rest = (mantissa - most.astype(np.uint64)).view(np.int64).astype(np.float64)
    found, error = _two_product(most, power)
    error += most * _LOWER.take(scales)
    error += rest * power
    doubt = found * 2.0**-100  # sixteen times what is lost in the sums above
    found_low = found + (error - doubt)
    found += error + doubt
    found[found != found_low] = np.nan
    return found


def _two_product(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """The product of binary64 numbers, and exactly what its rounding left out (Dekker 1971)."""
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
    """Two numbers of half the digits whose sum the values are (Veltkamp 1968)."""
    scaled = values * _VELTKAMP_FACTOR
    upper = scaled - (scaled - values)
    return upper, values - upper
