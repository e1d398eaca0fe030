"""How the figures of the pages are drawn: matplotlib, loaded only where one is."""

DIRECTIONS = {"forward": "", "reverse": "-reverse"}
GRID = "#eef0f2"


def pyplot(name, size=9):
    """Draws the same bytes each time; the name keeps the ids of one page's figures apart."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": size})
    return plt


def save(figure, path):
    figure.savefig(path, format="svg", metadata={"Date": None})


def draw_directions(plt, columns, dims, draw, path):
    """Panels of the columns against the dimension, forward above and reverse below; draw(panel,
    column, direction) fills one, and its labels make the legend."""
    figure, panels = plt.subplots(
        2, len(columns), figsize=(8.4, 4.8), sharex=True, sharey=True, layout="constrained"
    )
    for line, direction in zip(panels, DIRECTIONS):
        for panel, column in zip(line, columns):
            draw(panel, column, direction)
            panel.set_title(f"{column}, {direction}", fontsize=9)
            panel.set_xticks(range(len(dims)), dims)
            panel.set_yscale("log")
            panel.minorticks_off()
            panel.grid(color=GRID)
        line[0].set_ylabel("joint KL, nats")
    for panel in panels[-1]:
        panel.set_xlabel("D")
    figure.legend(
        *panels[-1, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=5,
        frameon=False,
    )
    save(figure, path)
