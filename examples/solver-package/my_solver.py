"""A solver of one's own: a torch network trained by CSBM. Replace the network, or the training."""

from __future__ import annotations

from typing import Any

import torch
from bridgemark.torch import CSBM
from torch import Tensor, nn

import bridgemark as bm


class Network(nn.Module):
    """Logits [B,D,S] of the clean end, given states x [B,D] and the steps n [B] done so far."""

    def __init__(self, dim: int, num_categories: int, num_steps: int, hidden: int):
        super().__init__()
        self.shape = (dim, num_categories)
        self.state = nn.Embedding(dim * num_categories, hidden)
        self.step = nn.Embedding(num_steps, hidden)
        self.middle = nn.Sequential(
            nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU()
        )
        self.end = nn.Linear(hidden, dim * num_categories)

    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        dim, num_categories = self.shape
        first = torch.arange(dim, device=x.device) * num_categories
        features = self.state(first + x).mean(1) + self.step(n)
        return self.end(features + self.middle(features)).view(-1, dim, num_categories)


class MySolver:
    """CSBM of a small residual network."""

    title = "My solver"  # what tables call it
    both_directions = True  # what fit returns has reversed()
    options = {
        "hidden": bm.Option(128, "units of a layer", low=1, high=65536),
        "num_steps": bm.Option(16, "steps of the chain; divides the reference's", low=1),
        "imf_iterations": bm.Option(2, "D-IMF iterations", low=1),
        "updates": bm.Option(
            500, "updates of each network in an iteration", low=1, counts_updates=True
        ),
        "learning_rate": bm.Option(1e-3, "of AdamW", low=1e-8, high=1.0),
    }

    def fit(
        self, x0: Any, x1: Any, reference: Any, options: dict[str, Any], run: bm.SolverRun
    ) -> CSBM:
        """Trains on rows x0 and x1 [n,D]; for endless draws x0 is the pair, and x1 None.

        The coupling that is returned is scored. run.folder has the checkpoints, so that a run which
        was killed goes on, and what was fitted.
        """
        torch.manual_seed(run.seed)
        torch.set_num_threads(run.threads)
        model = CSBM(
            self.network(options, run),
            reference,
            num_steps=options["num_steps"],
            device=run.device,
            imf_iterations=options["imf_iterations"],
            updates_first=options["updates"],
            updates_later=options["updates"],
            learning_rate=options["learning_rate"],
            initial="independent",
        )
        return model.fit(
            x0,
            x1,
            seed=run.seed,
            folder=run.folder,
            resume=True,
            progress=lambda what, done, total, detail: run.progress(done, total, detail),
        )

    def load(self, reference: Any, options: dict[str, Any], run: bm.SolverRun) -> CSBM:
        """What fit kept, without another training."""
        return CSBM.load(run.folder, self.network(options, run), device=run.device)

    def network(self, options: dict[str, Any], run: bm.SolverRun) -> Network:
        """One that is not trained."""
        return Network(run.dim, run.num_categories, options["num_steps"], options["hidden"])
