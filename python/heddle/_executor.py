"""The executor: starts `heddle calls`, which holds interpreters on the nodes, and talks to it through a pipe."""

import atexit
import codecs
import concurrent.futures
import itertools
import os
import pickle
import shutil
import struct
import subprocess
import sys
import threading

from . import _worker

sys.modules.setdefault("_heddle_worker", _worker)

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


_open = set()  # executors that weren't shut down


def _at_exit():
    """A program that ends without a shutdown ends when its calls have, as with other executors. What it has forked has none."""
    for e in list(_open):
        if e._owner == os.getpid():
            e.shutdown()


atexit.register(_at_exit)


class Executor(concurrent.futures.Executor):
    """Runs calls in interpreters on the nodes of a cluster, or on this machine.

    max_workers is how many calls run at a time (default: 64 on a cluster, the number of processors here, and what nodes lend with probes).
    local runs calls on this machine; by default that is so if no cluster is configured. conf is the
    configuration folder (default $HADOOP_CONF_DIR), settings are keys above it. memory is in MB for each call.
    probes sends calls straight to nodes of the cluster, which have lent something for short tasks
    (heddle.probes.memory-mb), instead of holding containers: they begin in milliseconds. With binding="early" they
    go to the nodes with the least to do at once, and share the processors there; "late": when a node has room. python
    is the interpreter on the nodes. initializer runs once in each interpreter. timeout, in seconds, bounds each call. env has variables for the calls. binary is heddle's (default: $HEDDLE_BINARY, or heddle in $PATH).

    Functions, lambdas and classes of the program itself are sent by value, what is in modules by name: nodes must
    have the modules. They see this program's sys.path.
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
        path = [os.path.abspath(p) for p in sys.path]
        variables = {"PYTHONPATH": os.pathsep.join(path), **(env or {})}
        environ = {**os.environ, **{_VARIABLE + name: str(value) for name, value in variables.items()}}
        with open(_worker.__file__) as f:
            source = f.read()
        start = ("import sys, types; m = types.ModuleType('_heddle_worker'); sys.modules['_heddle_worker'] = m; "
                 "exec(compile(%r, '_heddle_worker', 'exec'), m.__dict__); m.main()" % source)
        args += ["--", python or (sys.executable if local else "python3"), "-c", start]

        self._init = None if initializer is None else _worker.dumps((initializer, tuple(initargs)))
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._ids = itertools.count(1)
        self._futures = {}
        self._decoders = {}  # of calls' streams: pieces may break off within a character
        self._down = False
        self._broken = None
        self._process = subprocess.Popen(args, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._said = []
        self._listener = threading.Thread(target=self._say, daemon=True)
        self._listener.start()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._owner = os.getpid()
        _open.add(self)

    def submit(self, fn, /, *args, **kwargs):
        future = _Future()
        with self._lock:
            self._check()
        try:
            call = pickle.dumps((sys.version_info[:2], self._init, _worker.dumps((fn, args, kwargs))), pickle.HIGHEST_PROTOCOL)
            if len(call) > _worker.LARGEST:
                raise ValueError("the call and its arguments have %d bytes, at most %d are allowed: write large arguments to a file that nodes can read" % (len(call), _worker.LARGEST))
        except Exception as e:
            future.set_running_or_notify_cancel()
            future.set_exception(e)
            return future
        with self._lock:
            self._check()
            number = next(self._ids)
            self._futures[number] = future
            future._give_up = lambda: self._cancel(number)
        self._write(_SUBMIT, number, call)
        return future

    def _check(self):
        if self._broken is not None:
            raise concurrent.futures.BrokenExecutor(self._broken)
        if self._down:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        """As Executor.map. chunksize items make one call."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1")
        if chunksize == 1:
            return super().map(fn, *iterables, timeout=timeout)
        items = zip(*iterables)
        chunks = iter(lambda: list(itertools.islice(items, chunksize)), [])
        done = super().map(lambda chunk: [fn(*x) for x in chunk], chunks, timeout=timeout)
        return itertools.chain.from_iterable(done)

    def shutdown(self, wait=True, *, cancel_futures=False):
        with self._lock:
            self._down = True
            rest = list(self._futures.values())
        if cancel_futures:
            for future in rest:
                future.cancel()
        if wait:
            concurrent.futures.wait(rest)
            self._end()
        else:
            threading.Thread(target=lambda: (concurrent.futures.wait(rest), self._end()), daemon=True).start()

    def _end(self):
        _open.discard(self)
        with self._writing:
            try:
                self._process.stdin.close()
            except OSError:
                pass
        self._process.wait()
        if threading.current_thread() is not self._reader:
            self._reader.join()

    def _write(self, what, number, rest=b""):
        with self._writing:  # not under the other lock, which the reader needs to go on
            try:
                self._process.stdin.write(struct.pack(">IBQ", len(rest) + 9, what, number) + rest)
                self._process.stdin.flush()
            except (OSError, ValueError):
                pass  # the reader notices the end

    def _cancel(self, number):
        with self._lock:
            known = self._futures.pop(number, None) is not None
        if known:
            self._write(_CANCEL, number)

    def _say(self):
        for line in self._process.stderr:
            self._said.append(line.decode("utf-8", "replace"))
            del self._said[:-20]
        self._process.stderr.close()

    def _read(self):
        out = self._process.stdout
        while True:
            head = out.read(13)
            if len(head) < 13:
                break
            size, what, number = struct.unpack(">IBQ", head)
            self._take(what, number, out.read(size - 9))
        out.close()
        self._process.wait()
        self._listener.join()
        why = "".join(self._said).strip() or "heddle has ended with exit code %s" % self._process.returncode
        with self._lock:
            if not self._down or self._futures:
                self._broken = why
            rest, self._futures = list(self._futures.values()), {}
        for future in rest:
            self._settle(future, error=concurrent.futures.BrokenExecutor(why))

    def _take(self, what, number, rest):
        if what in (_STDOUT, _STDERR):
            decoder = self._decoders.get((what, number))
            if decoder is None:
                decoder = self._decoders[what, number] = codecs.getincrementaldecoder("utf-8")("replace")
            return _print(what, decoder.decode(rest))
        for stream in (_STDOUT, _STDERR):
            decoder = self._decoders.pop((stream, number), None)
            if decoder is not None:
                _print(stream, decoder.decode(b"", True))
        with self._lock:
            future = self._futures.pop(number, None)
        if future is None:
            return
        if what == _RESULT:
            try:
                good, value, text = pickle.loads(rest)
            except BaseException as e:
                return self._settle(future, error=e)
            if good:
                return self._settle(future, value)
            value.__cause__ = _RemoteTraceback(text)
            self._settle(future, error=value)
        elif what == _CANCELED:
            future.cancel()
        elif what == _LATE:
            self._settle(future, error=TimedOut("the call has taken too long"))
        else:
            self._settle(future, error=concurrent.futures.BrokenExecutor(rest.decode("utf-8", "replace")))

    @staticmethod
    def _settle(future, value=None, error=None):
        with future._condition:
            if future.cancelled():
                return
            future.set_running_or_notify_cancel()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
