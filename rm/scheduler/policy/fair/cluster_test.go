package fair

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/schedulertest"
)

var gb, at, only = schedulertest.GB, schedulertest.At, schedulertest.Only

// cluster is a core with Fair queues, and the names of what is in it.
type cluster struct {
	*core.Core
	t     *testing.T
	p     *Policy
	nodes map[string]handle.Node
	apps  map[string]handle.App
	held  map[string][]handle.Container // by application, the oldest first
}

// start makes a cluster without nodes. set changes the keys of yarn-site.xml from their defaults.
func start(t *testing.T, queues string, set func(*queue.FairSettings)) *cluster {
	t.Helper()
	tree, err := queue.ParseFair([]byte("<allocations><queueMaxAMShareDefault>-1</queueMaxAMShareDefault>" + queues + "</allocations>"))
	if err != nil {
		t.Fatal(err)
	}
	if set != nil {
		set(&tree.Settings.Fair)
	}
	c := &cluster{t: t, nodes: map[string]handle.Node{}, apps: map[string]handle.App{}, held: map[string][]handle.Container{}}
	c.Core = core.NewCore(core.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second}, func(s *core.Core, _ queue.Kind) core.Policy {
		c.p = New(s)
		return c.p
	})
	return c
}

func (c *cluster) node(host, rack string, size int64) {
	c.nodes[host] = c.AddNode(nodeset.Spec{Host: host, Rack: rack, Capability: gb(size)})
}

func (c *cluster) app(name, path string) *core.App {
	c.apps[name] = c.AddApp(core.AppSpec{Queue: path, User: name, Seq: int64(len(c.apps)), AM: gb(1)})
	return &c.Apps[c.apps[name]]
}

// row asks for containers of some gigabytes, anywhere.
func row(priority, count int32, size int64) core.Ask {
	r := schedulertest.Row(count, size)
	r.Priority = priority
	return r
}

func (c *cluster) ask(name string, rows ...core.Ask) { c.UpdateAsks(c.apps[name], rows) }

func (c *cluster) free(name string) {
	c.Free(c.held[name][0])
	c.held[name] = c.held[name][1:]
}

// run decides at a time, in ms, and returns what was decided but for applications that became active.
func (c *cluster) run(now int64) (out []string) {
	names, hosts := map[handle.App]string{}, map[handle.Node]string{}
	for name, h := range c.apps {
		names[h] = name
	}
	for name, h := range c.nodes {
		hosts[h] = name
	}
	for _, d := range c.Schedule(now) {
		switch app, node := names[d.App], hosts[d.Node]; d.Kind {
		case core.Allocate:
			c.held[app] = append(c.held[app], d.Container)
			out = append(out, fmt.Sprintf("%s on %s", app, node))
		case core.Reserve:
			out = append(out, fmt.Sprintf("%s reserves %s", app, node))
		case core.Unreserve:
			out = append(out, fmt.Sprintf("%s leaves %s", app, node))
		}
	}
	return out
}

// must has run decide exactly this.
func (c *cluster) must(now int64, want ...string) {
	c.t.Helper()
	got := c.run(now)
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Fatalf("at %d ms (- wanted, + decided):\n%s", now, diff)
	}
	if err := c.Check(); err != nil {
		c.t.Fatal(err)
	}
}
