"""Sphinx's settings. `make docs` stages the pages and calls it; nothing reaches the network."""

import os
import re
import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path.insert(0, str(SITE))

project = "Bridgemark"
version = re.search(
    r"project\(bridgemark VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()
)[1]
release = version
html_title = f"Bridgemark {version}"

extensions = ["myst_parser", "katex", "accessible"]
exclude_patterns = ["**/*.py"]
nitpicky = True
smartquotes = False  # would turn --option into a dash

# The same anchors and formulas as on a code host.
myst_enable_extensions = ["dollarmath", "deflist"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
highlight_language = "none"

html_theme = "furo"
html_math_renderer = "katex"
html_static_path = [str(SITE / "static"), os.environ["BRIDGEMARK_DOCS_KATEX"]]
html_css_files = ["katex.min.css", "site.css"]
html_use_index = False
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_show_search_summary = False  # would fetch pages, which a browser refuses for files
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5f8b",
        "color-brand-content": "#1f5f8b",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7fb8dd",
        "color-brand-content": "#7fb8dd",
    },
}
pygments_style = "xcode"  # whose colours can be read on grey
pygments_dark_style = "github-dark"
