"""Which implementation of the kernels is used: Triton's on CUDA devices, or plain torch."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Literal

import torch

Kind = Literal["triton", "torch"]
SETTING = "RECTITUDE_TORCH_KERNELS"


def choose(device: torch.device) -> Kind:
    """Return the implementation for tensors on a device.

    Triton is used for CUDA tensors if it is installed. The environment variable
    `RECTITUDE_TORCH_KERNELS=torch` or `=triton` overrides this. On other devices, `triton` works
    only in Triton's interpreter (`TRITON_INTERPRET=1`).
    """
    setting = os.environ.get(SETTING, "")
    if setting in ("torch", "triton"):
        return "triton" if setting == "triton" else "torch"
    return "triton" if device.type == "cuda" and _version() is not None else "torch"


def choice(device: torch.device) -> str:
    """Return the implementation with its version: `triton 3.6.0` or `torch 2.11.0`."""
    return f"triton {_version()}" if choose(device) == "triton" else f"torch {torch.__version__}"


@cache
def _version() -> str | None:
    if torch.version.hip is not None:  # untried
        return None
    try:
        return str(import_module("triton").__version__)
    except ImportError:
        return None
