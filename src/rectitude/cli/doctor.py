"""`rectitude doctor`: print what an issue report needs to say about this machine."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rectitude._version import __version__
from rectitude.cli.options import Json, listing
from rectitude.cli.output import say

NAME = "doctor"
EXAMPLE = """\b
Examples:
  rectitude doctor
  rectitude doctor --json"""
SETTINGS = (
    "RECTITUDE_KERNELS", "RECTITUDE_TORCH_KERNELS", "RECTITUDE_THREADS", "RECTITUDE_MEMORY",
    "RECTITUDE_SCRATCH",
    "RECTITUDE_PLUGINS", "RECTITUDE_ENERGY", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT",
    "POLARS_MAX_THREADS", "CUDA_VISIBLE_DEVICES", "TRITON_INTERPRET",
    "TRITON_CACHE_DIR", "JAVA_HOME",
)  # fmt: skip
"""environment variables that change how rectitude works"""
BUNDLES = ("all", "dev")
"""extras that only put others together"""
_REQUIREMENT = re.compile(r"^([\w.-]+)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")


def run(as_json: Json = False) -> int:
    """Print versions, kernels, caches, CUDA and extras: what an issue report needs."""
    facts = examine()
    say(json.dumps(facts, indent=1) if as_json else _describe(facts))
    return 0


def examine() -> dict[str, Any]:
    """Return what matters about this machine and its packages."""
    requirements = list(requires("rectitude") or [])
    return {
        "rectitude": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.platform()}, {platform.machine()}",
        "packages": {name: _find_version(name) for name in _packages_of(requirements, None)},
        "machine": _examine_machine(),
        "kernels": _examine_kernels(),
        "gpu": _examine_gpu(),
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
        "extras": _examine_extras(requirements),
    }


def _packages_of(requirements: Sequence[str], extra: str | None) -> list[str]:
    """Return the packages that an extra needs, or rectitude itself if the extra is None."""
    names = []
    for requirement in requirements:
        marked, name = _EXTRA.search(requirement), _REQUIREMENT.match(requirement)
        if name is not None and (marked[1] if marked else None) == extra:
            names.append(name[1])
    return names


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _examine_extras(requirements: Sequence[str]) -> dict[str, dict[str, str | None]]:
    """Return the packages of each extra with their versions; None for those that are missing."""
    found = (_EXTRA.search(requirement) for requirement in requirements)
    extras = dict.fromkeys(match[1] for match in found if match)
    return {
        extra: {name: _find_version(name) for name in _packages_of(requirements, extra)}
        for extra in extras
        if extra not in BUNDLES
    }


def _examine_machine() -> dict[str, str]:
    from rectitude.memory import in_units, machine_memory, memory_limit
    from rectitude.parallel import thread_count

    return {
        "processors": str(os.cpu_count()),
        "threads": str(thread_count()),
        "memory": in_units(machine_memory()),
        "limit for one input": in_units(memory_limit()),
        "temporary files": _describe_scratch(),
        "Java": shutil.which("java") or "not found; Spark needs it",
    }


def _describe_scratch() -> str:
    """Return the folder of temporary files, and how many folders killed runs left in it."""
    folder = Path(os.environ.get("RECTITUDE_SCRATCH") or tempfile.gettempdir())
    if not os.path.isdir(folder):  # noqa: PTH112  (raises no error, whatever the name)
        return f"{folder}, which is no folder"
    left = sum(path.is_dir() for path in folder.glob("rectitude-parts-*"))
    return f"{folder} ({left} of runs that go on or were killed)" if left else str(folder)


def _examine_kernels() -> dict[str, str]:
    """Return whether kernels are compiled, and where their machine code is kept.

    A small kernel is compiled to find out: an import alone would not notice a broken numba.
    """
    if find_spec("numba") is None:
        advice = "NumPy is used, which is slower: pip install 'rectitude[speed]'"
        return {"compiled": f"no: numba is not installed; {advice}"}
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return {"compiled": "no: NUMBA_DISABLE_JIT is set; NumPy is used, which is slower"}
    try:
        import numpy as np

        from rectitude.kernels import kernel

        compiled: Any = kernel(_first)
        compiled(np.zeros(1, np.int64))
        cache = compiled._cache
    except Exception as error:  # whatever numba raises is what the report has to say
        return {"compiled": f"no: {type(error).__name__}: {error}"}
    return {"compiled": "yes, by numba", "cache": getattr(cache, "cache_path", "none")}


def _first(numbers: Any) -> Any:
    """Return the first number: a kernel to try the compiler on."""
    return numbers[0]


def _examine_gpu() -> dict[str, str]:
    if find_spec("torch") is None:
        return {"torch": "not installed"}
    try:
        import torch
    except Exception as error:  # a broken install raises anything
        return {"torch": f"cannot be imported: {type(error).__name__}: {error}"}
    return {
        "torch": torch.__version__,
        "CUDA": _describe_cuda(torch),
        "Triton": _describe_triton(torch),
        "counting": _describe_counting(torch),
    }


def _describe_triton(torch: Any) -> str:
    """Return the version of Triton, whether kernels run in it, and where it keeps them."""
    found = _find_version("triton")
    if found is None:
        return "not installed; plain torch is used on GPUs, which is slower"
    if os.environ.get("TRITON_INTERPRET") == "1":
        return f"{found}, interpreted (TRITON_INTERPRET=1), which is for tests"
    if not torch.cuda.is_available():
        return f"{found}, not used without a GPU"
    cache = os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache"
    return f"{found}, cache {cache}"


def _describe_counting(torch: Any) -> str:
    """Return what counts the ranks of tensors, as `manifest["kernels"]` names it."""
    from rectitude.torch.kernels import choice

    if torch.cuda.is_available():
        return f"{choice(torch.device('cuda'))} on cuda"
    return "on the processor, as arrays"


def _describe_cuda(torch: Any) -> str:
    if not torch.cuda.is_available():
        return "not available" if torch.version.cuda else "not in this build of torch"
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return f"{torch.version.cuda}: {', '.join(names)}"


def _describe(facts: Mapping[str, Any]) -> str:
    lines = [f"rectitude {facts['rectitude']}", f"Python {facts['python']}", facts["platform"]]
    packages = {name: found or "missing" for name, found in facts["packages"].items()}
    sections = {
        "Packages": packages,
        "Machine": facts["machine"],
        "Kernels": facts["kernels"],
        "GPU": facts["gpu"],
        "Settings in the environment": facts["settings"] or {"none": ""},
    }
    for title, entries in sections.items():
        width = max(map(len, entries))
        lines += [
            "",
            title,
            *(f"  {name:{width}}  {text}".rstrip() for name, text in entries.items()),
        ]
    rows = [[extra, *_describe_extra(extra, found)] for extra, found in facts["extras"].items()]
    return "\n".join([*lines, "", listing([["extra", "state", "packages"], *rows])])


def _describe_extra(extra: str, packages: Mapping[str, str | None]) -> tuple[str, str]:
    """Return the state of an extra, and its packages or the command that installs them."""
    missing = [name for name, found in packages.items() if found is None]
    if missing:
        return f"without {', '.join(missing)}", f"pip install 'rectitude[{extra}]'"
    return "complete", ", ".join(f"{name} {found}" for name, found in packages.items())
