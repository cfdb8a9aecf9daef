"""Whether chains agree: R-hat, effective draws, odd chains, advice, evidence.

In: quantities of every draw by chain. Out: tables, a judgement and advice. It knows neither runs nor
posteriors.

advice       Did the chains converge, and what should a person do if not: in words, with numbers to put in.
diagnostics  Have the chains converged: R-hat and effective sample sizes of what a user looks at.
effects      Sizes of the leading effects in every draw, as chains are compared by them.
evidence     Log evidence from tempered replicas, by stepping stones.
forecast     How much longer chains must be, and whether longer chains are a cure at all.
odd_chains   Chains that are stuck, or apart from all others: named, never thrown away.
tempering    What tempered ensembles report: swaps, travels, the barrier, and the log evidence.
"""
