"""What axe-core finds wrong with a page: labels, contrast, focus, roles.

axe-core is the copy inside PyPI's axe-playwright-python, read where that is installed.
"""

import importlib.util
import pathlib

# Success criteria of WCAG 2.2 at the levels A and AA.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

# Without a preload: axe would fetch the style sheets of a page again, which a browser refuses for files.
RUN = """
const [tags, done] = [arguments[0], arguments[arguments.length - 1]];
axe.run(document, { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'], preload: false })
  .then((found) => done(found.violations.map((rule) => `${rule.id} (${rule.nodes.length}): ` +
    rule.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${(node.any[0] || node.all[0] || node.none[0] || {}).message || ''}`).join('; '))))
  .catch((error) => done([`axe failed: ${error}`]));
"""


def axe_script():
    """The text of axe-core; None where it is not installed."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None:
        return None
    scripts = list(pathlib.Path(found.origin).parent.rglob("axe*.js"))
    return scripts[0].read_text(encoding="utf-8") if scripts else None


def violations(driver):
    """A line for each rule that the page breaks."""
    script = axe_script()
    if script is None:
        return ["axe-playwright-python is not installed"]
    driver.execute_script(script + "\nwindow.axe = axe;")
    driver.set_script_timeout(120)
    return driver.execute_async_script(RUN, TAGS)
