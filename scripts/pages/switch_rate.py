#!/usr/bin/env python3
"""switch_rate.py: draws results/switch-rate/joint_kl.svg from the results beside it.

Needs matplotlib. The joint KL of each solver against the switch rate of the truth, a panel for each
pair.
"""

from families import CLOSED, COLOURS
from figures import pyplot, save
from result_tables import ROOT, measured

FOLDER = ROOT / "results" / "switch-rate"


def main():
    cells = measured("switch-rate")
    pairs = sorted({pair.rsplit("-", 1)[0] for _, _, _, pair, _ in cells})
    figure, panels = pyplot("switch-rate").subplots(
        1, len(pairs), figsize=(7.2, 3.0), sharey=True, layout="constrained"
    )
    for panel, base in zip(panels, pairs):
        for name in CLOSED:
            points = sorted(
                (float(pair.rsplit("-", 1)[1]), lines[0]["value"])
                for (method, _, _, pair, score), lines in cells.items()
                if method == name and score == "joint_kl" and pair.rsplit("-", 1)[0] == base
            )
            panel.plot(
                *zip(*points),
                marker="o",
                markersize=4,
                linewidth=1.3,
                color=COLOURS[name],
                label=name,
            )
        panel.set_xscale("symlog", linthresh=0.01, linscale=0.5)
        panel.set_yscale("log")
        rates = [rate for rate, _ in points]
        panel.set_xticks(rates, [f"{rate:g}" for rate in rates])
        panel.minorticks_off()
        panel.set_xlabel("switch rate of the truth")
        panel.set_title(base, fontsize=9)
        panel.grid(color="#eef0f2")
    panels[0].set_ylabel("joint KL, nats")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    save(figure, FOLDER / "joint_kl.svg")


if __name__ == "__main__":
    main()
