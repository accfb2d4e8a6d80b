import concurrent.futures
from typing import Any, BinaryIO, Callable, Iterable, Iterator, Mapping, Optional, Sequence, TypeVar

T = TypeVar("T")

__version__: str

class TimedOut(Exception): ...

class Executor(concurrent.futures.Executor):
    def __init__(
        self,
        max_workers: Optional[int] = ...,
        *,
        local: Optional[bool] = ...,
        probes: bool = ...,
        binding: str = ...,
        conf: Optional[str] = ...,
        settings: Optional[Mapping[str, Any]] = ...,
        queue: Optional[str] = ...,
        memory: Optional[int] = ...,
        python: Optional[str] = ...,
        initializer: Optional[Callable[..., object]] = ...,
        initargs: Sequence[Any] = ...,
        timeout: Optional[float] = ...,
        env: Optional[Mapping[str, Any]] = ...,
        binary: Optional[str] = ...,
    ) -> None: ...
    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: Optional[float] = ...,
        chunksize: int = ...,
        buffersize: Optional[int] = ...,
    ) -> Iterator[T]: ...

def open_input(name: str, *, webhdfs: Optional[str] = ..., user: Optional[str] = ..., conf: Optional[str] = ..., timeout: float = ...) -> BinaryIO: ...
