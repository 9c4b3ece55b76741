"""The picture in the README: the report of `rectitude demo`, as a browser shows it.

python docs/images/make_screenshot.py     writes report.png beside it; needs Chromium
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from rectitude.cli import main

HERE = Path(__file__).resolve().parent
SIZE = {"width": 1280, "height": 860}


def screenshot() -> None:
    """Run the demo, and take a picture of the top of its report."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        main(["demo", "--folder", folder])
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto((Path(folder) / "run" / "report.html").as_uri())
        page.screenshot(path=HERE / "report.png")
        browser.close()


if __name__ == "__main__":
    screenshot()
