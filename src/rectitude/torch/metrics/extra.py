"""Imported first: says what to install where torch or torchmetrics is missing."""

from __future__ import annotations

from importlib.util import find_spec

from rectitude.errors import MissingExtra

for needed in ("torch", "torchmetrics"):
    if find_spec(needed) is None:
        raise MissingExtra(
            f"rectitude.torch.metrics needs {needed}, which is not installed.",
            advice="pip install 'rectitude[torch]'",
        )
