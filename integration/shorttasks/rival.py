"""Gives short tasks to Ray or Dask, as heddle-lab bench probes gives them to executors. Prints one line of JSON.

Arguments: the program's name, and JSON with processes, slots, seconds, tasks (of a job), task (seconds of each), arrivals (seconds).
"""
import json
import sys
import threading
import time


def nothing():
    pass


def sleep_for(seconds):  # Ray doesn't take built-in functions
    time.sleep(seconds)


class Ray:
    def __init__(self, o):
        import ray

        self.ray, self.version = ray, ray.__version__
        ray.init(num_cpus=o["processes"] * o["slots"], include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        self.nothing, self.nap = ray.remote(nothing), ray.remote(sleep_for)

    def end_at_once(self, n):
        return [self.nothing.remote() for _ in range(n)]

    def sleep(self, n, seconds):
        return [self.nap.remote(seconds) for _ in range(n)]

    def wait(self, tasks):
        self.ray.get(tasks)

    def close(self):
        self.ray.shutdown()


class Dask:
    def __init__(self, o):
        import distributed

        self.distributed, self.version = distributed, distributed.__version__
        self.cluster = distributed.LocalCluster(
            n_workers=o["processes"], threads_per_worker=o["slots"], dashboard_address=None, silence_logs=50)
        self.client = distributed.Client(self.cluster)

    def end_at_once(self, n):
        return self.client.map(lambda _: None, range(n), pure=False)

    def sleep(self, n, seconds):
        return self.client.map(time.sleep, [seconds] * n, pure=False)

    def wait(self, tasks):
        self.client.gather(tasks)

    def close(self):
        self.client.close()
        self.cluster.close()


def throughput(rival, seconds):
    """Tasks a second. Two batches are under way at a time."""
    batch, ended, began = 1000, 0, time.monotonic()
    before = rival.end_at_once(batch)
    while time.monotonic() - began < seconds:
        following = rival.end_at_once(batch)
        rival.wait(before)
        ended, before = ended + batch, following
    rival.wait(before)
    return (ended + batch) / (time.monotonic() - began)


def latency(rival, o):
    """Milliseconds that each job took."""
    took, faults, threads, began = [], [], [], time.monotonic()

    def job(tasks, submitted):
        try:
            rival.wait(tasks)
            took.append(1000 * (time.monotonic() - submitted))
        except Exception as e:  # the measurement reports it
            faults.append(e)

    for at in o["arrivals"]:
        time.sleep(max(0, began + at - time.monotonic()))
        submitted = time.monotonic()
        t = threading.Thread(target=job, args=(rival.sleep(o["tasks"], o["task"]), submitted))
        t.start()
        threads.append(t)
    for t in threads:
        t.join()
    if faults:
        raise faults[0]
    return took


def main():
    o = json.loads(sys.argv[2])
    rival = {"ray": Ray, "dask": Dask}[sys.argv[1]](o)
    rival.wait(rival.end_at_once(1000))  # all processes have started
    rate = throughput(rival, o["seconds"])
    took = latency(rival, o)
    rival.close()
    print(json.dumps({"version": rival.version, "tasksPerSecond": rate, "took": took}))


if __name__ == "__main__":
    main()
