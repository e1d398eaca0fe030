#!/usr/bin/env python3
"""Opens a report in headless Chromium and checks that it works.

    scripts/check_report.py report.html [SCREENSHOT_FOLDER]

Needs Debian's chromium and chromium-driver and PyPI's selenium; says so and succeeds without a check
where they are missing, unless --require is given. Checks: no message on the console, nothing fetched,
every section filled, plots drawn, columns that sort, tooltips of cells and of plots, all tables and
pairs, nothing wider than a phone, no part that failed, nothing that the data says was run, and a
policy that lets no other script run. Exits 1 where one fails.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time

WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--disable-background-networking", "--disable-component-update",
                     "--disable-default-apps", "--disable-sync", "--no-first-run",
                     "--hide-scrollbars", f"--user-data-dir={profile}",
                     f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", **(logs or {})})
    if mobile:
        options.add_experimental_option("mobileEmulation", {
            "deviceMetrics": {"width": width, "height": height, "pixelRatio": 2.0}})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


class Checks:
    def __init__(self, driver, name):
        self.driver = driver
        self.name = name
        self.failed = 0

    def expect(self, what, holds, detail=""):
        print(f"{'ok    ' if holds else 'FAILED'} {self.name}: {what}{f' ({detail})' if detail else ''}")
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
        empty = self.script("return [...document.querySelectorAll('section > div[id$=body]')]"
                            ".filter(n => n.textContent.trim() === '').map(n => n.id)")
        self.expect("every section filled", not empty, ", ".join(empty))
        self.whole()

    def whole(self):
        failed = self.script("return [...document.querySelectorAll('.failed')].map(n => n.textContent)")
        self.expect("no part failed", not failed, "; ".join(failed)[:300])
        self.expect("nothing of the data was run", self.script("return window.hacked") is None)

    def layout(self):
        wide = self.script("return document.documentElement.scrollWidth - innerWidth")
        self.expect("no sideways scrolling of the page", wide <= 0, f"{wide} px over")

    def plots(self):
        blank = self.script("""
            return [...document.querySelectorAll('.plot canvas')].filter((canvas) => {
              const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
              const seen = new Set();
              for (let i = 0; i < pixels.length; i += 4) {
                seen.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
                if (seen.size > 20) return false;
              }
              return true;
            }).length""")
        canvases = self.script("return document.querySelectorAll('.plot canvas').length")
        charts = self.script("return document.querySelectorAll('.plot svg').length")
        self.expect("plots drawn", blank == 0 and canvases + charts > 0,
                    f"{canvases} clouds, {charts} charts, {blank} blank")

    def sorting(self):
        values = """
            const column = arguments[0];
            return [...document.querySelectorAll('#table-body tbody tr')].map((row) => {
              const cell = row.children[column].querySelector('.value');
              return cell ? parseFloat(cell.textContent) : null; }).filter((v) => v !== null)"""
        button = "document.querySelectorAll('#table-body thead button')[arguments[0]]"
        self.script(f"{button}.click()", 1)
        rising = self.script(values, 1)
        self.expect("a click sorts upward", rising == sorted(rising), str(rising))
        state = self.script(f"return {button}.parentNode.getAttribute('aria-sort')", 1)
        self.expect("and says so", state == "ascending", state)
        self.script(f"{button}.click()", 1)
        falling = self.script(values, 1)
        self.expect("a second one downward", falling == sorted(falling, reverse=True), str(falling))
        self.script(f"{button}.click()", 0)
        names = self.script("return [...document.querySelectorAll('#table-body tbody th')]"
                            ".map(n => n.textContent)")
        ordered = self.script("return [...arguments[0]].sort((a, b) => a.localeCompare(b))", names)
        self.expect("names sort too", names == ordered, str(names))

    def cell_tooltip(self):
        from selenium.webdriver.common.action_chains import ActionChains

        cell = self.driver.find_element("css selector", "#table-body td.cell")
        self.script("arguments[0].scrollIntoView({block: 'center'})", cell)
        time.sleep(0.6)
        ActionChains(self.driver).move_to_element(cell).perform()
        text = self.script("const t = document.getElementById('tooltip'); "
                           "return t.hidden ? '' : t.textContent")
        self.expect("a cell explains itself", " on " in text and "run" in text, text.replace("\n", " | "))
        ActionChains(self.driver).move_to_element(self.driver.find_element("tag name", "h1")).perform()
        hidden = self.script("return document.getElementById('tooltip').hidden")
        self.expect("and stops", hidden)

    # Passes the pointer over a chart until a point answers.
    def plot_tooltip(self):
        from selenium.webdriver.common.action_chains import ActionChains

        marks = self.driver.find_elements("css selector", "#time-body svg .mark-symbol.role-mark path")
        if not marks:
            self.expect("a chart of score and time", False)
            return
        self.script("arguments[0].scrollIntoView({block: 'center'})", marks[0])
        time.sleep(0.6)
        text = ""
        for mark in marks[:10]:  # one may lie under another
            ActionChains(self.driver).move_to_element(mark).perform()
            time.sleep(0.1)
            text = text or self.script("const t = document.getElementById('tooltip'); "
                                       "return t.hidden ? '' : t.textContent")
        self.expect("a point explains itself", "training" in text, text.replace("\n", " | "))

    def all_choices(self):
        for group in ("table", "figure", "curve", "time", "switching"):
            count = self.script(f"return document.querySelectorAll('#{group}-choices button').length")
            for i in range(count):
                self.script(f"document.querySelectorAll('#{group}-choices button')[arguments[0]].click()", i)
                time.sleep(0.1)
                filled = self.script(f"return document.getElementById('{group}-body').textContent.trim() !== ''")
                if not filled:
                    self.expect(f"{group} {i} filled", False)
            self.script(f"document.querySelector('#{group}-choices button')?.click()")
        time.sleep(0.5)
        messages = [entry["message"] for entry in self.driver.get_log("browser")]
        self.expect("every choice shows without a message", not messages, "; ".join(messages)[:300])
        self.whole()

    # KLs over more than a decade are read off an axis of decades, scores between 0 and 1 are not.
    def decades(self):
        wide = self.script("""
            return Object.fromEntries(data.tables.map((table) => {
              const values = data.runs.filter((run) => !run.reverse && !run.outside &&
                run.solver !== 'oracle').map((run) => run.scores[table.score]).filter((v) => v > 1e-6);
              return [table.title, table.lower_is_better && Math.max(...values) > 10 * Math.min(...values)];
            }))""")
        wrong, seen = [], 0
        for i in range(self.script("return document.querySelectorAll('#time-choices button').length")):
            title = self.script("const button = document.querySelectorAll('#time-choices button')[arguments[0]];"
                                "button.click(); return button.textContent", i)
            time.sleep(0.3)
            axis = self.script("return document.querySelector('#time-body [aria-label^=\"Y-axis\"]')"
                               "?.getAttribute('aria-label')")
            seen += axis is not None
            if axis and ("log scale" in axis) != wide[title]:
                wrong.append(title)
        self.expect("decades where KLs span them", seen and not wrong, ", ".join(wrong) or f"{seen} axes")
        self.script("document.querySelector('#time-choices button')?.click()")

    # A script of somebody else, and code made from text.
    def policy(self):
        self.script("const script = document.createElement('script');"
                    "script.textContent = 'window.hacked = 2'; document.body.append(script);"
                    "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 3\">')")
        time.sleep(0.3)
        self.expect("no other script runs", self.script("return window.hacked") is None)
        blocked = self.script("return new Promise((done) => { const timer = setTimeout(() => done('yes'), 0);"
                              "try { setTimeout('window.hacked = 4', 0); } catch (error) {} })")
        self.expect("no code is made from text", self.script("return window.hacked") is None, blocked)

    def screenshots(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for section in self.script("return [...document.querySelectorAll('section')].map((node) => node.id)"):
            self.script("document.documentElement.style.scrollBehavior = 'auto';"
                        "document.getElementById(arguments[0]).scrollIntoView()", section)
            time.sleep(0.2)
            self.driver.save_screenshot(str(folder / f"{self.name}-{section}.png"))


def main():
    arguments = parse_arguments()
    try:
        import selenium  # noqa: F401
        missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    except ImportError:
        missing = ["selenium"]
    if missing:
        print(f"SKIPPED: the report was not opened in a browser, missing: {', '.join(missing)}")
        return 1 if arguments.require else 0
    failed = 0
    for name, (width, height) in WIDTHS.items():
        with tempfile.TemporaryDirectory() as profile:
            driver = start(width, height, profile, name == "phone")
            try:
                driver.get(arguments.report.resolve().as_uri())
                checks = Checks(driver, name)
                checks.loading()
                checks.layout()
                checks.plots()
                if arguments.screenshots:
                    checks.screenshots(arguments.screenshots)
                checks.sorting()
                if name == "desktop":
                    checks.cell_tooltip()
                    checks.plot_tooltip()
                    checks.decades()
                checks.all_choices()
                checks.policy()
                failed += checks.failed
            finally:
                driver.quit()
    print("the report works" if failed == 0 else f"{failed} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
