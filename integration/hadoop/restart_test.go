package hadoop

import (
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// TestDaemonsDie runs by itself: jobs of other tests are not to be bothered.
func TestDaemonsDie(t *testing.T) {
	l := lab.Lab(t)
	if !onHeddle {
		t.Skip("Hadoop's daemons forget what runs unless they are told not to")
	}
	// The reduce starts only after all maps, and fetches what they have left with the second life of the NodeManager.
	c, app := begin(t, l, sleeper, "-Dmapreduce.job.reduce.slowstart.completedmaps=1.0", "-m", "2", "-r", "1", "-mt", "20000", "-rt", "5000")
	until(t, "both maps run", func() bool { return len(of(programs(processes(t, l)), app)) == 3 })
	before := programs(processes(t, l))
	node, rm := l.Daemon("nodemanager1"), l.Daemon("resourcemanager")
	node.Kill()
	rm.Kill()
	if err := rm.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := l.WaitYARN(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	after := programs(processes(t, l))
	for id, pids := range before {
		if !slices.Equal(after[id], pids) {
			t.Errorf("processes %v of %s are %v after the restart", pids, id, after[id])
		}
	}
	j := end(t, c, app)
	if j.Code != 0 {
		t.Fatalf("exit code %d\n%s", j.Code, j.Stderr)
	}
	j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": 1, "Failed Shuffles": 0, "Killed map tasks": -1, "Failed map tasks": -1})
	out, err := l.Run(t.Context(), "yarn", "applicationattempt", "-list", app)
	if err != nil || !strings.Contains(out, "Total number of application attempts :1") {
		t.Errorf("%s, %v", out, err)
	}
}

func TestLeaderDies(t *testing.T) {
	if !onHeddle {
		t.Skip("Hadoop's ResourceManagers need ZooKeeper for this")
	}
	o := options
	o.ResourceManagers, o.HistoryServer = 3, false
	l := hadooplab.Start(t, o)
	c, app := begin(t, l, sleeper, "-Dmapreduce.job.reduce.slowstart.completedmaps=1.0", "-m", "2", "-r", "1", "-mt", "8000", "-rt", "10")
	until(t, "both maps run", func() bool { return len(of(processes(t, l), app)) == 3 })
	leader := ""
	for _, id := range []string{"rm1", "rm2", "rm3"} {
		out, err := l.Run(t.Context(), "yarn", "rmadmin", "-getServiceState", id)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(out) == "active" {
			leader = id
		}
	}
	if leader == "" {
		t.Fatal("no ResourceManager is active")
	}
	l.Daemon("resourcemanager" + strings.TrimPrefix(leader, "rm")).Kill()
	j := end(t, c, app)
	if j.Code != 0 {
		t.Fatalf("exit code %d\n%s", j.Code, j.Stderr)
	}
	j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": 1, "Killed map tasks": -1, "Failed map tasks": -1})
	if got := status(t, l, app); !strings.Contains(got, "Final-State : SUCCEEDED") {
		t.Error(got)
	}
	out, err := l.Run(t.Context(), "yarn", "applicationattempt", "-list", app)
	if err != nil || !strings.Contains(out, "Total number of application attempts :1") {
		t.Errorf("%s, %v", out, err)
	}
}
