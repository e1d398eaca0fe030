"""What the theme leaves out for keyboards and screen readers.

Whatever scrolls sideways can be reached by keys, and the captions of the navigation, which are
headings, say of which level.
"""

import re

SCROLLS = re.compile(r'<pre>|<div class="table-wrapper|<p>(?=<img [^>]*></p>)')


def mend(app, name, template, context, doctree):
    context["body"] = SCROLLS.sub(
        lambda found: (
            found[0]
            .replace("<pre", '<pre tabindex="0"')
            .replace("<div", '<div tabindex="0"')
            .replace("<p>", '<p class="picture" tabindex="0">')
        ),
        context.get("body", ""),
    )
    context["furo_navigation_tree"] = context.get("furo_navigation_tree", "").replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def setup(app):
    app.connect("html-page-context", mend, priority=900)  # after the theme's own
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
