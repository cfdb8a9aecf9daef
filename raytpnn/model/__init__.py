"""What is sampled: families, priors, basis."""
