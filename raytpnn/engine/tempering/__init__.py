"""Ensembles of replicas at several temperatures.

In: a `Tempering` and a problem. Out: a `ReplicaSet`, which runs, stops and is restored like one chain.

ladder    The temperatures of an ensemble: where they start, when and how they are adapted.
options   How an ensemble of replicas is tempered.
replicas  An ensemble of replicas that runs, stops and is restored like one chain.
"""
