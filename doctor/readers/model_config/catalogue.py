"""Which description holds for which model_type."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.readers.model_config.families import DENSE
from doctor.readers.model_config.mixtures import MIXTURES
from doctor.readers.model_config.older import OLDER
from doctor.readers.model_config.weights import Family

FAMILIES: Mapping[str, Family] = {**DENSE, **MIXTURES, **OLDER}
