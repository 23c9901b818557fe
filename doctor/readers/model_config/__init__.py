"""config.json to ``ModelShape``: which matrices a model has, counted exactly and without torch."""

from __future__ import annotations

from doctor.readers.model_config.document import ConfigInvalid
from doctor.readers.model_config.reading import read, shape_of
from doctor.readers.model_config.remarks import quantised_as

__all__ = ["ConfigInvalid", "quantised_as", "read", "shape_of"]
