"""The benchmark for Schrödinger bridges and entropic optimal transport on discrete spaces.

    import bridgemark as bm

    pair = bm.load("d2-gaussian-0.02")
    x0, x1 = pair.sample_x0(512, seed=1), pair.sample_x1(512, seed=2)  # unpaired: to train on
    y = pair.sample_conditional(x0, seed=3)                            # the truth
    solver = bm.DLightSB(components=100).fit(pair, updates=500)
    print(bm.evaluate(pair, solver))                                   # or any callable x0 -> x1

States are integer arrays [B,D] with categories 0..S-1; log-probabilities are float64. NumPy in,
NumPy out; arrays of torch, JAX or CuPy are answered in their library and on their device. Seeds of
draws are ints, numpy.random.Generators or, without one, fresh each time; `fit` and `evaluate` have
seed 0 and repeat. Bad arguments raise ValueError, unreadable files OSError, and Ctrl-C stops every
long call. Native code runs on OMP_NUM_THREADS threads and gives the same result for any number of
them.
"""

from . import _signatures, _solvers  # noqa: F401  before any native function is taken
from ._benchmark import BenchmarkCard, benchmark, benchmark_suite
from ._board import board, check_submission
from ._columns import Columns, TableBridge
from ._core import Coupling, Pair, build_pair, load, presets, solvers
from ._core import version as __version__
from ._distill import distill
from ._doctor import doctor
from ._experiments import load_results, report, run
from ._figures import draw_figures
from ._gamma import GammaScan, scan_gamma
from ._labels import LabelledCoupling
from ._outside import OutsideCoupling
from ._outside_solvers import Option, SolverRun
from ._own_data import DataComparison, compare_on
from ._paper import paper_results
from ._plots import plot_conditional, plot_samples, plot_trajectories
from ._profiles import performance_profile, time_to_quality
from ._results import Difference, Result, compare, evaluate, paired_difference
from ._row_plots import plot_rows
from ._solvers import *  # the solvers that this build has
from ._solvers import Solver, load_solver, make_solver
from ._tables import Table

__all__ = [
    "BenchmarkCard",
    "Columns",
    "Coupling",
    "DataComparison",
    "Difference",
    "GammaScan",
    "LabelledCoupling",
    "Option",
    "OutsideCoupling",
    "Pair",
    "Result",
    "Solver",
    "SolverRun",
    "Table",
    "TableBridge",
    "__version__",
    "benchmark",
    "benchmark_suite",
    "board",
    "build_pair",
    "check_submission",
    "compare",
    "compare_on",
    "distill",
    "doctor",
    "draw_figures",
    "evaluate",
    "load",
    "load_results",
    "load_solver",
    "make_solver",
    "paired_difference",
    "paper_results",
    "performance_profile",
    "plot_conditional",
    "plot_rows",
    "plot_samples",
    "plot_trajectories",
    "presets",
    "report",
    "run",
    "scan_gamma",
    "solvers",
    "time_to_quality",
]
__all__ += _solvers.__all__
