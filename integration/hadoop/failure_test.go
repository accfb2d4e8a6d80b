package hadoop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// status is what "yarn application -status" says.
func status(t *testing.T, l *hadooplab.Lab, app string) string {
	t.Helper()
	out, err := l.Run(t.Context(), "yarn", "application", "-status", app)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// processes returns the pids of processes whose working folder is that of a container, by the container's id.
func processes(t *testing.T, l *hadooplab.Lab) map[string][]int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]int{}
	for _, link := range links {
		dir, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(dir, l.Dir()) {
			continue
		}
		for part := range strings.SplitSeq(dir, "/") {
			if id, _, _ := strings.Cut(part, " "); strings.HasPrefix(id, "container_") {
				pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
				out[id] = append(out[id], pid)
			}
		}
	}
	return out
}

// programs keeps those processes that are Java's, not the shells that start it.
func programs(all map[string][]int) map[string][]int {
	out := map[string][]int{}
	for id, pids := range all {
		for _, pid := range pids {
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			if err == nil && filepath.Base(exe) == "java" {
				out[id] = append(out[id], pid)
			}
		}
	}
	return out
}

// jvms returns the one JVM of each container of an application. A JVM that starts another program is two of its kind for a moment.
func jvms(t *testing.T, l *hadooplab.Lab, app string) map[string]int {
	t.Helper()
	var out map[string]int
	await.Slowly(t, "each container has one JVM", func() bool {
		out = map[string]int{}
		all := programs(processes(t, l))
		for _, id := range of(all, app) {
			if len(all[id]) != 1 {
				return false
			}
			out[id] = all[id][0]
		}
		return true
	})
	return out
}

// of returns the ids of containers of an application, "" for any, of an attempt.
func of(all map[string][]int, app string) []string {
	var ids []string
	for id := range all {
		if strings.Contains(id, strings.TrimPrefix(app, "application_")) {
			ids = append(ids, id)
		}
	}
	return ids
}

// master is the id of an attempt's first container, as soon as it has one. It tells in which life of the
// ResourceManager it was allocated, so that it can't be guessed.
func master(t *testing.T, l *hadooplab.Lab, app string, attempt int) string {
	t.Helper()
	url := fmt.Sprintf("http://localhost:%d/ws/v1/cluster/apps/%s/appattempts", l.Port("rm-http"), app)
	var id string
	await.Slowly(t, "the application has a master", func() bool {
		var page struct {
			AppAttempts struct {
				AppAttempt []struct {
					ID          int
					ContainerID string
				}
			}
		}
		if err := json.Unmarshal([]byte(get(t, url)), &page); err != nil {
			return false // not yet
		}
		for _, a := range page.AppAttempts.AppAttempt {
			if a.ID == attempt {
				id = a.ContainerID
			}
		}
		return id != ""
	})
	return id
}

func TestMasterFailure(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	c, app := begin(t, l, sleeper, "-Dmapreduce.am.max-attempts=2", "-m", "1", "-r", "1", "-mt", "10", "-rt", "12000")
	first := master(t, l, app, 1)
	var old []int
	await.Slowly(t, "the reduce runs and the map is done", func() bool {
		all := processes(t, l)
		old = all[first]
		for _, id := range of(all, app) {
			if strings.HasSuffix(id, "_01_000003") && len(of(all, app)) == 2 {
				return len(old) > 0
			}
		}
		return false
	})
	for _, pid := range old {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
	}
	b := end(t, c, app)
	if b.Code != 0 {
		t.Fatalf("exit code %d\n%s", b.Code, b.Stderr)
	}
	if n := b.counter("Launched map tasks"); n > 1 {
		t.Errorf("%d maps were launched: the first one's output was there\n%s", n, b.Stderr)
	}
	var out string
	await.Slowly(t, "both attempts have ended", func() bool {
		var err error
		if out, err = l.Run(t.Context(), "yarn", "applicationattempt", "-list", app); err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(out, "FINISHING")
	})
	if !strings.Contains(out, "Total number of application attempts :2") || strings.Count(out, "FAILED") != 1 || strings.Count(out, "FINISHED") != 1 {
		t.Error(out)
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	c, app := begin(t, l, sleeper, "-m", "2", "-r", "0", "-mt", "600000")
	await.Slowly(t, "the maps run", func() bool { return len(of(processes(t, l), app)) == 3 })
	out, err := l.Run(t.Context(), "yarn", "application", "-kill", app)
	if err != nil || !strings.Contains(out, "Killing application "+app) {
		t.Errorf("%s, %v", out, err)
	}
	b := end(t, c, app)
	if b.Code == 0 || !strings.Contains(b.Stderr, "failed with state KILLED") {
		t.Errorf("exit code %d\n%s", b.Code, b.Stderr)
	}
	await.Slowly(t, "nothing runs any more", func() bool { return len(of(processes(t, l), app)) == 0 })
	if got := status(t, l, app); !strings.Contains(got, "Final-State : KILLED") || !strings.Contains(got, "\tState : KILLED") {
		t.Error(got)
	}
}
