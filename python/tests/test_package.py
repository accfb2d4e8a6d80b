"""The package as pip installs it, without a network and without other packages."""

import ast
import base64
import hashlib
import importlib.util
import inspect
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, ROOT)

import heddle


def backend():
    spec = importlib.util.spec_from_file_location("heddle_build", os.path.join(ROOT, "build_backend", "heddle_build.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PackageTest(unittest.TestCase):
    def test_wheel(self):
        with tempfile.TemporaryDirectory() as d:
            with zipfile.ZipFile(os.path.join(d, backend().build_wheel(d))) as z:
                names = set(z.namelist())
                info = "heddle-%s.dist-info/" % heddle.__version__
                self.assertLessEqual({"heddle/__init__.py", "heddle/__init__.pyi", "heddle/py.typed", "heddle/_worker.py", info + "METADATA", info + "WHEEL"}, names)
                recorded = set()
                for line in z.read(info + "RECORD").decode().splitlines():
                    name, digest, size = line.split(",")
                    recorded.add(name)
                    if digest:
                        b = z.read(name)
                        want = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b"=").decode()
                        self.assertEqual((digest, int(size)), (want, len(b)), name)
                self.assertEqual(recorded, names)
                self.assertIn("Version: " + heddle.__version__ + "\n", z.read(info + "METADATA").decode())

    def test_source_builds_the_same(self):
        with tempfile.TemporaryDirectory() as d:
            with tarfile.open(os.path.join(d, backend().build_sdist(d))) as t:
                for member in t.getmembers():
                    path = os.path.join(d, member.name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as f:
                        f.write(t.extractfile(member).read())
            again = os.path.join(d, "heddle-" + heddle.__version__, "build_backend")
            script = "import sys; sys.path.insert(0, %r); import heddle_build; print(heddle_build.build_wheel(%r))" % (again, d)
            wheel = subprocess.run([sys.executable, "-B", "-c", script], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
            with open(os.path.join(d, wheel), "rb") as f, tempfile.TemporaryDirectory() as other:
                with open(os.path.join(other, backend().build_wheel(other)), "rb") as g:
                    self.assertEqual(f.read(), g.read())

    def test_types_are_those_of_the_functions(self):
        with open(os.path.join(ROOT, "heddle", "__init__.pyi")) as f:
            stub = ast.parse(f.read())
        seen = set()
        for node in ast.walk(stub):
            if isinstance(node, ast.FunctionDef):
                of = heddle if node.name == "open_input" else heddle.Executor
                want = list(inspect.signature(getattr(of, node.name)).parameters)
                a = node.args
                got = [x.arg for x in a.args + ([a.vararg] if a.vararg else []) + a.kwonlyargs]
                self.assertEqual(got, want, node.name)
                seen.add(node.name)
        self.assertEqual(seen, {"__init__", "map", "open_input"})
        self.assertLessEqual(set(heddle.__all__), {n.name for n in stub.body if hasattr(n, "name")})

    def test_pip_installs_it(self):
        if not os.environ.get("HEDDLE_TEST_FULL"):
            self.skipTest("it takes seconds; HEDDLE_TEST_FULL=1 runs it")
        with tempfile.TemporaryDirectory() as d:
            subprocess.run([sys.executable, "-m", "venv", d], check=True)
            python = os.path.join(d, "bin", "python")
            for how in [], ["-e"]:
                subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--force-reinstall", *how, ROOT], check=True)
                script = "import heddle; print(heddle.__version__)\nwith heddle.Executor(1, local=True) as e: print(e.submit(pow, 2, 5).result())"
                got = subprocess.run([python, "-c", script], cwd=d, stdout=subprocess.PIPE, check=True).stdout.decode()
                self.assertEqual(got.split(), [heddle.__version__, "32"])


if __name__ == "__main__":
    unittest.main()
