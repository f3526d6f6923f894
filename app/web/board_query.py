"""What a reader asks of a leaderboard's page: the parameters of its address."""

from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import Depends, Query

from app.actions.history.asked_time import read_time
from app.actions.history.former_board import AskedBoard
from app.errors import BadRequest

Split = Literal["all", "public", "private"]
Order = Literal["ascending", "descending"]
MAX_SEARCH = 100  # characters
PAGE_ROWS = 200


class BoardQuery(NamedTuple):
    """The parameters of the page of a board. None stands for the default."""

    phase: str | None = None
    metric: str | None = None
    split: Split | None = None
    sort: str | None = None
    order: Order | None = None
    search: str | None = None
    cursor: str | None = None
    as_of: str | None = None
    gold_version: int | None = None
    recipe_version: int | None = None

    @property
    def board(self) -> AskedBoard:
        """Which board it is; raises BadRequest for text that is no time. A time without an offset is in UTC."""
        if self.as_of is None:
            return AskedBoard(None, self.gold_version, self.recipe_version)
        return AskedBoard(read_time(self.as_of, in_utc=True), self.gold_version, self.recipe_version)

    @property
    def present(self) -> "BoardQuery":
        """The same of the present board."""
        return self._replace(as_of=None, gold_version=None, recipe_version=None, cursor=None)

    @property
    def is_plain(self) -> bool:
        """Whether the rows are those of the API, in its order."""
        return self.sort is None and self.order is None and self.search is None

    def changed(self, **values: Any) -> "BoardQuery":
        """The same with other values; without a cursor, as the rows are other ones."""
        return self._replace(**{"cursor": None} | values)

    def address(self, slug: str, below: str = "") -> str:
        """The address of the page with these parameters, or of one below it."""
        names = {name: "q" if name == "search" else name for name in self._fields}
        given = {names[name]: value for name, value in zip(self._fields, self, strict=True) if value is not None}
        path = f"/challenges/{quote(slug, safe='')}/leaderboard{below}"
        return f"{path}?{urlencode(given)}" if given else path


def _read_query(
    phase: Annotated[str | None, Query(max_length=200)] = None,
    metric: Annotated[str | None, Query(max_length=200)] = None,
    split: Annotated[Split | None, Query()] = None,
    sort: Annotated[str | None, Query(max_length=200)] = None,
    order: Annotated[Order | None, Query()] = None,
    q: Annotated[str | None, Query(max_length=MAX_SEARCH)] = None,
    cursor: Annotated[str | None, Query(max_length=20)] = None,
    as_of: Annotated[str | None, Query(max_length=40)] = None,
    gold_version: Annotated[str | None, Query(max_length=9)] = None,
    recipe_version: Annotated[str | None, Query(max_length=9)] = None,
) -> BoardQuery:
    search = " ".join((q or "").split()) or None
    plain = BoardQuery(phase or None, metric or None, split, sort or None, order, search, cursor or None)
    versions = _number("gold_version", gold_version), _number("recipe_version", recipe_version)
    return plain._replace(as_of=as_of or None, gold_version=versions[0], recipe_version=versions[1])


def _number(name: str, text: str | None) -> int | None:
    """The number of a version, from a field of a form that may be empty; raises BadRequest."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise BadRequest(f"'{name}' is not a number from 1 on.")
    return int(text)


BoardQueryDep = Annotated[BoardQuery, Depends(_read_query)]
