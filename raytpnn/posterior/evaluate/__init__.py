"""Room evaluate."""
