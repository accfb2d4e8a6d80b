package rest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/jvmtest"
	"heddle/integration/minicluster"
	"heddle/rm/leader/nodelabels"
	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// A site's Java class says which labels nodes have: at once, of nodes that come later, and to the next leader. Its JVM doesn't outlive the leadership.
func TestAClassSaysWhichLabelsNodesHave(t *testing.T) {
	classes := jvmtest.Compile(t, "../../rm/labels/delegated/testdata/Provider.java")
	file := filepath.Join(t.TempDir(), "labels")
	says := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says("127.0.0.1 x")
	c := minicluster.Start(t, 3, map[string]string{
		"yarn.node-labels.enabled": "true", "yarn.node-labels.configuration-type": nodelabels.Delegated, "example.labels": file,
		"yarn.resourcemanager.node-labels.provider": "example.Provider",
		"heddle.nodemanager.java.class-path":        classes + ":" + filepath.Join(jvmtest.Hadoop(t), "*"),
		"heddle.nodemanager.java.options":           strings.Join(jvmtest.Options, " "),
	})
	leader := c.Leader()
	labels := c.RM(leader).Leader().Labels()
	c.Until("labels are added, as all members know them", func() bool {
		return labels.Add([]nodelabels.Label{{Name: "x", Exclusive: true}, {Name: "y"}}) == nil
	})
	has := func(id records.NodeID, label string) func() bool {
		return func() (is bool) {
			c.RM(c.Leader()).Read(func(s *ledger.State) { is = s.Nodes[id] != nil && s.Labels.Of(id) == label })
			return is
		}
	}
	first := c.Node(minicluster.NodeOptions{}).ID
	c.Until("the node has the label", has(first, "x"))
	says("127.0.0.1 y\n127.0.0.2 y")
	second := c.Node(minicluster.NodeOptions{Host: "127.0.0.2"}).ID
	c.Until("the second node has its label", has(second, "y"))
	if !has(first, "x")() {
		t.Error("before the interval is over the first node is asked about again")
	}
	if err := labels.Replace([]nodelabels.Mapping{{Node: first}}, false); err == nil || !strings.Contains(err.Error(), nodelabels.NotCentral) {
		t.Errorf("an administrator's label: %v", err)
	}
	c.StopRM(leader)
	c.Until("the next leader asks about all nodes", has(first, "y"))
	if n := jvms(t, classes); n != 1 {
		t.Errorf("%d JVMs run, want the leader's", n)
	}
}

// jvms counts the processes whose arguments have a text.
func jvms(t *testing.T, text string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, p := range all {
		b, err := os.ReadFile(p)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "no such process") {
			t.Fatal(err)
		}
		if strings.Contains(string(b), text) {
			n++
		}
	}
	return n
}
