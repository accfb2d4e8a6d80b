"""Plays with an application of two containers by Skein's client: play_skein.py SPECIFICATION."""
import sys
import time

import skein


def until(what, found):
    end = time.monotonic() + 300
    while True:
        got = found()
        if got:
            return got
        if time.monotonic() > end:
            raise SystemExit("in vain: " + what)
        time.sleep(0.2)


def ended(client, id):
    def found():
        report = client.application_report(id)
        return report if str(report.state) in ("FINISHED", "FAILED", "KILLED") else None
    return until(id + " ends", found)


with skein.Client() as client:
    print("queues", [(q.name, str(q.state), q.capacity) for q in client.get_all_queues()])
    print("nodes", [(str(n.state), n.total_resources.memory, n.total_resources.vcores) for n in client.get_nodes()])
    app = client.submit_and_connect(skein.ApplicationSpec.from_file(sys.argv[1]))
    print("id", app.id)

    def containers(n, state):
        def found():
            got = app.get_containers(services=["worker"], states=[state])
            return got if len(got) >= n else None
        return until("%d containers %s" % (n, state), found)

    running = containers(2, "RUNNING")
    report = client.application_report(app.id)
    print("report", report.name, report.state, report.final_status, report.queue, sorted(report.tags))
    print("use", report.usage.num_used_containers, report.usage.used_resources.memory, report.usage.used_resources.vcores)
    app.kv["key"] = b"value"
    print("kv", dict(app.kv))
    app.scale("worker", 3)
    print("scaled", len(containers(3, "RUNNING")))
    app.kill_container(running[0].id)
    print("killed", [c.id == running[0].id for c in containers(1, "KILLED")])
    try:
        client.move_application(app.id, "nowhere")
    except ValueError as e:
        print("move", e)
    client.move_application(app.id, "default")
    app.shutdown("SUCCEEDED", "enough")
    report = ended(client, app.id)
    print("ended", report.state, report.final_status, report.diagnostics)

    other = client.submit(skein.ApplicationSpec.from_file(sys.argv[1]))
    client.kill_application(other)
    report = ended(client, other)
    print("ended", report.state, report.final_status)

    small = skein.Resources(memory="256 MiB", vcores=1)
    driver = client.submit(skein.ApplicationSpec(name="driver", master=skein.Master(script="exit 3", resources=small)))
    report = ended(client, driver)
    print("ended", report.state, report.final_status, report.diagnostics)
    try:
        client.application_report("application_1_0001")
    except ValueError as e:
        print("unknown", e)
