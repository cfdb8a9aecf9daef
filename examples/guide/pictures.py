"""Make the pictures of README and of this guide from scikit-learn's diabetes data.

python examples/guide/pictures.py
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from sklearn.datasets import load_diabetes

import raytpnn
from raytpnn.report import write_report
from raytpnn.report.svg.bars import bar_drawing
from raytpnn.report.svg.curves import effect_drawing

FOLDER = Path(__file__).parent


def alone(drawing: str) -> str:
    """An inline drawing as a file of its own: with the colours of the page, in light and in dark."""
    css = (files("raytpnn.report.page") / "page.css").read_text(encoding="utf-8")
    light = re.search(r":root \{(.*?)\}", css, re.DOTALL)[1]
    rules = [
        line for line in css.splitlines() if re.match(r"svg text|\.(grid|wide|mark|thin|sure|plain|up)", line)
    ]
    style = f"svg {{ {light} font-family: sans-serif; }} {' '.join(rules)}"
    drawing = re.sub(r' data-points="[^"]*"', "", drawing).replace(' data-plane="1"', "")
    width, height = re.search(r'viewBox="0 0 (\S+) (\S+)"', drawing).groups()
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
    back = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return drawing.replace("<svg ", head, 1).replace(">", f"><style>{style}</style>{back}", 1)


def main() -> None:
    """Fit, draw, write."""
    data = load_diabetes(as_frame=True, scaled=False)
    post = raytpnn.sample(data.data, data.target.rename("progression"), seed=0)
    (FOLDER / "effect.svg").write_text(alone(effect_drawing(post, "bmi")), encoding="utf-8")
    table = post.components().head(8)
    bars = bar_drawing(
        "Importance of the leading effects",
        [" × ".join(names) for names in table["component"]],
        table["importance"].tolist(),
        table["importance_low"].tolist(),
        table["importance_high"].tolist(),
        "importance",
        sizes=True,
    )
    (FOLDER / "importance.svg").write_text(alone(bars), encoding="utf-8")
    write_report(post, FOLDER / "diabetes.html", data="scikit-learn diabetes")
    print(post.summary(5))
    print(post.predict_interval(data.data[:2]).round(0))
    print(post.predict(data.data[:2]).round(0))


if __name__ == "__main__":
    main()
