package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/hadooplab"
)

// record writes what a stock cluster answers: HEDDLE_TEST_STOCK=1 go test -run AgainstStock ./integration/cli -record
var record = flag.Bool("record", false, "write testdata/commands.txt")

// commands of yarn and mapred, in which {app}, {attempt}, {container}, {node} and {web} stand for those of the cluster. At
// ":running" an application has been started, at ":over" it is over.
const commands = `
yarn node -list
yarn node -list -all
yarn node -list -states RUNNING,LOST
yarn node -list -states BAD
yarn node -status localhost:1
yarn node -status garbage
yarn queue -status nope
yarn queue -list nope
yarn cluster -lnl
yarn cluster -lna
yarn cluster --list-node-labels
yarn cluster -lnl -dnl
yarn cluster -dnl
yarn application -list
yarn application -list -appStates FOO
yarn application -status application_1_0001
yarn application -kill junk
yarn application -kill application_1_0001
yarn application -movetoqueue application_1_0001 -queue default
yarn application -changeQueue default -appId application_1_0001
yarn application -updatePriority 3 -appId application_1_0001
yarn application -updateLifetime 3 -appId application_1_0001
yarn application -appId application_1_0001
yarn application -launch service file
yarn applicationattempt -list application_1_0001
yarn applicationattempt -status appattempt_1_0001_000001
yarn applicationattempt -fail appattempt_1_0001_000001
yarn container -list appattempt_1_0001_000001
yarn container -status container_1_0001_01_000001
yarn container -signal container_1_0001_01_000001 GRACEFUL_SHUTDOWN
yarn container -signal container_1_0001_01_000001 BAD
yarn logs -applicationId application_1_0001
yarn logs -applicationId junk
yarn rmadmin -refreshNodes
yarn rmadmin -refreshNodes -g 2 -client
yarn rmadmin -refreshNodes -g 2 -server
yarn rmadmin -refreshNodes -g x
yarn rmadmin -refreshNodesResources
yarn rmadmin -refreshAdminAcls
yarn rmadmin -refreshServiceAcl
yarn rmadmin -refreshUserToGroupsMappings
yarn rmadmin -refreshSuperUserGroupsConfiguration
yarn rmadmin -refreshClusterMaxPriority
yarn rmadmin -refreshQueues
yarn rmadmin -getGroups root daemon nosuchuser
yarn rmadmin -updateNodeResource {node} 8192 8
yarn rmadmin -updateNodeResource {node} 8192 8 10
yarn rmadmin -updateNodeResource localhost:1 6144 8
yarn rmadmin -updateNodeResource {node} -1 8
yarn rmadmin -getServiceState rm1
yarn rmadmin -getAllServiceState
yarn rmadmin -checkHealth rm1
yarn rmadmin -transitionToActive rm1
yarn rmadmin -addToClusterNodeLabels a
yarn rmadmin -removeFromClusterNodeLabels a
yarn rmadmin -replaceLabelsOnNode {node}=a
yarn schedulerconf -getConf
yarn nodeattributes -list
yarn nodeattributes -nodestoattributes
yarn nodeattributes
yarn nodeattributes -help add
yarn nodeattributes -add
yarn nodeattributes -nope
yarn nodeattributes -failOnUnknownNodes
yarn nodeattributes -add localhost:gpu(STRING)=a100,zone
yarn nodeattributes -add localhost
yarn nodeattributes -add :a=1
yarn nodeattributes -add localhost:
yarn nodeattributes -add localhost:=1
yarn nodeattributes -add localhost:(a=1
yarn nodeattributes -add localhost:a(=1
yarn nodeattributes -add localhost:a=1,a=2
yarn nodeattributes -add #nothing
yarn nodeattributes -add localhost:g(INT)=1
yarn nodeattributes -add localhost:nm.yarn.io/os=linux
yarn nodeattributes -add nowhere:a=1 -failOnUnknownNodes
yarn nodeattributes -list
yarn nodeattributes -attributestonodes
yarn nodeattributes -attributestonodes -attributes rm.yarn.io/zone,gpu
yarn nodeattributes -attributestonodes -attributes a/b/c
yarn nodeattributes -nodestoattributes
yarn nodeattributes -nodestoattributes -nodes localhost,nowhere
yarn nodeattributes -remove localhost:never
yarn nodeattributes -replace localhost:disk=ssd
yarn nodeattributes -nodestoattributes
yarn cluster -lna
yarn node -status {node}
yarn daemonlog -setlevel {web} org.example NOPE
mapred job -list
mapred job -list-active-trackers
mapred job -list-blacklisted-trackers
mapred queue -list
mapred queue -info default
mapred queue -info nope
mapred queue -showacls
:running
yarn application -list
yarn application -list -appTypes example,x -appStates ACCEPTED,FINISHED
yarn application -list -appTags x
yarn application -list -appTags red
yarn application -status {app}
yarn application -appId {app} -changeQueue default
yarn application -appId {app} -changeQueue nope
yarn application -movetoqueue {app} -queue default
yarn application -appId {app} -updatePriority 5
yarn application -appId {app} -updatePriority x
yarn application -appId {app} -updatePriority -1
yarn application -appId {app} -updateLifetime 500
yarn application -appId {app} -updateLifetime -1
yarn application -appId {app} -updateLifetime x
yarn application -status {app}
yarn applicationattempt -list {app}
yarn applicationattempt -status {attempt}
yarn container -list {attempt}
yarn container -status {container}
yarn container -status {attempt}
yarn container -signal {container}
yarn node -list
yarn node -list -showDetails
yarn node -status {node}
mapred queue -info default -showJobs
mapred job -list
yarn logs -applicationId {app} -log_files stdout
yarn logs -applicationId {app} -log_files stdout,stderr
yarn logs -applicationId {app} -log_files_pattern std.*t
yarn logs -applicationId {app} -log_files nope
yarn logs -containerId {container} -log_files stdout
yarn logs -containerId {container} -log_files stdout -size 5
yarn logs -containerId {container} -log_files stdout -size -5
yarn logs -applicationId {app} -show_application_log_info
yarn logs -applicationId {app} -am 1 -log_files stdout
yarn logs -applicationId {app} -am ALL -log_files stdout
yarn logs -applicationId {app} -am -1 -log_files stdout
yarn logs -applicationId {app} -am 7
yarn logs -applicationId {app} -list_nodes
yarn logs -applicationId {app} -appOwner other -log_files stdout
yarn logs -applicationId {app} -out {scratch} -log_files stdout
yarn logs -applicationAttemptId {attempt} -log_files stdout
yarn logs -containerId {container} -nodeAddress {node} -log_files stdout
yarn application -kill {app}
:over
yarn application -list
yarn application -list -appStates KILLED -appTags once
yarn application -status {app}
yarn application -kill {app}
yarn application -appId {app} -updatePriority 5
yarn application -appId {app} -changeQueue default
yarn application -appId {app} -updateLifetime 50
yarn applicationattempt -list {app}
yarn applicationattempt -fail {attempt}
yarn container -list {attempt}
yarn container -status {container}
yarn container -signal {container} OUTPUT_THREAD_DUMP
yarn logs -applicationId {app} -log_files stdout
yarn logs -applicationId {app} -log_files_pattern std.*t
yarn logs -applicationId {app} -log_files nope
yarn logs -containerId {container} -log_files stdout
yarn logs -containerId {container} -log_files stdout -size 5
yarn logs -containerId {container} -log_files stdout -size -5
yarn logs -applicationId {app} -show_application_log_info
yarn logs -applicationId {app} -am 1 -log_files stdout
yarn logs -applicationId {app} -am ALL -log_files stdout
yarn logs -applicationId {app} -am 7
yarn logs -applicationId {app} -list_nodes
yarn logs -applicationId {app} -out {scratch} -log_files stdout
yarn logs -containerId {container} -nodeAddress {node} -log_files stdout
`

// TestAgainstStock gives commands of a stock yarn and mapred, whose output and exit codes must be those of a stock cluster,
// which testdata/commands.txt has.
func TestAgainstStock(t *testing.T) {
	l := lab.Lab(t)
	sh, err := l.NewShell()
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	until(t, l, " 0\n", "node", "-list")
	vars := map[string]string{
		"{node}": strings.Fields(strings.Split(must(ours(t, l, "node", "-list")), "\n")[2])[0],
		"{web}":  fmt.Sprintf("localhost:%d", l.Port("rm-http")), "{scratch}": t.TempDir(),
	}
	var got bytes.Buffer
	for line := range strings.Lines(strings.TrimPrefix(commands, "\n")) {
		line = strings.TrimSpace(line)
		switch line {
		case ":running":
			start(t, l, vars)
			continue
		case ":over":
			app := vars["{app}"]
			until(t, l, "State : KILLED", "app", "-status", app)
			until(t, l, "Log Aggregation Status : SUCCEEDED", "app", "-status", app)
			continue
		}
		words := strings.Fields(line)
		for i, w := range words {
			for name, value := range vars {
				w = strings.ReplaceAll(w, name, value)
			}
			words[i] = w
		}
		r, err := sh.Try(words...)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "$ %s\n%s[%d]\n", line, settled(r, vars, l), r.Code)
		if words[1] == "nodeattributes" && hadooplab.OnHeddle() {
			alike(t, l, words[1:], r)
		}
	}
	const file = "testdata/commands.txt"
	if *record {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := exchanges(string(b))
	for i, answer := range exchanges(got.String()) {
		if i >= len(want) {
			t.Fatalf("%s ends at %d: record it anew", file, i)
		}
		if diff := cmp.Diff(want[i], answer); diff != "" {
			t.Errorf("(-stock +this):\n%s", diff)
		}
	}
}

// alike gives heddle a command of yarn's that may be given twice, and compares what both print.
func alike(t *testing.T, l *hadooplab.Lab, args []string, stock hadooplab.Result) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), heddle, args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code says whether it has failed
	got := hadooplab.Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
	sorted := func(r hadooplab.Result) []string { // YARN's order is that of hashes
		lines := strings.Split(settled(r, nil, l), "\n")
		slices.Sort(lines)
		return lines
	}
	if diff := cmp.Diff(sorted(stock), sorted(got)); diff != "" || got.Code != stock.Code {
		t.Errorf("heddle %q ends with %d (-yarn +heddle):\n%s", args, got.Code, diff)
	}
}

// exchanges are commands and their answers.
func exchanges(text string) []string { return strings.Split(text, "\n$ ") }

// start starts an application and adds its ids to the variables.
func start(t *testing.T, l *hadooplab.Lab, vars map[string]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "app.json")
	description := `{"application-name": "stands and waits", "application-type": "EXAMPLE", "application-tags": {"tag": "once"}, "priority": 0,
		"am-container-spec": {"commands": {"command": "trap '' QUIT; echo some words 1>stdout && mv stdout <LOG_DIR>/stdout; sleep 600"}},
		"resource": {"memory": 512, "vCores": 1}, "max-app-attempts": 1}`
	if err := os.WriteFile(file, []byte(description), 0o600); err != nil {
		t.Fatal(err)
	}
	app := strings.TrimSpace(strings.TrimPrefix(must(ours(t, l, "app", "-submit", file)), "Submitted application "))
	vars["{app}"] = app
	vars["{attempt}"] = strings.Replace(app, "application", "appattempt", 1) + "_000001"
	until(t, l, "LAUNCHED", "applicationattempt", "-status", vars["{attempt}"])
	status := must(ours(t, l, "applicationattempt", "-status", vars["{attempt}"]))
	vars["{container}"] = regexp.MustCompile(`container_\w+`).FindString(status)
	until(t, l, "RUNNING", "container", "-status", vars["{container}"])
	until(t, l, "some words", "logs", "-containerId", vars["{container}"], "-log_files", "stdout")
	until(t, l, " 1\n", "node", "-list")
}

// causes repeat messages, or say by which calls of Java's an exception came.
var causes = regexp.MustCompile(`(?m)^! Caused by: .*\n`)

// settled is what a command wrote, without what is known to vary.
func settled(r hadooplab.Result, vars map[string]string, l *hadooplab.Lab) string {
	return causes.ReplaceAllString(hadooplab.Settled(l, r, vars), "")
}
