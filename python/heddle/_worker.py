"""What runs on nodes: an interpreter that takes one call after the other.

The client sends this file's text to nodes, which need nothing but Python. Both sides know it as the module
_heddle_worker. It also pickles functions and classes by value that nodes can't import: those of the program
itself, lambdas, and what is defined within functions.
"""

import _abc
import abc
import builtins
import enum
import functools
import hashlib
import importlib
import io
import marshal
import os
import pickle
import struct
import sys
import traceback
import types
import weakref

__name__ = "_heddle_worker"

# The most bytes that a call with its arguments, or its answer, may have: what heddle takes as one message, less room for what goes with it.
LARGEST = (64 << 20) - (1 << 20)

# Data of at least so many bytes isn't sent with each call, but by its digest: an interpreter that lacks it says so, and gets the call once more with it.
LARGE = 32 << 10

_on_node = False  # where the program's own classes have come from elsewhere


def _globals_of(code):
    """The names of globals that a code object and those within it may use."""
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _globals_of(const)
    return names


def _submodules(f):
    """The modules within packages that a function uses: with a package alone they wouldn't be imported."""
    names, found = _globals_of(f.__code__), []
    inner = [c.cell_contents for c in f.__closure__ or () if _holds(c)]
    for package in [f.__globals__.get(n) for n in names] + inner:
        if isinstance(package, types.ModuleType) and hasattr(package, "__path__"):
            prefix = package.__name__ + "."
            found += [m for n, m in list(sys.modules.items()) if n.startswith(prefix) and isinstance(m, types.ModuleType) and names.issuperset(n[len(prefix):].split("."))]
    return found


def _holds(cell):
    try:
        cell.cell_contents
    except ValueError:  # not assigned yet
        return False
    return True


def _importable(obj, back):
    """Whether a node finds obj by its name, or with back the program that has called this node."""
    module = getattr(obj, "__module__", None)
    if module is None or module == "__main__" and not back:
        return False
    found = sys.modules.get(module)
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj


def _function(code, name, cells, module):
    return types.FunctionType(marshal.loads(code), _space(module), name, None, tuple(types.CellType() for _ in range(cells)) or None)


# On a node: the globals of functions that came by value, by the module that they come from. So what one call leaves there, an initializer for
# instance, others find.
_spaces = {}
_shipped = {}  # module and name of such a global: a digest of the value that came last


def _space(module):
    if not _on_node:
        return {"__builtins__": builtins}
    if module == "__main__":
        return sys.modules["__main__"].__dict__
    return _spaces.setdefault(module, {"__builtins__": builtins})


class _Lacking(BaseException):
    """A call needs data that this interpreter doesn't have."""


def digest_of(pickled):
    return hashlib.blake2b(pickled, digest_size=16).hexdigest()


_sent = {}  # on a node: by digest, large data that has come with the present call


def _fill_function(f, state):
    for cell, value in zip(f.__closure__ or (), state["cells"]):
        if value is not None:
            cell.cell_contents = value[0]
    space, module = f.__globals__, state["module"]
    if module != "__main__" or not _on_node:
        space["__name__"] = module
    space.update(state["globals"])
    for name, pickled in state["data"].items():
        digest = pickled if isinstance(pickled, str) else digest_of(pickled)
        if name not in space or not _on_node or _shipped.get((module, name)) != digest:
            if pickled is digest:
                pickled = _sent.get(digest)
                if pickled is None:
                    raise _Lacking
            space[name] = pickle.loads(pickled)
            _shipped[module, name] = digest
    for name in _FUNCTION:
        setattr(f, name, state[name])
    f.__dict__.update(state["dict"])


_FUNCTION = ("__defaults__", "__kwdefaults__", "__module__", "__qualname__", "__doc__", "__annotations__")

# A class that comes by value again is the same one: instances that have stayed on the node are of the class that later calls know, and those that come back are of the
# program's own.
_classes = weakref.WeakValueDictionary()  # by their keys
_keys = weakref.WeakKeyDictionary()
_own = weakref.WeakSet()  # classes that were made here


def _key(made):
    key = _keys.get(made)
    if key is None:
        key = _keys[made] = os.urandom(16)
        _classes[key] = made
        _own.add(made)
    return key


def _class(key, meta, name, bases, module, qualname, first):
    made = _classes.get(key)
    if made is None:
        first = {**first, "__module__": module, "__qualname__": qualname}
        if issubclass(meta, enum.EnumMeta):
            made = _enum(meta, name, bases, first)
        else:
            made = types.new_class(name, bases, {"metaclass": meta}, lambda space: space.update(first))
        _classes[key] = made
        _keys[made] = key
    # Results and exceptions of the class go back by its name.
    if module == "__main__" and "." not in qualname and _on_node:
        setattr(sys.modules["__main__"], name, made)
    return made


def _enum(meta, name, bases, first):
    space = meta.__prepare__(name, bases)
    for k, v in first.items():
        space[k] = v
    return meta(name, bases, space)


def _fill_class(made, state):
    if made in _own:
        return  # what it is here counts
    for name, value in state["members"].items():
        setattr(made, name, value)
    for name, attributes in state["enum"].items():  # that __init__ has set
        made[name].__dict__.update(attributes)
    for virtual in state["registered"]:
        made.register(virtual)


def _lru_cache(f, maxsize, typed):
    return functools.lru_cache(maxsize, typed)(f)


def _proxy(d):
    return types.MappingProxyType(d)


def _cached_property(f, attrname):
    made = functools.cached_property(f)
    made.attrname = attrname
    return made


def _of_typing(kind, module, args, options):
    made = getattr(importlib.import_module("typing"), kind)(*args, **options)
    if kind != "TypeAliasType":  # which can't be told
        made.__module__ = module
    return made


# What makes annotations in a class when they're wanted, from Python 3.14 on. It knows all of the class.
_LAZY = {"__annotate_func__", "__annotations_cache__"}


def _annotations(obj):
    """Annotations with names that nobody knows, as those of imports for type checkers, come as texts."""
    try:
        return obj.__annotations__
    except (NameError, AttributeError):
        lib = importlib.import_module("annotationlib")
        return lib.get_annotations(obj, format=lib.Format.STRING)


def _bases(obj):
    """What a class statement has as bases: a TypedDict tells that it is a dict."""
    if type(obj).__name__ != "_TypedDictMeta":
        return obj.__bases__
    return obj.__dict__.get("__orig_bases__") or (sys.modules[type(obj).__module__].TypedDict,)


def _of_class(obj, back):
    """What makes a class: before it is known to others, and after."""
    first, skip = {}, {"__dict__", "__weakref__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__", "__classdictcell__", "_abc_impl"} | _LAZY
    for name in ("__slots__", "__orig_bases__"):
        if name in obj.__dict__:
            first[name] = obj.__dict__[name]
            skip.add(name)
    of_members, plain = {}, {}
    if isinstance(obj, enum.EnumMeta):
        first = {name: m.value for name, m in obj.__members__.items()}
        skip.update(first)
        plain = _enum(type(obj), obj.__name__, obj.__bases__, {**first, "__module__": obj.__module__, "__qualname__": obj.__qualname__}).__dict__
        for name, m in obj.__members__.items():
            of_members[name] = {k: v for k, v in m.__dict__.items() if not (k.startswith("_") and k.endswith("_"))}
    members = {}
    for name, value in obj.__dict__.items():
        made_by_enum = name in plain and not (isinstance(value, types.FunctionType) and not _importable(value, back))
        if name not in skip and not made_by_enum and not isinstance(value, (types.GetSetDescriptorType, types.MemberDescriptorType)):
            members[name] = value
    if not _LAZY.isdisjoint(obj.__dict__):
        members["__annotations__"] = _annotations(obj)
    registered = []
    if isinstance(obj, abc.ABCMeta):
        registered = [c for c in (ref() for ref in _abc._get_dump(obj)[0]) if c is not None]
    return first, {"members": members, "enum": of_members, "registered": registered}


class Pickler(pickle.Pickler):
    """Pickles as the standard one does, and by value what can't be imported. With back it's for the program that has called this node."""

    def __init__(self, buffer, within=None, back=False, large=None):
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self._large = within._large if within else large  # large data by digest, which doesn't go with the rest; None: all does
        self._back = within._back if within else back
        # Globals that are being pickled by themselves, and those that were. Picklers of such globals share both.
        self._open, self._data = (within._open, within._data) if within else (set(), {})

    def reducer_override(self, obj):
        if isinstance(obj, types.ModuleType):
            return importlib.import_module, (obj.__name__,)
        if isinstance(obj, types.FunctionType) and not _importable(obj, self._back):
            return self._by_value(obj)
        if isinstance(obj, type) and obj.__module__ not in ("builtins", __name__) and not _importable(obj, self._back):
            first, rest = _of_class(obj, self._back)
            return (_class, (_key(obj), type(obj), obj.__name__, _bases(obj), obj.__module__, obj.__qualname__, first), rest, None, None, _fill_class)
        kind = (type(obj).__module__, type(obj).__qualname__)
        reduce = _reducers.get(kind)
        if reduce is None or kind in _named and _known(obj, self._back):
            return NotImplemented
        return reduce(obj)

    def _by_value(self, f):
        cells = [(c.cell_contents,) if _holds(c) else None for c in f.__closure__ or ()]
        direct, data = {}, {}
        for name in _globals_of(f.__code__):
            if name not in f.__globals__:
                continue
            value = f.__globals__[name]
            if isinstance(value, (types.FunctionType, types.ModuleType, type)):
                direct[name] = value
                continue
            # Data is pickled by itself, so that the node sees whether it has changed since another call.
            at = (id(f.__globals__), name)
            if at in self._open:
                continue  # who pickles it sets it
            if at not in self._data:
                self._open.add(at)
                try:
                    self._data[at] = dumps(value, self)
                finally:
                    self._open.discard(at)
            data[name] = self._data[at]
            if self._large is not None and len(data[name]) >= LARGE:
                digest = digest_of(data[name])
                self._large[digest], data[name] = data[name], digest
        module = f.__globals__.get("__name__")
        state = {"globals": direct, "data": data, "cells": cells, "dict": f.__dict__, "module": module, "within": _submodules(f)}
        for name in _FUNCTION:
            state[name] = _annotations(f) if name == "__annotations__" else getattr(f, name)
        return (_function, (marshal.dumps(f.__code__), f.__name__, len(cells), module), state, None, None, _fill_function)


def _known(obj, back):
    module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if module == "__main__" and not back:
        return False
    return getattr(sys.modules.get(module), name or "", None) is obj


def _sentinel(obj):
    """What the library dataclasses compares by identity."""
    dataclasses = sys.modules["dataclasses"]
    for name in ("MISSING", "KW_ONLY", "_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR", "_HAS_DEFAULT_FACTORY"):
        if getattr(dataclasses, name, None) is obj:
            return getattr, (dataclasses, name)
    return NotImplemented


# How objects are made again that the standard pickler can't take, by the names of their types. Interpreters don't import what only some programs use.
_reducers = {
    ("builtins", "staticmethod"): lambda m: (staticmethod, (m.__func__,)),
    ("builtins", "classmethod"): lambda m: (classmethod, (m.__func__,)),
    ("builtins", "property"): lambda p: (property, (p.fget, p.fset, p.fdel, p.__doc__)),
    ("builtins", "mappingproxy"): lambda m: (_proxy, (dict(m),)),
    ("functools", "cached_property"): lambda p: (_cached_property, (p.func, p.attrname)),
    ("functools", "_lru_cache_wrapper"): lambda f: (_lru_cache, (
        f.__wrapped__, f.cache_info().maxsize, f.cache_parameters()["typed"] if hasattr(f, "cache_parameters") else False)),
    ("typing", "TypeVar"): lambda v: (_of_typing, (
        "TypeVar", v.__module__, (v.__name__, *v.__constraints__), {"bound": v.__bound__, "covariant": v.__covariant__, "contravariant": v.__contravariant__})),
    ("typing", "ParamSpec"): lambda v: (_of_typing, ("ParamSpec", v.__module__, (v.__name__,), {})),
    ("typing", "TypeVarTuple"): lambda v: (_of_typing, ("TypeVarTuple", v.__module__, (v.__name__,), {})),
    ("typing", "TypeAliasType"): lambda t: (_of_typing, ("TypeAliasType", t.__module__, (t.__name__, t.__value__), {"type_params": t.__type_params__})),
    ("weakref", "WeakKeyDictionary"): lambda d: (weakref.WeakKeyDictionary, (dict(d),)),  # functools.singledispatch has one
    ("typing", "NewType"): lambda t: (_of_typing, ("NewType", t.__module__, (t.__name__, t.__supertype__), {})),
    ("dataclasses", "_MISSING_TYPE"): _sentinel,
    ("dataclasses", "_KW_ONLY_TYPE"): _sentinel,
    ("dataclasses", "_FIELD_BASE"): _sentinel,
    ("dataclasses", "_HAS_DEFAULT_FACTORY_CLASS"): _sentinel,
}

# Those of them that are made again only where their name isn't found.
_named = {("functools", "_lru_cache_wrapper")} | {("typing", name) for name in ("TypeVar", "ParamSpec", "TypeVarTuple", "TypeAliasType", "NewType")}


def dumps(obj, within=None, back=False, large=None):
    """The bytes of obj. Large data of globals is put into large, by digest, if that is given."""
    buffer = io.BytesIO()
    Pickler(buffer, within, back, large).dump(obj)
    return buffer.getvalue()


def _described(e):
    """The repr of an exception, which may fail as well."""
    try:
        return repr(e)
    except BaseException as why:
        return "%s, whose repr fails with %s" % (type(e).__name__, type(why).__name__)


_first_path = list(sys.path)
_path = None  # that the program has named last; None: the first one


def _follow_path(path):
    """Has imports look where the program's look now."""
    global _path
    if path != _path:
        _path = path
        sys.path[:] = _first_path if path is None else path + [p for p in _first_path if p not in path]
        importlib.invalidate_caches()


def _answer(call, initialized):
    version, path, init, call, large = pickle.loads(call)
    if version != sys.version_info[:2]:
        raise RuntimeError("Python is %d.%d on the node and %d.%d here: choose the node's with python=" % (sys.version_info[:2] + version))
    _follow_path(path)
    _sent.update(large)
    try:
        if init is not None and init not in initialized:
            if init not in _sent:
                raise _Lacking
            initializer, args = pickle.loads(_sent[init])
            initializer(*args)
            initialized.add(init)
        f, args, kwargs = pickle.loads(call)
    finally:
        _sent.clear()
    return f(*args, **kwargs)


def main():
    """Takes calls from descriptor 3 and answers on descriptor 4."""
    global _on_node
    _on_node = True
    space = sys.modules["__main__"].__dict__
    for name in [n for n in space if not n.startswith("__")]:
        del space[name]  # what has started this: the program's own names come here
    calls, answers = os.fdopen(3, "rb"), os.fdopen(4, "wb")
    for f in (3, 4):
        os.set_inheritable(f, False)

    streams = sys.stdout, sys.stderr  # a call may set others
    for stream in streams:
        stream.reconfigure(encoding="utf-8", errors="surrogateescape", write_through=True)  # in one order with the bytes that calls write
    initialized, me = set(), os.getpid()
    while True:
        head = calls.read(4)
        if len(head) < 4:
            return
        status, text = 0, ""
        try:
            answer = dumps((True, _answer(calls.read(struct.unpack(">I", head)[0]), initialized), None), back=True)
        except _Lacking:
            answer = dumps((None, None, None))
        except BaseException as e:
            text = "".join(traceback.format_exception(type(e), e, e.__traceback__))
            e.__traceback__ = None
            status = 0 if isinstance(e, SystemExit) and not e.code else 1
            try:
                answer = dumps((False, e, text), back=True)
                pickle.loads(answer)
            except BaseException:
                answer = dumps((False, RuntimeError(_described(e)), text))
        if len(answer) > LARGEST:
            e = ValueError("the result or exception has %d bytes, at most %d are allowed: write large results to a file that the program can read"
                           % (len(answer), LARGEST))
            status, answer = 1, dumps((False, e, text[:1 << 16]))  # a traceback shows the exception's text
        forked = os.getpid() != me
        for stream in (sys.stdout, sys.stderr, *streams):
            try:
                if forked and status and stream is streams[1]:
                    stream.write(text)
                stream.flush()
            except BaseException:
                pass  # a call has set or closed it: it has done its work
        if forked:  # by the call, and comes back from it too: its parent answers, and a second answer would be taken for the next call's
            os._exit(status)
        answers.write(struct.pack(">I", len(answer)) + answer)
        answers.flush()
