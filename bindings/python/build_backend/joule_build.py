"""Builds the wheel and the source archive (PEP 517), without any other package.

The wheel contains the Python files, libjoule.so.0 and, if this Python has its headers, the compiled edges of
regions. The variable JOULE_BUILD names a finished CMake build from which the library is taken; otherwise
CMake builds it in build/python of the repository or of the unpacked source archive.
"""
import base64
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE / "libjoule"  # in a source archive
if not ROOT.exists():
    ROOT = HERE.parent.parent
SOURCES = HERE / "src"
PACKAGED = (".def", ".py", ".typed")  # files of the wheel
OF_LIBRARY = (".c", ".cmake", ".cpp", ".def", ".h", ".inc", ".map", ".txt")  # files of include/ and src/
DATE = (1980, 1, 1, 0, 0, 0)  # equal inputs give an equal wheel


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    """Makes the source archive: this folder, and in libjoule/ what the build of the library needs."""
    name = distribution()
    files = {"PKG-INFO": metadata()}
    for path in (HERE / "pyproject.toml", HERE / "README.md", *below(HERE / "build_backend", PACKAGED),
                 *below(SOURCES, (*PACKAGED, ".c"))):
        files[str(path.relative_to(HERE))] = path.read_bytes()
    for path in (ROOT / "CMakeLists.txt", ROOT / "LICENSE", ROOT / "NOTICE", *below(ROOT / "include", OF_LIBRARY),
                 *below(ROOT / "src", OF_LIBRARY)):
        files[f"libjoule/{path.relative_to(ROOT)}"] = path.read_bytes()
    with open(Path(sdist_directory) / f"{name}.tar.gz", "wb") as file, \
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return f"{name}.tar.gz"


def below(folder, suffixes):
    return [path for path in sorted(folder.rglob("*")) if path.suffix in suffixes]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = find_library()
    tag = f"py3-none-{platform_tag(library)}"
    files = {str(path.relative_to(SOURCES)): path.read_bytes() for path in below(SOURCES, PACKAGED)}
    files["joule/libjoule.so.0"] = library
    edges = compile_edges()
    if edges is not None:
        files["joule/_edges.abi3.so"] = edges
    return write_wheel(Path(wheel_directory), tag, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Makes a wheel that points to the sources. Set JOULE_LIBRARY, or install libjoule, to use it."""
    return write_wheel(Path(wheel_directory), "py3-none-any", {"joule_energy.pth": f"{SOURCES}\n".encode()})


get_requires_for_build_editable = get_requires_for_build_wheel


def find_library():
    """Returns the contents of libjoule without debug information."""
    build = os.environ.get("JOULE_BUILD")
    if build is None:
        build = ROOT / "build" / "python"
        run("cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DJOULE_TESTS=OFF",
            "-DJOULE_PROGRAMS=OFF")
        run("cmake", "--build", build, "--target", "joule", "--parallel")
    path = Path(build) / "src" / "libjoule.so.0"
    if not path.exists():
        raise SystemExit(f"cannot build the wheel: {path} does not exist; build the target `joule` first")
    strip = shutil.which("strip")
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copyfile(path, Path(folder) / "libjoule.so.0")
        if strip:
            run(strip, "--strip-unneeded", copy)
        return Path(copy).read_bytes()


def compile_edges():
    """Returns the compiled edges, or None if this machine cannot compile them: regions then cost more."""
    include = sysconfig.get_path("include")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler or not Path(include, "Python.h").exists():
        print("no C compiler or no Python.h: the wheel is built without compiled edges", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "_edges.abi3.so"
        run(compiler, "-std=c17", "-O2", "-shared", "-fPIC", f"-I{include}", f"-I{ROOT / 'include'}",
            SOURCES / "joule" / "_edges.c", "-o", output, "-Wl,--strip-all")
        return output.read_bytes()


def platform_tag(library):
    """Returns the platform tag of a shared library: manylinux with the newest version of glibc that it
    needs."""
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")  # linux_x86_64
    versions = [int(version) for version in re.findall(rb"GLIBC_2\.(\d+)", library)]
    if not machine.startswith("linux_") or not versions:
        return machine
    return f"manylinux_2_{max(max(versions), 17)}_{machine[len('linux_'):]}"


def project():
    """Returns the fields of pyproject.toml that the wheel needs. Python 3.9 has no parser for TOML."""
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    fields = dict(re.findall(r'^([a-z-]+) = "([^"]*)"$', text, re.M))
    fields["classifiers"] = re.findall(r'^    "(.*)",$', text[text.index("classifiers"):], re.M)
    fields["pytest"] = re.search(r'^joule = "(.*)"$', text, re.M).group(1)
    return fields


def distribution():
    fields = project()
    return f"{fields['name'].replace('-', '_')}-{fields['version']}"


def metadata():
    """Returns the contents of METADATA and PKG-INFO."""
    fields = project()
    lines = [f"Metadata-Version: 2.1\nName: {fields['name']}\nVersion: {fields['version']}",
             f"Summary: {fields['description']}\nLicense: Apache-2.0\nRequires-Python: {fields['requires-python']}",
             *(f"Classifier: {line}" for line in fields["classifiers"]),
             "Description-Content-Type: text/markdown\n", (HERE / "README.md").read_text(encoding="utf-8")]
    return "\n".join(lines).encode()


def write_wheel(folder, tag, files):
    """Writes a wheel with these files, {path: bytes}, and returns its name."""
    info = f"{distribution()}.dist-info"
    files = {**files, f"{info}/METADATA": metadata(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: joule_build\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
             f"{info}/entry_points.txt": f"[pytest11]\njoule = {project()['pytest']}\n".encode(),
             **{f"{info}/licenses/{name}": (ROOT / name).read_bytes() for name in ("LICENSE", "NOTICE")}}
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    name = f"{distribution()}-{tag}.whl"
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, DATE)
            entry.external_attr = (0o755 if ".so" in path else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return name


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def run(*command):
    subprocess.run([str(word) for word in command], check=True)
