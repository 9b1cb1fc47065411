"""Take the pictures of docs/campaigns.md with a real browser: `make screenshots`.

A campaign of scenes is made, simulated workers answer for a while, and the pages are photographed: a worker's page at a
desk and on a phone, the end page, the dashboard.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "serve"))

import numpy as np
from browser import PHONE, browsing, visiting
from matplotlib import image
from playwright.sync_api import Page

from amcc.serve.demo import make_demo_campaign, served
from amcc.serve.scenes import png, write_scenes
from amcc.serve.service import Service
from amcc.serve.simulated import Crowd, read_answers

FIGURES = Path(__file__).with_name("figures")

# Seconds that the simulated workers get before the dashboard is looked at, and pages they answer at most.
SECONDS, PAGES = 40.0, 260

PASSWORD = "a password for pictures"


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as place:
        scenes, folder = write_scenes(Path(place) / "scenes", 60, seed=3), Path(place) / "scenes-campaign"
        make_demo_campaign(folder, scenes, PASSWORD)
        with served(folder) as address, Service.open(folder) as service, browsing() as browser:
            service.change(actor="screenshots", languages=("en", "de", "es"))  # not every machine has Chinese fonts
            links = service.invite([*(f"simulated-{n}" for n in range(10)), "you", "phone"], actor="screenshots")
            truth = read_answers(scenes.truth_file)
            Crowd(address, [each.token for each in links[:10]], truth, pause=0.3).run(PAGES, SECONDS)
            wait_for_fit(folder)
            with visiting(browser) as page:
                page.goto(f"{address}/w/{links[10].token}")
                take(page, "serve-welcome")
                work(page, with_picture=True)
                take(page, "serve-work")
            with visiting(browser, **PHONE, device_scale_factor=2) as page:
                page.goto(f"{address}/w/{links[11].token}")
                work(page, with_picture=True)
                take(page, "serve-phone", whole=False)
            with visiting(browser) as page:
                page.goto(f"{address}/dashboard")
                page.fill("input[type=password]", PASSWORD)
                page.keyboard.press("Enter")
                page.wait_for_url("**/dashboard")
                take(page, "serve-dashboard")
            service.end("screenshots", "for the picture of the end page")
            with visiting(browser) as page:
                page.goto(f"{address}/w/{links[0].token}")
                page.goto(f"{address}/work")
                take(page, "serve-end")


def wait_for_fit(folder: Path) -> None:
    """Until the learner has seen most of the votes: the dashboard then shows what it is for."""
    end, learned = time.monotonic() + SECONDS * 4, False
    while not learned and time.monotonic() < end:
        time.sleep(0.5)
        with Service.open(folder) as service:  # anew each time: only a server takes over what is learned meanwhile
            now = service.status()
        learned = now.fitted_votes >= 0.7 * now.n_votes


def work(page: Page, *, with_picture: bool) -> None:
    """Begin to work; give texts back until there is a picture, if one is wanted."""
    page.get_by_role("link", name="Start").or_(page.locator("a[href='/work']")).first.click()
    for _ in range(30):
        if not with_picture or page.locator("main img").count():
            return
        page.locator("form[action='/work/release'] button").first.click()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)  # until the next page has taken the place of this one


def take(page: Page, name: str, *, whole: bool = True) -> None:
    """A picture of a page, small."""
    page.wait_for_load_state("networkidle")
    path = FIGURES / f"{name}.png"
    page.screenshot(path=path, full_page=whole, animations="disabled")
    shrink(path)


def shrink(path: Path) -> None:
    """Fewer shades: the eye does not miss them, and the file is a fraction."""
    picture = (image.imread(path)[:, :, :3] * 255).round().astype(int)
    step = 8  # shades that become one; text stays sharp
    path.write_bytes(png(np.minimum((picture + step // 2) // step * step, 255).astype(np.uint8)))


if __name__ == "__main__":
    main()
