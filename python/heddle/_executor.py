"""The executor: starts `heddle calls`, which holds interpreters on the nodes, and talks to it through a pipe."""

import atexit
import codecs
import collections
import concurrent.futures
import itertools
import os
import pickle
import shutil
import struct
import subprocess
import sys
import threading
import time
import traceback
import weakref

from . import _worker

_SOURCE = _worker.__file__
_worker = sys.modules.setdefault("_heddle_worker", _worker)  # on a node, where calls make executors too, there is one already

# Begins the names under which heddle is handed the calls' variables: its command line is for everybody to see.
_VARIABLE = "HEDDLE_CALLS_ENV_"

_SUBMIT, _CANCEL = 0, 1
_RESULT, _STDOUT, _STDERR, _FAILURE, _CANCELED, _LATE = range(6)


class TimedOut(Exception):
    """A call has taken longer than the executor's timeout. Its interpreter is killed."""


class _RemoteTraceback(Exception):
    """The traceback on the node, as the cause of what a call has raised."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return '\n"""\n%s"""' % self.text


class _Future(concurrent.futures.Future):
    def cancel(self):
        """Cancels the call, also if it runs already: its interpreter is killed then."""
        with self._condition:
            pending = not self.done()
        if not super().cancel():
            return False
        if pending:
            self._give_up()
            self.set_running_or_notify_cancel()
        return True


def _print(what, text):
    stream = sys.stdout if what == _STDOUT else sys.stderr
    try:
        stream.write(text)
        stream.flush()
    except (AttributeError, OSError, ValueError):
        pass  # nobody reads it; that must not keep other calls from their results


_open = set()  # calls of executors that weren't shut down


def _at_exit():
    """A program that ends without a shutdown ends when its calls have, as with other executors. What it has forked has none."""
    for calls in list(_open):
        calls.shutdown(True, False)


atexit.register(_at_exit)


class _Calls:
    """The calls of an executor, and the process that runs them. It doesn't know the executor, so that this one can be dropped."""

    def __init__(self, args, environ):
        self.lock = threading.Lock()
        self.writing = threading.Lock()
        self.ids = itertools.count(1)
        self.futures = {}
        self.decoders = {}  # of calls' streams: pieces may break off within a character
        self.down = False
        self.broken = None
        self.owner = os.getpid()
        self.process = subprocess.Popen(args, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said = []
        self.listener = threading.Thread(target=self.say, daemon=True)
        self.listener.start()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        _open.add(self)

    def check(self):
        if os.getpid() != self.owner:
            raise RuntimeError("the executor is that of the process that this one was forked from: make one here")
        with self.lock:
            self.check_locked()

    def check_locked(self):
        if self.broken is not None:
            raise concurrent.futures.BrokenExecutor(self.broken)
        if self.down:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def submit(self, call, whole=None):
        """Submits a call. whole makes the call with all that it needs, for an interpreter that lacks some of it; None: it is."""
        future = _Future()
        future._whole = whole
        with self.lock:
            self.check_locked()
            self.enter(future)
        self.write(_SUBMIT, future._number, call)
        return future

    def enter(self, future):
        number = future._number = next(self.ids)
        self.futures[number] = future
        future._give_up = lambda: self.cancel(number)

    def repeat(self, future):
        """Submits a call again, with all that it needs."""
        whole, future._whole = future._whole, None
        with self.lock:
            self.enter(future)
        if future.cancelled():  # meanwhile, under its earlier number
            return self.cancel(future._number)
        self.write(_SUBMIT, future._number, whole())

    def dropped(self, _):
        """Nobody has the executor any more: it ends when its calls have. That is noticed anywhere, so that no lock may be taken here."""
        if os.getpid() == self.owner and not self.down:
            try:
                threading.Thread(target=lambda: self.shutdown(False, False), daemon=True).start()
            except RuntimeError:
                pass  # the program is ending, which ends this too

    def shutdown(self, wait, cancel_futures):
        if os.getpid() != self.owner:
            return  # its calls are those of the process that this one was forked from
        with self.lock:
            self.down = True
            rest = list(self.futures.values())
        if cancel_futures:
            for future in rest:
                future.cancel()
        if wait and threading.current_thread() is not self.reader:  # a callback that waited for other calls would keep their results from being read
            concurrent.futures.wait(rest)
            self.end()
        else:
            threading.Thread(target=lambda: (concurrent.futures.wait(rest), self.end()), daemon=True).start()

    def end(self):
        _open.discard(self)
        with self.writing:
            try:
                self.process.stdin.close()
            except OSError:
                pass
        self.process.wait()
        if threading.current_thread() is not self.reader:
            self.reader.join()

    def write(self, what, number, rest=b""):
        if os.getpid() != self.owner:
            return
        with self.writing:  # not under the other lock, which the reader needs to go on
            try:
                self.process.stdin.write(struct.pack(">IBQ", len(rest) + 9, what, number) + rest)
                self.process.stdin.flush()
            except (OSError, ValueError):
                pass  # the reader notices the end

    def cancel(self, number):
        with self.lock:
            known = self.futures.pop(number, None) is not None
        if known:
            self.write(_CANCEL, number)

    def say(self):
        for line in self.process.stderr:
            text = line.decode("utf-8", "replace")
            self.said.append(text)
            del self.said[:-20]
            if not text.startswith("heddle:"):  # which is said by exceptions
                _print(_STDERR, text)
        self.process.stderr.close()

    def read(self):
        out = self.process.stdout
        while True:
            head = out.read(13)
            if len(head) < 13:
                break
            size, what, number = struct.unpack(">IBQ", head)
            try:
                self.take(what, number, out.read(size - 9))
            except BaseException:
                traceback.print_exc()  # of a callback, such as one that calls sys.exit: other calls go on
        out.close()
        self.process.wait()
        self.listener.join()
        why = "".join(self.said).strip() or "heddle has ended with exit code %s" % self.process.returncode
        with self.lock:
            if not self.down or self.futures:
                self.broken = why
            rest, self.futures = list(self.futures.values()), {}
        for future in rest:
            self.settle(future, error=concurrent.futures.BrokenExecutor(why))

    def take(self, what, number, rest):
        if what in (_STDOUT, _STDERR):
            decoder = self.decoders.get((what, number))
            if decoder is None:
                decoder = self.decoders[what, number] = codecs.getincrementaldecoder("utf-8")("replace")
            return _print(what, decoder.decode(rest))
        for stream in (_STDOUT, _STDERR):
            decoder = self.decoders.pop((stream, number), None)
            if decoder is not None:
                _print(stream, decoder.decode(b"", True))
        with self.lock:
            future = self.futures.pop(number, None)
        if future is None:
            return
        if what == _RESULT:
            try:
                good, value, text = pickle.loads(rest)
            except BaseException as e:
                return self.settle(future, error=e)
            if good is None:
                return self.repeat(future)
            if good:
                return self.settle(future, value)
            value.__cause__ = _RemoteTraceback(text)
            self.settle(future, error=value)
        elif what == _CANCELED:
            future.cancel()
        elif what == _LATE:
            self.settle(future, error=TimedOut("the call has taken too long"))
        else:
            self.settle(future, error=concurrent.futures.BrokenExecutor(rest.decode("utf-8", "replace")))

    @staticmethod
    def settle(future, value=None, error=None):
        with future._condition:
            if future.cancelled():
                return
            future.set_running_or_notify_cancel()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)


class _Large:
    """Large data that calls need, by digest. It goes with the first calls that need it, as these meet interpreters that lack it, and not with later ones."""

    KEPT = 64

    def __init__(self, times):
        self.times = times
        self.lock = threading.Lock()
        self.sent = collections.OrderedDict()  # [data, with how many calls it went] by digest, the last one needed last

    def take(self, large):
        """Returns the data of a call, each kept once whatever the number of calls, and what of it goes with the call."""
        same, missing = {}, {}
        with self.lock:
            for digest, data in large.items():
                known = self.sent.setdefault(digest, [data, 0])
                self.sent.move_to_end(digest)
                same[digest] = known[0]
                if len(data) < _worker.LARGE or known[1] < self.times:
                    known[1] += 1
                    missing[digest] = known[0]
            while len(self.sent) > self.KEPT:
                self.sent.popitem(last=False)
        return same, missing


def _one_by_one(lists):
    """The items of all lists. None is kept after it was taken."""
    for items in lists:
        items.reverse()
        while items:
            yield items.pop()


class Executor(concurrent.futures.Executor):
    """Runs calls in interpreters on the nodes of a cluster, or on this machine.

    max_workers is how many calls run at a time (default: 64 on a cluster, the number of processors here, and what nodes lend with probes).
    local runs calls on this machine; by default that is so if no cluster is configured, and neither you nor root run heddle standalone here. conf is the
    configuration folder (default $HADOOP_CONF_DIR), settings are keys above it. memory is in MB for each call.
    probes sends calls straight to nodes of the cluster, which have lent something for short tasks
    (heddle.probes.memory-mb), instead of holding containers: they begin in milliseconds. With binding="early" they
    go to the nodes with the least to do at once, and share the processors there; "late": when a node has room. python
    is the interpreter on the nodes. initializer runs once in each interpreter. timeout, in seconds, bounds each call. env has variables for the calls. binary is heddle's (default: $HEDDLE_BINARY, or heddle in $PATH).

    Functions, lambdas and classes of the program itself are sent by value, what is in modules by name: nodes must
    have the modules. They see this program's sys.path, as it is when the call is submitted. Globals of at least 32 KB are sent to each
    interpreter once, and again when they have changed.
    """

    def __init__(self, max_workers=None, *, local=None, probes=False, binding="late", conf=None, settings=None, queue=None, memory=None,
                 python=None, initializer=None, initargs=(), timeout=None, env=None, binary=None):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        binary = binary or os.environ.get("HEDDLE_BINARY") or shutil.which("heddle")
        if not binary:
            raise FileNotFoundError("heddle is not in $PATH: name it with binary= or $HEDDLE_BINARY")
        args = [binary, "calls", "--workers", str(max_workers or 0)]
        if local and probes:
            raise ValueError("there are no nodes to be probed on this machine: leave out local or probes")
        if binding not in ("early", "late"):
            raise ValueError("binding is %r: give early or late" % (binding,))
        if local:
            args.append("--local")
        if probes:
            args += ["--probes", "--binding", binding]
        for name, value in (("--conf", conf), ("--queue", queue), ("--memory", memory)):
            if value is not None:
                args += [name, str(value)]
        for key, value in (settings or {}).items():
            args += ["--define", "%s=%s" % (key, value)]
        if timeout is not None:
            args += ["--timeout", "%dms" % max(1, int(timeout * 1000))]
        # For libraries that ask for it, as dask does: on a cluster the default of heddle calls; with probes nobody knows how many calls nodes take.
        self._max_workers = max_workers or (os.cpu_count() if local else 1000 if probes else 64)
        self._path = list(sys.path)
        path = [os.path.abspath(p) for p in sys.path]
        variables = {"PYTHONPATH": os.pathsep.join(path), **(env or {})}
        environ = {**os.environ, **{_VARIABLE + name: str(value) for name, value in variables.items()}}
        with open(_SOURCE) as f:
            source = f.read()
        start = ("import sys, types; m = types.ModuleType('_heddle_worker'); sys.modules['_heddle_worker'] = m; "
                 "exec(compile(%r, '_heddle_worker', 'exec'), m.__dict__)\nm.main()" % source)  # a traceback shows its last line only
        args += ["--", python or (sys.executable if local else "python3"), "-c", start]

        self._large = _Large(min(self._max_workers, 64))
        self._init = self._init_data = None
        if initializer is not None:
            pickled = _worker.dumps((initializer, tuple(initargs)))
            self._init = _worker.digest_of(pickled)
            self._init_data = {self._init: pickled}
        self._calls = _Calls(args, environ)
        self._calls.executor = weakref.ref(self, self._calls.dropped)

    def submit(self, fn, /, *args, **kwargs):
        self._calls.check()
        try:
            large = dict(self._init_data or {})
            call = _worker.dumps((fn, args, kwargs), large=large)
            path = None if sys.path == self._path else [os.path.abspath(p) for p in sys.path]

            def made(data):
                return pickle.dumps((sys.version_info[:2], path, self._init, call, data), pickle.HIGHEST_PROTOCOL)

            if len(call) + sum(map(len, large.values())) > _worker.LARGEST:
                raise ValueError("the call and its arguments have %d bytes, at most %d are allowed: write large arguments to a file that nodes can read" % (
                    len(call) + sum(map(len, large.values())), _worker.LARGEST))
            large, missing = self._large.take(large)
            first = made(missing)
        except Exception as e:
            future = _Future()
            future.set_running_or_notify_cancel()
            future.set_exception(e)
            return future
        return self._calls.submit(first, None if len(missing) == len(large) else lambda: made(large))

    def map(self, fn, *iterables, timeout=None, chunksize=1, buffersize=None):
        """As Executor.map. chunksize items make one call. With buffersize, no more calls than that are ahead of the results that were taken."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1")
        if buffersize is not None and not isinstance(buffersize, int):
            raise TypeError("buffersize must be an integer or None")
        if buffersize is not None and buffersize < 1:
            raise ValueError("buffersize must be None or > 0")
        items = zip(*iterables)
        if chunksize == 1:
            return self._results(((fn, *x) for x in items), timeout, buffersize)
        chunks = iter(lambda: list(itertools.islice(items, chunksize)), [])
        done = self._results(((lambda chunk: [fn(*x) for x in chunk], chunk) for chunk in chunks), timeout, buffersize)
        return _one_by_one(done)

    def _results(self, calls, timeout, most):
        end = None if timeout is None else timeout + time.monotonic()
        ahead = collections.deque(self.submit(*c) for c in itertools.islice(calls, most))

        def results():
            try:
                while ahead:
                    value = [ahead[0].result(None if end is None else end - time.monotonic())]
                    ahead.popleft()
                    for c in itertools.islice(calls, None if most is None else 1):
                        ahead.append(self.submit(*c))
                    yield value.pop()  # which isn't kept here until the next one is wanted
            finally:
                for future in ahead:
                    future.cancel()

        return results()

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._calls.shutdown(wait, cancel_futures)
