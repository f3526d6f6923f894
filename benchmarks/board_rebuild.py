"""Building a leaderboard from the rows: against sorting and serialising alone, against teams and entries of a team."""

import random
from collections.abc import Iterator
from itertools import batched
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from app.actions.challenges.change_recipe import normalize_recipe, recipe_fingerprint
from app.api.caching.board_cache import BoardKey
from app.api.leaderboards import build_board, encode_board
from app.scoring import SCORER_VERSION
