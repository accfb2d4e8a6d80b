package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// clockScript has functions for a ResourceManager and a node, which it starts. apps submits an application to a queue, and prints its id;
// field prints a field of an application.
const clockScript = `
set -e
cluster=http://localhost:8088/ws/v1/cluster
field() { curl -sf $cluster/apps/$1 | sed -n 's/.*"'$2'":"\{0,1\}\([^",}]*\).*/\1/p'; }
now() { date +%s; }
submit() {
	id=$(curl -sf -X POST "$cluster/apps/new-application?user.name=alice" | sed -n 's/.*"application-id":"\([^"]*\)".*/\1/p')
	curl -sf -X POST -H 'Content-Type: application/json' "$cluster/apps?user.name=alice" -d '{"application-id":"'$id'","application-name":"mortal",
		"am-container-spec":{"commands":{"command":"sleep 10000"}},"resource":{"memory":256,"vCores":1},"queue":"'$1'"}'
	for i in $(seq 100); do [ $(field $id amHostHttpAddress) ] && break; sleep 0.2; done
	echo $id
}
up() { cut -d. -f1 /proc/uptime; } # which no step of the clock changes
ends() { end=$(($(up) + $2)); while [ $(up) -lt $end ]; do [ $(field $1 state) = KILLED ] && return; sleep 1; done; echo "$1 is $(field $1 state)"; return 1; }
lives() { end=$(($(up) + $2)); while [ $(up) -lt $end ]; do [ $(field $1 state) = ACCEPTED ] || { echo "$1 is $(field $1 state)"; return 1; }; sleep 1; done; }
`

// On a machine whose ResourceManager stands still for a minute, and whose clock steps: a standstill counts for lifetimes and dates, and not as silence of a
// node; a step of the clock ends no lifetime, and keeps none from ending.
func TestStandstillsAndStepsOfTheClock(t *testing.T) {
	hadooplab.SkipUnlessFull(t)                   // it stands still for a minute, in a virtual machine
	dir, err := os.MkdirTemp("/var/tmp", "clock") // the machine has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	heddle := filepath.Join(dir, "heddle")
	built(t, "build", "-o", heddle, "heddle/cmd/heddle")
	m := boot(t, Options{Memory: 1536})
	set := " -D hadoop.tmp.dir=/tmp/h -D yarn.log.dir=/tmp/h/logs -D yarn.nm.liveness-monitor.expiry-interval-ms=30000 -D heddle.container.run-as-root=true" +
		" -D yarn.resourcemanager.hostname=localhost -D yarn.nodemanager.address=localhost:0 -D yarn.nodemanager.resource.memory-mb=4096" +
		" -D yarn.scheduler.capacity.root.queues=short,long -D yarn.scheduler.capacity.root.short.capacity=50 -D yarn.scheduler.capacity.root.long.capacity=50" +
		" -D yarn.scheduler.capacity.root.short.default-application-lifetime=40 -D yarn.scheduler.capacity.root.long.default-application-lifetime=300" +
		" -D yarn.scheduler.capacity.maximum-am-resource-percent=1 -D yarn.scheduler.minimum-allocation-mb=256" // so that each has room for all its masters
	run(t, m, "mkdir -p /tmp/h/logs; cd /tmp/h; "+heddle+" rm"+set+" >rm.log 2>&1 & echo $! >/tmp/h.rm; "+heddle+" nm"+set+" >nm.log 2>&1 &")
	do := func(script string) {
		t.Helper()
		if out, err := m.Run(t.Context(), clockScript+script); err != nil {
			log, _ := m.Run(t.Context(), "tail -n 40 /tmp/h/*.log") // for the reader of the failure
			t.Fatalf("%v\n%s\n%s", err, out, log)
		} else if out = strings.TrimSpace(out); out != "" {
			t.Log(out)
		}
	}
	do(`for i in $(seq 60); do curl -sf $cluster/nodes | grep -q RUNNING && exit; sleep 1; done; exit 1`)
	// Without the standstill the first one's lifetime would end at least 20 s after the ResourceManager goes on.
	do(`
		short=$(submit short); long=$(submit long)
		kill -STOP $(cat /tmp/h.rm); sleep 60; kill -CONT $(cat /tmp/h.rm); resumed=$(now)
		ends $short 60
		finished=$(($(field $short finishedTime) / 1000))
		[ $finished -ge $((resumed - 5)) ] || { echo "it is dated $((resumed - finished)) s before the standstill ended"; exit 1; }
		[ $finished -le $((resumed + 15)) ] || { echo "its lifetime ended $((finished - resumed)) s after the standstill"; exit 1; }
		lives $long 40
		curl -sf $cluster/nodes | grep -q '"state":"RUNNING"'
		late=$(submit long); off=$(($(field $late startedTime) / 1000 - $(now)))
		[ $off -ge -30 ] && [ $off -le 5 ] || { echo "dates are off by $off s"; exit 1; }
		echo "a lifetime of 40 s ended $((finished - resumed)) s after a standstill of 60 s"`)
	for _, step := range []string{"+3600", "-7200"} {
		do(`
			short=$(submit short); long=$(submit long)
			date -s @$(($(date +%s) ` + step + `)) >/dev/null
			lives $short 10
			ends $short 60
			lives $long 5
			curl -sf $cluster/nodes | grep -q '"state":"RUNNING"'`)
	}
}
