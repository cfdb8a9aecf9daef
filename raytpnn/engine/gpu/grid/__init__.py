"""Room grid."""
