"""Support for tests of the Python package: builds its wheel from the CMake build, and runs scripts with
it."""
import os
import subprocess
import sys
import tempfile
import zipfile

from run_support import BUILD, SOURCE, sanitizer_of, skip

FOLDER = os.path.join(os.path.abspath(SOURCE), "bindings", "python")
LIBRARY = os.path.join(BUILD, "src", "libjoule.so.0")


def skip_if_sanitized():
    """Ends the script as skipped if Python cannot load the library."""
    if not os.path.exists(LIBRARY):
        skip(f"{LIBRARY} was not built")
    if sanitizer_of(LIBRARY):
        skip("a library with a sanitizer does not load into Python")


def build_wheel(folder, source=FOLDER, kind="wheel"):
    """Builds the wheel ("sdist": the source archive) into a folder with the package's own backend, and returns
    its path."""
    code = ("import sys; sys.path.insert(0, 'build_backend'); import joule_build; "
            f"print(joule_build.build_{kind}(sys.argv[1]))")
    done = subprocess.run([sys.executable, "-B", "-c", code, folder], cwd=source, env=dict(os.environ, JOULE_BUILD=BUILD),
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return os.path.join(folder, done.stdout.split()[-1])


class Package:
    """The contents of the wheel in a folder that Python can import from, without an installation."""

    def __init__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        with zipfile.ZipFile(build_wheel(self.folder)) as wheel:
            wheel.extractall(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def environment(self, **variables):
        """Returns this process's environment with the package and without a measuring parent."""
        path = os.pathsep.join([self.folder, *filter(None, [os.environ.get("PYTHONPATH")])])
        kept = {key: value for key, value in os.environ.items() if not key.startswith("JOULE")}
        return {**kept, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}

    def run(self, code, *words, python=sys.executable, cwd=None, status=0, **variables):
        """Runs a script and returns its standard output. `status` is the expected exit status; None: any."""
        done = subprocess.run([python, "-c", code, *words], env=self.environment(**variables), cwd=cwd or self.folder,
                              capture_output=True, text=True, timeout=120)
        assert status is None or done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done.stdout
