"""Calls every method of PyPI's yarn-api-client while a MapReduce job runs, and prints the shape of each answer.

usage: yarn_api_client.py RM NM HISTORY CLIENT_HOME APPLICATION FINISHED_APPLICATION
"""

import os
import re
import sys
import time

rm_url, nm_url, history_url, home, app, done = sys.argv[1:]
sys.path.insert(0, home)

from yarn_api_client import ApplicationMaster, HistoryServer, NodeManager, ResourceManager  # noqa: E402
from yarn_api_client.errors import APIError  # noqa: E402


def shape(x, depth=0):
    """The keys and types of a value. A list is as its elements together."""
    if isinstance(x, dict):
        return "{" + ", ".join("%s: %s" % (k, shape(v)) for k, v in sorted(x.items())) + "}"
    if isinstance(x, list):
        merged = {}
        if x and all(isinstance(e, dict) for e in x):
            for e in x:
                merged.update(e)
            return "[" + shape(merged) + "]"
        return "[" + " | ".join(sorted(set(shape(e) for e in x))) + "]"
    if isinstance(x, bool):
        return "bool"
    if isinstance(x, (int, float)):
        return "number"
    return {str: "string", type(None): "null"}[type(x)]


def call(name, f, *args, **kw):
    try:
        answer = f(*args, **kw)
    except APIError as e:
        found = re.match(r"Response finished with status: (\d+)\. Details: (.*)", str(e), re.S)
        exception = re.search(r'"exception":"(\w+)"', str(e))
        if found:
            print("%s: %s %s" % (name, found.group(1), exception.group(1) if exception else "no exception"))
        else:
            print("%s: the client refuses: %s" % (name, e))
        return None
    except TypeError as e:  # a mistake of the client itself
        print("%s: the client fails: %s" % (name, e))
        return None
    data = getattr(answer, "data", answer)
    print("%s: %s" % (name, shape(data)))
    return data


def eventually(f):
    for _ in range(300):
        value = f()
        if value:
            return value
        time.sleep(0.2)
    raise SystemExit("waited in vain for " + f.__name__)


os.environ["HADOOP_USER_NAME"] = "root"
rm = ResourceManager(service_endpoints=[rm_url])
nm, history, am = NodeManager(nm_url), HistoryServer(history_url), ApplicationMaster(rm_url)


def running():
    page = rm.cluster_application(app).data["app"]
    return page["state"] == "RUNNING" and page["runningContainers"] == 2 and page.get("amHostHttpAddress")


eventually(running)
attempt = app.replace("application", "appattempt") + "_000001"
job = app.replace("application", "job")
task = app.replace("application", "task") + "_m_000000"

call("active endpoint", rm.get_active_endpoint)
call("cluster_information", rm.cluster_information)
call("cluster_metrics", rm.cluster_metrics)
call("cluster_applications", rm.cluster_applications, states=["RUNNING"])
call("cluster_applications of nobody", rm.cluster_applications, user="nobody")
call("cluster_applications by type, limit and time", rm.cluster_applications, application_types=["mapreduce"], states=["RUNNING"], limit=1, started_time_begin="1", queue="default")
call("cluster_applications with a bad state", rm.cluster_applications, state="RESTING")
call("cluster_application_statistics", rm.cluster_application_statistics, states=["RUNNING"], application_types=["mapreduce"])
call("cluster_application", rm.cluster_application, app)
call("cluster_application, finished", rm.cluster_application, done)
call("cluster_application, unknown", rm.cluster_application, "application_1_0001")
call("cluster_application, bad", rm.cluster_application, "junk")
call("cluster_application_attempts", rm.cluster_application_attempts, app)
call("cluster_application_attempt_info", rm.cluster_application_attempt_info, app, attempt)
containers = call("cluster_application_attempt_containers", rm.cluster_application_attempt_containers, app, attempt)
container = sorted(c["containerId"] for c in containers["container"])[1]
call("cluster_application_attempt_container_info", rm.cluster_application_attempt_container_info, app, attempt, container)
call("cluster_application_state", rm.cluster_application_state, app)
call("cluster_application_state, unknown", rm.cluster_application_state, "application_1_0001")
call("cluster_nodes", rm.cluster_nodes, states=["RUNNING"])
call("cluster_nodes, none", rm.cluster_nodes, states=["LOST"])
node = rm.cluster_nodes().data["nodes"]["node"][0]
call("cluster_node", rm.cluster_node, node["id"])
call("cluster_node, unknown", rm.cluster_node, "localhost:1")
call("cluster_node_update_resource", rm.cluster_node_update_resource, node["id"], {
    "resource": {"memory": node["totalResource"]["memory"], "vCores": node["totalResource"]["vCores"]}, "overCommitTimeout": -1})
call("cluster_get_application_queue", rm.cluster_get_application_queue, app)
call("cluster_change_application_queue", rm.cluster_change_application_queue, app, "default")
call("cluster_change_application_queue, unknown", rm.cluster_change_application_queue, app, "nope")
call("cluster_get_application_priority", rm.cluster_get_application_priority, app)
call("cluster_change_application_priority", rm.cluster_change_application_priority, app, 0)
call("cluster_reservations", rm.cluster_reservations, queue="default")
call("cluster_new_reservation", rm.cluster_new_reservation)
call("cluster_submit_reservation", rm.cluster_submit_reservation, {"queue": "default", "reservation-id": "reservation_1_1"})
call("cluster_update_reservation", rm.cluster_update_reservation, {"reservation-id": "reservation_1_1"})
call("cluster_delete_reservation", rm.cluster_delete_reservation, "reservation_1_1")
call("cluster_application_timeouts", rm.cluster_application_timeouts, app)
call("cluster_application_timeout", rm.cluster_application_timeout, app, "LIFETIME")
call("cluster_update_application_timeout", rm.cluster_update_application_timeout, app, "LIFETIME", "2099-01-01T00:00:00.000+0000")
call("cluster_update_application_timeout, bad", rm.cluster_update_application_timeout, app, "LIFETIME", "yesterday")
call("cluster_scheduler_conf_mutation", rm.cluster_scheduler_conf_mutation)
call("cluster_container_signal", rm.cluster_container_signal, container, "OUTPUT_THREAD_DUMP")
call("cluster_container_signal, bad", rm.cluster_container_signal, container, "SHOUT")
call("application_activities", rm.application_activities, app)
token = call("cluster_new_delegation_token", rm.cluster_new_delegation_token, "root")
call("cluster_renew_delegation_token", rm.cluster_renew_delegation_token, (token or {}).get("token", "x"))
call("cluster_cancel_delegation_token", rm.cluster_cancel_delegation_token, (token or {}).get("token", "x"))

new = call("cluster_new_application", rm.cluster_new_application)
submission = {
    "application-id": new["application-id"], "application-name": "by REST", "application-type": "YARN", "max-app-attempts": 1,
    "am-container-spec": {"commands": {"command": "sleep 600"}}, "resource": {"memory": 256, "vCores": 1},
}
call("cluster_submit_application", rm.cluster_submit_application, submission)
call("cluster_submit_application, bad", rm.cluster_submit_application, {"application-id": "junk"})
call("cluster_application_kill", rm.cluster_application_kill, new["application-id"])


def killed():
    return rm.cluster_application_state(new["application-id"]).data["state"] == "KILLED"


eventually(killed)
call("cluster_application_kill, again", rm.cluster_application_kill, new["application-id"])

call("node_information", nm.node_information)
call("node_applications", nm.node_applications, state="RUNNING")
call("node_application", nm.node_application, app)
call("node_application, unknown", nm.node_application, "application_1_0001")
call("node_containers", nm.node_containers)
call("node_container", nm.node_container, container)
call("node_container, unknown", nm.node_container, "container_1_0001_01_000001")
call("auxiliary_services", nm.auxiliary_services)

call("am application_information", am.application_information, app)
call("am jobs", am.jobs, app)
call("am job", am.job, app, job)
call("am job_attempts", am.job_attempts, app, job)
call("am job_counters", am.job_counters, app, job)
call("am job_tasks", am.job_tasks, app, job)
call("am job_task", am.job_task, app, job, task)
call("am task_attempts", am.task_attempts, app, job, task)
call("am task_attempt_state_kill", am.task_attempt_state_kill, app, job, task, "attempt_" + task[5:] + "_0")

job = done.replace("application", "job")
task = done.replace("application", "task") + "_m_000000"
attempt = "attempt_" + task[5:] + "_0"


def archived():
    try:
        return history.job(job).data
    except APIError:
        return None


eventually(archived)
call("history application_information", history.application_information)
call("history jobs", history.jobs, state="SUCCEEDED", limit=1)
call("history job_attempts", history.job_attempts, job)
call("history job_counters", history.job_counters, job)
call("history job_tasks", history.job_tasks, job, job_type="m")
call("history task_attempt", history.task_attempt, job, task, attempt)
call("history task_attempt_counters", history.task_attempt_counters, job, task, attempt)
