"""Reads a challenge description from YAML or JSON; of YAML's implicit types only booleans, numbers and null apply."""

import re
from pathlib import Path
from typing import Any

import yaml

from app.cli.terminal.output import CommandError

_FLOAT = r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
_SCALAR_PATTERNS = (
    ("bool", r"true|false", "tf"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", _FLOAT, "-+.0123456789"),
)


class _StrictLoader(yaml.SafeLoader):
    """Reads no, on, 010 and dates as strings, since they may be class labels, and refuses repeated keys."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own shape)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping, unless a key is repeated."""
        keys: set[str] = set()
        for key, _ in node.value:
            if key.value in keys:
                message = f"the key {key.value!r} occurs twice"
                raise yaml.constructor.ConstructorError(problem=message, problem_mark=key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep=deep)


for _tag, _pattern, _first in _SCALAR_PATTERNS:
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))
_StrictLoader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])


_REMEDY = "See examples/digits/challenge.yaml for an example."


def read_yaml(path: Path) -> Any:
    """The value in a YAML or JSON file."""
    try:
        return yaml.load(path.read_text("utf-8-sig"), _StrictLoader)  # noqa: S506 (a safe loader, narrowed further)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"
        raise CommandError("syntax", f"{path}{where}: {error.problem or error}.", _REMEDY) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CommandError("syntax", f"{path}: {error}.", _REMEDY) from None


def load_description(path: Path) -> dict[str, Any]:
    """The challenge description in a YAML or JSON file."""
    content = read_yaml(path)
    if not isinstance(content, dict):
        detail = f"{path}: a challenge description must be a mapping of names to values."
        raise CommandError("wrong_shape", detail, _REMEDY)
    return content
