"""Exceptions of the package. Each carries the message of libjoule, which states what the user can do."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .quantity import Quantity

__all__ = ["BudgetExceeded", "JouleError", "LibraryNotFound"]


class JouleError(RuntimeError):
    """A call of libjoule failed. `status` is the name of its status, for example "denied"."""

    def __init__(self, message: str, status: str = "failed") -> None:
        super().__init__(message)
        self.status = status


class LibraryNotFound(JouleError, ImportError):
    """libjoule.so.0 was not found, or could not be loaded."""


class BudgetExceeded(JouleError):
    """The energy used since a budget began exceeds its limit. `joules` is the use, `limit` the limit in
    joules."""

    def __init__(self, message: str, joules: Quantity, limit: float) -> None:
        super().__init__(message, "over_budget")
        self.joules = joules
        self.limit = limit
