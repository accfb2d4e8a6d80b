"""Tests of heddle.Executor. $HEDDLE_BINARY is the program; $HEDDLE_TEST_CONF a cluster's configuration, without it calls run here;
with $HEDDLE_TEST_PROBES they go by probes."""

import concurrent.futures
import gc
import io
import os
import sys
import tempfile
import threading
import time
import unittest
import weakref
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import heddle

CONF = os.environ.get("HEDDLE_TEST_CONF")
FACTOR = 3


def executor(workers=2, **more):
    if CONF:
        more = {"python": sys.executable, "probes": "HEDDLE_TEST_PROBES" in os.environ, **more}
    return heddle.Executor(workers, local=CONF is None, conf=CONF, **more)


def times(x):
    return FACTOR * x


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


class Point:
    def __init__(self, x):
        self.x = x

    def twice(self):
        return Point(2 * self.x)


class Bad(Exception):
    pass


def fail(text):
    raise Bad(text)


def process(_=None):
    return os.getpid()


def keep(data):
    global KEPT
    KEPT = data


def kept(_=None, end=False):
    if end:
        os._exit(3)
    return len(KEPT)


def close_and_live_on():
    for descriptor in range(3, 64):
        try:
            os.close(descriptor)
        except OSError:
            pass
    while True:
        time.sleep(1)


class ExecutorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.e = executor()

    @classmethod
    def tearDownClass(cls):
        cls.e.shutdown()

    def test_probes_of_this_machine(self):
        with self.assertRaisesRegex(ValueError, "leave out local or probes"):
            heddle.Executor(local=True, probes=True)

    def test_is_an_executor(self):
        self.assertIsInstance(self.e, concurrent.futures.Executor)

    def test_shutdown_in_a_callback(self):
        """A callback that shuts the executor down doesn't keep other calls from their results."""
        e = executor()
        later = e.submit(time.sleep, 0.2)
        first = e.submit(pow, 2, 3)
        shut = threading.Event()
        first.add_done_callback(lambda _: (e.shutdown(), shut.set()))
        self.assertTrue(shut.wait(60))
        self.assertIsNone(later.result(60))
        with self.assertRaisesRegex(RuntimeError, "after shutdown"):
            e.submit(pow, 2, 3)

    def test_classes_made_in_functions_come_back(self):
        class Local:
            def __init__(self, x):
                self.x = x

            def factor(self):
                return FACTOR

        made = self.e.submit(lambda: Local(5)).result()
        self.assertIs(type(made), Local)
        self.assertEqual((made.x, made.factor()), (5, FACTOR))
        back, known = self.e.submit(lambda o: (o, isinstance(o, Local)), Local(6)).result()
        self.assertIs(type(back), Local)
        self.assertTrue(known)

    def test_max_workers(self):
        """Libraries such as dask ask an executor how many calls it runs."""
        self.assertEqual(self.e._max_workers, 2)

    def test_large_globals_dont_travel_with_every_call(self):
        global LARGE
        LARGE = list(range(50000))
        sizes, write = [], self.e._calls.write
        with mock.patch.object(self.e._calls, "write", lambda what, number, rest=b"": (sizes.append(len(rest)), write(what, number, rest))):
            for last in 49999, "changed":
                for _ in range(20):  # interpreters that lack it get it, each in its turn, and then it travels no more
                    del sizes[:]
                    self.assertEqual(list(self.e.map(lambda i: LARGE[-1], range(20))), [last] * 20)
                    whole = sum(n > 50000 for n in sizes)
                    if not whole:
                        break
                self.assertEqual(whole, 0, sizes)
                LARGE.append("changed")
        with self.assertRaises(ZeroDivisionError):
            self.e.submit(lambda: LARGE[0] / 0).result()

    def test_an_interpreter_that_lacks_large_data_gets_it(self):
        with executor(initializer=keep, initargs=(b"x" * 100000,)) as e:
            self.assertEqual(list(e.map(kept, range(8))), [100000] * 8)
            for _ in range(3):  # each call ends its interpreter, so that the next one meets another
                with self.assertRaises(concurrent.futures.BrokenExecutor):
                    e.submit(kept, end=True).result()
                self.assertEqual(e.submit(kept).result(), 100000)

    def test_path_of_the_time_of_a_call(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "heddle_late.py"), "w") as f:
                f.write("VALUE = 5\n")
            self.e.submit(pow, 2, 3).result()
            sys.path.insert(0, folder)
            try:
                import heddle_late
                self.assertEqual(self.e.submit(lambda: heddle_late.VALUE).result(), 5)
                self.assertIn(folder, self.e.submit(lambda: sys.path).result())
            finally:
                sys.path.remove(folder)
                sys.modules.pop("heddle_late", None)
            self.assertNotIn(folder, self.e.submit(lambda: sys.path).result())

    def test_a_worker_that_closes_its_pipe_gives_its_place_back(self):
        with executor(1) as e:
            with self.assertRaises(concurrent.futures.BrokenExecutor):
                e.submit(close_and_live_on).result(60)
            self.assertEqual(e.submit(pow, 2, 3).result(60), 8)

    def test_results(self):
        self.assertEqual(self.e.submit(pow, 2, 100).result(), 2 ** 100)
        self.assertEqual(self.e.submit(dict, a=1).result(), {"a": 1})
        self.assertEqual(list(self.e.map(times, range(20))), [3 * x for x in range(20)])
        self.assertEqual(list(self.e.map(times, range(20), chunksize=7)), [3 * x for x in range(20)])
        self.assertEqual(self.e.submit(factorial, 20).result(), factorial(20))
        self.assertEqual(self.e.submit(lambda b: len(b), bytes(3 << 20)).result(), 3 << 20)

    def test_closures_and_classes_of_the_program(self):
        base = 5
        self.assertEqual(self.e.submit(lambda x: x + base, 2).result(), 7)
        got = self.e.submit(lambda p: p.twice(), Point(4)).result()
        self.assertIs(type(got), Point)
        self.assertEqual(got.x, 8)

    def test_remote_traceback(self):
        with self.assertRaisesRegex(Bad, "why") as c:
            self.e.submit(fail, "why").result()
        self.assertIn("in fail", str(c.exception.__cause__))
        self.assertIn("raise Bad(text)" if CONF is None and __name__ != "__main__" else "Bad", str(c.exception.__cause__))

        def odd():
            class Unknown(Exception):
                def __reduce__(self):
                    raise TypeError("no")
            raise Unknown("odd")

        with self.assertRaisesRegex(RuntimeError, "odd"):
            self.e.submit(odd).result()
        with self.assertRaisesRegex(SystemExit, "3"):
            self.e.submit(sys.exit, 3).result()

    def test_output(self):
        with mock.patch("sys.stdout", io.StringIO()) as out, mock.patch("sys.stderr", io.StringIO()) as err:
            self.e.submit(lambda: (print("to out"), print("to err", file=__import__("sys").stderr))).result()
        self.assertEqual((out.getvalue(), err.getvalue()), ("to out\n", "to err\n"))

    def test_bytes_of_output(self):
        def work():
            sys.stdout.write("text ")
            sys.stdout.buffer.write(b"bytes \xff ")
            sys.stdout.buffer.flush()
            print("text")

        with mock.patch("sys.stdout", io.StringIO()) as out:
            self.e.submit(work).result()
        self.assertEqual(out.getvalue(), "text bytes \ufffd text\n")

    def test_output_of_children_and_libraries(self):
        def work():
            sys.stdout.write("first ")
            sys.stdout.flush()
            os.system("printf 'of a child '; printf 'its faults' >&2")
            os.write(sys.stdout.fileno(), "of a library, ".encode())
            print("last")

        with mock.patch("sys.stdout", io.StringIO()) as out, mock.patch("sys.stderr", io.StringIO()) as err:
            self.e.submit(work).result()
        self.assertEqual((out.getvalue(), err.getvalue()), ("first of a child of a library, last\n", "its faults"))

    def test_characters_that_break_off_in_a_piece(self):
        with mock.patch("sys.stdout", io.StringIO()) as out:
            self.e.submit(lambda: print("x" + 100000 * "\u20ac")).result()
            self.e.submit(lambda: os.write(1, b"\xe2\x82")).result()
            self.e.submit(lambda: os.write(1, b"\xac")).result()
        self.assertEqual(out.getvalue(), "x" + 100000 * "\u20ac" + "\n\ufffd\ufffd")

    def test_last_words(self):
        def work():
            os.write(2, b"last words")
            os.abort()

        with mock.patch("sys.stderr", io.StringIO()) as err, self.assertRaises(concurrent.futures.BrokenExecutor):
            self.e.submit(work).result()
        self.assertEqual(err.getvalue(), "last words")

    def test_a_dying_interpreter_does_not_show_the_library(self):
        with mock.patch("sys.stderr", io.StringIO()) as err, self.assertRaises(concurrent.futures.BrokenExecutor):
            self.e.submit(os.closerange, 3, 100).result()  # its pipes
        self.assertIn("OSError", err.getvalue())
        self.assertNotIn("import", err.getvalue())

    def test_closed_output(self):
        closed = io.StringIO()
        closed.close()
        for stream in (closed, None):
            with mock.patch("sys.stdout", stream):
                self.assertEqual(self.e.submit(lambda: print("nobody reads it") or 5).result(60), 5)

    def test_large_arguments(self):
        with self.assertRaisesRegex(ValueError, "at most"):
            self.e.submit(len, bytes(64 << 20)).result()
        self.assertEqual(self.e.submit(times, 2).result(), 6)

    def test_large_results(self):
        def fail(size):
            raise OSError("x" * size)
        for call, arg in ((bytes, 64 << 20), (fail, 64 << 20)):
            with self.assertRaisesRegex(ValueError, "at most"):
                self.e.submit(call, arg).result()
        self.assertEqual(self.e.submit(times, 2).result(), 6)

    def test_interpreters_are_kept(self):
        pids = {self.e.submit(process).result() for _ in range(10)}
        self.assertLess(len(pids), 10)
        self.assertNotIn(os.getpid(), pids)

    def test_cancel(self):
        running = self.e.submit(time.sleep, 10000)
        also = self.e.submit(time.sleep, 10000)
        waiting = self.e.submit(times, 1)
        for future in (waiting, running, also):
            self.assertTrue(future.cancel())
            self.assertTrue(future.cancelled())
        with self.assertRaises(concurrent.futures.CancelledError):
            running.result()
        self.assertEqual(self.e.submit(times, 2).result(), 6)
        self.assertEqual(concurrent.futures.wait([running, also, waiting]).not_done, set())

    def test_a_dead_interpreter_fails_its_call_only(self):
        with self.assertRaisesRegex(concurrent.futures.BrokenExecutor, "exit code 7"):
            self.e.submit(os._exit, 7).result()
        self.assertEqual(self.e.submit(times, 2).result(), 6)

    def test_many_threads(self):
        got = []

        def work(n):
            got.extend(self.e.map(times, range(n, n + 50)))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(0, 200, 50)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(got), [3 * x for x in range(200)])


class LifeTest(unittest.TestCase):
    def test_forks_do_not_answer(self):
        def forks(end):
            pid = os.fork()
            if pid:
                return os.WEXITSTATUS(os.waitpid(pid, 0)[1])
            return end()

        with executor(1) as e:
            for end, exit in (lambda: "child", 0), (lambda: sys.exit(0), 0), (lambda: sys.exit(3), 1), (lambda: 1 / 0, 1):
                self.assertEqual(e.submit(forks, end).result(timeout=60), exit)
                self.assertEqual(e.submit(times, 4).result(timeout=60), 12)

    def test_initializer(self):
        def begin(value):
            import builtins
            builtins.begun = getattr(builtins, "begun", 0) + value

        with executor(1, initializer=begin, initargs=(5,)) as e:
            self.assertEqual(list(e.map(lambda _: begun, range(3))), [5, 5, 5])  # noqa: F821

    def test_variables_are_nobody_elses(self):
        with executor(1, env={"SECRET": "of the call's"}) as e:
            seen = e.submit(lambda: {k: v for k, v in __import__("os").environ.items() if "SECRET" in k}).result()
            self.assertEqual(seen, {"SECRET": "of the call's"})
            if os.path.exists("/proc/self/cmdline"):
                with open("/proc/%d/cmdline" % e._calls.process.pid) as f:
                    self.assertNotIn("of the call's", f.read())

    def test_timeout(self):
        with executor(1, timeout=0.5) as e:
            with self.assertRaises(heddle.TimedOut):
                e.submit(time.sleep, 10000).result()

    def test_shutdown(self):
        e = executor(1)
        slow = e.submit(time.sleep, 10000)
        e.shutdown(cancel_futures=True)
        self.assertTrue(slow.cancelled())
        with self.assertRaisesRegex(RuntimeError, "after shutdown"):
            e.submit(times, 1)
        e.shutdown()

    def test_an_executor_that_nobody_has_ends_with_its_calls(self):
        e = executor(1)
        process, future = e._calls.process, e.submit(times, 2)
        del e
        gc.collect()
        self.assertEqual(future.result(timeout=60), 6)
        del future
        self.assertEqual(process.wait(60), 0)

    def test_callbacks_that_exit(self):
        with executor(1) as e, mock.patch("sys.stderr", io.StringIO()) as err:
            before, future = e.submit(time.sleep, 10000), e.submit(times, 2)
            future.add_done_callback(lambda _: sys.exit(3))
            before.cancel()
            self.assertEqual(e.submit(times, 3).result(timeout=60), 9)
        self.assertIn("SystemExit: 3", err.getvalue())

    def test_a_forked_process_has_no_calls(self):
        with executor(1) as e:
            pending = e.submit(times, 1)
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    pending.cancel()
                    e.shutdown()
                    e.submit(times, 2)
                except RuntimeError as x:
                    code = 0 if "forked from" in str(x) else 2
                finally:
                    os._exit(code)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            self.assertEqual([pending.result(timeout=60), e.submit(times, 3).result(timeout=60)], [3, 9])

    def test_buffersize(self):
        taken = []

        def items():
            for n in range(100):
                taken.append(n)
                yield n

        with executor(2) as e:
            for chunksize in 1, 5:
                del taken[:]
                results = e.map(times, items(), buffersize=4, chunksize=chunksize)
                self.assertEqual(next(results), 0)
                self.assertEqual(len(taken), 5 * chunksize)
                self.assertEqual(list(results), [3 * n for n in range(1, 100)])
            for bad, error in (0, ValueError), (1.5, TypeError):
                with self.assertRaises(error):
                    e.map(times, [1], buffersize=bad)

    def test_map_keeps_no_results_that_were_taken(self):
        with executor(1) as e:
            for chunksize in 1, 3:
                results = e.map(Point, range(4), chunksize=chunksize)
                taken = weakref.ref(next(results))
                e.submit(times, 3).result(timeout=60)  # so that who has brought that result is done with it, too
                self.assertIsNone(taken())
                self.assertEqual([p.x for p in results], [1, 2, 3])

    def test_warnings_are_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "heddle")
            with open(program, "w") as f:
                f.write("#!/bin/sh\necho 'level=warning msg=\"no container after 10s\"' >&2\necho 'heddle: calls: over' >&2\nexit 1\n")
            os.chmod(program, 0o700)
            with mock.patch("sys.stderr", io.StringIO()) as err, heddle.Executor(1, local=True, binary=program) as e:
                with self.assertRaisesRegex(concurrent.futures.BrokenExecutor, "over"):
                    e.submit(times, 1).result(timeout=60)
        self.assertEqual(err.getvalue(), 'level=warning msg="no container after 10s"\n')

    def test_faults_have_reasons(self):
        with executor(1, python="no-such-python") as e:
            with self.assertRaisesRegex(concurrent.futures.BrokenExecutor, "no-such-python"):
                e.submit(times, 1).result()
        e = executor(1, settings={"no.such.key.of.yarn": "1", "yarn.resourcemanager.connect.max-wait.ms": "maybe"})
        with self.assertRaisesRegex(concurrent.futures.BrokenExecutor, "yarn.resourcemanager.connect.max-wait.ms"):
            e.submit(times, 1).result()
        e.shutdown()
        with self.assertRaises(ValueError):
            executor(0)
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}), self.assertRaisesRegex(FileNotFoundError, "HEDDLE_BINARY"):
            os.environ.pop("HEDDLE_BINARY", None)
            executor(1)


if __name__ == "__main__":
    unittest.main()
