"""Short tasks on a Heddle or YARN cluster, as concurrent.futures.

    import heddle

    with heddle.Executor() as e:
        print(sum(e.map(lambda x: x * x, range(1000))))
"""

from ._executor import Executor, TimedOut

__all__ = ["Executor", "TimedOut"]
__version__ = "0.1.0"
