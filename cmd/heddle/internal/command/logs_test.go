package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/nm/logs"
)

// collect writes a node's file of collected logs: container, name and content in turns.
func collect(t *testing.T, file string, parts ...string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Dir(file), 0o755))
	var b bytes.Buffer
	w, err := logs.NewFileWriter(&b, "none", "bob", nil)
	must(err)
	for i := 0; i < len(parts); i += 3 {
		if i == 0 || parts[i] != parts[i-3] {
			must(w.Begin(parts[i]))
		}
		must(w.Log(parts[i+1], int64(len(parts[i+2])), strings.NewReader(parts[i+2])))
		if i+3 >= len(parts) || parts[i+3] != parts[i] {
			must(w.End())
		}
	}
	must(w.Close())
	must(os.WriteFile(file, b.Bytes(), 0o644))
	at := time.Date(2026, 11, 21, 14, 46, 22, 0, time.UTC)
	must(os.Chtimes(file, at, at))
}

const (
	ended1 = "container_1700000000000_0003_01_000001"
	ended2 = "container_1700000000000_0003_01_000002"
)

// endedLogs are settings with collected logs of the application that is over.
func endedLogs(t *testing.T, rm *fakeRM) map[string]string {
	t.Helper()
	root := t.TempDir()
	app := filepath.Join(root, "bob", "bucket-logs-tfile", "0003", finishedApp)
	collect(t, filepath.Join(app, "n1_45454"), ended2, "stdout", "second\n", ended1, "stderr", "", ended1, "stdout", "first\nline\n")
	collect(t, filepath.Join(app, "n2_1"), "container_1700000000000_0003_01_000003", "syslog", "third")
	settings := rm.settings()
	settings["yarn.nodemanager.remote-app-log-dir"] = "file://" + root
	return settings
}

func text(container, node, name, content, kind string, length int) string {
	title := "Container: " + container + " on " + node
	at := time.Date(2026, 11, 21, 14, 46, 22, 0, time.UTC).Local().Format("Mon Jan 02 15:04:05 -0700 2006")
	end := "End of LogType:" + name
	return fmt.Sprintf("%s\nLogAggregationType: %s\n%s\nLogType:%s\nLogLastModifiedTime:%s\nLogLength:%d\nLogContents:\n%s\n%s\n%s\n\n",
		title, kind, strings.Repeat("=", len(title)), name, at, length, content, end, strings.Repeat("*", len(end)+50))
}

func TestCollectedLogs(t *testing.T) {
	settings := endedLogs(t, startRM(t))
	first := text(ended1, "n1_45454", "stdout", "first\nline\n", "AGGREGATED", 11)
	second := text(ended2, "n1_45454", "stdout", "second\n", "AGGREGATED", 7)
	nothing := text(ended1, "n1_45454", "stderr", "", "AGGREGATED", 0)
	third := text("container_1700000000000_0003_01_000003", "n2_1", "syslog", "third", "AGGREGATED", 5)
	for _, c := range []struct{ line, want string }{
		{"-applicationId " + finishedApp, second + nothing + first + third},
		{"-applicationId " + finishedApp + " -log_files stdout", second + first},
		{"-applicationId " + finishedApp + " -log_files *", second + nothing + first + third},
		{"-applicationId " + finishedApp + " -log_files_pattern std.*,sys", second + nothing + first},
		{"-applicationId " + finishedApp + " -nodeAddress n2:1", third},
		{"-applicationAttemptId appattempt_1700000000000_0003_000001 -log_files syslog", third},
		{"-containerId " + ended1 + " -log_files stdout -size 5", text(ended1, "n1_45454", "stdout", "first", "AGGREGATED", 11)},
		{"-containerId " + ended1 + " -log_files stdout -size -5", text(ended1, "n1_45454", "stdout", "line\n", "AGGREGATED", 11)},
		{"-applicationId " + finishedApp + " -list_nodes", "n1_45454\nn2_1\n\n"},
		{"-applicationId " + finishedApp + " -show_application_log_info", "Application State: Completed.\nContainer: " + ended2 + " on n1_45454\nContainer: " + ended1 +
			" on n1_45454\nContainer: container_1700000000000_0003_01_000003 on n2_1\n"},
	} {
		r := run(t, settings, append([]string{"logs"}, strings.Fields(c.line)...)...)
		if diff := cmp.Diff(c.want, r.out); diff != "" || r.code != 0 {
			t.Errorf("%s: exit code %d (%v) %s (-want +got):\n%s", c.line, r.code, r.failure, r.err, diff)
		}
	}
	dir := filepath.Join(t.TempDir(), "out")
	for range 2 { // the second time it replaces what is there
		if r := run(t, settings, "logs", "-applicationId", finishedApp, "-out", dir); r.code != 0 || r.out != "" {
			t.Fatalf("exit code %d (%v): %s", r.code, r.failure, r.out)
		}
	}
	for file, want := range map[string]string{"n1_45454/" + ended1: nothing + first, "n1_45454/" + ended2: second} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %v, %s", file, err, got)
		}
	}
	r := run(t, settings, "logs", "-containerId", ended2, "--json")
	if !strings.Contains(r.out, `"content": "second\n"`) || !strings.Contains(r.out, `"fileSize": 7`) {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
}

func TestLogErrors(t *testing.T) {
	settings := endedLogs(t, startRM(t))
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{"", 255, "one of them must be specified"},
		{"-applicationId foo", 255, "Invalid ApplicationId specified"},
		{"-containerId foo", 255, "Invalid ContainerId specified"},
		{"-applicationAttemptId foo", 255, "Invalid AppAttemptId specified"},
		{"-applicationId " + knownApp + " -containerId " + ended1, 255, "does not have the container"},
		{"-applicationId " + finishedApp + " -log_files a -log_files_pattern b", 255, "Can only accept one of"},
		{"-applicationId " + finishedApp + " -log_files_pattern (", 255, "not a regular expression"},
		{"-applicationId " + finishedApp + " -size big", 255, "-size big is not a number"},
		{"-applicationId " + finishedApp + " -size_limit_mb 0", 1, "-size_limit_mb"},
		{"-applicationId " + finishedApp + " -log_files nosuch", 255, "matching the pattern: [nosuch]"},
		{"-applicationId " + finishedApp + " -appOwner eve", 255, "with the appOwner: eve"},
		{"-applicationId " + unknownApp, 255, "Please specify the correct appOwner"},
		{"-applicationId " + finishedApp + " -am 5", 255, "exceeds the number of AM containers (1)"},
		{"-applicationId " + finishedApp + " -am first", 255, "neither a number"},
		{"-applicationId " + knownApp + " -list_nodes", 255, "only used with finished applications"},
		{"-nonsense", 255, "Unrecognized option: -nonsense"},
	} {
		r := run(t, settings, append([]string{"logs"}, strings.Fields(c.line)...)...)
		all := r.err
		if r.failure != nil {
			all += r.failure.Error()
		}
		if r.code != c.code || !strings.Contains(all, c.says) {
			t.Errorf("%s: exit code %d, want %d; it doesn't say %q:\n%s", c.line, r.code, c.code, c.says, all)
		}
	}
	// Nobody knows the application any more, but its logs are there.
	rm := startRM(t)
	forgotten := endedLogs(t, rm)
	root := strings.TrimPrefix(forgotten["yarn.nodemanager.remote-app-log-dir"], "file://")
	if err := os.Rename(filepath.Join(root, "bob", "bucket-logs-tfile", "0003"), filepath.Join(root, "bob", "bucket-logs-tfile", "0099")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(root, "bob", "bucket-logs-tfile", "0099", finishedApp), filepath.Join(root, "bob", "bucket-logs-tfile", "0099", unknownApp)); err != nil {
		t.Fatal(err)
	}
	if r := run(t, forgotten, "logs", "-applicationId", unknownApp, "-list_nodes"); r.code != 0 || !strings.HasPrefix(r.out, "n1_45454\n") {
		t.Errorf("exit code %d (%v): %s%s", r.code, r.failure, r.out, r.err)
	}
}

// Folders of logs that belong to others kept heddle logs from finding those that the caller may read.
func TestLogsOfOthersAreNoObstacle(t *testing.T) {
	const given = "HEDDLE_TEST_FOLDER_OF_LOGS"
	root := os.Getenv(given)
	if root == "" && os.Geteuid() == 0 { // root reads everything, unless it lacks two capabilities
		root = t.TempDir()
		closedToOthers(t, root)
		cmd := exec.CommandContext(t.Context(), "setpriv", "--bounding-set=-dac_override,-dac_read_search", os.Args[0], "-test.run=^TestLogsOfOthersAreNoObstacle$")
		cmd.Env = append(os.Environ(), given+"="+root)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	if root == "" {
		root = t.TempDir()
		closedToOthers(t, root)
	}
	if _, err := os.ReadDir(filepath.Join(root, "tfile", "alf")); !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("the folder of alf can be read: %v", err)
	}
	settings := startRM(t).settings()
	settings["yarn.nodemanager.remote-app-log-dir"] = "file://" + root + "/tfile"
	settings["yarn.log-aggregation.IFile.remote-app-log-dir"] = "file://" + root + "/ifile"
	if r := run(t, settings, "logs", "-applicationId", unknownApp, "-list_nodes"); r.code != 0 || r.out != "n1_45454\n\n" {
		t.Errorf("exit code %d (%v): %s%s", r.code, r.failure, r.out, r.err)
	}
}

// closedToOthers makes roots of logs of two formats: one has bob's logs beside a folder that only alf may read, nobody may read the other.
func closedToOthers(t *testing.T, root string) {
	t.Helper()
	collect(t, filepath.Join(root, "tfile", "bob", "bucket-logs-tfile", "0099", unknownApp, "n1_45454"), ended1, "stdout", "text")
	for _, closed := range []string{"tfile/alf/bucket-logs-tfile/0099", "ifile"} {
		if err := os.MkdirAll(filepath.Join(root, closed), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, closed := range []string{"tfile/alf", "ifile"} {
		at := filepath.Join(root, closed)
		if err := os.Chmod(at, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(at, 0o700) })
	}
}

func TestLiveLogs(t *testing.T) {
	const log = "Container: x on y\nLogType:stdout\nLogContents:\nhello\nEnd of LogType:stdout.This log file belongs to a running container (x) and so may not be complete.\n***\n\n"
	rm := startRM(t)
	node := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"GET /ws/v1/node/containers/" + knownContainer + "/logs": say(200, jsonType, `{"containerLogsInfo":{"containerLogInfo":[
			{"fileName":"stdout","fileSize":"6","lastModifiedTime":"Sat Nov 21 14:46:22 +0000 2026"},{"fileName":"stderr","fileSize":"0","lastModifiedTime":"Sat Nov 21 14:46:23 +0000 2026"}],
			"logAggregationType":"LOCAL","containerId":"`+knownContainer+`","nodeId":"n:1"}}`),
		"GET /ws/v1/node/containerlogs/" + knownContainer + "/stdout": func(w http.ResponseWriter, r *http.Request) {
			say(200, "text/plain", log+r.URL.Query().Get("size"))(w, r)
		},
	})
	// The node's own address is what the ResourceManager says.
	before := containers
	t.Cleanup(func() { containers = before })
	containers = before[:1:1]
	was := containers[0].GetNodeHttpAddress()
	t.Cleanup(func() { before[0].SetNodeHttpAddress(was) })
	containers[0].SetNodeHttpAddress(node.URL)
	const id = "-containerId " + knownContainer
	for _, c := range []struct{ line, want string }{
		{id + " -log_files stdout", log + "\n"},
		{id + " -log_files stdout -size -3", log + "-3\n"},
		{"-applicationId " + knownApp + " -am 1 -log_files_pattern .*out", log + "\n"},
		{"-applicationId " + knownApp + " -show_application_log_info", "Application State: Running.\nContainer: " + knownContainer + " on node7.example.com:45454\n"},
	} {
		r := run(t, rm.settings(), append([]string{"logs"}, strings.Fields(c.line)...)...)
		if diff := cmp.Diff(c.want, r.out); diff != "" || r.code != 0 {
			t.Errorf("%s: exit code %d (%v) %s (-want +got):\n%s", c.line, r.code, r.failure, r.err, diff)
		}
	}
	if r := run(t, rm.settings(), append([]string{"logs", "--json", "-log_files", "stdout"}, strings.Fields(id)...)...); !strings.Contains(r.out, `"content": "hello\n"`) {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
	r := run(t, rm.settings(), append([]string{"logs", "-show_container_log_info"}, strings.Fields(id)...)...)
	if lines := strings.Split(r.out, "\n"); len(lines) != 7 || !strings.HasSuffix(lines[4], "                             6\tSat Nov 21 14:46:22 +0000 2026\t                         LOCAL") {
		t.Errorf("exit code %d (%v):\n%s", r.code, r.failure, r.out)
	}
	r = run(t, rm.settings(), "logs", "-containerId", "container_e02_1700000000000_0007_01_000009")
	if r.code != 1 || !strings.Contains(r.failure.Error(), "give -nodeAddress") {
		t.Errorf("a container that has ended: exit code %d (%v)", r.code, r.failure)
	}
}

func TestTop(t *testing.T) {
	apps := `{"apps":{"app":[
		{"id":"application_1_0001","user":"alice","applicationType":"SPARK","queue":"root.users.alice","name":"small","state":"RUNNING","runningContainers":1,"allocatedMB":512,"allocatedVCores":1,"progress":50.0,"elapsedTime":60000},
		{"id":"application_1_0002","user":"bob","applicationType":"MAPREDUCE","queue":"root.default","name":"large","state":"RUNNING","runningContainers":9,"allocatedMB":9216,"allocatedVCores":9,"memorySeconds":102400,"vcoreSeconds":99,"progress":12.345,"elapsedTime":93784000}]}}`
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"GET /ws/v1/cluster/info":    say(200, jsonType, `{"clusterInfo":{"startedOn":1795272205439}}`),
		"GET /ws/v1/cluster/metrics": say(200, jsonType, `{"clusterMetrics":{"appsSubmitted":2,"appsRunning":2,"availableMB":1024,"allocatedMB":9728,"totalNodes":3,"activeNodes":2,"lostNodes":1}}`),
		"GET /ws/v1/cluster/apps": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("applicationTypes") == "TEZ" {
				say(200, jsonType, `{"apps":null}`)(w, r)
				return
			}
			say(200, jsonType, apps)(w, r)
		},
	})
	r := run(t, web.settings(), "top")
	lines := strings.Split(r.out, "\n")
	if r.code != 0 || len(lines) != 11 {
		t.Fatalf("exit code %d (%v):\n%s", r.code, r.failure, r.out)
	}
	for i, want := range map[int]string{
		0: "YARN top - 14:45:05, up 0d, 0:01, 2 active users",
		1: "NodeManager(s): 3 total, 2 active, 0 unhealthy, 0 decommissioned, 1 lost, 0 rebooted",
		3: "Mem(GB): 1.0 available, 9.5 allocated, 0.0 pending, 0.0 reserved",
		8: "              application_1_0002        bob    mapreduce         root.default   RUNNING     0      9       9      9.0           99         100   12.35   1:02:03 large",
	} {
		if lines[i] != want {
			t.Errorf("line %d is\n%q, want\n%q", i, lines[i], want)
		}
	}
	for line, want := range map[string]int{
		"top -n 1 -users alice": 1, "top -queues users": 1, "top -queues root": 2, "top -queues elsewhere": 0, "top -types TEZ": 0, "top -n 2 -delay 0.1": 4,
	} {
		r := run(t, web.settings(), strings.Fields(line)...)
		if n := strings.Count(r.out, "application_1_"); n != want {
			t.Errorf("%s shows %d applications, want %d (%v):\n%s", line, n, want, r.failure, r.out)
		}
	}
	for _, line := range []string{"top -n 0", "top -delay never", "top -delay NaN", "top -rows x"} {
		if r := run(t, web.settings(), strings.Fields(line)...); r.code != 1 || r.out != "" {
			t.Errorf("%s: exit code %d (%v): %s", line, r.code, r.failure, r.out)
		}
	}
}
