"""What a reader asks of a leaderboard's page: the parameters of its address."""

from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import Depends, Query

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
) -> BoardQuery:
    search = " ".join((q or "").split()) or None
    return BoardQuery(phase or None, metric or None, split, sort or None, order, search, cursor or None)


BoardQueryDep = Annotated[BoardQuery, Depends(_read_query)]
