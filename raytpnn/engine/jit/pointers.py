"""Arrays whose length depends on the data, reached by their address in a record.

A chain's functions pass a few record pointers and nothing else: with the arrays themselves as arguments
every call would move hundreds of words, and compiling the sampler took two minutes instead of seconds.
Whoever fills the records keeps the arrays alive (`raytpnn.engine.chain.Chain`).
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from raytpnn.engine.jit.signatures import BATCH_T, PROBLEM_T, WORK_T

__all__ = [
    "batch_at",
    "code_bytes",
    "code_words",
    "double_rows",
    "doubles",
    "integers",
    "problem_at",
    "single_rows",
    "singles",
    "work_at",
]


def _array_value(array_type, context, builder, address, shape):
    """Array structure over foreign memory in C order: no owner, so no reference counts."""
    array = make_array(array_type)(context, builder)
    itemsize = context.get_constant(types.intp, array_type.dtype.bitwidth // 8)
    strides = [itemsize]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    data = builder.inttoptr(address, array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


def _vector_of(element):
    """Intrinsic (address, n) -> vector."""
    array_type = types.Array(element, 1, "C")

    @intrinsic
    def vector(typingctx, address, n):
        def codegen(context, builder, signature, args):
            return _array_value(array_type, context, builder, args[0], (args[1],))

        return array_type(types.int64, types.int64), codegen

    return vector


def _matrix_of(element):
    """Intrinsic (address, rows, n) -> matrix."""
    array_type = types.Array(element, 2, "C")

    @intrinsic
    def matrix(typingctx, address, rows, n):
        def codegen(context, builder, signature, args):
            return _array_value(array_type, context, builder, args[0], (args[1], args[2]))

        return array_type(types.int64, types.int64, types.int64), codegen

    return matrix


def _record_of(record_type):
    """Intrinsic (address) -> record: its value is a pointer to it."""

    @intrinsic
    def record(typingctx, address):
        def codegen(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(record_type))

        return record_type(types.int64), codegen

    return record


problem_at = _record_of(PROBLEM_T)
work_at = _record_of(WORK_T)
batch_at = _record_of(BATCH_T)
doubles = _vector_of(types.float64)
singles = _vector_of(types.float32)
integers = _vector_of(types.int64)
code_bytes = _vector_of(types.uint8)
code_words = _vector_of(types.uint16)
double_rows = _matrix_of(types.float64)
single_rows = _matrix_of(types.float32)
