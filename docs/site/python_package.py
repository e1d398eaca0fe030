"""The reference of the Python package: signatures of its sources and stub, and its docstrings."""

import ast
import inspect
import re
from pathlib import Path

import bridgemark as bm
from bridgemark import _core, _solvers
from text import cell, escape, prose, stacked, table

PACKAGE = Path(bm.__file__).parent
WIDTH = 88

# What is public, by page; together they are bm.__all__.
PAGES = {
    "pairs": ("Pairs", ["load", "presets", "build_pair", "distill", "Pair"]),
    "solvers": (
        "Solvers",
        [
            "solvers",
            "make_solver",
            "load_solver",
            "Solver",
            *_solvers.__all__,
            "Coupling",
            "LabelledCoupling",
            "Columns",
            "TableBridge",
        ],
    ),
    "scores": (
        "Scores",
        [
            "benchmark",
            "benchmark_suite",
            "BenchmarkCard",
            "evaluate",
            "OutsideCoupling",
            "Result",
            "compare",
            "paired_difference",
            "Difference",
            "compare_on",
            "DataComparison",
            "scan_gamma",
            "GammaScan",
            "paper_results",
            "Table",
        ],
    ),
    "experiments": (
        "Experiments",
        [
            "run",
            "report",
            "load_results",
            "time_to_quality",
            "performance_profile",
            "Option",
            "SolverRun",
        ],
    ),
    "machine": ("This machine", ["doctor"]),
    "board": ("The board", ["check_submission", "board"]),
    "pictures": (
        "Pictures",
        ["plot_samples", "plot_trajectories", "plot_conditional", "plot_rows", "draw_figures"],
    ),
}


def definitions():
    """The syntax tree of every class and function of the package; the stub has the native ones."""
    found = {}
    for file in [*sorted(PACKAGE.glob("_*.py")), PACKAGE / "_core.pyi"]:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                native = file.suffix == ".pyi"
                if not native or getattr(bm, node.name, None) is getattr(_core, node.name):
                    found[node.name] = node
    return found


def aliases():
    """Names that the package gives to types for itself, and what they stand for."""
    found = {}
    for file in sorted(PACKAGE.glob("_*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, (ast.BinOp, ast.Subscript)):
                found[ast.unparse(node.targets[0])] = ast.unparse(node.value)
    return found


ALIASES = aliases()


def shown(expression):
    text = re.sub(r"\b_\w+", lambda name: ALIASES.get(name[0], name[0]), ast.unparse(expression))
    for long, short in (
        ("numpy.typing.", ""),
        ("npt.", ""),
        ("numpy.", "np."),
        ("os.PathLike[str]", "PathLike"),
        ("_core.DEFAULT_SEEDS", str(_core.DEFAULT_SEEDS)),
        ("_core.DEFAULT_TRAJECTORIES", str(_core.DEFAULT_TRAJECTORIES)),
        ("_core.DEFAULT_PARTICLES", str(_core.DEFAULT_PARTICLES)),
        ("_core.DEFAULT_MAX_SECONDS", str(_core.DEFAULT_MAX_SECONDS)),
        ("_core.DEFAULT_CONDITIONAL_SAMPLES", str(_core.DEFAULT_CONDITIONAL_SAMPLES)),
        ("_core.", ""),
        ("Callable[[str, int, int, str], object]", "Callable"),
        ("SolverT", "Solver"),
    ):
        text = text.replace(long, short)
    return text


def signature(name, function, method=False):
    """A declaration in one line, or with a line for each argument where that is too long."""
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    listed = []

    def add(argument, default):
        kind = f": {shown(argument.annotation)}" if argument.annotation else ""
        value = (" = " if kind else "=") + shown(default) if default is not None else ""
        listed.append(argument.arg + kind + value)

    for i, (argument, default) in enumerate(zip(plain, defaults)):
        if not (method and i == 0):
            add(argument, default)
        if arguments.posonlyargs and argument is arguments.posonlyargs[-1] and len(plain) > i + 1:
            listed.append("/")
    if arguments.vararg:
        listed.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs:
        listed.append("*")
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        add(argument, default)
    if arguments.kwarg:
        listed.append("**" + arguments.kwarg.arg)
    returns = f" -> {shown(function.returns)}" if function.returns else ""
    line = f"{name}({', '.join(listed)}){returns}"
    if len(line) > WIDTH:
        line = f"{name}(\n" + "".join(f"    {argument},\n" for argument in listed) + f"){returns}"
    return f"```python\n{line}\n```\n"


def explained(name, node):
    text = ast.get_docstring(node)
    if not text:
        raise ValueError(f"bm.{name} has no docstring")
    return prose(text)


def is_property(node):
    return any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)


def members_of(node, nodes):
    """The public methods of a class, then those of the package's class below it that is not."""
    found = [m for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("_")]
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in nodes and not hasattr(bm, base.id):
            found += members_of(nodes[base.id], nodes)
    return found


def class_section(name, node, nodes):
    out = [f"## {name}\n", explained(name, node)]
    members = members_of(node, nodes)
    properties = [m for m in members if is_property(m)]
    if properties:
        out.append(
            stacked(
                "types",
                ("property", "type", "meaning"),
                [
                    [
                        f"`{m.name}`",
                        cell(f"`{shown(m.returns)}`"),
                        cell(" ".join(explained_text(f"{name}.{m.name}", m))),
                    ]
                    for m in properties
                ],
            )
        )
    for member in members:
        if not is_property(member):
            of = name if member.decorator_list else name.lower()  # a class method
            out += [
                f"### {name}.{member.name}\n",
                signature(f"{of}.{member.name}", member, True),
                explained(f"{name}.{member.name}", member),
            ]
    return "\n".join(out)


def explained_text(name, node):
    text = ast.get_docstring(node)
    if not text:
        raise ValueError(f"bm.{name} has no docstring")
    return text.split()


def solver_section(cls):
    """A solver with the table of its options, as the registry has them."""
    description, options = next((d, o) for name, d, o in _core.solver_specs() if name == cls.name)
    out = [f"## {cls.__name__}\n", f"`{cls.name}`: {escape(description)}.\n"]
    if options:
        out.append(
            stacked(
                "defaults",
                ("option", "default", "meaning"),
                [
                    [
                        f"`{option['key']}`",
                        f"`{option['default']}`" if option["default"] else "",
                        cell(option["help"]),
                    ]
                    for option in options
                ],
            )
        )
    else:
        out.append("No options.\n")
    return "\n".join(out)


def section(name, nodes):
    value = getattr(bm, name)
    if inspect.isclass(value) and issubclass(value, bm.Solver) and value is not bm.Solver:
        return solver_section(value)
    node = nodes[name]
    if isinstance(node, ast.ClassDef):
        return class_section(name, node, nodes)
    return "\n".join([f"## {name}\n", signature(f"bm.{name}", node), explained(name, node)])


def pages():
    nodes = definitions()
    listed = [name for _, names in PAGES.values() for name in names]
    if sorted(listed) != sorted(name for name in bm.__all__ if name != "__version__"):
        raise ValueError(f"pages and bm.__all__ differ in {set(listed) ^ set(bm.__all__)}")
    made, rows = {}, []
    for page, (title, names) in PAGES.items():
        made[f"reference/python/{page}.md"] = f"# {title}\n\n" + "\n".join(
            section(name, nodes) for name in names
        )
        links = [f"[`{name}`](python/{page}.md#{name.lower()})" for name in names]
        rows.append([f"[{title}](python/{page}.md)", ", ".join(links)])
    made["reference/python.md"] = (
        "# Python\n\n" + prose(bm.__doc__) + "\n" + table(("page", "has"), rows) + "\n"
        "The [Python package](../docs/python.md) says how the parts fit together. `ArrayT` in a "
        "signature is an array of NumPy, torch, CuPy or JAX: what comes back is of the library and "
        "on the device of what went in. "
        "`bm.__version__` is the version.\n\n"
        "```{toctree}\n:hidden:\n" + "\n".join(f"python/{page}" for page in PAGES) + "\n```\n"
    )
    return made
