"""The paper's tables, one module a table; see RESULTS.md for what they gave and the commands."""
