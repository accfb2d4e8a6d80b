package hadoop

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/nmtest"
)

// control has the NodeManager do something with a container, and returns its answer.
func control(t *testing.T, l *hadooplab.Lab, container, what string) string {
	t.Helper()
	url := fmt.Sprintf("http://localhost:%d/ws/v1/heddle/containers/%s/%s", l.Port("nodemanager1-http"), container, what)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v\n%s", what, container, resp.Status, err, b)
	}
	return string(b)
}

// mapProgress is how far the maps of a job are, as its client last said.
func mapProgress(c *hadooplab.Command) string {
	const mark = " map "
	at := strings.LastIndex(c.Stderr(), mark)
	if at < 0 {
		return ""
	}
	percent, _, _ := strings.Cut(c.Stderr()[at+len(mark):], "%")
	return percent
}

// cpuTime is what processes have used of the CPU, as the kernel counts it.
func cpuTime(t *testing.T, pids []int) string {
	t.Helper()
	var used []string
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')'):]))
		used = append(used, fmt.Sprint(pid, fields[12], fields[13]))
	}
	return strings.Join(used, "; ")
}

// TestSuspendedMap stops a map in the middle and lets it go on: MapReduce notices nothing but the time.
func TestSuspendedMap(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	if !onHeddle {
		t.Skip("Hadoop can't suspend")
	}
	nmtest.RealGroups(t)
	c, app := begin(t, l, sleeper, "-m", "1", "-r", "0", "-mt", "20000")
	first := master(t, l, app, 1)
	var id string
	await.Slowly(t, "the map is on its way", func() bool {
		for _, one := range of(programs(processes(t, l)), app) {
			if one != first {
				id = one
			}
		}
		return id != "" && mapProgress(c) != "" && mapProgress(c) != "0"
	})
	if got := control(t, l, id, "suspend"); !strings.Contains(got, `"state":"PAUSED"`) {
		t.Error(got)
	}
	// Even a JVM that has nothing to do uses the CPU several times a second.
	used := cpuTime(t, programs(processes(t, l))[id])
	<-time.After(3 * time.Second)
	if now := cpuTime(t, programs(processes(t, l))[id]); now != used || c.Ended() {
		t.Errorf("it went on while it was suspended: %s, %s", used, now)
	}
	if got := control(t, l, id, "resume"); !strings.Contains(got, `"state":"RUNNING"`) {
		t.Error(got)
	}
	j := end(t, c, app)
	if j.Code != 0 {
		t.Fatalf("exit code %d\n%s", j.Code, j.Stderr)
	}
	j.counts(t, map[string]int64{"Launched map tasks": 1, "Failed map tasks": -1, "Killed map tasks": -1})
}

func TestDistributedShell(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	path, err := l.Jar("hadoop-yarn-applications-distributedshell")
	if err != nil {
		t.Fatal(err)
	}
	shell := program{"class", "org.apache.hadoop.yarn.applications.distributedshell.Client", "-jar", path, "-master_memory", "256", "-container_memory", "128"}
	j := succeed(t, l, shell, "-num_containers", "2", "-shell_command", "echo", "-shell_args", "shelled")
	if !strings.Contains(j.Stderr, "Application completed successfully") {
		t.Error(j.Stderr)
	}
	await.Slowly(t, "both outputs are aggregated", func() bool {
		r, err := l.Try(t.Context(), "", "yarn", "logs", "-applicationId", j.app, "-log_files", "stdout")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(r.Stdout, "\nshelled\n") == 2
	})
	j = try(t, l, shell, "-num_containers", "1", "-shell_command", "false")
	if j.Code == 0 || !strings.Contains(j.Stderr, "Application failed to complete successfully") {
		t.Errorf("exit code %d\n%s", j.Code, j.Stderr)
	}
}
