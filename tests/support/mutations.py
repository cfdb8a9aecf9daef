"""Files of a run as a stranger might make them: bytes changed at random, values that are wrong on purpose.

Checksums are made right again, so that what was changed is read.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.records import STATE
from raytpnn.storage.formats.manifest_check import FILE_NAME

Files = dict[str, bytes]
MANIFESTS = ("manifest.json", "manifest.previous.json", "begun.json")
ODD_NUMBERS = [
    0,
    1,
    -1,
    2,
    255,
    256,
    1024,
    1025,
    65_535,
    65_536,
    2**31 - 1,
    2**31,
    -(2**31),
    2**53,
    2**63,
    10**40,
]
ODD_FLOATS = [0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), -float("inf"), 0.5]
ODD_VALUES = [
    *ODD_NUMBERS,
    *ODD_FLOATS,
    *(None, True, False, "", "x", "0", "../../manifest.json", "/etc/passwd", "a" * 5000, "\ud800", "\x00"),
    *([], {}, [1], [[]], [None] * 3, {"a": 1}, "gaussian", "running", "finished"),
]
DTYPES = ["|u1", "<u2", ">u2", "<f8", "|O", "|V100000000", "<U9999999", "|b1", "<i8", "|S1", "<M8[s]"]


def read_files(folder: Path) -> Files:
    """Content of the files of a run or an encoder, by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def any_of(rng: np.random.Generator, values):
    """One of some values, as it is."""
    return values[int(rng.integers(len(values)))]


def mutated(rng: np.random.Generator, files: Files) -> tuple[Files, str]:
    """Change one file, or two, and give what was changed with its name."""
    changed, told = dict(files), []
    for _ in range(1 if rng.random() < 0.85 else 2):
        name = any_of(rng, sorted(changed))
        # Most changes go to where the meaning is, the others to bytes.
        way = by_kind(name) if rng.random() < 0.6 else mutate_bytes
        try:
            changed[name] = way(rng, changed[name])
        except Exception:
            # It was changed before and is no longer what it was.
            changed[name] = mutate_bytes(rng, changed[name])
        told.append(name)
    return sealed(files, changed), ", ".join(told)


def by_kind(name: str):
    """How to change a file in terms of what it means."""
    if name.endswith(".json"):
        return mutate_json
    if name.endswith(".parquet"):
        return mutate_parquet
    if name.endswith(".npy"):
        return mutate_npy
    return mutate_weights if "weights=" in name else mutate_checkpoint


def sealed(before: Files, files: Files) -> Files:
    """Make checksums right again: of files in the manifest, and of draws in checkpoints."""
    draws = {}
    for name, data in files.items():
        if data != before[name]:
            draws[name] = hashlib.sha256(data).hexdigest()
    sealed_files = dict(files)
    for name, checksum in draws.items():
        where = name.removeprefix("draws/").removesuffix(".parquet")
        checkpoint = f"checkpoint/{where}"
        if name.startswith("draws/") and sealed_files.get(checkpoint) == before.get(checkpoint, b""):
            header, content = opened(sealed_files[checkpoint])
            sealed_files[checkpoint] = closed(header | {"draws_sha256": checksum}, content)
    for told in MANIFESTS:
        if told in files and files[told] == before.get(told, b""):
            manifest = json.loads(files[told])
            manifest.pop("checksum", None)
            for name in manifest["files"]:
                if name in draws and FILE_NAME.fullmatch(name):
                    manifest["files"][name] = draws[name]
            sealed_files[told] = json.dumps(manifest).encode()
    return sealed_files


def mutate_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """Change bytes anywhere."""
    buffer = bytearray(data)
    for _ in range(int(rng.geometric(0.4))):
        way = int(rng.integers(8))
        at = int(rng.integers(len(buffer) + 1))
        size = int(min(rng.geometric(0.05), max(len(buffer) - at, 0)))
        if way == 0 and at < len(buffer):
            buffer[at] ^= 1 << int(rng.integers(8))
        elif way == 1 and at < len(buffer):
            buffer[at] = any_of(rng, [0, 1, 127, 128, 254, 255])
        elif way == 2:
            del buffer[at : at + size]
        elif way == 3:
            buffer[at:at] = rng.bytes(size)
        elif way == 4:
            buffer[at:at] = buffer[at : at + size]
        elif way == 5:
            del buffer[at:]
        elif way == 6:
            number = any_of(rng, [v for v in ODD_NUMBERS if -(2**63) <= v < 2**63])
            buffer[at : at + 8] = int(number).to_bytes(8, any_of(rng, ["little", "big"]), signed=True)
        else:
            number = any_of(rng, [v for v in ODD_NUMBERS if -(2**31) <= v < 2**31])
            buffer[at : at + 4] = int(number).to_bytes(4, "little", signed=True)
    return bytes(buffer)


def mutate_tree(rng: np.random.Generator, tree):
    """Change something in a value of JSON."""
    places = []

    def walk(value):
        if isinstance(value, dict):
            for key in value:
                places.append((value, key))
                walk(value[key])
        elif isinstance(value, list):
            for i in range(min(len(value), 50)):
                places.append((value, i))
                walk(value[i])

    walk(tree)
    if not places or rng.random() < 0.01:
        return any_of(rng, ODD_VALUES)
    parent, key = any_of(rng, places)
    way = int(rng.integers(6))
    if way == 0:
        del parent[key]
    elif way == 1 and isinstance(parent, dict):
        parent[any_of(rng, ["", "x", "../x", "draws/chain=0/../../x", "plan", "state"])] = parent.pop(key)
    elif way == 2 and isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
        parent[key] = any_of(rng, [parent[key] + 1, -parent[key], parent[key] * 2**31, float(parent[key])])
    elif way == 3 and isinstance(parent[key], str):
        parent[key] = any_of(
            rng, [parent[key] + "0", parent[key][:-1], f"../{parent[key]}", parent[key].upper()]
        )
    elif way == 4 and isinstance(parent[key], list):
        parent[key] = parent[key] * 2 if rng.random() < 0.5 else parent[key][:-1]
    else:
        parent[key] = any_of(rng, ODD_VALUES)
    return tree


def as_text(tree) -> bytes:
    """JSON with whatever characters there are."""
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def mutate_json(rng: np.random.Generator, data: bytes) -> bytes:
    """Change a value of a JSON file."""
    if rng.random() < 0.01:
        depth = int(rng.integers(1, 200_000))
        return b"[" * depth + b"]" * depth if rng.random() < 0.5 else b'{"a":' * depth
    tree = json.loads(data)
    # Without it a manifest is read whatever was changed.
    tree.pop("checksum", None)
    for _ in range(int(rng.geometric(0.6))):
        tree = mutate_tree(rng, tree)
    return as_text(tree)


def odd_cell(rng: np.random.Generator, kind: pa.DataType):
    """Value of an Arrow type that is seldom right."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if rng.random() < 0.15:
            return None
        return [odd_cell(rng, kind.value_type) for _ in range(any_of(rng, [0, 1, 2, 17, 40]))]
    if rng.random() < 0.1:
        return None
    if pa.types.is_integer(kind):
        return any_of(rng, [v for v in ODD_NUMBERS if -(2**31) <= v < 2**31])
    if pa.types.is_floating(kind):
        return any_of(rng, ODD_FLOATS)
    if pa.types.is_boolean(kind):
        return bool(rng.integers(2))
    return any_of(rng, ["", "x", "numeric", "level", "missing", "a" * 1000, "\x00"])


def mutate_parquet(rng: np.random.Generator, data: bytes) -> bytes:
    """Change cells, types or columns of a Parquet file."""
    # Threads of Arrow may abort a process that ends.
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    for _ in range(int(rng.geometric(0.6))):
        place = int(rng.integers(table.num_columns))
        field = table.schema.field(place)
        way = int(rng.integers(8))
        if way == 0:
            table = table.remove_column(place)
            if not table.num_columns:
                break
        elif way == 1:
            table = table.slice(0, int(rng.integers(table.num_rows + 1)))
        elif way == 2:
            table = pa.concat_tables([table, table])
        elif way == 3:
            other = any_of(rng, [pa.string(), pa.int64(), pa.float32(), pa.list_(pa.float64()), pa.bool_()])
            cells = [odd_cell(rng, other) for _ in range(table.num_rows)]
            table = table.set_column(place, field.name, pa.array(cells, other))
        elif way == 4:
            table = table.rename_columns([any_of(rng, [name, name, "x"]) for name in table.column_names])
        else:
            cells = table.column(place).to_pylist()
            for _ in range(int(rng.geometric(0.5))):
                if cells:
                    cells[int(rng.integers(len(cells)))] = odd_cell(rng, field.type)
            table = table.set_column(place, field, pa.array(cells, field.type))
    sink = io.BytesIO()
    how = {
        "compression": any_of(rng, ["zstd", "snappy", "none", "gzip"]),
        "use_dictionary": bool(rng.integers(2)),
    }
    pq.write_table(table, sink, **how)
    out = sink.getvalue()
    return mutate_bytes(rng, out) if rng.random() < 0.2 else out


def mutate_npy(rng: np.random.Generator, data: bytes) -> bytes:
    """Change the header or the numbers of an array."""
    size = int.from_bytes(data[8:10], "little")
    header, content = data[10 : 10 + size], bytearray(data[10 + size :])
    if rng.random() < 0.5:
        for _ in range(int(rng.geometric(0.2))):
            content[int(rng.integers(len(content)))] = any_of(rng, [0, 1, 2, 127, 128, 254, 255])
        return data[: 10 + size] + bytes(content)
    told = ast.literal_eval(header.decode())
    way = int(rng.integers(4))
    if way == 0:
        shape = [any_of(rng, [*told["shape"], *ODD_NUMBERS]) for _ in range(int(rng.integers(0, 4)))]
        told["shape"] = tuple(shape)
    elif way == 1:
        told["descr"] = any_of(rng, DTYPES)
    elif way == 2:
        told["fortran_order"] = True
    else:
        told = any_of(rng, [{}, told | {"x": 1}, {"descr": told["descr"]}])
    text = repr(told).encode() + b"\n"
    return data[:8] + len(text).to_bytes(2, "little") + text + bytes(content)


def opened(data: bytes) -> tuple[dict, bytes]:
    """Header and content of a checkpoint."""
    line, _, packed = data[:-32].partition(b"\n")
    header = json.loads(line)
    return header, pa.decompress(packed, header["state"] + header["watched"], codec="zstd", asbytes=True)


def closed(header: dict, content: bytes) -> bytes:
    """Checkpoint with a checksum that is right."""
    body = as_text(header) + b"\n" + pa.compress(content, codec="zstd", asbytes=True)
    return body + hashlib.sha256(body).digest()


def mutate_checkpoint(rng: np.random.Generator, data: bytes) -> bytes:
    """Change the header, the state or what was watched, and make the checksum right again."""
    header, content = opened(data)
    cut, way = header["state"], rng.random()
    if way < 0.3:
        header = mutate_tree(rng, header)
        if not isinstance(header, dict):
            header = {}
        return closed(header, content)
    if way < 0.8:
        state = mutate_state(rng, content[:cut])
        return closed(header | {"state": len(state)}, state + content[cut:])
    if way < 0.95 and header["watched"]:
        line, _, rest = content[cut:].partition(b"\n")
        if rng.random() < 0.5:
            line = as_text(mutate_tree(rng, json.loads(line)))
        else:
            rest = mutate_bytes(rng, rest)
        watched = line + b"\n" + rest
        return closed(header | {"watched": len(watched)}, content[:cut] + watched)
    body = mutate_bytes(rng, data[:-32])
    return body + hashlib.sha256(body).digest()


def mutate_state(rng: np.random.Generator, data: bytes) -> bytes:
    """Change fields of a state, or of a ladder and its states."""
    if rng.random() < 0.1:
        return mutate_bytes(rng, data)
    first = LADDER.itemsize if len(data) % STATE.itemsize else 0
    if first and rng.random() < 0.3:
        ladder = np.array(np.frombuffer(data, LADDER, 1))
        change_field(rng, ladder, any_of(rng, LADDER.names))
        return ladder.tobytes() + data[first:]
    states = np.array(np.frombuffer(data, STATE, offset=first))
    which = int(rng.integers(len(states)))
    for _ in range(int(rng.geometric(0.5))):
        # Those that say how much there is, and where, above all.
        name = any_of(rng, [*STATE.names, "K", "order", "features", "features", "order", "gamma", "b"])
        change_field(rng, states[which : which + 1], name)
    return data[:first] + states.tobytes()


def change_field(rng: np.random.Generator, record: np.ndarray, name: str) -> None:
    """Change an entry of a field of one record, in the first few mostly."""
    kind = record.dtype.fields[name][0]
    cell = record[name].reshape(-1)
    near = min(cell.size, 4 if cell.size < 64 else 40)
    at = int(rng.integers(near if rng.random() < 0.8 else cell.size))
    if kind.base.kind == "f":
        value = any_of(rng, ODD_FLOATS)
    elif kind.base.kind == "b":
        offset = record.dtype.fields[name][1]
        raw = record.view(np.uint8).reshape(-1)
        raw[offset + at] = any_of(rng, [0, 1, 2, 255])
        return
    else:
        limits = np.iinfo(kind.base)
        value = any_of(rng, [v for v in ODD_NUMBERS if limits.min <= v <= limits.max])
    flat = np.array(cell)
    flat[at] = value
    record[name] = flat.reshape(record[name].shape)


def mutate_weights(rng: np.random.Generator, data: bytes) -> bytes:
    """Change feature weights, and make the checksum right again."""
    weights = np.array(np.frombuffer(data[32:], "<f8"))
    if rng.random() < 0.5:
        weights[int(rng.integers(len(weights)))] = any_of(rng, ODD_FLOATS)
        body = weights.tobytes()
    else:
        body = mutate_bytes(rng, data[32:])
    return hashlib.sha256(body).digest() + body
