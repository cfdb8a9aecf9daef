"""The arithmetic all executions share: elementary functions, random numbers, sums in a fixed order."""
