package delegated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter/jvm"
	"heddle/hdfsadapter/jvm/ondemand"
	"heddle/integration/jvmtest"
	"heddle/internal/await"
	"heddle/rm/leader/nodelabels"
	"heddle/yarn/records"
)

func node(host string) records.NodeID { return records.NodeID{Host: host, Port: 45454} }

func silent() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return logrus.NewEntry(log)
}

type scripted struct {
	asked string
	took  func()
	err   error
}

func (s *scripted) Ask(_ context.Context, nodes []records.NodeID) (out []nodelabels.Mapping, _ error) {
	s.asked = fmt.Sprint(nodes)
	if s.took(); s.err != nil {
		return nil, s.err
	}
	for _, n := range nodes {
		out = append(out, nodelabels.Mapping{Node: n, Labels: []string{"x"}})
	}
	return out, nil
}

// All nodes are asked about at once and after each interval, and between them those that come, or come again. After a failure, however long it took, there is
// half a minute of peace.
func TestWhenNodesAreAskedAbout(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var takes time.Duration
	class := &scripted{took: func() { now = now.Add(takes) }}
	here := map[records.NodeID]int64{node("a"): 1, node("b"): 1}
	var set int
	var refused error
	u := &Updater{
		Asker: class, Every: time.Hour, Log: silent(), Now: func() time.Time { return now },
		Nodes: func() map[records.NodeID]int64 { return maps.Clone(here) },
		Set:   func(m []nodelabels.Mapping) error { set += len(m); return refused },
	}
	for i, step := range []struct {
		after, takes time.Duration
		comes        string // a node that registers
		leaves       string
		fails        error // the class
		set          error // the leader
		want         string
	}{
		{want: "[a:45454 b:45454]"},
		{after: time.Second},
		{after: time.Second, comes: "c", want: "[c:45454]"},
		{after: time.Second, leaves: "b"},
		{after: time.Second, comes: "b", fails: errors.New("no"), takes: time.Minute, want: "[b:45454]"},
		{after: time.Second},
		{after: afterFailure, set: errors.New("no such label"), want: "[b:45454]"},
		{after: afterFailure, want: "[b:45454]"},
		{after: time.Second, comes: "a", want: "[a:45454]"},
		{after: time.Hour, want: "[a:45454 b:45454 c:45454]"},
		{after: time.Minute},
	} {
		now = now.Add(step.after)
		if step.comes != "" {
			here[node(step.comes)] = now.UnixMilli()
		}
		delete(here, node(step.leaves))
		class.asked, class.err, refused, takes = "", step.fails, step.set, step.takes
		if u.Look(t.Context()); class.asked != step.want {
			t.Errorf("step %d asks about %q; want %q", i, class.asked, step.want)
		}
	}
	if want := 2 + 1 + 1 + 1 + 1 + 3; set != want {
		t.Errorf("%d labels were set, want %d", set, want)
	}
	u = &Updater{Asker: class, Every: -1, Log: silent(), Nodes: u.Nodes, Set: u.Set, Now: u.Now}
	first := u.Look(t.Context())
	now = now.Add(24 * time.Hour)
	if !first || u.Look(t.Context()) {
		t.Error("without an interval all are asked about once")
	}
}

// A class that hangs is given up when who asks has no more time, and its JVM ends.
func TestAClassThatHangs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "labels")
	if err := os.WriteFile(file, []byte("hang"), 0o600); err != nil {
		t.Fatal(err)
	}
	class := of(t, "example.Provider", file, silent())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := class.Ask(ctx, []records.NodeID{node("a")})
		failed <- err
	}()
	await.Slowly(t, "the class hangs", func() bool {
		_, err := os.Stat(file + ".hangs")
		return err == nil
	})
	cancel()
	if err := <-failed; err == nil || class.PID() != 0 {
		t.Errorf("%v, JVM %d", err, class.PID())
	}
}

func FuzzMappings(f *testing.F) {
	var m jvm.Message
	f.Add(m.Integer(1).Text("a:45454").Integer(2).Text("x").Text("y").B)
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := mappings(b)
		if err != nil && !errors.Is(err, errAnswer) {
			t.Error(err)
		}
		if 4*len(all) > len(b) {
			t.Errorf("%d nodes of %d bytes", len(all), len(b))
		}
	})
}

// of returns a class, which says what a file does.
func of(t *testing.T, class, file string, log *logrus.Entry) *Class {
	t.Helper()
	classes := jvmtest.Compile(t, "testdata/Provider.java")
	c := New(ondemand.Daemon{
		Properties: []string{"yarn.resourcemanager.node-labels.provider", class, "example.labels", file}, Host: "rm1",
		JVM: func() (jvm.Config, error) {
			return jvm.Config{
				Java: jvmtest.Java(t), JavaVersion: 17, JavaOptions: jvmtest.Options, HeapMB: 128, Env: os.Environ(),
				ClassPath: classes + ":" + filepath.Join(jvmtest.Hadoop(t), "*"),
				Confine:   func(int) error { return nil }, Sweep: func() {}, Log: log,
			}, nil
		},
	})
	t.Cleanup(c.Close)
	return c
}

// A site's class is asked in a JVM, which ends with Close, and comes again after it was lost. What it throws is said.
func TestASitesClass(t *testing.T) {
	file := filepath.Join(t.TempDir(), "labels")
	says := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	class := of(t, "example.Provider", file, silent())
	ask := func() string {
		t.Helper()
		all, err := class.Ask(t.Context(), []records.NodeID{node("a"), node("b")})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(all)
	}
	for _, step := range []struct{ says, want string }{
		{"a x", "[{a:45454 [x]}]"},
		{"throw", "no labels today"},
		{"b\nc y", "[{b:45454 []}]"},
		{"exit", "the JVM of yarn.resourcemanager.node-labels.provider"},
		{"a é", "[{a:45454 [é]}]"},
	} {
		says(step.says)
		if got := ask(); !strings.Contains(got, step.want) {
			t.Errorf("%q: %s; want %s", step.says, got, step.want)
		}
	}
	class.Close()
	if class.PID() != 0 {
		t.Error("its JVM is left")
	}
}

// A class that doesn't say labels is refused, and keeps no JVM.
func TestAClassThatIsNone(t *testing.T) {
	for class, want := range map[string]string{
		"org.apache.hadoop.conf.Configuration": "class org.apache.hadoop.conf.Configuration not org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsMappingProvider",
		"no.such.Class":                        "Class no.such.Class not found",
	} {
		c := of(t, class, "", silent())
		if _, err := c.Ask(t.Context(), []records.NodeID{node("a")}); err == nil || !strings.Contains(err.Error(), want) || c.PID() != 0 {
			t.Errorf("%s: %v, JVM %d; want %s", class, err, c.PID(), want)
		}
	}
}
