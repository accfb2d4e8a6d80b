"""heddle.Executor beside concurrent.futures.ProcessPoolExecutor: what a program sees of either is the same, but for what DIFFERENT lists.

The cases run in a program of its own, so that its functions and classes are those of __main__. Settings are those of test_executor. On a cluster the
cases that need executors of their own run with HEDDLE_TEST_FULL=1 only, as each is an application."""

import abc
import collections
import concurrent.futures
import dataclasses
import enum
import functools
import os
import subprocess
import sys
import threading
import time
import typing
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import heddle

CONF = os.environ.get("HEDDLE_TEST_CONF")
BINARY = os.environ.get("HEDDLE_BINARY")
COUNT = 5
connection = None


class Color(enum.Enum):
    RED = 1
    BLUE = "b"

    def shout(self):
        return self.name + "!"


class Planet(enum.Enum):
    EARTH = (6, 2)

    def __init__(self, mass, radius):
        self.density = mass / radius


class Rights(enum.IntFlag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Row:
    x: int
    y: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Key:
    x: int


Pair = collections.namedtuple("Pair", "a b")
UserId = typing.NewType("UserId", int)
T = typing.TypeVar("T")


class Named(typing.NamedTuple):
    a: int
    b: str = "q"


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Base:
    def __init__(self):
        self.v = 1

    def hi(self):
        return "base"


class Derived(Base):
    def __init__(self):
        super().__init__()
        self.w = 2

    def hi(self):
        return "derived+" + super().hi()

    @staticmethod
    def plus(x):
        return x + 1

    @classmethod
    def called(cls):
        return cls.__name__

    @property
    def sum(self):
        return self.v + self.w

    @functools.cached_property
    def product(self):
        return self.v * self.w


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self):
        ...


class Concrete(Abstract):
    def f(self):
        return 7


class Virtual:
    pass


Abstract.register(Virtual)


class Generic(typing.Generic[T]):
    def get(self) -> T:
        return "g"


class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.by_meta = True
        return made


class WithMeta(metaclass=Meta):
    pass


class Outer:
    class Inner:
        z = 3


class Loop:
    pass


Loop.me = Loop


class TwoArguments(Exception):
    def __init__(self, a, b):
        super().__init__("%s and %s" % (a, b))


class Indescribable(Exception):
    def __repr__(self):
        raise ValueError("no words")

    __str__ = __repr__

    def __reduce__(self):
        raise TypeError("no")


class Unpicklable(Exception):
    def __init__(self):
        super().__init__("of no use elsewhere")
        self.lock = threading.Lock()


def raise_(e, *args):
    raise e(*args)


def chained():
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise KeyError("k") from e


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


@functools.lru_cache(None)
def cached(x):
    return x * 2


def incremented(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args) + COUNT
    return wrapper


@incremented
def decorated(x: UserId):
    return x


class Settings(typing.TypedDict):
    a: int


class Partial(Settings, total=False):
    b: str


def annotated(x):
    return sorted(Partial.__required_keys__) if sys.version_info >= (3, 9) else ["a"], Partial.__total__, x


annotated.__annotations__ = {"x": Settings, "return": Partial}
if sys.version_info >= (3, 12):
    exec("type Numbers = list[int]")
    annotated.__annotations__.update(n=Numbers, p=typing.ParamSpec("P"), t=typing.TypeVarTuple("Ts"))


def unknown(x):
    return x


if sys.version_info >= (3, 14):
    exec("def unknown(x: OnlyForTypeCheckers): return x")


@functools.singledispatch
def dispatched(x):
    return "something"


@dispatched.register(int)
def _(x):
    return "a number"


def keywords(a, *, b=2, **c):
    return a, b, c


def endless(n):
    return endless(n + 1) + 1


def nested(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return made


def reciprocal(x):
    return 1 / x


def same(x):
    return x


def calls(row):
    """Makes calls in a call, with what is the program's."""
    with heddle.Executor(1, local=True, binary=BINARY) as e:
        return e.submit(same, row).result(), e.submit(red).result(), list(e.map(lambda x: reciprocal(x) + COUNT, [1, 2])), repr(e.submit(reciprocal, 0).exception())


def make(name, *args):
    return globals()[name](*args)


def red():
    return Color.RED


def density():
    return Planet.EARTH.density


def pair():
    return Pair(1, 2), Named(1), Row(4), Derived(), Concrete().f(), Outer.Inner(), WithMeta().by_meta, Generic().get()


def is_abstract():
    return isinstance(Virtual(), Abstract), Loop.me is Loop


def connect(name):
    global connection
    connection = name


def query(n):
    return connection, n


def remember(x, seen=[]):
    seen.append(x)
    return len(seen) > 0


def slowly(x):
    time.sleep(0.05 * x)
    return x


def several():
    p = pair()
    return p


# What each case sees of an executor: its value, or what it raises.
SHARED = {
    "an enum": lambda e: (e.submit(same, Color.RED).result() is Color.RED, e.submit(Color.shout, Color.BLUE).result(), e.submit(red).result() is Color.RED),
    "an enum with attributes": lambda e: e.submit(density).result(),
    "flags": lambda e: e.submit(same, Rights.READ | Rights.WRITE).result(),
    "dataclasses": lambda e: (e.submit(same, Row(1, [2])).result(), e.submit(same, Key(1)).result()),
    "slots": lambda e: e.submit(same, Slots(1, 2)).result().b,
    "classes that the call makes instances of": lambda e: [repr(x) if dataclasses.is_dataclass(x) or isinstance(x, tuple) else type(x) if hasattr(x, "__dict__") else x for x in e.submit(several).result()],
    "inheritance": lambda e: (e.submit(Derived().hi).result(), e.submit(Derived.plus, 1).result(), e.submit(Derived.called).result(), e.submit(same, Derived()).result().sum, e.submit(same, Derived()).result().product),
    "a virtual subclass": lambda e: e.submit(is_abstract).result(),
    "functions that call each other": lambda e: e.submit(even, 10).result(),
    "a cache": lambda e: e.submit(cached, 4).result(),
    "a decorator": lambda e: e.submit(decorated, 4).result(),
    "annotations": lambda e: e.submit(annotated, 1).result(),
    "an annotation that nobody knows": lambda e: e.submit(unknown, 1).result(),
    "a function for each type": lambda e: [e.submit(dispatched, x).result() for x in (1, "")],
    "keywords": lambda e: (e.submit(keywords, 1, b=3, z=4).result(), e.submit(functools.partial(keywords, 1), b=3).result()),
    "a lambda": lambda e: e.submit(lambda: 3).result(),
    "a method of a builtin": lambda e: e.submit("a,b".split, ",").result(),
    "an exception": lambda e: e.submit(raise_, ValueError, "why").result(),
    "a chained exception": lambda e: e.submit(chained).result(),
    "StopIteration": lambda e: e.submit(next, iter([])).result(),
    "SystemExit": lambda e: e.submit(sys.exit, 3).result(),
    "KeyboardInterrupt": lambda e: e.submit(raise_, KeyboardInterrupt).result(),
    "an exception that can't be pickled": lambda e: e.submit(raise_, Unpicklable).result(),
    "an exception without words": lambda e: e.submit(raise_, Indescribable).result(),
    "a result that can't be pickled": lambda e: e.submit(threading.Lock).result(),
    "an argument that can't be pickled": lambda e: isinstance(e.submit(same, threading.Lock()), concurrent.futures.Future) and e.submit(same, threading.Lock()).result(),
    "among others": lambda e: [type(f.exception()).__name__ for f in [e.submit(same, x) for x in (1, threading.Lock(), 3)]],
    "a generator": lambda e: e.submit(lambda_free).result(),
    "deep recursion": lambda e: e.submit(endless, 0).result(),
    "a deep result": lambda e: e.submit(nested, 100000).result(),
    "a deep argument": lambda e: e.submit(same, nested(100000)).result(),
    "what can't be called": lambda e: e.submit(5).result(),
    "map": lambda e: (list(e.map(pow, [1, 2, 3], [2, 2])), list(e.map(pow, [], [])), list(e.map(pow))),
    "map in chunks": lambda e: list(e.map(slowly, [2, 1, 0], chunksize=2)),
    "map of what fails": lambda e: list(e.map(reciprocal, [1, 0, 2])),
    "map of what fails, in chunks": lambda e: list(e.map(reciprocal, [1, 0, 2], chunksize=2)),
    "what comes before a failure": lambda e: next(e.map(reciprocal, [1, 0, 2])),
    "map in bad chunks": lambda e: e.map(reciprocal, [1], chunksize=0) and None,
    "map with a timeout": lambda e: list(e.map(slowly, [0, 4], timeout=0.02)),
    "map with a timeout, in chunks": lambda e: list(e.map(slowly, [0, 4], timeout=0.02, chunksize=1000)),
    "a result that is late": lambda e: e.submit(slowly, 4).result(timeout=0.02),
    "an exception that is late": lambda e: e.submit(slowly, 4).exception(timeout=0.02),
    "as_completed": lambda e: sorted(f.result() for f in concurrent.futures.as_completed([e.submit(slowly, x) for x in (3, 0)])),
    "as_completed that is late": lambda e: [f.result() for f in concurrent.futures.as_completed([e.submit(slowly, 4)], timeout=0.02)],
    "wait": lambda e: [len(s) for s in concurrent.futures.wait([e.submit(slowly, x) for x in (0, 0)])],
    "wait for the first": lambda e: [len(s) > 0 for s in concurrent.futures.wait([e.submit(slowly, x) for x in (0, 4)], return_when="FIRST_COMPLETED")],
    "wait for a failure": lambda e: any(f.exception() for f in concurrent.futures.wait([e.submit(slowly, 4), e.submit(reciprocal, 0)], return_when="FIRST_EXCEPTION").done),
    "to cancel what is over": lambda e: (lambda f: (f.result(), f.cancel(), f.cancelled(), f.done(), f.running()))(e.submit(same, 1)),
    "to cancel what runs": lambda e: (lambda f: (time.sleep(0.1), f.cancel(), f.cancelled()))(e.submit(slowly, 4)),
    "a callback": lambda e: (lambda f, seen: (f.result(), f.add_done_callback(lambda f: seen.append(f.result())), seen))(e.submit(same, 1), []),
    "a changed global": lambda e: changed(e),
    "calls of a call": lambda e: e.submit(calls, Row(1, [2])).result(),
    "a module within a package": lambda e: e.submit(uses_a_module_within_a_package).result(),
}


def uses_a_module_within_a_package():
    return concurrent.futures.CancelledError.__name__


def mutes():
    sys.stdout, sys.stderr = None, open(os.devnull, "w")
    sys.stderr.close()
    return 1


def unmuted():
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return 2


def lambda_free():
    return (x for x in ())


def changed(e):
    """ProcessPoolExecutor forks when the first call comes: its workers keep the value of then."""
    global COUNT
    before = e.submit(decorated, 1).result()
    COUNT += 1
    try:
        return e.submit(decorated, 1).result() - before
    finally:
        COUNT -= 1


def shut(e):
    e.shutdown()
    return e.submit(same, 1)


def cancels(e):
    fs = [e.submit(slowly, 0)] + [e.submit(slowly, 2) for _ in range(9)]
    fs[0].result()
    e.shutdown(wait=False, cancel_futures=True)
    return observe(fs[0].result), observe(fs[-1].result)


def dies(e):
    f = e.submit(os._exit, 7)
    return isinstance(f.exception(), concurrent.futures.BrokenExecutor)


def dies_and_goes_on(e):
    dies(e)
    return e.submit(same, 1).result()


def initialized(e):
    return [e.submit(query, n).result() for n in range(4)]


def fails_to_begin(e):
    return e.submit(same, 1).result()


OWN = {
    "streams that a call sets": (lambda e: [e.submit(f).result() for f in (mutes, mutes, unmuted)], {"max_workers": 1}),
    "a call after shutdown": (shut, {}),
    "shutdown that cancels": (cancels, {}),
    "a worker that dies": (dies, {}),
    "calls after a worker has died": (dies_and_goes_on, {}),
    "an initializer that sets a global": (initialized, {"initializer": connect, "initargs": ("open",)}),
    "an initializer that fails": (fails_to_begin, {"initializer": reciprocal, "initargs": (0,)}),
    "a bad number of workers": (None, {"max_workers": 0}),
    "an initializer that is none": (None, {"initializer": 5}),
}

# Where heddle differs, and why: what it does.
DIFFERENT = {
    "a lambda": "3",  # it is sent by value
    "a changed global": "1",  # values are those of when the call is submitted
    "an exception that can't be pickled": "RuntimeError: Unpicklable('of no use elsewhere')",  # the call's own failure, not that of pickling it
    "an exception without words": "RuntimeError: Indescribable, whose repr fails with ValueError",  # the same
    "to cancel what runs": "(None, True, True)",  # the interpreter is killed
    "calls after a worker has died": "1",  # only its own call fails
    "an initializer that fails": "ZeroDivisionError: division by zero",  # each call says why, instead of a broken executor
}


def observe(case):
    try:
        return repr(case())
    except BaseException as e:
        return "%s: %s" % (type(e).__name__, str(e).rstrip(".") or "")


def ours(max_workers=2, **more):
    if CONF:
        more = {"python": sys.executable, "probes": "HEDDLE_TEST_PROBES" in os.environ, **more}
    return heddle.Executor(max_workers, local=CONF is None, conf=CONF, **more)


def theirs(max_workers=2, **more):
    return concurrent.futures.ProcessPoolExecutor(max_workers, **more)


def compare():
    got = {}
    for kind in theirs, ours:  # theirs forks, which is better done before there are threads
        with kind(4) as e:
            for name, case in SHARED.items():
                got.setdefault(name, []).append(observe(lambda: case(e)))
    if not CONF or os.environ.get("HEDDLE_TEST_FULL"):
        for name, (case, options) in OWN.items():
            if case is cancels and sys.version_info < (3, 9):
                continue  # which knows no cancel_futures
            for kind in theirs, ours:
                def run():
                    with kind(**options) as e:
                        return case(e)
                got.setdefault(name, []).append(observe(run))
    for name, (want, seen) in got.items():
        if DIFFERENT.get(name, want) != seen or name in DIFFERENT and want == seen:
            print("%s: %s, ProcessPoolExecutor: %s" % (name, seen, want))


# A program that ends without a shutdown.
LEAVES = """
import os, sys, time
sys.path.insert(0, %r)
import heddle
def work(n):
    time.sleep(0.2)
    print("call", n)
e = heddle.Executor(2, local=True)
if %r == "wait":
    with heddle.Executor(1, local=True) as other:
        other.submit(work, 9).result()
fs = [e.submit(work, n) for n in range(3)]
if os.fork() == 0:
    sys.exit()  # it has no calls
if %r == "fail":
    raise SystemExit(3)
"""


class LikeProcessesTest(unittest.TestCase):
    def test_cases(self):
        got = subprocess.run([sys.executable, "-B", os.path.abspath(__file__)], capture_output=True, text=True, timeout=300)
        self.assertEqual((got.stdout, got.returncode), ("", 0), got.stderr)

    def test_a_program_that_ends_without_a_shutdown(self):
        if CONF:
            self.skipTest("it is the same on a cluster")
        for how, code, calls in ("wait", 0, [0, 1, 2, 9]), ("fail", 3, [0, 1, 2]):
            text = LEAVES % (sys.path[0], how, how)
            # newer Pythons warn of its fork
            got = subprocess.run([sys.executable, "-B", "-W", "ignore::DeprecationWarning", "-c", text], capture_output=True, text=True, timeout=60)
            self.assertEqual((sorted(got.stdout.split()), got.returncode, got.stderr), (sorted(["call"] * len(calls) + [str(n) for n in calls]), code, ""))


if __name__ == "__main__":
    compare()
