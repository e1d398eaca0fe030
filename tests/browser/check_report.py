#!/usr/bin/env python3
"""Opens a report in headless Chromium and checks that it works.

    tests/browser/check_report.py report.html [SCREENSHOT_FOLDER]

Needs Debian's chromium and chromium-driver and PyPI's selenium; says so and succeeds without a check
where they are missing, unless --require is given. Checks: no message on the console, nothing fetched,
every section filled, plots drawn in the colours of the page, light and dark, columns that sort, tooltips
of cells and of plots, cells that open with what made them, axes, legends and the Oracle's line, filters
that the address keeps, files that are saved, trajectories that move only when they may, all tables and
pairs, the answer before what can be pressed, nothing wider than a phone, no part that failed, nothing
that the data says was run, and a policy that lets no other script run. Exits 1 where one fails.
"""

import pathlib
import sys
import tempfile
import time

from open_page import SCHEMES, Checks, check_in_browsers, parse_arguments


class ReportChecks(Checks):
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
        self.expect(
            "plots drawn",
            blank == 0 and canvases + charts > 0,
            f"{canvases} clouds, {charts} charts, {blank} blank",
        )

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
        names = self.script(
            "return [...document.querySelectorAll('#table-body tbody th')].map(n => n.textContent)"
        )
        ordered = self.script("return [...arguments[0]].sort((a, b) => a.localeCompare(b))", names)
        self.expect("names sort too", names == ordered, str(names))

    def cell_tooltip(self):
        from selenium.webdriver.common.action_chains import ActionChains

        cell = self.driver.find_element("css selector", "#table-body td.cell")
        self.script("arguments[0].scrollIntoView({block: 'center'})", cell)
        time.sleep(0.6)
        ActionChains(self.driver).move_to_element(cell).perform()
        text = self.script(
            "const t = document.getElementById('tooltip'); return t.hidden ? '' : t.textContent"
        )
        self.expect(
            "a cell explains itself", " on " in text and "run" in text, text.replace("\n", " | ")
        )
        ActionChains(self.driver).move_to_element(
            self.driver.find_element("tag name", "h1")
        ).perform()
        hidden = self.script("return document.getElementById('tooltip').hidden")
        self.expect("and stops", hidden)

    # Passes the pointer over a chart until a point answers.
    def plot_tooltip(self):
        from selenium.webdriver.common.action_chains import ActionChains

        marks = self.driver.find_elements(
            "css selector", "#time-body svg .mark-symbol.role-mark path"
        )
        if not marks:
            self.expect("a chart of score and time", False)
            return
        self.script("arguments[0].scrollIntoView({block: 'center'})", marks[0])
        time.sleep(0.6)
        text = ""
        for mark in marks[:10]:  # one may lie under another
            ActionChains(self.driver).move_to_element(mark).perform()
            time.sleep(0.1)
            text = text or self.script(
                "const t = document.getElementById('tooltip'); return t.hidden ? '' : t.textContent"
            )
        self.expect("a point explains itself", "training" in text, text.replace("\n", " | "))

    def all_choices(self):
        for group in ("table", "figure", "curve", "time", "switching", "worst"):
            count = self.script(
                f"return document.querySelectorAll('#{group}-choices button').length"
            )
            for i in range(count):
                self.script(
                    f"document.querySelectorAll('#{group}-choices button')[arguments[0]].click()", i
                )
                time.sleep(0.1)
                filled = self.script(
                    f"return document.getElementById('{group}-body').textContent.trim() !== ''"
                )
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
              const values = data.runs.filter((run) => !run.reverse && timed(run) &&
                run.solver !== 'oracle').map((run) => run.scores[table.score]).filter((v) => v > 1e-6);
              return [table.title, table.lower_is_better && Math.max(...values) > 10 * Math.min(...values)];
            }))""")
        wrong, seen = [], 0
        for i in range(
            self.script("return document.querySelectorAll('#time-choices button').length")
        ):
            title = self.script(
                "const button = document.querySelectorAll('#time-choices button')[arguments[0]];"
                "button.click(); return button.textContent",
                i,
            )
            time.sleep(0.3)
            axis = self.script(
                "return document.querySelector('#time-body [aria-label^=\"Y-axis\"]')"
                "?.getAttribute('aria-label')"
            )
            seen += axis is not None
            if axis and ("log scale" in axis) != wide[title]:
                wrong.append(title)
        self.expect(
            "decades where KLs span them", seen and not wrong, ", ".join(wrong) or f"{seen} axes"
        )
        self.script("document.querySelector('#time-choices button')?.click()")

    # Who is best, before anything to press; what is long, folded; prose in tables, on as many lines as it takes.
    def answer_first(self):
        first, long, cut = self.script("""
            const filters = document.getElementById('filters'), answer = document.querySelector('.answer');
            const below = answer === null || filters.hidden ||
              answer.getBoundingClientRect().bottom <= filters.getBoundingClientRect().top;
            const open = [...document.querySelectorAll('#reproduce-body tbody')].filter((node) => !node.closest('details:not([open])'));
            const folded = document.querySelector('#corrections-body details:not([open])');
            if (folded) folded.open = true;
            const tables = [...document.querySelectorAll('#corrections-body table')];
            const cut = tables.filter((node) => innerWidth > 1000 && node.offsetWidth > node.closest('section').clientWidth);
            if (folded) folded.open = false;
            return [below, open.reduce((sum, node) => sum + node.rows.length, 0), cut.length]""")
        self.expect("the answer comes before the filters", first)
        self.expect("a long list of runs is folded", long <= 30, f"{long} rows")
        self.expect("tables of corrections are whole", cut == 0, f"{cut} are not")

    # The colours of the page and of the plots in it, and a button that changes both.
    def theme(self, scheme):
        shade = """
            const canvas = document.querySelector('.plot canvas');
            const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
            if (canvas) copy.drawImage(canvas, 0, 0);
            const pixel = canvas ? [...copy.getImageData(1, 1, 1, 1).data]
              : getComputedStyle(document.querySelector('.plot')).backgroundColor.match(/\\d+/g).map(Number);
            const page = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
            return [page[0] < 80 ? 'dark' : 'light', pixel[0] < 80 ? 'dark' : 'light']"""
        self.expect(
            f"page and plots are {scheme}",
            self.script(shade) == [scheme, scheme],
            str(self.script(shade)),
        )
        other = SCHEMES[1 - SCHEMES.index(scheme)]
        self.script("document.getElementById('theme').click()")
        self.wait_until_drawn()
        self.expect(
            f"the button makes both {other}",
            self.script(shade) == [other, other],
            str(self.script(shade)),
        )
        self.expect(
            "and the address says so", f"theme={other}" in self.script("return location.hash")
        )
        self.script("document.getElementById('theme').click()")
        self.wait_until_drawn()

    def legends(self):
        wrong = []
        for i in range(
            self.script("return document.querySelectorAll('#time-choices button').length")
        ):
            title = self.script(
                "const button = document.querySelectorAll('#time-choices button')[arguments[0]];"
                "button.click(); return button.textContent",
                i,
            )
            time.sleep(0.3)
            titles, rules, expected = self.script(
                """
                const body = document.getElementById('time-body');
                const table = data.tables.find((table) => table.title === arguments[0]);
                const log = body.querySelector('[aria-label^="Y-axis"]')?.getAttribute('aria-label').includes('log scale');
                return [[...body.querySelectorAll('.role-legend-title text')].map((node) => node.textContent),
                  body.querySelectorAll('.mark-rule.role-mark line').length,
                  new Set(data.runs.filter((run) => run.solver === 'oracle' && !run.reverse &&
                    run.scores[table.score] >= (log ? 1e-6 : 0)).map((run) => run.dim)).size]""",
                title,
            )
            wanted = ["method", "dimension"] + (["Oracle"] if expected else [])
            if titles != wanted or rules > expected or (expected and not rules):
                wrong.append(f"{title}: {titles}, {rules} lines")
        self.expect("a legend for each encoding, the Oracle as a line", not wrong, "; ".join(wrong))
        unkeyed = self.script(
            "return [...document.querySelectorAll('#figure-body .plots')]"
            ".filter((node) => ![...node.parentNode.children].some((other) =>"
            "other.classList.contains('key'))).length"
        )
        self.expect("a key for the panels", unkeyed == 0)
        self.script("document.querySelector('#time-choices button')?.click()")

    # A solver chosen: tables show it beside the Oracle alone, also after a reload.
    def filters(self):
        chip = "document.querySelector('#filters [aria-label=solver] button')"
        if not self.script(f"return {chip} !== null"):
            return
        rows_of_first = (
            "document.querySelector('#table-choices button').click();"
            "return document.querySelectorAll('#table-body tbody tr').length"
        )
        before = self.script(rows_of_first)
        name = self.script(f"const chip = {chip}; chip.click(); return chip.textContent")
        self.wait_until_drawn()
        rows = (
            "return [...document.querySelectorAll('#table-body tbody tr:not(.oracle) th')]"
            ".map((node) => node.firstChild.textContent)"
        )
        shown = self.script(rows)
        self.expect("a filter leaves what was chosen", shown and set(shown) == {name}, str(shown))
        self.driver.refresh()
        self.wait_until_drawn()
        self.expect(
            "the address keeps it", self.script(rows) == shown, self.script("return location.hash")
        )
        self.script("document.querySelector('nav a[href=\"#time\"]').click()")
        address = self.script("return location.hash")
        self.expect(
            "beside the section", address.startswith("#time?") and "solver=" in address, address
        )
        self.script("document.querySelector('#filters .clear').click()")
        self.wait_until_drawn()
        after = self.script(rows_of_first)
        self.expect("all is shown again", after == before, f"{after} of {before} rows")
        self.whole()

    def downloads(self):
        with tempfile.TemporaryDirectory() as folder:
            self.driver.execute_cdp_cmd(
                "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder}
            )
            starts = {"csv": b"score,", "tex": b"% Made by", "svg": b"<svg", "png": b"\x89PNG"}
            for button in (
                "#table-body .downloads button:nth-of-type(1)",
                "#table-body .downloads button:nth-of-type(2)",
                ".plot .save button:nth-of-type(1)",
                ".plot .save button:nth-of-type(2)",
            ):
                self.script("document.querySelector(arguments[0]).click()", button)
                time.sleep(0.5)
            files = {path.suffix[1:]: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
            wrong = [
                kind for kind, start in starts.items() if not files.get(kind, b"").startswith(start)
            ]
            self.expect("tables and plots are saved", not wrong, ", ".join(wrong))

    # Needs a page that was opened with prefers-reduced-motion.
    def motion(self):
        if not self.script("return document.querySelector('.motion') !== null"):
            return
        value = "return Number(document.querySelector('.motion input').value)"
        self.script("document.querySelector('.motion').scrollIntoView({block: 'center'})")
        time.sleep(0.7)
        self.expect("nothing moves by itself where no motion is wanted", self.script(value) == 1)
        frame = (
            "const canvas = document.querySelector('.motion + .plots canvas');"
            "return canvas.toDataURL()"
        )
        whole = self.script(frame)
        self.script("document.querySelector('.motion button').click()")
        time.sleep(1.0)
        self.script("document.querySelector('.motion button').click()")
        time.sleep(0.3)
        paused = self.script(value)
        self.expect(
            "play moves the trajectories",
            0 < paused < 1 and self.script(frame) != whole,
            str(paused),
        )
        time.sleep(0.5)
        self.expect("pause holds them", self.script(value) == paused)

    def corrections(self):
        folded, of_paper = self.script(
            "return [document.querySelector('#corrections-body details:not([open])')"
            " !== null, data.of_paper]"
        )
        self.expect("corrections are open in reports of the paper alone", folded != of_paper)


def every_part(checks, size, screenshots):
    checks.sorting()
    if size == "desktop":
        checks.cell_tooltip()
        checks.plot_tooltip()
        checks.decades()
        checks.legends()
        checks.filters()
        checks.downloads()
        checks.motion()
        checks.corrections()
    checks.origin("#table-body", screenshots)
    checks.keyboard()
    checks.all_choices()
    checks.policy()
    if size == "desktop":
        checks.printed(screenshots)


def check_report(checks, size, scheme, screenshots):
    checks.loading()
    checks.layout()
    checks.answer_first()
    checks.plots()
    if screenshots:
        checks.screenshots(screenshots)
    checks.accessible()
    checks.theme(scheme)
    if scheme == "light":
        every_part(checks, size, screenshots)


def main():
    return check_in_browsers(parse_arguments(__doc__), "report", ReportChecks, check_report)


if __name__ == "__main__":
    sys.exit(main())
