package minicluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/ports"
	"heddle/nm"
	"heddle/nm/logs/past"
	"heddle/rm"
	"heddle/rm/rest"
	"heddle/webui"
)

// Cluster has one or several ResourceManagers and their nodes.
type Cluster struct {
	// Conf is the configuration of clients, ApplicationMasters and nodes.
	Conf    *conf.Config
	t       testing.TB
	members []*member
}

type member struct {
	*rm.ResourceManager
	stop context.CancelFunc
	done chan error
}

// Start starts n ResourceManagers, with further settings. They stop when the test ends.
func Start(t testing.TB, n int, set map[string]string) *Cluster {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c.Set("heddle.state.dir", filepath.Join(dir, "state"))
	c.Set("hadoop.tmp.dir", filepath.Join(dir, "tmp"))
	c.Set("yarn.resourcemanager.cluster-id", "mini")
	// The timeout is long, so that no member loses the leadership because other tests keep the machine busy.
	c.Set("heddle.raft.heartbeat-timeout-ms", "1000")
	c.Set("heddle.raft.election-timeout-ms", "1000")
	c.Set("heddle.raft.lease-timeout-ms", "800")
	c.Set("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", "100")
	keys := []string{rm.ClientAddress, rm.MasterAddress, rm.TrackerAddress, rm.AdminAddress, rm.WebAddress}
	free := ports.Loopback(t, n*(len(keys)+1))
	var ids []string
	for i := range n {
		id := fmt.Sprintf("rm%d", i+1)
		ids = append(ids, id)
		for k, key := range keys {
			if n > 1 {
				key += "." + id
			}
			c.Set(key, free[i*len(keys)+k])
		}
		c.Set("heddle.raft.address."+id, free[n*len(keys)+i])
	}
	if n > 1 {
		c.Set("yarn.resourcemanager.ha.enabled", "true")
		c.Set("yarn.resourcemanager.ha.rm-ids", strings.Join(ids, ","))
	}
	for key, value := range set {
		c.Set(key, value)
	}
	if r := c.Validate(); !r.OK() {
		t.Fatal(r)
	}
	cluster := &Cluster{Conf: c, t: t}
	for i := range n {
		cluster.members = append(cluster.members, cluster.run(i))
	}
	t.Cleanup(func() {
		for i := range cluster.members {
			cluster.StopRM(i)
		}
	})
	cluster.Leader()
	return cluster
}

// Log returns a logger that writes to the test's output if $HEDDLE_TEST_LOG is set. Otherwise it discards everything.
func Log(t testing.TB) *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	if os.Getenv("HEDDLE_TEST_LOG") != "" {
		l.SetOutput(t.Output())
		l.SetLevel(logrus.DebugLevel)
	}
	return logrus.NewEntry(l)
}

func (c *Cluster) run(i int) *member {
	c.t.Helper()
	r, err := rm.New(rm.Options{
		Conf: c.Conf, ID: fmt.Sprintf("rm%d", i+1), Log: Log(c.t),
		Web: func(r *rm.ResourceManager) (http.Handler, error) {
			logs := past.New(c.Conf, Log(c.t), nil)
			c.t.Cleanup(logs.Close)
			return rest.Of(r, rest.Mounts{Logs: logs, Pages: webui.Handler("http")})
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{ResourceManager: r, stop: cancel, done: make(chan error, 1)}
	go func() { m.done <- r.Run(ctx) }()
	return m
}

// NodeManager starts a NodeManager with the cluster's configuration. It stops when the test ends.
func (c *Cluster) NodeManager() *nm.NodeManager {
	c.t.Helper()
	n, err := nm.New(nm.Options{Conf: c.Conf, Log: Log(c.t)})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			c.t.Error(err)
		}
	})
	return n
}

// Leader waits until a ResourceManager leads, and returns its index.
func (c *Cluster) Leader() int {
	c.t.Helper()
	leader := -1
	c.Until("a ResourceManager leads", func() bool {
		for i, m := range c.members {
			if m.stop != nil && m.Leader() != nil {
				leader = i
				return true
			}
		}
		return false
	})
	return leader
}

// StopRM stops a ResourceManager, if it runs.
func (c *Cluster) StopRM(i int) {
	c.t.Helper()
	m := c.members[i]
	if m.stop == nil {
		return
	}
	m.stop()
	m.stop = nil
	if err := <-m.done; err != nil && !errors.Is(err, context.Canceled) {
		c.t.Errorf("rm%d: %v", i+1, err)
	}
}

// StartRM starts a ResourceManager that was stopped.
func (c *Cluster) StartRM(i int) {
	c.t.Helper()
	c.members[i] = c.run(i)
}

// RM returns a ResourceManager.
func (c *Cluster) RM(i int) *rm.ResourceManager { return c.members[i].ResourceManager }

// Until waits until f returns true. It fails the test if that takes too long.
func (c *Cluster) Until(what string, f func() bool) {
	c.t.Helper()
	Until(c.t, what, f)
}

// patience bounds the wait of Until. It is long because several builds may share the machine.
const patience = 60 * time.Second

// Until waits until f returns true. It fails the test if that takes too long.
func Until(t testing.TB, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !f() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
