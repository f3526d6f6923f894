"""The pseudonyms of teams on an anonymous board: fixed while the board lives, unrelated to those on any other board."""

from collections.abc import Collection
from hashlib import blake2b

_SIGNS = "23456789BCDFGHJKMNPQRSTVWXZ"  # no vowels, so that no words occur, and no signs that look alike
_CODE_LENGTH = 24
_SHORTEST = 4


def pseudonyms(board_key: str, teams: Collection[str]) -> dict[str, str]:
    """The pseudonym of each team id, from the secret key of the board.

    It does not follow the ranks, or the name would change hands whenever somebody submits; nor when a team came, which
    others may know. Two codes that begin alike are both shown one sign longer.
    """
    codes = sorted((team_code(board_key, team), team) for team in set(teams))
    names: dict[str, str] = {}
    for place, (code, team) in enumerate(codes):
        neighbours = (codes[other][0] for other in (place - 1, place + 1) if 0 <= other < len(codes))
        length = max([_SHORTEST, *(_shared(code, other) + 1 for other in neighbours)])
        names[team] = f"Anonymous {code[:length]}"
    return names


def team_code(board_key: str, team: str) -> str:
    """What the pseudonym of a team is the beginning of."""
    number = int.from_bytes(blake2b(team.encode(), key=board_key.encode(), digest_size=16).digest())
    signs = []
    for _ in range(_CODE_LENGTH):
        number, sign = divmod(number, len(_SIGNS))
        signs.append(_SIGNS[sign])
    return "".join(signs)


def _shared(code: str, other: str) -> int:
    """How many first signs two codes have in common."""
    return next(place for place, (one, two) in enumerate(zip(code, other, strict=True)) if one != two)
