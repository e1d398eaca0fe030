"""Formulas as HTML at build time: a page needs KaTeX's styles and fonts, and no script.

KaTeX is Debian's libjs-katex. A formula that it cannot read fails the build.
"""

import functools
from pathlib import Path

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
KATEX = Path("/usr/share/javascript/katex")


@functools.cache
def engine():
    context = MiniRacer()
    context.eval((KATEX / "katex.js").read_text())
    return context


@functools.cache
def render(formula, display):
    options = {"displayMode": display, "throwOnError": True, "strict": "error"}
    return engine().call("katex.renderToString", formula, options)


def visit(self, node, display):
    try:
        html = render(node.astext(), display)
    except JSEvalException as error:
        html = ""
        LOGGER.warning("%s: %s", node.astext(), str(error).splitlines()[0], location=node)
    self.body.append(f'<div class="formula" tabindex="0">{html}</div>\n' if display else html)
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "katex",
        (lambda self, node: visit(self, node, False), None),
        (lambda self, node: visit(self, node, True), None),
    )
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
