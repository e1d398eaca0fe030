#!/usr/bin/env python3
"""Opens a board in headless Chromium and checks that it works.

    tests/browser/check_board.py board/index.html [SCREENSHOT_FOLDER]

Needs what check_report.py needs, and says so like it. Checks, on a desktop and on a phone,
light and dark: no message on the console, nothing fetched, every section filled, no part that
failed, nothing that axe-core objects to, who is first and whether one pair decides that, submissions on
the first screen, a stop of the Tab key a table and arrows within it, whole tables in print, nothing wider than the page, columns that sort, cells that open with revision, command,
seeds and time, records that are saved, filters that the address keeps, every score, nothing that
the data says was run, and a policy that lets no other script run. Exits 1 where one fails.
"""

import sys

from open_page import SCHEMES, Checks, check_in_browsers, parse_arguments


class BoardChecks(Checks):
    def theme(self, scheme):
        shade = (
            "const colour = getComputedStyle(document.body).backgroundColor.match(/\\d+/g);"
            "return Number(colour[0]) < 80 ? 'dark' : 'light'"
        )
        self.expect(f"the page is {scheme}", self.script(shade) == scheme)
        other = SCHEMES[1 - SCHEMES.index(scheme)]
        self.script("document.getElementById('theme').click()")
        self.expect(f"the button makes it {other}", self.script(shade) == other)
        address = self.script("return location.hash")
        self.expect("and the address says so", f"theme={other}" in address)
        self.script("document.getElementById('theme').click()")

    # Who is first, whether that hangs on a single pair, and each solver of draws alone.
    def first_screen(self):
        text = self.script("return document.getElementById('headline-body').textContent")
        self.expect("the first place is named", " is first o" in text, text[:120])
        pairs = self.script("return data.standings[0].pairs")
        if pairs > 2:
            stays = self.script("return data.standings[0].dropped.length === 0")
            told = ("the first place stays" if stays else "One pair can change that") in text
            self.expect("and whether one pair decides it", told)
        below = self.script("""
            scrollTo(0, 0);
            const submitted = data.sources.filter((source) => source.submission !== null)
              .map((source) => source.submission.name);
            return [...document.querySelectorAll('#headline-body > .ranking tbody tr')].filter((row) =>
              submitted.includes(row.querySelector('th').firstChild.textContent) &&
              row.getBoundingClientRect().bottom > innerHeight).map((row) => row.textContent)""")
        if self.name.startswith("desktop"):
            self.expect("submissions are on the first screen", not below, str(below))

    def every_score(self):
        buttons = "document.querySelectorAll('#scores-choices button')"
        for i in range(self.script(f"return {buttons}.length")):
            title = self.script(
                f"{buttons}[arguments[0]].click();return {buttons}[arguments[0]].textContent", i
            )
            cells = self.script("return document.querySelectorAll('#scores-body td.cell').length")
            self.expect(f"{title} has cells", cells > 0, str(cells))
            self.layout()
        self.script(f"{buttons}[0]?.click()")
        self.whole()

    def groups(self):
        wrong = self.script("""
            const tables = '#scores-body table, #standing-body table';
            return [...document.querySelectorAll(tables)].filter((table) => {
              const width = (row) => [...row.children].reduce((sum, cell) => sum + cell.colSpan, 0);
              const [above, names] = table.tHead.rows;
              const columns = width(table.tBodies[0].rows[0]);
              const whole = table.closest('.scores') ? width(names) : columns;
              return width(above) !== columns || whole !== columns;
            }).length""")
        self.expect("names of groups stand over their columns", wrong == 0, f"{wrong} tables")

    def sorting(self):
        values = """
            return [...document.querySelector('#scores-body tbody').rows].map((row) => {
              const cell = row.children[1].querySelector('.value');
              if (cell === null) return null;
              return cell.textContent === 'inf' ? 1e300 : parseFloat(cell.textContent);
            }).filter((value) => value !== null)"""
        button = "document.querySelectorAll('#scores-body thead button')[1]"
        self.script(f"{button}.click()")
        rising = self.script(values)
        self.expect("a click sorts upward", rising == sorted(rising), str(rising))
        self.script(f"{button}.click()")
        falling = self.script(values)
        self.expect("a second one downward", falling == sorted(falling, reverse=True), str(falling))

    # A solver chosen: tables show it beside the Oracle alone, also after a reload.
    def filters(self):
        chips = "document.querySelectorAll('#filters [aria-label=solver] button')"
        if self.script(f"return {chips}.length") == 0:
            return
        name = self.script(
            f"const chip = [...{chips}].at(-1); chip.click();return chip.textContent"
        )
        rows = """
            const heads = '#scores-body tbody tr:not(.oracle) th, #standing-body tbody th';
            return [...new Set([...document.querySelectorAll(heads)]
              .map((node) => node.firstChild.textContent))]"""
        shown = self.script(rows)
        self.expect("a filter leaves what was chosen", shown == [name], str(shown))
        self.driver.refresh()
        self.wait_until_drawn()
        self.expect(
            "the address keeps it", self.script(rows) == [name], self.script("return location.hash")
        )
        self.script("document.querySelector('#filters .clear').click()")
        self.expect("all is shown again", len(self.script(rows)) > 1)


def check_page(checks, size, scheme, screenshots):
    checks.loading()
    checks.layout()
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
        checks.driver.save_screenshot(str(screenshots / f"{checks.name}-top.png"))
        checks.screenshots(screenshots)
    checks.accessible()
    checks.theme(scheme)
    checks.origin("#scores-body", screenshots)
    checks.groups()
    checks.first_screen()
    if scheme == "light":
        checks.sorting()
        checks.filters()
        checks.every_score()
        checks.keyboard()
        checks.policy()
    if size == "desktop":
        checks.printed(screenshots)


def main():
    return check_in_browsers(parse_arguments(__doc__), "board", BoardChecks, check_page)


if __name__ == "__main__":
    sys.exit(main())
