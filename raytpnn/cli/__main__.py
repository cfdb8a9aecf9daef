"""`python -m raytpnn.cli`."""

from raytpnn.cli import app

app(prog_name="raytpnn")
