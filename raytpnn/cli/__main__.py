"""`python -m raytpnn.cli`."""

from raytpnn.cli import app

if __name__ == "__main__":
    app(prog_name="raytpnn")
