"""Drawings of the page as inline SVG: small, without a plotting library, in colours of the page's style.

In: a posterior. Out: text of an SVG element with what a pointer shows in it.

axes         Scales, ticks and the frame of a drawing.
bars         Horizontal bars with intervals: importance, what adds up at a row.
calibration  What was promised beside what was seen.
curves       Effects of single features and of columns of text.
maps         Effects of two features as maps, without colour where there are no rows.
traces       Scalars of the chains over their draws, and their ranks.
"""
