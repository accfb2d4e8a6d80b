"""What runs on nodes: an interpreter that takes one call after the other.

The client sends this file's text to nodes, which need nothing but Python. Both sides know it as the module
_heddle_worker. It also pickles functions and classes by value that nodes can't import: those of the program
itself, lambdas, and what is defined within functions.
"""

import builtins
import importlib
import io
import marshal
import os
import pickle
import struct
import sys
import threading
import traceback
import types

__name__ = "_heddle_worker"

# The most bytes that a call with its arguments, or its answer, may have: what heddle takes as one message, less room for what goes with it.
LARGEST = (64 << 20) - (1 << 20)

_on_node = False  # where the program's own classes have come from elsewhere, and go back by their names


def _globals_of(code):
    """The names of globals that a code object and those within it may use."""
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _globals_of(const)
    return names


def _importable(obj):
    """Whether a node finds obj by its name."""
    module = getattr(obj, "__module__", None)
    if module is None or module == "__main__" and not _on_node:
        return False
    found = sys.modules.get(module)
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj


def _function(code, name, cells):
    return types.FunctionType(marshal.loads(code), {"__builtins__": builtins}, name, None,
                              tuple(types.CellType() for _ in range(cells)) or None)


def _fill_function(f, state):
    for cell, value in zip(f.__closure__ or (), state["cells"]):
        if value is not None:
            cell.cell_contents = value[0]
    f.__globals__.update(state["globals"])
    f.__globals__["__name__"] = state["module"]
    for name in ("__defaults__", "__kwdefaults__", "__module__", "__qualname__", "__doc__", "__annotations__"):
        setattr(f, name, state[name])
    f.__dict__.update(state["dict"])


def _class(meta, name, bases, module, qualname):
    made = types.new_class(name, bases, {"metaclass": meta})
    made.__module__, made.__qualname__ = module, qualname
    # Results and exceptions of the class go back by its name.
    if module == "__main__" and "." not in qualname:
        setattr(sys.modules["__main__"], name, made)
    return made


def _fill_class(made, members):
    for name, value in members.items():
        setattr(made, name, value)


class Pickler(pickle.Pickler):
    """Pickles as the standard one does, and by value what can't be imported."""

    def reducer_override(self, obj):
        if isinstance(obj, types.ModuleType):
            return importlib.import_module, (obj.__name__,)
        if isinstance(obj, types.FunctionType) and not _importable(obj):
            cells = []
            for cell in obj.__closure__ or ():
                try:
                    cells.append((cell.cell_contents,))
                except ValueError:  # not assigned yet
                    cells.append(None)
            used = {n: obj.__globals__[n] for n in _globals_of(obj.__code__) if n in obj.__globals__}
            state = {"globals": used, "cells": cells, "dict": obj.__dict__, "module": obj.__globals__.get("__name__")}
            for name in ("__defaults__", "__kwdefaults__", "__module__", "__qualname__", "__doc__", "__annotations__"):
                state[name] = getattr(obj, name)
            return (_function, (marshal.dumps(obj.__code__), obj.__name__, len(cells)), state, None, None, _fill_function)
        if isinstance(obj, type) and obj.__module__ not in ("builtins", __name__) and not _importable(obj):
            skip = ("__dict__", "__weakref__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__")
            members = {k: v for k, v in obj.__dict__.items() if k not in skip and not isinstance(v, types.GetSetDescriptorType)}
            return (_class, (type(obj), obj.__name__, obj.__bases__, obj.__module__, obj.__qualname__), members, None, None, _fill_class)
        return NotImplemented


def dumps(obj):
    buffer = io.BytesIO()
    Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(obj)
    return buffer.getvalue()


class _Stream(io.TextIOBase):
    """Standard output or standard error of calls."""

    encoding = "utf-8"

    def __init__(self, say, kind):
        self._say, self._kind, self._lock, self._parts, self._size = say, kind, threading.Lock(), [], 0

    def writable(self):
        return True

    def write(self, text):
        b = text.encode("utf-8", "surrogateescape")
        with self._lock:
            self._parts.append(b)
            self._size += len(b)
        if self._size > 1 << 16:
            self.flush()
        return len(text)

    def flush(self):
        with self._lock:
            b, self._parts, self._size = b"".join(self._parts), [], 0
        for i in range(0, len(b), 1 << 16):
            self._say(self._kind, b[i:i + (1 << 16)])


def _answer(call, initialized):
    version, init, call = pickle.loads(call)
    if version != sys.version_info[:2]:
        raise RuntimeError("Python is %d.%d on the node and %d.%d here: choose the node's with python=" % (sys.version_info[:2] + version))
    if init is not None and init not in initialized:
        initializer, args = pickle.loads(init)
        initializer(*args)
        initialized.add(init)
    f, args, kwargs = pickle.loads(call)
    return f(*args, **kwargs)


def main():
    """Takes calls from descriptor 3 and answers on descriptor 4."""
    global _on_node
    _on_node = True
    calls, answers, lock = os.fdopen(3, "rb"), os.fdopen(4, "wb"), threading.Lock()
    for f in (3, 4):
        os.set_inheritable(f, False)

    def say(kind, b):
        with lock:
            answers.write(struct.pack(">IB", len(b) + 1, kind))
            answers.write(b)
            answers.flush()

    sys.stdout, sys.stderr = _Stream(say, 1), _Stream(say, 2)
    initialized, me = set(), os.getpid()
    while True:
        head = calls.read(4)
        if len(head) < 4:
            return
        status, text = 0, ""
        try:
            answer = dumps((True, _answer(calls.read(struct.unpack(">I", head)[0]), initialized), None))
        except BaseException as e:
            text = "".join(traceback.format_exception(type(e), e, e.__traceback__))
            e.__traceback__ = None
            status = 0 if isinstance(e, SystemExit) and not e.code else 1
            try:
                answer = dumps((False, e, text))
                pickle.loads(answer)
            except BaseException:
                answer = dumps((False, RuntimeError(repr(e)), text))
        if len(answer) > LARGEST:
            e = ValueError("the result or exception has %d bytes, at most %d are allowed: write large results to a file that the program can read"
                           % (len(answer), LARGEST))
            status, answer = 1, dumps((False, e, text[:1 << 16]))  # a traceback shows the exception's text
        forked = os.getpid() != me
        if forked and status:
            sys.stderr.write(text)
        sys.stdout.flush()
        sys.stderr.flush()
        if forked:  # by the call, and comes back from it too: its parent answers, and a second answer would be taken for the next call's
            os._exit(status)
        say(0, answer)
