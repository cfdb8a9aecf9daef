"""Room inputs."""
