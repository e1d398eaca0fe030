#!/usr/bin/env python3
"""Opens every page of the documentation in headless Chromium and checks that it works.

    tests/browser/check_docs.py build-docs/html [SCREENSHOT_FOLDER]

Needs Debian's chromium and chromium-driver, PyPI's selenium and axe-playwright-python. Checks of each
page, wide and as on a phone, light and dark: no message on the console, nothing asked of another
machine, nothing wider than the screen, no figure whose words shrink, nothing that axe-core objects
to, that paper has all of it and nothing to press, and that the search finds what is there. Exits 1 where one fails.
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
    shrunk = driver.execute_script(
        "return [...document.querySelectorAll('article img')].filter(n => innerWidth < 600 && n.width < n.naturalWidth)"
        ".map(n => n.alt)"
    )
    if shrunk:
        yield f"figures whose words shrink: {'; '.join(shrunk)[:200]}"
    yield from (line[:400] for line in violations(driver))


def wrong_on_paper(driver):
    """What is cut off or covered where the page is printed on A4 upright, a line each."""
    metrics = {"width": 672, "height": 1002, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    pressed, cut = driver.execute_script("""
        const shown = (selector) => [...document.querySelectorAll(selector)].filter((node) => node.offsetParent !== null ||
          (getComputedStyle(node).position === 'fixed' && getComputedStyle(node).display !== 'none'));
        return [shown('.skip-to-content, .sidebar-drawer, .toc-drawer, .content footer').map((node) => node.className || node.tagName),
          [...document.querySelectorAll('article pre, article table, article img, .formula')].filter((node) =>
            Math.max(node.getBoundingClientRect().right, node.getBoundingClientRect().left + node.scrollWidth) > innerWidth + 1)
            .map((node) => node.textContent.slice(0, 40) || node.alt)]""")
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    if pressed:
        yield f"in print there is still {', '.join(pressed)}"
    if cut:
        yield f"cut off in print: {'; '.join(cut)}"


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
                scheme = [{"name": "prefers-color-scheme", "value": theme}]
                media = {"media": "", "features": scheme}
                try:
                    for page in pages:
                        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
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
                        if (screen, theme) == ("wide", "light"):
                            on_paper = list(wrong_on_paper(driver))
                            for line in on_paper:
                                print(f"FAILED on paper: {name}: {line}")
                            failed += len(on_paper)
                    for line in search(driver, site):
                        print(f"FAILED {screen}, {theme}: {line}")
                        failed += 1
                finally:
                    driver.quit()
    print(f"{len(pages)} pages work" if failed == 0 else f"{failed} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
