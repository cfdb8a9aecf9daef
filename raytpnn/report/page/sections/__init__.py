"""The sections of the page, a file each: a function from a posterior to HTML."""
