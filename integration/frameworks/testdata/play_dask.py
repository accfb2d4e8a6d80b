"""Squares numbers on a Dask cluster that grows on YARN: play_dask.py PYTHON local|remote."""
import sys

from dask.distributed import Client
from dask_yarn import YarnCluster

python, mode = sys.argv[1:]
with YarnCluster(environment="python://" + python, n_workers=2, worker_vcores=1, worker_memory="512MiB", scheduler_memory="512MiB",
                 deploy_mode=mode, name="dask-" + mode) as cluster:
    with Client(cluster) as client:
        print(mode, sum(client.gather(client.map(lambda x: x * x, range(100)))))
        cluster.scale(3)
        client.wait_for_workers(3, timeout=300)
        print(mode, "grown to", len(cluster.workers()))
        cluster.scale(1)
        print(mode, sum(client.gather(client.map(lambda x: x + 1, range(100)))))
