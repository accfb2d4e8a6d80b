package jobs

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heddle/am"
	"heddle/am/pool"
	"heddle/am/probes"
	"heddle/am/unmanaged"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/wire"
)

// targets starts an application and returns its id, and the nodes that it may probe.
func (c *cluster) targets(n int) (app string, all []probes.Target) {
	c.t.Helper()
	come := make(chan probes.Target, n)
	running := c.unmanaged(unmanaged.Options{Type: "HEDDLE-TASKS", Probes: true}, 512, func(*am.Master) am.Callbacks {
		return am.Callbacks{ProbeNodesChanged: func(e am.ProbeNodesChanged) {
			for _, x := range e.Come {
				come <- probes.Target{
					Node: x.Node.String(), Address: net.JoinHostPort(x.Node.Host, strconv.Itoa(x.Port)), Name: x.Token.Identifier, Secret: wire.SecretOf(x.Token.Password),
				}
			}
		}}
	})
	for range n {
		all = append(all, <-come)
	}
	return running.ID.String(), all
}

// Whoever has no right to probe a node, or shares another's id, is told so; jobs of no task and of a million end; and nothing is left of any.
func TestBadProbesOfACluster(t *testing.T) {
	c := startCluster(t, 1, 2, map[string]string{"heddle.probes.memory-mb": "2048", "heddle.probes.vcores": "4"})
	app, nodes := c.targets(2)
	t.Run("a password that is none", func(t *testing.T) {
		if _, err := wire.Dial(t.Context(), nodes[0].Address, nodes[0].Name, wire.NewSecret()); !errors.Is(err, wire.ErrStranger) {
			t.Errorf("%v", err)
		}
	})
	t.Run("another node's token", func(t *testing.T) {
		if _, err := wire.Dial(t.Context(), nodes[0].Address, nodes[1].Name, nodes[1].Secret); err == nil {
			t.Error("it is let in")
		}
	})
	t.Run("a token that is cut", func(t *testing.T) {
		if _, err := wire.Dial(t.Context(), nodes[0].Address, nodes[0].Name[:9], nodes[0].Secret); err == nil {
			t.Error("it is let in")
		}
	})
	await.Until(t, "the nodes' logs say who was refused", func() bool {
		b, err := os.ReadFile(filepath.Join(c.dir, "nm1.log"))
		other, err2 := os.ReadFile(filepath.Join(c.dir, "nm2.log"))
		return err == nil && err2 == nil && bytes.Contains(append(b, other...), []byte("refused a connection for probes"))
	})
	one := probes.New(probes.Options{ID: "one"})
	defer one.Close()
	one.Offer(nodes...)
	await.Until(t, "it is connected", func() bool { return one.State().Nodes == 2 })
	t.Run("two schedulers of one id", func(t *testing.T) {
		twin := probes.New(probes.Options{ID: "one"})
		defer twin.Close()
		twin.Offer(nodes...)
		await.Until(t, "the second one is told so", func() bool {
			return strings.Contains(twin.State().Refused, `with the id "one" is connected already: each needs an id of its own`)
		})
	})
	t.Run("no task", func(t *testing.T) {
		one.Job().Submit()
		if n := one.State().Tasks; n != 0 {
			t.Errorf("%d tasks", n)
		}
		x := c.xargs("--probes", "-r", "true")
		x.in.Close()
		if code := x.code(); code != 0 || x.stderr.String() != "" {
			t.Errorf("exit code %d, %s", code, x.stderr)
		}
	})
	t.Run("early binding", func(t *testing.T) {
		x := c.xargs("--probes", "--binding", "early", "-P", "20", "-n1", "echo")
		x.feed(0, 100)
		x.eachOnce(100)
	})
	t.Run("a million tasks", func(t *testing.T) {
		hadooplab.SkipUnlessFull(t) // it takes half a minute
		const n = 1_000_000
		var ended, failed atomic.Int64
		done := make(chan struct{})
		tasks := make([]*pool.Task, n)
		for i := range tasks {
			tasks[i] = &pool.Task{Task: wire.Task{What: wire.Nothing}, Done: func(e wire.Ended, err error) {
				if err != nil || e.Why != wire.Ran {
					failed.Add(1)
				}
				if ended.Add(1) == n {
					close(done)
				}
			}}
		}
		began := time.Now()
		one.Job().Submit(tasks...)
		<-done
		if t.Logf("in %v", time.Since(began)); failed.Load() > 0 {
			t.Errorf("%d of a million have failed", failed.Load())
		}
	})
	one.Close()
	id := "container_" + strings.TrimPrefix(app, "application_")
	await.Slowly(t, "neither processes nor cgroups are left", func() bool { return len(processes(id)) == 0 && len(hadooplab.Groups(t, id)) == 0 })
}
