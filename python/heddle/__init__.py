"""Short tasks on a Heddle or YARN cluster, as concurrent.futures.

    import heddle

    with heddle.Executor() as e:
        print(sum(e.map(lambda x: x * x, range(1000))))
"""

from ._executor import Executor, TimedOut
from ._input import open_input

__all__ = ["Executor", "TimedOut", "open_input"]
__version__ = "0.1.0"
