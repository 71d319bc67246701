"""PyTorch as a reference: finds a Python that has it and can load libforge, or skips the test.

Also compares arrays. Note: Debian's python3-torch belongs to /usr/bin/python3, which may not be the first
python3 in PATH. JOULE_TORCH_PYTHON names another one, such as that of a virtual environment.
"""
import os
import subprocess
import sys
import warnings

from run_support import skip

HAS_TORCH = "import importlib.util as u, sys; sys.exit(not (u.find_spec('torch') and u.find_spec('numpy')))"


def _has_torch(python):
    try:
        return subprocess.run([python, "-c", HAS_TORCH], capture_output=True, timeout=60).returncode == 0
    except OSError:
        return False


def need():
    """Restarts the script with a Python that has torch, or skips the test."""
    if os.environ.get("JOULE_TORCH_IS_HERE"):
        return
    wanted = os.environ.get("JOULE_TORCH_PYTHON")
    for python in [wanted] if wanted else [sys.executable, "/usr/bin/python3"]:
        if _has_torch(python):
            os.execve(python, [python, *sys.argv], dict(os.environ, JOULE_TORCH_IS_HERE="1"))
    skip("there is no Python with torch and numpy (Debian: python3-torch)")


need()

import numpy  # noqa: E402
import torch  # noqa: E402

import forge_library as forge  # noqa: E402

if not forge.LIB:
    skip("there is no libforge without a sanitizer, which Python could not load")
warnings.filterwarnings("ignore", "scatter_reduce.*in beta")
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
print(f"PyTorch {torch.__version__}, NumPy {numpy.__version__}")


def _comparable(ours, theirs):
    """Returns the finite elements of both arrays as f64; None if shapes, types, NaNs or infinities differ."""
    theirs = numpy.asarray(theirs.detach() if isinstance(theirs, torch.Tensor) else theirs)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return None
    plain = numpy.isfinite(ours) & numpy.isfinite(theirs)
    if not numpy.array_equal(ours[~plain], theirs[~plain], equal_nan=theirs.dtype.kind == "f"):
        return None
    return ours[plain].astype("f8"), theirs[plain].astype("f8")


def _relative(measure, ours, theirs, floor):
    pair = _comparable(ours, theirs)
    if not pair:
        return float("inf")
    apart = measure(pair[0] - pair[1])
    return float(apart / max(measure(pair[1]), floor)) if apart else 0.0


def difference(ours, theirs, floor=0.0):
    """Returns the largest difference of two arrays, relative to the largest element of `theirs` or to
    `floor`; infinite if they cannot be compared."""
    return _relative(lambda x: numpy.abs(x).max(initial=0), ours, theirs, floor)


def distance(ours, theirs):
    """Returns the root mean square of the difference, relative to that of `theirs`."""
    return _relative(numpy.linalg.norm, ours, theirs, 0.0)
