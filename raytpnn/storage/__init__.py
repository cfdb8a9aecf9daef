"""Where runs are kept: folders on any filesystem that pyarrow knows."""

from raytpnn.storage.errors import RunError
from raytpnn.storage.places.place import Place

__all__ = ["Place", "RunError"]
