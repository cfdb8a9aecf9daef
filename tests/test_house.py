"""The floor plan, read from the source: imports go one way, rooms are small, no test imports another test."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "raytpnn"
# From the ground up. A module may import what stands before its own floor, and its own floor.
FLOORS = (
    "numerics",
    "parallel",
    "families",
    "storage",
    "data",
    "expression",
    "model",
    "engine",
    "draws",
    "forward",
    "convergence",
    "chains",
    "posterior",
    "options",
    "sampling",
    "estimator",
    "validation",
    "tuning",
    "report",
    "cli",
)
MOST_MODULES = 14
# Floors that may import Ray.
RAY = {"parallel", "chains", "validation", "tuning"}


class Arrow(NamedTuple):
    """One import: who imports, what, and whether for types alone."""

    source: str
    target: str
    types_only: bool


def name_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def for_types(tree: ast.Module) -> set[int]:
    """Nodes below `if TYPE_CHECKING`."""
    blocks = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    return {id(inner) for block in blocks for part in block.body for inner in ast.walk(part)}


def imported(node: ast.AST, module: str, is_package: bool) -> list[str]:
    """What a node imports: dotted names, the imported name being the last part of those of `from`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        start = node.module or ""
        if node.level:
            above = module.split(".")
            above = above[: len(above) - node.level + is_package]
            start = ".".join([*above, start]) if start else ".".join(above)
        return [f"{start}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == "import_module" and isinstance(node.args[0].value, str):
            return [node.args[0].value]
    return []


def arrows_of(root: Path) -> list[Arrow]:
    """All imports of a tree that holds `raytpnn`, wherever in a module they stand."""
    files = {name_of(path, root): path for path in (root / "raytpnn").rglob("*.py")}
    homes = public_homes(files["raytpnn"]) if "raytpnn" in files else {}
    found = []
    for module, path in sorted(files.items()):
        tree = ast.parse(path.read_text())
        types = for_types(tree)
        for node in ast.walk(tree):
            for target in imported(node, module, path.name == "__init__.py"):
                # `from raytpnn import sample` is an arrow to where it lives.
                target = homes.get(target, target)
                while "." in target and target not in files and target.split(".")[0] == "raytpnn":
                    target = target.rpartition(".")[0]
                found.append(Arrow(module, target, id(node) in types))
    return found


def public_homes(path: Path) -> dict[str, str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            return {f"raytpnn.{name}": home for name, home in ast.literal_eval(node.value).items()}
    return {}


def floor_of(module: str) -> str | None:
    """Floor of a module; None for `raytpnn` itself and for what is not ours."""
    parts = module.split(".")
    return parts[1] if parts[0] == "raytpnn" and len(parts) > 1 else None


def upwards(arrows: list[Arrow]) -> set[tuple[str, str]]:
    return {
        (arrow.source, arrow.target)
        for arrow in arrows
        if (own := floor_of(arrow.source)) and (other := floor_of(arrow.target))
        if FLOORS.index(other) > FLOORS.index(own)
    }


def room_of(module: str, packages: set[str]) -> str:
    """Folder of a module; a module that stands directly on a floor is a room of its own."""
    if module in packages:
        return module
    folder = module.rpartition(".")[0]
    return module if folder.count(".") <= 1 else folder


def round_trips(arrows: list[Arrow], packages: set[str]) -> list[set[str]]:
    """Sets of rooms that import each other, in one step or several."""
    graph: dict[str, set[str]] = {}
    for arrow in arrows:
        # Imports for types alone do not count here.
        if arrow.types_only or not floor_of(arrow.source) or not floor_of(arrow.target):
            continue
        own, other = room_of(arrow.source, packages), room_of(arrow.target, packages)
        if arrow.source.rpartition(".")[0] == arrow.target.rpartition(".")[0]:
            # Neighbours in one folder.
            continue
        if own != other:
            graph.setdefault(own, set()).add(other)

    def reached(start: str) -> set[str]:
        seen, todo = set(), [start]
        while todo:
            for following in graph.get(todo.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        return seen

    ways = {room: reached(room) for room in graph}
    cycles = []
    for room in sorted(ways):
        if room in ways[room]:
            cycle = {room} | {other for other in ways[room] if room in ways.get(other, ())}
            if cycle not in cycles:
                cycles.append(cycle)
    return cycles


def crowded(root: Path) -> dict[str, int]:
    folders = {path.parent for path in (root / "raytpnn").rglob("*.py")}
    sizes = {
        name_of(folder / "__init__.py", root): sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        for folder in folders
    }
    return {room: size for room, size in sizes.items() if size > MOST_MODULES}


def packages_of(root: Path) -> set[str]:
    return {name_of(path, root) for path in (root / "raytpnn").rglob("__init__.py")}


@pytest.fixture(scope="module")
def arrows():
    return arrows_of(ROOT)


def test_every_module_stands_on_a_floor(arrows):
    floors = {floor_of(name_of(path, ROOT)) for path in PACKAGE.rglob("*.py")} - {None}
    assert floors == set(FLOORS)
    assert len(arrows) > 1000


def test_imports_go_one_way(arrows):
    assert upwards(arrows) == set()


def test_no_rooms_import_each_other(arrows):
    assert round_trips(arrows, packages_of(ROOT)) == []


def test_ray_is_imported_where_it_belongs(arrows):
    users = {floor_of(arrow.source) for arrow in arrows if arrow.target.split(".")[0] == "ray"}
    assert users <= RAY


def test_rooms_are_small():
    assert crowded(ROOT) == {}


def test_every_room_has_a_contract_with_a_line_a_module():
    missing = []
    for start in PACKAGE.rglob("__init__.py"):
        if start.parent == PACKAGE:
            continue
        contract = ast.get_docstring(ast.parse(start.read_text())) or ""
        beside = [path.stem for path in start.parent.glob("*.py") if path != start]
        beside += [path.parent.name for path in start.parent.glob("*/__init__.py")]
        lines = [line.split()[0] for line in contract.splitlines() if line.split()]
        missing += [f"{name_of(start, ROOT)}: {name}" for name in beside if name not in lines]
    assert missing == []


def test_no_test_imports_another_test():
    guilty = []
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            for target in imported(node, path.stem, False):
                if any(part.startswith("test_") for part in target.split(".")[:-1]):
                    guilty.append(f"{path.name}: {target}")
    assert guilty == []


@pytest.fixture
def house(tmp_path):
    """A small house that keeps the rules."""

    def write(name, text):
        path = tmp_path / "raytpnn" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("__init__.py", '_HOMES = {"sample": "raytpnn.sampling"}\n')
    write("sampling.py", "from raytpnn.engine.moves import birth\n")
    for room in ("numerics", "engine", "engine/moves", "engine/rows"):
        write(f"{room}/__init__.py", "")
    write("numerics/lanes.py", "")
    write("engine/moves/birth.py", "import raytpnn.numerics.lanes\nfrom raytpnn.engine.rows import passes\n")
    write("engine/rows/passes.py", "import raytpnn.numerics.lanes\n")
    return tmp_path, write


@pytest.mark.parametrize(
    "text",
    [
        "from raytpnn.engine.moves import birth\n",
        "import raytpnn.engine.moves.birth\n",
        "from ..engine.moves import birth\n",
        "def f():\n    from raytpnn.engine.moves.birth import x\n",
        "if TYPE_CHECKING:\n    from raytpnn.engine.moves.birth import X\n",
        'import_module("raytpnn.engine.moves.birth")\n',
    ],
)
def test_an_arrow_upwards_is_found(house, text):
    root, write = house
    assert upwards(arrows_of(root)) == set()
    write("numerics/lanes.py", text)
    assert upwards(arrows_of(root)) == {("raytpnn.numerics.lanes", "raytpnn.engine.moves.birth")}


def test_an_arrow_to_a_public_name_is_found(house):
    root, write = house
    write("numerics/lanes.py", "def f():\n    from raytpnn import sample\n")
    assert upwards(arrows_of(root)) == {("raytpnn.numerics.lanes", "raytpnn.sampling")}


def test_a_round_trip_between_rooms_is_found(house):
    root, write = house
    assert round_trips(arrows_of(root), packages_of(root)) == []
    write("engine/rows/passes.py", "def f():\n    from raytpnn.engine.moves.birth import x\n")
    both = {"raytpnn.engine.moves", "raytpnn.engine.rows"}
    assert round_trips(arrows_of(root), packages_of(root)) == [both]


def test_a_crowded_room_is_found(house):
    root, write = house
    for i in range(MOST_MODULES + 1):
        write(f"numerics/m{i}.py", "")
    assert crowded(root) == {"raytpnn.numerics": MOST_MODULES + 2}
