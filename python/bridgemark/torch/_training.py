"""The training loop: stages, looks at rows held out, checkpoints, one model on ranks."""

from __future__ import annotations

import copy
import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ._data import Data, FirstPairs, couple_first
from ._files import Checkpoint, StopRequest
from ._networks_in_training import MatchedNetwork, TrainedNetwork
from ._ranks import Ranks
from ._seeds import derive_seed, make_generator, seed_networks
from .recipe import BACKWARD, FORWARD, Recipe, Stage
from .reference import Reference

UPDATES_PER_LOOK = 50
UPDATES_PER_WALK = 16  # whose pairs one walk draws, by a network that stands still meanwhile
_MOST_PAIRS, _MOST_POINTS = 1024, 4096  # that judge a stage

Log = Callable[[dict[str, Any]], object]
Progress = Callable[[str, int, int, str], object]


@dataclasses.dataclass
class Position:
    """Where a training is: all that its next update depends on beside the networks."""

    refit: bool = False
    stage: int = 0
    update: int = 0  # of the stage, made
    made: int = 0  # in all
    best_update: int = 0
    best_loss: float = math.inf
    best_error: float = 0.0
    stale: int = 0  # looks since the last gain
    seconds: float = 0.0


class Training:
    """Trains networks by a recipe; a function of the start, the data and the seed.

    `reference` leads from x0 to x1 and couples the first pairs.
    """

    def __init__(
        self,
        networks: dict[str, TrainedNetwork],
        stages: list[Stage],
        reference: Reference,
        recipe: Recipe,
        ranks: Ranks,
        data: Data,
        device: torch.device,
        seed: int,
        *,
        checkpoint: Checkpoint | None = None,
        on_log: Log | None = None,
        progress: Progress | None = None,
    ):
        self.networks, self.stages, self.recipe, self.ranks = networks, stages, recipe, ranks
        self.seed, self.device, self._reference = seed, device, reference
        if recipe.batch_size % ranks.count:
            raise ValueError(
                f"[torch] batch_size must be a multiple of the {ranks.count} ranks, "
                f"got {recipe.batch_size}"
            )
        self.at = Position()
        self.history: list[dict[str, Any]] = []
        self.found: list[dict[str, Any]] = []  # of each stage that rows held out ended
        self._all = data
        self._data, self._apart = data.split(recipe.holdout)
        self._checkpoint, self._on_log, self._progress = checkpoint, on_log, progress
        self._start: dict[str, Any] | None = None  # of networks that will be trained once more
        if self._apart is not None and recipe.refit:
            self._start = self._copied_states()
        self._best: dict[str, Any] | None = None
        self._judged: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
        self._losses: list[Tensor] = []  # since the last line
        self._pairs: FirstPairs | None = None
        self._walked: dict[str, tuple[tuple[int, ...], Tensor, Tensor]] = {}

    def run(self) -> None:
        """To the end, from the checkpoint where there is one."""
        if self._checkpoint is not None and self._checkpoint.exists():
            self._load(self._checkpoint.read(self.device))
        devices = [self.device] if self.device.type == "cuda" else []
        began, saved = time.monotonic() - self.at.seconds, time.monotonic()
        with torch.random.fork_rng(devices), StopRequest(self._checkpoint is not None) as stop:
            while self._begin_stage():
                self._make_update()
                self.at.seconds = time.monotonic() - began
                self._write_line()
                if self._apart is not None and not self.at.refit:
                    self._look_now_and_then()
                due = time.monotonic() - saved >= self.recipe.checkpoint_every
                if stop.asked or due:
                    self._save()
                    saved = time.monotonic()
                stop.raise_if_asked()
        self.at.seconds = time.monotonic() - began
        self._save()
        self.ranks.wait()

    @property
    def diagnostics(self) -> dict[str, Any]:
        """What the rows held out said of each stage."""
        told: dict[str, Any] = {"updates": self.at.made, "training_seconds": self.at.seconds}
        if self._apart is None:
            return told
        told["held_out_rows"] = self._num_judged()
        told["refit"] = self.at.refit
        for stage in self.found:
            told[f"held_out_loss_{stage['name']}"] = stage["loss"]
            told[f"held_out_error_{stage['name']}"] = stage["error"]
            told[f"held_out_update_{stage['name']}"] = stage["update"]
        return told

    def _updates_of(self, stage: int) -> int:
        if self.at.refit:
            return int(self.found[stage]["update"])
        return self.recipe.updates_of(self.stages[stage].iteration)

    def _begin_stage(self) -> bool:
        """Comes to the next update; False where there is none."""
        while True:
            if self.at.stage == len(self.stages):
                gained = any(stage["update"] for stage in self.found)
                if self.at.refit or self._start is None or not gained:
                    return False
                self._go_to(True, 0)
                self._data, self._pairs = self._all, None
                self._set_states(self._start)
            if self.at.update < self._updates_of(self.at.stage):
                break
            self._end_stage()
            self._go_to(self.at.refit, self.at.stage + 1)
        if self._apart is not None and not self.at.refit and self._best is None:
            self._judge_stage()
        return True

    def _go_to(self, refit: bool, stage: int) -> None:
        self.at = Position(refit, stage, made=self.at.made, seconds=self.at.seconds)

    def _end_stage(self) -> None:
        if self._best is None:
            return
        self._set_states(self._best)
        self.found.append(
            {
                "name": self._stage.name,
                "update": self.at.best_update,
                "loss": self.at.best_loss,
                "error": self.at.best_error,
            }
        )
        self._best, self._judged = None, {}

    @property
    def _stage(self) -> Stage:
        return self.stages[self.at.stage]

    def _make_update(self) -> None:
        rows = self.recipe.batch_size // self.ranks.count
        which = (int(self.at.refit), self.at.made, self.ranks.rank)
        seed_networks(self.device, derive_seed(self.seed, "dropout", *which))
        rate = self.recipe.rate_at(self._stage.iteration, self.at.update)
        pairs = [self._draw_pairs(direction, rows, which) for direction in self._stage.directions]
        losses = []
        for i, (direction, (start, end)) in enumerate(zip(self._stage.directions, pairs)):
            generator = self._draws("points", *which, i)
            losses.append(self.networks[direction].update(start, end, rate, generator))
        self._losses.append(torch.stack(losses).mean())
        self.at.update += 1
        self.at.made += 1

    def _draw_pairs(
        self, direction: str, rows: int, which: tuple[int, ...]
    ) -> tuple[Tensor, Tensor]:
        """Start and clean end of a direction's chain."""
        forward = direction == FORWARD
        if self._stage.iteration == 1:
            if self._pairs is None:
                self._pairs = self._make_first_pairs()
            x0, x1 = self._pairs.draw(rows, *which, int(forward))
            return (x0, x1) if forward else (x1, x0)
        return self._walk(direction, rows)

    def _walk(self, direction: str, rows: int) -> tuple[Tensor, Tensor]:
        """Pairs by the chain of the other direction, those of some updates in one walk.

        A walk is a function of its place alone: a training that is resumed makes it again.
        """
        forward = direction == FORWARD
        at, stands_still = self.at, len(self._stage.directions) == 1
        length = UPDATES_PER_WALK if stands_still else 1
        place = at.update % length
        first = at.made - place
        which = (int(at.refit), first, self.ranks.rank, int(forward))
        if direction not in self._walked or self._walked[direction][0] != which:
            batches = min(length, self._updates_of(at.stage) - (at.update - place))
            x = "x1" if forward else "x0"
            end = self._data.draw(x, rows * batches, self.device, self.seed, *which)
            other = self.networks[BACKWARD if forward else FORWARD]
            start = other.chain.draw_ends(end, self._draws("chain", *which))
            self._walked[direction] = (which, start, end)
        _, start, end = self._walked[direction]
        batch = slice(place * rows, (place + 1) * rows)
        return start[batch], end[batch]

    def _make_first_pairs(self) -> FirstPairs:
        report = None
        if self._progress is not None and self.ranks.is_first:
            tell = self._progress
            report = lambda done, total: tell("first pairs", done, total, "")
        return FirstPairs(self.recipe, self._reference, self._data, self.device, self.seed, report)

    def _judge_stage(self) -> None:
        """Pairs of rows held out, made as those of the stage, and the first look at them."""
        assert self._apart is not None
        pairs = self._num_judged()
        x0, x1 = (rows[:pairs] for rows in self._apart.ends())
        for direction in self._stage.directions:
            forward = direction == FORWARD
            details = (self.at.stage, int(forward))
            if self._stage.iteration == 1:
                draws = self._draws("judged pairs", *details)
                a, b = couple_first(self.recipe, self._reference, x0, x1, draws)
                start, end = (a, b) if forward else (b, a)
            else:
                end = x1 if forward else x0
                other = self.networks[BACKWARD if forward else FORWARD]
                start = other.chain.draw_ends(end, self._draws("judged chain", *details))
            matching = self._matched(direction).matching
            points = max(1, min(_MOST_POINTS // pairs, matching.num_steps))
            draws = self._draws("judged points", *details)
            self._judged[direction] = matching.draw_points(start, end, points, draws)
        self._best = self._copied_states()
        self._look()

    def _matched(self, direction: str) -> MatchedNetwork:
        """A network that rows held out can judge: others are trained without them."""
        network = self.networks[direction]
        assert isinstance(network, MatchedNetwork)
        return network

    def _draws(self, purpose: str, *details: int) -> torch.Generator:
        return make_generator(self.device, self.seed, purpose, *details)

    def _num_judged(self) -> int:
        assert self._apart is not None
        return min(_MOST_PAIRS, *map(len, self._apart.ends()))

    def _look_now_and_then(self) -> None:
        last = self.at.update == self._updates_of(self.at.stage)
        if last or self.at.update % UPDATES_PER_LOOK == 0:
            self._look()
        if self.at.stale >= self.recipe.patience:
            self.at.update = self._updates_of(self.at.stage)

    def _look(self) -> None:
        """Keeps the networks where they are better than before."""
        of_pairs = []
        for direction, (x, n, end) in self._judged.items():
            losses = self._matched(direction).losses_of_average(x, n, end)
            of_pairs.append(losses.view(self._num_judged(), -1).mean(1))
        means = torch.stack(of_pairs).mean(0)
        error = float(means.std()) / math.sqrt(len(means)) if len(means) > 1 else 0.0
        loss, error = self.ranks.of_first([float(means.mean()), error])
        self.at.stale += 1
        if loss < self.at.best_loss:
            self.at.stale, self.at.best_update = 0, self.at.update
            self.at.best_loss, self.at.best_error = loss, error
            self._best = self._copied_states()

    def _write_line(self) -> None:
        last = self.at.update == self._updates_of(self.at.stage)
        if not last and self.at.made % self.recipe.log_every:
            return
        loss = self.ranks.mean(float(torch.stack(self._losses).mean()))
        self._losses = []
        if not math.isfinite(loss) or not all(n.is_finite() for n in self.networks.values()):
            raise FloatingPointError(
                f"[torch] the training diverged at update {self.at.made}: its loss is {loss}; "
                "a smaller learning_rate or a clip may help"
            )
        line: dict[str, Any] = {
            "update": self.at.made,
            "loss": loss,
            "seconds": self.at.seconds,
            "imf_iteration": self._stage.iteration,
        }
        if len(self._stage.directions) == 1:
            line["direction"] = self._stage.directions[0]
        if self.at.refit:
            line["refit"] = True
        elif self._best is not None:
            line["held_out_loss"] = self.at.best_loss
        self.history.append(line)
        if not self.ranks.is_first:
            return
        if self._on_log is not None:
            self._on_log(dict(line))
        if self._progress is not None:
            total = sum(self._updates_of(stage) for stage in range(len(self.stages)))
            done = self.at.update + sum(self._updates_of(i) for i in range(self.at.stage))
            self._progress("training", done, total, f"loss {loss:.4f}")

    def _copied_states(self) -> dict[str, Any]:
        return copy.deepcopy({d: network.state() for d, network in self.networks.items()})

    def _set_states(self, states: dict[str, Any]) -> None:
        for direction, network in self.networks.items():
            network.set_state(states[direction])

    def _save(self) -> None:
        if self._checkpoint is None or not self.ranks.is_first:
            return
        self._checkpoint.write(
            {
                "networks": {d: network.state() for d, network in self.networks.items()},
                "position": dataclasses.asdict(self.at),
                "start": self._start,
                "best": self._best,
                "judged": self._judged,
                "found": self.found,
                "history": self.history,
                "losses": self._losses,
            }
        )

    def _load(self, state: dict[str, Any]) -> None:
        self._set_states(state["networks"])
        self.at = Position(**state["position"])
        self._start, self._best = state["start"], state["best"]
        self._judged, self.found = state["judged"], state["found"]
        self.history, self._losses = state["history"], state["losses"]
        if self.at.refit:
            self._data = self._all
