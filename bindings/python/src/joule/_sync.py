"""Waiting for the GPU at the edges of a measurement, if the program uses PyTorch. Never imports torch
itself."""
from __future__ import annotations

import sys
from typing import Any

from . import _native

_hook: Any = None  # keeps the callback alive


def _torch_cuda() -> Any:
    """Returns torch.cuda if the program has imported torch and has used a CUDA device, else None."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_available() and cuda.is_initialized() else None


def synchronise() -> None:
    """Waits until the CUDA devices that this process uses are idle. Also gives libjoule the hook for GPU
    regions."""
    if "torch" not in sys.modules:
        return
    cuda = _torch_cuda()
    if cuda is not None:
        _install()
        current = cuda.current_device()
        for device in range(cuda.device_count()):
            # Synchronising an unused device would create a context on it.
            if device == current or cuda.memory_reserved(device) > 0:
                cuda.synchronize(device)


def _install() -> None:
    """Registers the hook with libjoule, once for a process."""
    global _hook
    if _hook is None:
        def wait(_: Any) -> None:
            synchronise()
        _hook = _native.SyncCallback(wait)
        _native.library().joule_set_sync(_hook, None)
