"""Many: values of one type in order, a tuple where they are few; where they are very many, a sequence that reads them from aside.

In a Struct's annotation it is a tuple: that is what msgspec reads such a field as.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence as Many
else:

    class Many:
        """A tuple of so many, for msgspec."""

        def __class_getitem__(cls, item: Any) -> Any:
            """The type that is read."""
            return tuple[item, ...]


__all__ = ["Many"]
