"""How compiled parts find each other and their arrays.

In: records and functions. Out: addresses and Numba signatures.

function_table  Parts of the sampler that are compiled apart and call each other through pointers.
pointers        Arrays whose length depends on the data, reached by their address in a record.
signatures      Numba types of the records, for the signatures of units.
"""
