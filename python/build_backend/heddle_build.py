"""Builds the package with Python alone, so that pip installs it without a network. It implements PEP 517 and PEP 660."""

import base64
import hashlib
import io
import os
import re
import tarfile
import zipfile

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TAG = "py3-none-any"


def _text(*path):
    with open(os.path.join(_HERE, *path), encoding="utf-8") as f:
        return f.read()


def _version():
    return re.search(r'^__version__ = "(.+)"$', _text("heddle", "__init__.py"), re.M).group(1)


def _metadata():
    return "\n".join((
        "Metadata-Version: 2.1",
        "Name: heddle",
        "Version: " + _version(),
        "Summary: Short tasks on a Heddle or YARN cluster, as concurrent.futures",
        "Requires-Python: >=3.8",
        "Classifier: Programming Language :: Python :: 3",
        "Classifier: Typing :: Typed",
        "Description-Content-Type: text/markdown",
        "",
        _text("README.md"),
    ))


def _package():
    names = sorted(n for n in os.listdir(os.path.join(_HERE, "heddle")) if n.endswith((".py", ".pyi")) or n == "py.typed")
    return {"heddle/" + n: _text("heddle", n) for n in names}


def _info():
    return {"METADATA": _metadata(), "WHEEL": "Wheel-Version: 1.0\nGenerator: heddle_build\nRoot-Is-Purelib: true\nTag: %s\n" % _TAG, "top_level.txt": "heddle\n"}


def _wheel(directory, files):
    folder = "heddle-%s.dist-info/" % _version()
    files = {**files, **{folder + name: text for name, text in _info().items()}}
    record = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record.append("%s,sha256=%s,%d\n" % (name, digest, len(text.encode())))
    files[folder + "RECORD"] = "".join(record) + folder + "RECORD,,\n"
    wheel = "heddle-%s-%s.whl" % (_version(), _TAG)
    with zipfile.ZipFile(os.path.join(directory, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in files.items():
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, _package())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, {"heddle.pth": _HERE + "\n"})


def build_sdist(sdist_directory, config_settings=None):
    base = "heddle-" + _version()
    files = {"PKG-INFO": _metadata(), "README.md": _text("README.md"), "pyproject.toml": _text("pyproject.toml"),
             "build_backend/heddle_build.py": _text("build_backend", "heddle_build.py"), **_package()}
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as t:
        for name, text in files.items():
            entry = tarfile.TarInfo(base + "/" + name)
            entry.size = len(text.encode())
            t.addfile(entry, io.BytesIO(text.encode()))
    return base + ".tar.gz"
