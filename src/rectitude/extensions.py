"""Code of your own, by its import path: `package.module:Object`. Naming it runs its code, unless
plugins are off."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Literal

from rectitude.errors import BadExtension, BadSetting, unknown_name

Plugins = Literal["on", "off"]
SWITCH = "RECTITUDE_PLUGINS"
"""The environment variable that turns off all code that is not ours, if it is "off"."""
_PLUGINS: ContextVar[Plugins] = ContextVar("rectitude_plugins", default="on")
"""What the caller allows. Every thread has its own value, so runs do not disturb each other."""


def plugins_allowed() -> Plugins:
    """Return "off" if the caller or the environment turns plugins off."""
    setting = os.environ.get(SWITCH, "")
    if setting not in ("", "on", "off"):  # such as OFF: code must not run because of a typing error
        raise BadSetting(
            f"{SWITCH} is {setting!r}.",
            "on or off.",
            "unset it, or set it to off to run no plugins.",
        )
    return "off" if setting == "off" else _PLUGINS.get()


@contextmanager
def allow_plugins(plugins: Plugins) -> Iterator[Plugins]:
    """Turn off all plugins inside this block, including metrics of other packages, if the argument
    is "off". Yield "off" if they are off, for whatever reason."""
    before = _PLUGINS.set("off" if plugins == "off" else _PLUGINS.get())
    try:
        yield plugins_allowed()
    finally:
        _PLUGINS.reset(before)


_FILE: ContextVar[str | None] = ContextVar("rectitude_file", default=None)
"""The file whose names are being read, if it must not import anything."""


@contextmanager
def import_nothing_for(file: str) -> Iterator[None]:
    """Refuse to import what a file names inside this block: a file of results must not run code."""
    before = _FILE.set(file)
    try:
        yield
    finally:
        _FILE.reset(before)


def is_path(name: str) -> bool:
    """Return whether a name is an import path."""
    return ":" in name


def import_object(path: str, instead: str, plugins: Plugins = "on") -> Any:
    """Return the object at an import path; `instead` says what works without plugins."""
    _require_allowed(path, instead, plugins)
    module, _, name = path.partition(":")
    if _FILE.get() is not None and module not in sys.modules:
        raise BadExtension(
            f"{_FILE.get()} names {path}, and opening a file imports nothing.",
            f"{instead}, or a module that the program has imported.",
            f"if you trust it, `import {module}` first.",
        )
    try:
        target: Any = import_module(module)
    except Exception as error:  # importing a module can raise anything
        raise BadExtension(
            f"{path}: importing {module!r} raised {type(error).__name__}: {error}.",
            "a module that Python can import, as package.module:Object.",
            "install it, or add its folder to PYTHONPATH.",
        ) from error
    for attribute in name.split("."):
        if not hasattr(target, attribute):
            known = [public for public in dir(target) if not public.startswith("_")]
            raise unknown_name("name", attribute, known, where=module)
        target = getattr(target, attribute)
    return target


def _require_allowed(path: str, instead: str, plugins: Plugins) -> None:
    off = f"{SWITCH}=off" if os.environ.get(SWITCH) == "off" else "plugins='off'"
    if "off" in (plugins, plugins_allowed()):
        raise BadExtension(f"{path} would run its own code, but {off} forbids that.", f"{instead}.")
