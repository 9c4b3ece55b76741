"""A page that a real browser opened from disk, and a name that would be a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HOSTILE = "<script>alert(1)</script>"


class Opened:
    """A page, with its console messages and its network requests."""

    def __init__(self, browser: Any, path: Path, **settings: Any) -> None:
        self.context = browser.new_context(accept_downloads=True, **settings)
        self.page: Any = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
