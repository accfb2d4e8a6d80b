package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

var (
	heddle string // the binary
	lab    *hadooplab.Shared
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	path, _, remove, err := hadooplab.BuildLab()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	heddle = path
	logs, err := os.MkdirTemp("", "heddle-cli-logs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(logs) }()
	if err := os.Chmod(logs, 0o1777); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	options := hadooplab.Options{
		ResourceManager: true, NodeManagers: 1,
		Site: map[string]string{
			"yarn.resource-types": "example.com/seat", "yarn.nodemanager.resource-type.example.com/seat": "4",
			"yarn.log-aggregation-enable": "true", "yarn.nodemanager.remote-app-log-dir": logs,
		},
	}
	if hadooplab.OnHeddle() {
		options.Heddle = path
	}
	lab = hadooplab.NewShared(options)
	return lab.Run(m)
}

// ours runs one of heddle's commands.
func ours(t *testing.T, l *hadooplab.Lab, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, heddle, args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("heddle %s: %v", strings.Join(args, " "), err)
	}
	if stderr.Len() > 0 {
		t.Logf("heddle %s: %s", strings.Join(args, " "), &stderr)
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// yarns runs one of yarn's.
func yarns(t *testing.T, l *hadooplab.Lab, args ...string) (out string, code int) {
	t.Helper()
	r, err := l.Try(t.Context(), "", append([]string{"yarn"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r.Stdout, r.Code
}

// until runs a command of ours until its output has something.
func until(t *testing.T, l *hadooplab.Lab, has string, args ...string) {
	t.Helper()
	await.Slowly(t, fmt.Sprintf("heddle %s says %q", strings.Join(args, " "), has), func() bool {
		out, _ := ours(t, l, args...)
		return strings.Contains(out, has)
	})
}

// moving are figures that go on while one command runs after the other.
var moving = regexp.MustCompile(`\d+ MB-seconds, \d+ vcore-seconds|\d+ example\.com/seat-seconds|PMem:\d+ MB, VMem:\d+ MB, VCores:[0-9.E-]+|Last-Health-Update : .*`)

// What runs is shown by both with the same bytes, and both end with the same code.
func TestSameAsYarn(t *testing.T) {
	l := lab.Lab(t)
	file := filepath.Join(t.TempDir(), "app.json")
	description := `{"application-name": "stands and waits", "application-type": "EXAMPLE", "application-tags": {"tag": "red,blue"}, "priority": 0,
		"am-container-spec": {"commands": {"command": "sleep 600"}}, "resource": {"memory": 512, "vCores": 1}, "max-app-attempts": 1}`
	if err := os.WriteFile(file, []byte(description), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := ours(t, l, "app", "-submit", file)
	id := strings.TrimSpace(strings.TrimPrefix(out, "Submitted application "))
	if code != 0 || !strings.HasPrefix(id, "application_") {
		t.Fatalf("submitting: exit code %d: %s", code, out)
	}
	attempt := strings.Replace(id, "application", "appattempt", 1) + "_000001"
	container := strings.Replace(id, "application", "container", 1) + "_01_000001"
	until(t, l, "RUNNING", "container", "-status", container)
	until(t, l, " 1\n", "node", "-list")
	node := strings.Fields(strings.Split(must(ours(t, l, "node", "-list")), "\n")[2])[0]
	for _, line := range []string{
		"application -list",
		"application -list -appTags blue",
		"application -list -appStates ALL -appTypes EXAMPLE,OTHER",
		"application -status " + id,
		"applicationattempt -list " + id,
		"applicationattempt -status " + attempt,
		"container -list " + attempt,
		"container -status " + container,
		"node -list -showDetails",
		"node -status " + node,
		"queue -status default",
		"queue -list all",
		"cluster -lnl",
		"rmadmin -getGroups",
		"rmadmin -getServiceState rm1",
		"application -kill " + id,
		"application -status " + id,
		"container -status " + container,
		"application -kill application_1_0001",
	} {
		if line == "application -kill "+id {
			if out, code := ours(t, l, strings.Fields(line)...); code != 0 || out != "Killing application "+id+"\n" {
				t.Errorf("%s: exit code %d: %s", line, code, out)
			}
		}
		want, wantCode := yarns(t, l, strings.Fields(line)...)
		got, gotCode := ours(t, l, strings.Fields(line)...)
		if diff := cmp.Diff(moving.ReplaceAllString(want, "…"), moving.ReplaceAllString(got, "…")); diff != "" || wantCode != gotCode {
			t.Errorf("%s: exit code %d, yarn's is %d (-yarn +heddle):\n%s", line, gotCode, wantCode, diff)
		}
	}
}

func must(out string, _ int) string { return out }
