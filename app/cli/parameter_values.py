"""Converts the values of usual parameters, as typer does with pydantic, whose import takes longer than most commands."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, get_args, get_origin


class _NotSimple(Exception):
    """The value is left to typer: it is of another type, or may be invalid."""


class _SimpleConversion:
    """Converts valid texts, paths, choices and lists of them; typer converts everything else and words all errors.

    It takes the place of the parameter's method `get_runtime_param`, and of the conversion that the method returns.
    """

    def __init__(self, param: Any) -> None:
        self._typer_conversion = param.get_runtime_param
        self._annotation = param.type_descriptor.annotation
        self._info = param.type_descriptor.parameter_info

    def __call__(self) -> "_SimpleConversion":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value that the command gets."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        with suppress(_NotSimple):
            return self._convert(value, self._annotation)
        return self._typer_conversion().coerce(value, param=param, ctx=ctx)

    def _convert(self, value: Any, annotation: Any) -> Any:
        if get_origin(annotation) is list and isinstance(value, list | tuple):
            (of_one,) = get_args(annotation)
            return [self._convert(each, of_one) for each in value]
        if self._info.parser is None and isinstance(value, str):
            if annotation is str or (get_origin(annotation) is Literal and value in get_args(annotation)):
                return value
            if annotation is Path:
                return self._convert_path(value)
        raise _NotSimple

    def _convert_path(self, text: str) -> Path:
        """The path, unless its parameter may refuse or change it."""
        path, info = Path(text), self._info
        if info.allow_dash or info.resolve_path or info.path_type is not None:
            raise _NotSimple
        try:
            mode = path.stat().st_mode
        except OSError:
            if info.exists:
                raise _NotSimple from None
            return path
        is_kind_allowed = (info.file_okay or not stat.S_ISREG(mode)) and (info.dir_okay or not stat.S_ISDIR(mode))
        is_accessible = os.access(path, os.R_OK) and (not info.writable or os.access(path, os.W_OK))
        if not is_kind_allowed or not is_accessible:
            raise _NotSimple
        return path


def convert_without_pydantic(param: Any) -> None:
    """Have typer convert the values of a parameter without pydantic where their conversion is simple."""
    if not isinstance(param.get_runtime_param, _SimpleConversion):
        param.get_runtime_param = _SimpleConversion(param)
