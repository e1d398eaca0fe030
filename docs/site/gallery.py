"""A script of the gallery as a page: its `# %%` cells are text and code."""

import re


def page(script):
    _, *cells = re.split(r"^# %%", script.read_text(), flags=re.MULTILINE)
    out = []
    for cell in cells:
        kind, _, body = cell.partition("\n")
        if "[markdown]" in kind:
            out.append(re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE))
        elif body.strip():
            out.append(f"```python\n{body.strip()}\n```")
    if not out or not out[0].startswith("# "):
        raise ValueError(f"{script}: the first cell has no title")
    return "\n\n".join(out) + f"\n\nThe script: `python/gallery/{script.name}`.\n"
