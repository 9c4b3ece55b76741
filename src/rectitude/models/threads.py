"""Linear algebra on one thread, so that how many there are does not show in the last bits."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

_PACKAGE = "threadpoolctl"


def one_thread() -> AbstractContextManager[Any]:
    """While this lasts, linear algebra runs on one thread, if the package is there that can say
    so."""
    try:
        package = import_module(_PACKAGE)
    except ModuleNotFoundError:
        return nullcontext()
    import_module("scipy.linalg")  # only libraries that are loaded can be limited
    limits: AbstractContextManager[Any] = package.threadpool_limits(1)
    return limits


def note() -> dict[str, str]:
    """What is to be known about the bits of a model that was solved for."""
    try:
        import_module(_PACKAGE)
    except ModuleNotFoundError:
        words = (
            "on as many threads as it likes: with another number of them the last bits of scores"
            f" may differ; pip install {_PACKAGE} holds it to one"
        )
        return {"linear algebra": words}
    return {}
