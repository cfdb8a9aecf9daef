"""Where runs are kept: folders on any filesystem that pyarrow knows.

In: bytes, and names below a folder. Out: files that no reader sees by half, checked when they are read.

formats  What the files of a run look like, and checks of what they claim.
places   A folder on a local disk or in an object store.
checks   Values that a file claims to hold, checked before anything relies on them.
errors   What can be wrong with a run on disk.
lease    One owner: whoever works on a run holds its lease, and shows that he is alive by renewing it.
"""

from raytpnn.storage.errors import RunError
from raytpnn.storage.places.place import Place

__all__ = ["Place", "RunError"]
