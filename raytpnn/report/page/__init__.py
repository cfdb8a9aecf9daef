"""One self-contained HTML page about a posterior.

In: a posterior. Out: a file, from `page.html` and `page.css`.

sections  The sections of the page, one file each.
write     One self-contained HTML page about a posterior.
"""
