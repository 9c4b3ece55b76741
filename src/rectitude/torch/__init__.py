"""Evaluation inside PyTorch code. This package is the only one that imports torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rectitude.errors import MissingExtra

if TYPE_CHECKING:
    from rectitude.reports.history import History
    from rectitude.torch.actors import Actors
    from rectitude.torch.evaluate import evaluate
    from rectitude.torch.evaluator import Evaluator
    from rectitude.torch.held import Ranked
    from rectitude.torch.metric import RankingCallback, RankingMetric

__all__ = [
    "Actors",
    "Evaluator",
    "History",
    "Ranked",
    "RankingCallback",
    "RankingMetric",
    "evaluate",
]

_WHERE = {
    "Actors": "rectitude.torch.actors",
    "Evaluator": "rectitude.torch.evaluator",
    "History": "rectitude.reports.history",
    "Ranked": "rectitude.torch.held",
    "RankingCallback": "rectitude.torch.metric",
    "RankingMetric": "rectitude.torch.metric",
    "evaluate": "rectitude.torch.evaluate",
}
_MODULES = ("metrics",)


def __getattr__(name: str) -> Any:
    """Import public names on first use, each with only the packages that it needs."""
    if name in _MODULES:
        return import_module(f"rectitude.torch.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'rectitude.torch' has no attribute {name!r}")
    try:
        value = getattr(import_module(_WHERE[name]), name)
    except ModuleNotFoundError as error:
        raise _missing_extra(name, str(error.name)) from error
    globals()[name] = value
    return value


def _missing_extra(name: str, package: str) -> MissingExtra:
    """Return the error for a name whose package is not installed."""
    package = package.partition(".")[0]
    install = package if package == "lightning" else "'rectitude[torch]'"
    found = f"rectitude.torch.{name} needs {package}, which is not installed."
    return MissingExtra(found, "", f"pip install {install}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
