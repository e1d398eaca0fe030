"""A page of ours in headless Chromium: what every check of one begins with, and what all must hold."""

import argparse
import base64
import json
import pathlib
import shutil
import tempfile
import time

import accessibility

WIDTHS = {"desktop": (1400, 900), "phone": (390, 844)}
SCHEMES = ("light", "dark")

# A word of each fact that a cell must show.
FACTS = ("revision", "training seed", "training", "trained on", "evaluation seeds", "raw record")


def parse_arguments(description):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("screenshots", type=pathlib.Path, nargs="?")
    parser.add_argument("--require", action="store_true", help="fail where Chromium is missing")
    return parser.parse_args()


def start(width, height, profile, mobile, logs=None):
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-sync",
        "--no-first-run",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
        f"--window-size={width},{height}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", **(logs or {})})
    if mobile:
        options.add_experimental_option(
            "mobileEmulation",
            {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 2.0}},
        )
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


class Checks:
    def __init__(self, driver, name):
        self.driver = driver
        self.name = name
        self.failed = 0

    def expect(self, what, holds, detail=""):
        print(
            f"{'ok    ' if holds else 'FAILED'} {self.name}: {what}{f' ({detail})' if detail else ''}"
        )
        self.failed += not holds

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def wait_until_drawn(self):
        for _ in range(300):
            if self.script("return document.body.dataset.ready") == "yes":
                return True
            time.sleep(0.1)
        return False

    def loading(self):
        self.expect("drawn", self.wait_until_drawn())
        messages = [entry["message"] for entry in self.driver.get_log("browser")]
        self.expect("no message on the console", not messages, "; ".join(messages)[:300])
        fetched = self.script("return performance.getEntriesByType('resource').map(e => e.name)")
        self.expect("nothing fetched", not fetched, ", ".join(fetched))
        empty = self.script(
            "return [...document.querySelectorAll('section:not([hidden]) > div[id$=body]')]"
            ".filter(n => n.textContent.trim() === '').map(n => n.id)"
        )
        self.expect("every section filled", not empty, ", ".join(empty))
        self.whole()

    def whole(self):
        failed = self.script(
            "return [...document.querySelectorAll('.failed')].map(n => n.textContent)"
        )
        self.expect("no part failed", not failed, "; ".join(failed)[:300])
        self.expect("nothing of the data was run", self.script("return window.hacked") is None)

    def layout(self):
        wide = self.script("return document.documentElement.scrollWidth - innerWidth")
        self.expect("no sideways scrolling of the page", wide <= 0, f"{wide} px over")
        names = self.script(
            "return [...document.querySelectorAll('main tbody th')]"
            ".filter((node) => innerWidth < 600 && node.offsetWidth > innerWidth / 2 &&"
            " !node.closest('details:not([open])')).length"
        )
        self.expect("names of rows leave room for a number", names == 0, f"{names} do not")

    # A script of somebody else, and code made from text.
    def policy(self):
        self.script(
            "const script = document.createElement('script');"
            "script.textContent = 'window.hacked = 2'; document.body.append(script);"
            "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 3\">')"
        )
        time.sleep(0.3)
        self.expect("no other script runs", self.script("return window.hacked") is None)
        blocked = self.script(
            "return new Promise((done) => { const timer = setTimeout(() => done('yes'), 0);"
            "try { setTimeout('window.hacked = 4', 0); } catch (error) {} })"
        )
        self.expect(
            "no code is made from text", self.script("return window.hacked") is None, blocked
        )

    def screenshots(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for section in [
            "filters",
            *self.script(
                "return [...document.querySelectorAll('section:not([hidden])')]"
                ".map((node) => node.id)"
            ),
        ]:
            # What is far outside of the window is captured without its sticky column.
            self.script(
                "document.documentElement.style.scrollBehavior = 'auto';"
                "document.getElementById(arguments[0]).scrollIntoView()",
                section,
            )
            time.sleep(0.2)
            box = self.script(
                "const box = document.getElementById(arguments[0]).getBoundingClientRect();"
                "return {x: 0, y: box.y + scrollY, width: innerWidth,"
                " height: Math.min(box.height + 16, 4000), scale: 1}",
                section,
            )
            if box["height"] <= 16:
                continue
            shot = self.driver.execute_cdp_cmd(
                "Page.captureScreenshot", {"clip": box, "captureBeyondViewport": True}
            )
            (folder / f"{self.name}-{section}.png").write_bytes(base64.b64decode(shot["data"]))

    # What a screen reader, a keyboard and eyes that see little contrast need.
    def accessible(self, where="on the page"):
        found = accessibility.violations(self.driver)
        self.expect(f"axe-core finds nothing {where}", not found, " | ".join(found)[:2000])

    # The Tab key stops once a table; arrows move between its cells.
    def keyboard(self):
        stops = self.script(
            "return [...document.querySelectorAll('table')].map((table) =>"
            "table.querySelectorAll('tbody [tabindex=\"0\"]').length)"
        )
        self.expect("one stop of the Tab key a table", max(stops) <= 1, str(stops))
        moved = self.script("""
            const table = [...document.querySelectorAll('main table')].find((node) =>
              node.offsetParent !== null && node.querySelectorAll('tbody td[tabindex]').length > 1);
            const press = (key) => document.activeElement.dispatchEvent(
              new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
            const first = table.querySelector('tbody td[tabindex="0"]');
            first.focus();
            const path = [first];
            for (const key of ['ArrowRight', 'ArrowDown', 'Home', 'ArrowUp']) { press(key); path.push(document.activeElement); }
            const stops = table.querySelectorAll('tbody [tabindex="0"]').length;
            document.activeElement.blur();
            return [path.every((cell) => cell.tagName === 'TD'), new Set(path).size > 1, stops === 1]""")
        self.expect("arrows move between cells", all(moved), str(moved))

    # A cell of `tables` opens by a click and by Enter, with what made it.
    def origin(self, tables, folder):
        is_open = "return document.getElementById('origin').open"
        self.script(
            "document.querySelector(arguments[0] + ' tr:not(.oracle) td.cell').click()", tables
        )
        self.expect("a click opens a cell", self.script(is_open))
        text = self.script("return document.getElementById('origin').textContent")
        lacking = [fact for fact in FACTS if fact not in text]
        self.expect(
            "with all that makes it again",
            not lacking and "bridgemark " in text,
            ", ".join(lacking),
        )
        box = self.script("""
            const box = document.getElementById('origin').getBoundingClientRect();
            return [box.left >= 0, box.right <= innerWidth, box.bottom <= innerHeight]""")
        self.expect("inside of the window", all(box), str(box))
        if folder:
            self.driver.save_screenshot(str(folder / f"{self.name}-origin.png"))
        self.accessible("in an open cell")
        self.record()
        self.script("document.getElementById('origin-close').click()")
        self.expect("and closes", not self.script(is_open))
        self.script(
            "const cell = document.querySelectorAll(arguments[0] + ' td.cell')[1]; cell.focus();"
            "cell.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))",
            tables,
        )
        self.expect("Enter opens one as well", self.script(is_open))
        self.script("document.getElementById('origin').close(); document.activeElement.blur()")

    def record(self):
        with tempfile.TemporaryDirectory() as folder:
            self.driver.execute_cdp_cmd(
                "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder}
            )
            self.script("document.querySelector('#origin .downloads button').click()")
            time.sleep(0.5)
            files = list(pathlib.Path(folder).glob("*.json"))
            saved = json.loads(files[0].read_text(encoding="utf-8")) if files else {}
            self.expect("its record is saved", "commands" in saved.get("runs", [{}])[0])

    # As on A4, wide: nothing is cut off, what only a screen can do is gone.
    def printed(self, folder):
        metrics = {"width": 1047, "height": 718, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        time.sleep(0.3)
        wide = self.script("""
            return [...document.querySelectorAll('main table')].filter((table) => table.offsetParent !== null &&
              table.getBoundingClientRect().right > innerWidth + 1).length""")
        self.expect("no table is clipped in print", wide == 0, f"{wide} tables")
        cut = self.script("""
            return [...document.querySelectorAll('.plot svg, .plot canvas')].filter((node) => node.offsetParent !== null ||
              node.tagName === 'svg').filter((node) => node.getBoundingClientRect().right >
              node.closest('.plot').getBoundingClientRect().right + 1).length""")
        self.expect("no plot is clipped in print", cut == 0, f"{cut} plots")
        shown = self.script("""
            const pressed = 'nav, .choices, #filters, #theme, .press, details:not([open])';
            return [...document.querySelectorAll(pressed)].filter((node) => node.offsetParent !== null).length""")
        self.expect("nothing to press in print", shown == 0, f"{shown} parts")
        # Chromium leaves boxes of buttons out where it prints a head again, and prints a foot on each page.
        once = self.script("""
            const display = (selector) => [...document.querySelectorAll(selector)].map((node) => getComputedStyle(node).display);
            return display('thead th button').every((kind) => kind === 'contents') &&
              display('tfoot').every((kind) => kind === 'table-row-group')""")
        self.expect("heads of tables are whole on each page, feet are at the end", once)
        opened = self.script("""
            const notes = () => document.querySelectorAll('details.note:not([open])').length;
            const before = notes();
            dispatchEvent(new Event('beforeprint'));
            const during = notes();
            dispatchEvent(new Event('afterprint'));
            return during === 0 && notes() === before""")
        self.expect("notes are open in print alone", opened)
        if folder:
            self.whole_page(folder / f"{self.name}-print.png", 6000)
        media = [
            {"name": "prefers-color-scheme", "value": self.name.split("-")[1]},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": media})
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def whole_page(self, path, most):
        height = min(most, self.script("return document.documentElement.scrollHeight"))
        width = self.script("return innerWidth")
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot",
            {
                "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
                "captureBeyondViewport": True,
            },
        )
        path.write_bytes(base64.b64decode(shot["data"]))


def missing_parts():
    try:
        import selenium  # noqa: F401
    except ImportError:
        return ["selenium"]
    return [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


def check_in_browsers(arguments, what, kind, check):
    """Opens the page on a desktop and a phone, light and dark; check(kind(driver, name), size, scheme,
    screenshots) looks at it. The status to exit with."""
    missing = missing_parts()
    if missing:
        print(f"SKIPPED: the {what} was not opened in a browser, missing: {', '.join(missing)}")
        return 1 if arguments.require else 0
    failed = 0
    for size, scheme in ((size, scheme) for size in WIDTHS for scheme in SCHEMES):
        width, height = WIDTHS[size]
        with tempfile.TemporaryDirectory() as profile:
            driver = start(width, height, profile, size == "phone")
            try:
                driver.execute_cdp_cmd(
                    "Emulation.setEmulatedMedia",
                    {
                        "features": [
                            {"name": "prefers-color-scheme", "value": scheme},
                            {"name": "prefers-reduced-motion", "value": "reduce"},
                        ]
                    },
                )
                driver.get(arguments.report.resolve().as_uri())
                checks = kind(driver, f"{size}-{scheme}")
                check(checks, size, scheme, arguments.screenshots)
                failed += checks.failed
            finally:
                driver.quit()
    print(f"the {what} works" if failed == 0 else f"{failed} checks failed")
    return 1 if failed else 0
