#!/usr/bin/env python3
"""Opens every page of the documentation in headless Chromium and checks that it works.

    tests/browser/check_docs.py build-docs/html [SCREENSHOT_FOLDER]

Needs Debian's chromium and chromium-driver, PyPI's selenium and axe-playwright-python. Checks of each
page, wide and as on a phone, light and dark: no message on the console, nothing asked of another
machine, nothing wider than the screen, nothing that axe-core objects to, and that the search finds
what is there. Exits 1 where one fails.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

from accessibility import violations
from open_page import start

SCREENS = {"wide": (1400, 900), "phone": (390, 844)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("screenshots", type=pathlib.Path, nargs="?")
    parser.add_argument("--only", default="", help="pages whose path has this in it")
    return parser.parse_args()


def requests(driver):
    """Addresses that the page asked for, from the log of the browser's network."""
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]


def wrong(driver):
    """What is wrong with the page that is open, a line each."""
    for entry in driver.get_log("browser"):
        yield f"console: {entry['message'][:200]}"
    for url in requests(driver):
        if url.startswith(("http:", "https:", "ws:", "wss:")):
            yield f"asks for {url}"
    over = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
    if over > 0:
        widest = driver.execute_script(
            "return [...document.querySelectorAll('article *')].filter(n => n.getBoundingClientRect().right > innerWidth)"
            ".map(n => n.tagName + '.' + n.className).slice(0, 3).join(', ')"
        )
        yield f"{over} px wider than the screen: {widest}"
    yield from (line[:400] for line in violations(driver))


def search(driver, site):
    driver.get((site / "search.html").as_uri() + "?q=potential")
    for _ in range(100):
        found = driver.execute_script(
            "return document.querySelectorAll('#search-results li').length"
        )
        if found:
            return []
        time.sleep(0.1)
    return ["the search finds nothing"]


def main():
    arguments = parse_arguments()
    site = arguments.site.resolve()
    pages = sorted(p for p in site.rglob("*.html") if arguments.only in str(p.relative_to(site)))
    failed = 0
    for screen, (width, height) in SCREENS.items():
        for theme in ("light", "dark"):
            with tempfile.TemporaryDirectory() as profile:
                driver = start(width, height, profile, screen == "phone", {"performance": "ALL"})
                try:
                    driver.execute_cdp_cmd(
                        "Emulation.setEmulatedMedia",
                        {"features": [{"name": "prefers-color-scheme", "value": theme}]},
                    )
                    for page in pages:
                        driver.get(page.as_uri())
                        name = str(page.relative_to(site).with_suffix(""))
                        found = list(wrong(driver))
                        for line in found:
                            print(f"FAILED {screen}, {theme}: {name}: {line}")
                        failed += len(found)
                        if arguments.screenshots:
                            arguments.screenshots.mkdir(parents=True, exist_ok=True)
                            file = (
                                arguments.screenshots
                                / f"{name.replace('/', '-')}-{screen}-{theme}.png"
                            )
                            driver.save_screenshot(str(file))
                    for line in search(driver, site):
                        print(f"FAILED {screen}, {theme}: {line}")
                        failed += 1
                finally:
                    driver.quit()
    print(f"{len(pages)} pages work" if failed == 0 else f"{failed} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
