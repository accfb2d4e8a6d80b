"""Runs an application of Skein's until its standard input ends: label_skein.py SPECIFICATION."""
import sys
import time

import skein

with skein.Client() as client:
    app = client.submit_and_connect(skein.ApplicationSpec.from_file(sys.argv[1]))
    while len(app.get_containers(services=["worker"], states=["RUNNING"])) < 2:
        time.sleep(0.2)
    print("running", flush=True)
    sys.stdin.read()
    app.shutdown("SUCCEEDED")
