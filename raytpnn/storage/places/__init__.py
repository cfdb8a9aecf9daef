"""A folder on a local disk or in an object store.

In: a path or a URI. Out: a `Place` to read, write and list; copies of remote files; errors that pass are
tried again.

atomic_files  Local files written beside their name and renamed, so that no reader sees half of one.
cache         Copies of remote files on this machine.
fetch         Files that are elsewhere, as files of this machine.
folders       Folders that come to a place whole, beside what others may have written there.
identity      Which process this is, and whether another one is still there.
place         A folder on a local disk or in an object store, written so that no reader ever sees half a file.
retry         Storage errors that pass: tried again with growing pauses, for as long as patience lasts.
uris          URIs as they may be printed and stored.
verified      Files of a run that are what its manifest says they are.
"""
