package spark

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// A node with Spark's external shuffle is upgraded while executors run: its program stops, another release takes the file's place and starts. Then that one is
// killed, and the former release comes back. No executor is lost, and what they wrote is read without a map that runs twice.
func TestANodeIsUpgradedUnderExecutors(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("a stock NodeManager has no JVM beside it")
	}
	o := options
	o.Heddle = filepath.Join(t.TempDir(), "heddle")
	for _, to := range []string{o.Heddle, o.Heddle + ".former"} {
		if err := os.Link(options.Heddle, to); err != nil {
			t.Fatal(err)
		}
	}
	l, port := withServiceOf(t, o, nil)
	folder := t.TempDir()
	for _, step := range []string{"released", "again"} { // those of TestExternalShuffle
		if err := os.WriteFile(filepath.Join(folder, step+".done"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := l.BeginCommand(commandOf(t, l, hadooplab.SparkVersion, "spark-submit", append(serviceOptions(port), program(t, servedShuffles), folder)...))
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	var app string
	await.Slowly(t, "two executors work", func() bool {
		if m := submitted.FindStringSubmatch(c.Stderr()); m != nil {
			app = m[1]
		}
		found, err := filepath.Glob(filepath.Join(folder, "busy[0-9]*"))
		if err != nil || len(found) < 2 && c.Ended() {
			t.Fatalf("%v; Spark has ended\n%s", err, c.Stderr())
		}
		return len(found) >= 2
	})
	jvm := hadooplab.ServicesJVM(t, l, 0)
	node := l.Daemon("nodemanager1")
	executors := liveContainers(t, l, app)
	for _, step := range []struct {
		release string
		leave   func() error
		build   func(path string) error
	}{
		{"next", node.Stop, func(path string) error { return hadooplab.BuildRelease(path, "next") }},
		{conf.Version, func() error { node.Kill(); return nil }, func(path string) error { return os.Link(o.Heddle+".former", path) }},
	} {
		if err := step.build(o.Heddle + ".next"); err != nil {
			t.Fatal(err)
		}
		if err := step.leave(); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(o.Heddle+".next", o.Heddle); err != nil {
			t.Fatal(err)
		}
		if err := node.Restart(); err != nil {
			t.Fatal(err)
		}
		jvm = hadooplab.ServicesJVM(t, l, jvm)
		await.Slowly(t, "release "+step.release+" runs the node", func() bool {
			var about struct {
				Nodes struct {
					Node []struct{ State, Release string }
				}
			}
			err := l.Get(t.Context(), "rm-http", "/ws/v1/heddle/nodes", &about)
			return err == nil && strings.Contains(fmt.Sprint(about), "{RUNNING "+step.release+"}")
		})
		if now := liveContainers(t, l, app); !slices.Equal(now, executors) {
			t.Fatalf("under release %s %v run, before it %v", step.release, now, executors)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "busy.done"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a := end(t, c, "")
	if a.Code != 0 || !strings.Contains(a.Stdout, "maps ran 40000 times") {
		t.Fatalf("exit code %d\n%s\n%s", a.Code, a.Stdout, a.Stderr)
	}
	for _, bad := range []string{"FetchFailed", "Executor for container", "Lost task"} {
		if strings.Contains(a.Stderr, bad) {
			t.Errorf("the driver says %q\n%s", bad, a.Stderr)
		}
	}
}

// liveContainers returns the live containers of an application.
func liveContainers(t *testing.T, l *hadooplab.Lab, app string) (ids []string) {
	t.Helper()
	var about struct {
		Containers struct {
			Container []struct{ ContainerID string }
		}
	}
	if err := l.Get(t.Context(), "rm-http", "/ws/v1/heddle/apps/"+app+"/containers", &about); err != nil {
		t.Fatal(err)
	}
	for _, c := range about.Containers.Container {
		ids = append(ids, c.ContainerID)
	}
	slices.Sort(ids)
	return ids
}
