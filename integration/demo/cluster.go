package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"heddle/integration/daemons"
	"heddle/rm"
)

const (
	resourceManagers = 3
	nodeManagers     = 2
	nodeCores        = 4
	// patience bounds how long a part of the cluster may take for anything.
	patience = 2 * time.Minute
)

// cluster has the daemons of the demo, and the folder for all their files.
type cluster struct {
	*daemons.Cluster
	options options
}

// newCluster prepares a cluster as an administrator would on one machine: its nodes are on one host.
func newCluster(o options, dir string) (*cluster, error) {
	set := map[string]string{"yarn.resourcemanager.cluster-id": "demo"}
	suspendable(set)
	d, err := daemons.New(daemons.Options{
		Binary: o.heddle, Dir: dir, ResourceManagers: resourceManagers, NodeManagers: nodeManagers, Memory: 1024 * nodeCores, Direct: true,
		Hosts: slices.Repeat([]string{"127.0.0.1"}, nodeManagers), Set: set, Keep: o.keep,
	})
	return &cluster{d, o}, err
}

// start starts all daemons and waits until a ResourceManager leads and all nodes have joined.
func (c *cluster) start(ctx context.Context) error {
	began := time.Now()
	if err := c.StartAll(); err != nil {
		return err
	}
	if err := c.until(ctx, "all nodes have joined", func() bool {
		m, err := c.metrics(ctx)
		return err == nil && m.ActiveNodes == nodeManagers
	}); err != nil {
		return err
	}
	leader, err := c.leader(ctx)
	if err != nil {
		return err
	}
	say("%d ResourceManagers and %d NodeManagers run in %s; %s leads (%.1f s)", resourceManagers, nodeManagers, c.Dir(), leader, time.Since(began).Seconds())
	say("  UI    http://%s/cluster", c.web(leader))
	say("  REST  http://%s/ws/v1/cluster/info", c.web(leader))
	return nil
}

func (c *cluster) web(id string) string { return c.Address(id, rm.WebAddress) }

// until waits until ok returns true. what says what it waits for.
func (c *cluster) until(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v: %s", patience, what))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if ended := c.Ended(); len(ended) > 0 {
			return errors.New(ended[0].String())
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// stop ends all daemons: the nodes first, so that they end their containers.
func (c *cluster) stop() error {
	var errs []error
	for _, name := range slices.Backward(c.Daemons()) {
		errs = append(errs, c.Stop(name))
	}
	return errors.Join(append(errs, c.Close())...)
}
