"""Arrays whose length depends on the data, reached by their address in a record.

A chain's functions pass a few record pointers and nothing else: with the arrays themselves as arguments
every call would move hundreds of words, and compiling the sampler took two minutes instead of seconds.
Whoever fills the records keeps the arrays alive (`raytpnn.engine.chain.Chain`).
"""

from __future__ import annotations

from numba import carray, types
from numba.extending import intrinsic

from raytpnn.numerics.jit import internal

__all__ = ["code_bytes", "code_words", "double_rows", "doubles", "integers", "single_rows", "singles"]


def _pointer_to(element):
    """Intrinsic that turns an address into a pointer to `element`."""

    @intrinsic
    def pointer(typingctx, address):
        def codegen(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), codegen

    return pointer


_double_pointer = _pointer_to(types.float64)
_single_pointer = _pointer_to(types.float32)
_integer_pointer = _pointer_to(types.int64)
_byte_pointer = _pointer_to(types.uint8)
_word_pointer = _pointer_to(types.uint16)


@internal
def doubles(address, n):
    """Float64 vector of length n."""
    return carray(_double_pointer(address), (n,))


@internal
def double_rows(address, rows, n):
    """Float64 matrix (rows, n)."""
    return carray(_double_pointer(address), (rows, n))


@internal
def singles(address, n):
    """Float32 vector of length n."""
    return carray(_single_pointer(address), (n,))


@internal
def single_rows(address, rows, n):
    """Float32 matrix (rows, n)."""
    return carray(_single_pointer(address), (rows, n))


@internal
def integers(address, n):
    """Int64 vector of length n."""
    return carray(_integer_pointer(address), (n,))


@internal
def code_bytes(address, n):
    """Uint8 vector of length n."""
    return carray(_byte_pointer(address), (n,))


@internal
def code_words(address, n):
    """Uint16 vector of length n."""
    return carray(_word_pointer(address), (n,))
