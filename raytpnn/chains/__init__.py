"""Many chains: executors and progress."""
