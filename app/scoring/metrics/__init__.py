"""The families of metrics; importing this fills the catalogue, in the order in which it is shown."""

from app.scoring.metrics import base, f_of_averages, whole  # isort: skip
from app.scoring.metrics import agreement, probability  # isort: skip

__all__ = ["agreement", "base", "f_of_averages", "probability", "whole"]
