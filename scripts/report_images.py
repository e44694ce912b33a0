"""The pictures of reports in the documentation: ``python scripts/report_images.py STUDY``.

STUDY is the folder of a finished study, such as ``demo/study`` after ``make demo``. A file is
privatized and a small model is trained for the other two. Chromium takes the pictures; where it is,
``SFUMATO_CHROMIUM`` tells.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import sfumato
from sfumato.cli.main import main as command

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = os.environ.get("SFUMATO_CHROMIUM", "/usr/bin/chromium")
IMAGES = Path("docs") / "images"
# Larger pictures make the documentation slow to load.
MOST_BYTES = 200_000


@dataclass(frozen=True)
class Shot:
    """A picture: of which page, how wide and high, in which look, and what is opened for it."""

    name: str
    page: str
    width: int
    height: int
    look: str = "light"
    opened: str = ""


SHOTS = (
    Shot("report-demo", "study", 1100, 1180),
    Shot("report-demo-dark", "study", 1100, 760, look="dark"),
    Shot("report-demo-phone", "study", 360, 1200),
    Shot("report-study", "study", 1100, 900, opened="#figure-2"),
    Shot("report-file", "file", 1100, 1180),
    Shot("report-run", "run", 1100, 1050),
)


def make_pages(study: Path, folder: Path) -> dict[str, Path]:
    """The pages that pictures are taken of."""
    texts, soft, run = folder / "tickets.jsonl", folder / "soft.jsonl", folder / "model"
    for arguments in (
        ["data", "customersim", "-n", "200", "--seed", "1", "-o", str(texts)],
        ["privatize", str(texts), "-o", str(soft), "--drop", "spans", "--keep", "id,label"],
        ["train", str(texts), "-o", str(run), "--model", "lstm", "--set", "embedding=16",
         "--set", "hidden=16", "--epsilon", "3", "--epochs", "1", "--batch-size", "32"],
    ):  # fmt: skip
        if command(arguments):
            sys.exit(1)
    given = {"study": study, "file": soft, "run": run}
    return {
        name: sfumato.report(path, folder / f"{name}.html").path for name, path in given.items()
    }


def take(browser: Browser, shot: Shot, page: Path) -> None:
    """Take one picture."""
    size = {"width": shot.width, "height": shot.height}
    context = browser.new_context(viewport=size, color_scheme=shot.look)  # type: ignore[arg-type]
    view = context.new_page()
    view.goto(page.as_uri())
    view.wait_for_selector("html[data-ready=yes]", state="attached")
    target = IMAGES / f"{shot.name}.png"
    if shot.opened:
        view.evaluate("document.querySelectorAll('.question').forEach(one => one.open = true)")
        view.locator(shot.opened).screenshot(path=target)
    else:
        view.screenshot(path=target)
    context.close()
    if target.stat().st_size > MOST_BYTES:
        sys.exit(f"{target} has {target.stat().st_size:,} bytes; at most {MOST_BYTES:,} are wanted")
    print(f"{target}: {target.stat().st_size:,} bytes")


def main() -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        pages = make_pages(Path(sys.argv[1]), Path(place))
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        for shot in SHOTS:
            take(browser, shot, pages[shot.page])
        browser.close()


if __name__ == "__main__":
    main()
