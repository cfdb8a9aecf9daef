"""What comes in: readers, encoding, bins."""
