"""Texts that are decoded only when the first one is requested."""

from collections.abc import Callable, Iterator, Sequence
from typing import overload


class LazyTexts(Sequence[str]):
    """`count` texts, which `decode` returns when the first one is requested; then they are cached."""

    def __init__(self, count: int, decode: Callable[[], Sequence[str]]) -> None:
        self._count = count
        self._decode = decode
        self._texts: Sequence[str] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._load()[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __contains__(self, text: object) -> bool:
        return text in self._load()

    def _load(self) -> Sequence[str]:
        if self._texts is None:
            self._texts = self._decode()
        return self._texts
