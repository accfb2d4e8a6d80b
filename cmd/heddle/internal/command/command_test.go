package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Requests carry what the command line says.
func TestChanges(t *testing.T) {
	const app = `application_id:{id:7 cluster_timestamp:1700000000000}`
	for _, c := range []struct {
		line string
		want []string
	}{
		{"app -kill " + knownApp, []string{"kill " + app, "kill " + app}}, // until it is done
		{"app -kill " + finishedApp, nil},
		{"app -movetoqueue " + knownApp + " -queue q", []string{"move " + app + ` target_queue:"q"`}},
		{"app -appId " + knownApp + " -changeQueue q", []string{"move " + app + ` target_queue:"q"`}},
		{"app -appId " + knownApp + " -updatePriority -3", []string{`priority applicationId:{id:7 cluster_timestamp:1700000000000} applicationPriority:{priority:-3}`}},
		{"app -appId " + knownApp + " -updateLifetime 60", []string{`timeouts applicationId:{id:7 cluster_timestamp:1700000000000} application_timeouts:{application_timeout_type:APP_TIMEOUT_LIFETIME expire_time:"2026-11-21T14:46:05.439+0000"}`}},
		{"applicationattempt -fail " + knownAttempt, []string{"fail application_attempt_id:{" + app + " attemptId:1}"}},
		{"container -signal " + knownContainer, []string{"signal container_id:{app_attempt_id:{" + app + " attemptId:1} id:2199023255553} command:OUTPUT_THREAD_DUMP"}},
		{"container -signal " + knownContainer + " GRACEFUL_SHUTDOWN", []string{"signal container_id:{app_attempt_id:{" + app + " attemptId:1} id:2199023255553} command:GRACEFUL_SHUTDOWN"}},
		{"rmadmin -refreshQueues", []string{"refreshQueues "}},
		{"rmadmin -refreshNodes", []string{"refreshNodes "}},
		{"rmadmin -refreshNodes -g 5 -server", []string{"refreshNodes decommissionType:DECOMMISSION_GRACEFUL decommissionTimeout:5"}},
		{"rmadmin -refreshNodes -graceful -1 -server", []string{"refreshNodes decommissionType:DECOMMISSION_GRACEFUL"}},
		{"rmadmin -updateNodeResource n:1 2048 2", []string{`updateNodeResource node_resource_map:{node_id:{host:"n" port:1} resource_option:{resource:{memory:2048 virtual_cores:2 resource_value_map:{key:"memory-mb" value:2048 units:"Mi" type:COUNTABLE} resource_value_map:{key:"vcores" value:2 units:"" type:COUNTABLE} resource_value_map:{key:"yarn.io/gpu" value:0 units:"" type:COUNTABLE}} over_commit_timeout:-1}}`}},
		{"rmadmin -updateNodeResource n:1 memory-mb=2Gi,vcores=2,yarn.io/gpu=1 30", []string{`updateNodeResource node_resource_map:{node_id:{host:"n" port:1} resource_option:{resource:{memory:2048 virtual_cores:2 resource_value_map:{key:"memory-mb" value:2048 units:"Mi" type:COUNTABLE} resource_value_map:{key:"vcores" value:2 units:"" type:COUNTABLE} resource_value_map:{key:"yarn.io/gpu" value:1 units:"" type:COUNTABLE}} over_commit_timeout:30}}`}},
		{"rmadmin -addToClusterNodeLabels a,b(exclusive=false)", []string{`addLabels nodeLabels:{name:"a" isExclusive:true} nodeLabels:{name:"b" isExclusive:false}`}},
		{"rmadmin -removeFromClusterNodeLabels a,b", []string{`removeLabels nodeLabels:"a" nodeLabels:"b"`}},
		{"rmadmin -replaceLabelsOnNode n1:5=a n2,b n3 -failOnUnknownNodes", []string{`replaceLabels nodeToLabels:{nodeId:{host:"n1" port:5} nodeLabels:"a"} nodeToLabels:{nodeId:{host:"n2" port:0} nodeLabels:"b"} nodeToLabels:{nodeId:{host:"n3" port:0}} failOnUnknownNodes:true`}},
	} {
		t.Run(c.line, func(t *testing.T) {
			rm := startRM(t)
			if r := run(t, rm.settings(), strings.Fields(c.line)...); r.code != 0 {
				t.Fatalf("exit code %d: %v\n%s%s", r.code, r.failure, r.out, r.err)
			}
			if diff := cmp.Diff(c.want, rm.noted()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// What is wrong with a command line, or with a cluster, is said so that it can be mended.
func TestErrors(t *testing.T) {
	rm := startRM(t)
	for _, c := range []struct {
		line string
		code int
		says []string // of the output, the error output or the error
	}{
		{"app", 255, []string{"Invalid Command Usage", "usage: application", "-list"}},
		{"app -list extra", 255, []string{"extra belongs to no option", "usage: application"}},
		{"app list", 255, []string{"did you mean heddle app -list?"}},
		{"node list -all", 255, []string{"did you mean heddle node -list -all?"}},
		{"queue status default", 255, []string{"did you mean heddle queue -status default?"}},
		{"app -status", 255, []string{"Missing argument for options", "usage: application", "-status needs a value."}},
		{"app -lst", 1, []string{"Unrecognized option: -lst (did you mean -list?)"}},
		{"app -stat x", 1, []string{"did you mean -status?"}},
		{"logs -applicationld x", 255, []string{"did you mean -applicationId?"}},
		{"rmadmin -refreshQueus", 255, []string{"did you mean -refreshQueues?"}},
		{"logs -nonsense", 255, []string{"Unrecognized option: -nonsense"}},
		{"rmadmin -nonsense", 255, []string{"Unrecognized option: -nonsense"}},
		{"app -nonsense", 1, []string{"Unrecognized option: -nonsense", "heddle app -help"}},
		{"app -status foo", 1, []string{`"foo"`, "application followed by 2 numbers"}},
		{"app -kill application_1_x", 1, []string{`"application_1_x"`, `"x"`}},
		{"app -movetoqueue " + knownApp, 255, []string{"usage: application"}},
		{"app -changeQueue q", 255, []string{"name the application to change: -appId"}},
		{"app -appId " + knownApp + " -updatePriority high", 1, []string{`"high" is not an integer`}},
		{"app -appId " + knownApp + " -updateLifetime -5", 1, []string{`"-5" is not a number of seconds`}},
		{"app -appId " + knownApp + " -changeQueue nowhere", 1, []string{"The specified Queue: nowhere doesn't exist"}},
		{"applicationattempt -list " + unknownApp, 1, []string{unknownApp, "doesn't exist"}},
		{"applicationattempt -fail foo", 1, []string{`"foo"`}},
		{"container -status foo", 1, []string{`"foo"`}},
		{"container -signal " + knownContainer + " HUP", 1, []string{`"HUP"`, "FORCEFUL_SHUTDOWN"}},
		{"node -status n", 1, []string{`"n"`, "host:port"}},
		{"node -status n:x", 1, []string{`"n:x"`, `"x"`}},
		{"cluster -lnl -dnl", 1, []string{"ask a running one"}},
		{"rmadmin", 255, []string{"usage: heddle rmadmin"}},
		{"rmadmin -refreshServiceAcl", 255, []string{"refreshServiceAcl: Service Authorization is not enabled."}},
		{"rmadmin -refreshNodes -g", 255, []string{"-client or -server"}},
		{"rmadmin -refreshNodes -g soon -client", 255, []string{`"soon" is not a number of seconds`}},
		{"rmadmin -updateNodeResource n:1", 255, []string{"Number of parameters"}},
		{"rmadmin -updateNodeResource n:1 -2 1", 255, []string{"invalid resource value: (-2,1)"}},
		{"rmadmin -updateNodeResource n:1 memory-mb=1,disk=2", 255, []string{"invalid resource type: disk", "yarn.io/gpu"}},
		{"rmadmin -updateNodeResource n:1 memory-mb=1", 255, []string{"vcores is missing"}},
		{"rmadmin -updateNodeResource n:1 memory-mb=1Q,vcores=1", 255, []string{`unknown unit "Q"`}},
		{"rmadmin -updateNodeResource n:1 1 1 soon", 255, []string{"invalid timeout specified : soon"}},
		{"rmadmin -addToClusterNodeLabels a(loud=true)", 255, []string{"Input format for adding node-labels is not correct", "exclusive=true"}},
		{"rmadmin -replaceLabelsOnNode n=a,b", 255, []string{"2 labels specified on host=n"}},
		{"rmadmin -replaceLabelsOnNode :1=a", 255, []string{"node name cannot be empty"}},
		{"rmadmin -transitionToActive", 255, []string{"incorrect number of arguments"}},
		{"rmadmin -getServiceState rm1", 255, []string{"ResourceManager HA is not enabled"}},
		{"daemonlog -getlevel nowhere", 1, []string{"nowhere", "host:port"}},
		{"daemonlog -getlevel n:1 -protocol gopher", 1, []string{"gopher"}},
		{"schedulerconf -update root.a:capacity", 1, []string{"-update", "root.a", "confKey=confVal"}},
		{"app -list -conf /does/not/exist", 1, []string{"-conf", "/does/not/exist"}},
	} {
		r := run(t, rm.settings(), strings.Fields(c.line)...)
		all := r.out + r.err
		if r.failure != nil {
			all += r.failure.Error()
		}
		if r.code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", c.line, r.code, c.code, all)
		}
		for _, s := range c.says {
			if !strings.Contains(all, s) {
				t.Errorf("%s: doesn't say %q:\n%s", c.line, s, all)
			}
		}
	}
	if calls := rm.noted(); len(calls) > 0 {
		t.Errorf("something was changed: %q", calls)
	}
}

// A ResourceManager that doesn't answer: its address, the key and the place that it comes from.
func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "yarn-site.xml")
	write := func(properties ...string) {
		t.Helper()
		text := "<configuration>\n"
		for i := 0; i < len(properties); i += 2 {
			text += "<property><name>" + properties[i] + "</name><value>" + properties[i+1] + "</value></property>\n"
		}
		if err := os.WriteFile(site, []byte(text+"</configuration>\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wait := []string{"yarn.resourcemanager.connect.max-wait.ms", "100"}
	expect := func(line string, says ...string) {
		t.Helper()
		r := runIn(t, dir, strings.Fields(line)...)
		if r.failure == nil {
			t.Fatalf("%s succeeded:\n%s", line, r.out)
		}
		for _, s := range says {
			if !strings.Contains(r.failure.Error(), s) {
				t.Errorf("%s doesn't say %q:\n%v", line, s, r.failure)
			}
		}
	}
	write(append(wait, "yarn.resourcemanager.address", "127.0.0.1:1", "yarn.resourcemanager.webapp.address", "127.0.0.1:2")...)
	expect("app -list", "127.0.0.1:1", "yarn.resourcemanager.address, set in "+site+":3", "connection refused")
	expect("app -list --json", "127.0.0.1:2", "yarn.resourcemanager.webapp.address, set in "+site+":4", "connection refused")
	write(append(wait, "yarn.resourcemanager.hostname", "127.0.0.2")...)
	expect("app -list", "127.0.0.2:8032", "yarn.resourcemanager.hostname, set in "+site+":3")
	write(append(wait, "yarn.resourcemanager.ha.enabled", "true", "yarn.resourcemanager.ha.rm-ids", "a,b",
		"yarn.resourcemanager.hostname.a", "127.0.0.2", "yarn.resourcemanager.address.b", "127.0.0.1:1", "yarn.resourcemanager.hostname.b", "127.0.0.3")...)
	expect("app -list", "127.0.0.2:8032 (yarn.resourcemanager.hostname.a, set in", "nor at 127.0.0.1:1 (yarn.resourcemanager.address.b, set in")
}

// One dash or two, and settings on the command line.
func TestCommonOptions(t *testing.T) {
	rm := startRM(t)
	want := run(t, rm.settings(), "node", "-list").out
	for _, line := range []string{
		"node --list -Dyarn.resourcemanager.address=" + rm.addr,
		"node -D yarn.resourcemanager.address=" + rm.addr + " -list",
		"node -jt " + rm.addr + " -list",
		"node --define=yarn.resourcemanager.address=" + rm.addr + " --list",
	} {
		if r := run(t, nil, strings.Fields(line)...); r.out != want {
			t.Errorf("%s: %v\n%s", line, r.failure, r.out)
		}
	}
	// A file comes on top of the folder.
	file := filepath.Join(t.TempDir(), "extra.xml")
	text := "<configuration><property><name>yarn.resourcemanager.address</name><value>" + rm.addr + "</value></property></configuration>"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, nil, "node", "-list", "-conf", file); r.out != want {
		t.Errorf("with a file: %v\n%s", r.failure, r.out)
	}
}

func TestStatesOfAllMembers(t *testing.T) {
	rm := startRM(t)
	r := run(t, rm.haSettings(), "rmadmin", "-getAllServiceState")
	lines := strings.Split(r.out, "\n")
	if r.code != 0 || len(lines) != 3 {
		t.Fatalf("exit code %d:\n%s", r.code, r.out)
	}
	// As yarn writes them: the address in 50 columns, the state in 10.
	if want := rm.addr + strings.Repeat(" ", 50-len(rm.addr)) + " standby   "; lines[0] != want {
		t.Errorf("got %q, want %q", lines[0], want)
	}
	if !strings.HasPrefix(lines[1], "127.0.0.1:1  ") || !strings.Contains(lines[1], "Failed to connect: ") {
		t.Errorf("got %q", lines[1])
	}
	r = run(t, rm.haSettings(), "rmadmin", "-transitionToActive", "--forcemanual", "rm1")
	if want := []string{"active reqInfo:{reqSource:REQUEST_BY_USER_FORCED}"}; r.code != 0 || !slices.Equal(rm.noted(), want) {
		t.Errorf("exit code %d (%v), calls %q, want %q", r.code, r.failure, rm.noted(), want)
	}
}

func TestRemoveMember(t *testing.T) {
	rm := startRM(t)
	r := run(t, rm.haSettings(), "rmadmin", "-removeMember", "rm3") // which the configuration lacks already
	if want := []string{`remove id:"rm3"`}; r.code != 0 || !slices.Equal(rm.noted(), want) {
		t.Errorf("exit code %d (%v), calls %q, want %q", r.code, r.failure, rm.noted(), want)
	}
}

// Nothing is lost before somebody has been told what, and has said so.
func TestForceLeader(t *testing.T) {
	rm := startRM(t)
	r := run(t, rm.haSettings(), "rmadmin", "-forceLeader", "rm1")
	if want := []string{"force lose:false"}; r.code == 0 || !strings.Contains(r.out, "37 entries") || !slices.Equal(rm.noted(), want) {
		t.Errorf("exit code %d (%v), calls %q, want %q: %s", r.code, r.failure, rm.noted(), want, r.out)
	}
	r = run(t, rm.haSettings(), "rmadmin", "-forceLeader", "rm1", "--lose")
	if got := rm.noted(); r.code != 0 || got[len(got)-1] != "force lose:true" {
		t.Errorf("exit code %d (%v), calls %q", r.code, r.failure, got)
	}
}

// What a node was lent for short tasks is shown where something was.
func TestNodeWithShortTasks(t *testing.T) {
	rm := startRM(t)
	id := records.NodeIDFrom(nodes[0].GetNodeId()).String()
	if r := run(t, rm.settings(), "node", "-status", id); r.code != 0 || strings.Contains(r.out, "Short-Tasks") {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
	lent, used := &pb.Resource{}, &pb.Resource{}
	lent.SetMemory(1024)
	lent.SetVirtualCores(2)
	used.SetMemory(256)
	used.SetVirtualCores(1)
	nodes[0].SetHeddleLent(lent)
	nodes[0].SetHeddleLentUsed(used)
	nodes[0].SetHeddleProbesWaiting(3)
	t.Cleanup(func() {
		nodes[0].ClearHeddleLent()
		nodes[0].ClearHeddleLentUsed()
		nodes[0].ClearHeddleProbesWaiting()
	})
	if r := run(t, rm.settings(), "node", "-status", id); r.code != 0 ||
		!strings.Contains(r.out, "\tLent-To-Short-Tasks : 1024MB, 2 vcores\n\tUsed-By-Short-Tasks : 256MB, 1 vcores, 3 probes wait\n") {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
}

func TestSuspendedContainer(t *testing.T) {
	rm := startRM(t)
	containers[0].SetHeddleSuspended(true)
	t.Cleanup(containers[0].ClearHeddleSuspended)
	if r := run(t, rm.settings(), "container", "-status", knownContainer); !strings.Contains(r.out, "\tState : SUSPENDED\n") {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
	if r := run(t, rm.settings(), "container", "-list", knownAttempt); strings.Count(r.out, "           SUSPENDED\t") != 1 {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
}

// An application's id was refused ("want appattempt_…"), though its current attempt is meant.
func TestContainersOfAnApplicationAreThoseOfItsAttempt(t *testing.T) {
	rm := startRM(t)
	want := run(t, rm.settings(), "container", "-list", knownAttempt)
	if got := run(t, rm.settings(), "container", "-list", knownApp); got.code != 0 || got.out != want.out || !strings.Contains(got.out, "container_") {
		t.Errorf("exit code %d (%v): %s, want %s", got.code, got.failure, got.out, want.out)
	}
	if got := run(t, rm.settings(), "container", "-list", "job_1_1"); got.code != 1 {
		t.Errorf("exit code %d of a malformed id", got.code)
	}
}
