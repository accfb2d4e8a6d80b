package load

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"heddle/yarn/ipc"
	"heddle/yarn/protocol"
)

// parentQueue is the queue below which a load's are created.
const parentQueue = "root.made"

// CreatedQueues returns the paths of n queues.
func CreatedQueues(n int) (paths []string) {
	for i := range n {
		paths = append(paths, fmt.Sprintf("%s.q%d", parentQueue, i+1))
	}
	return paths
}

// QueueSettings let n queues be created on demand, of which each may use the whole cluster: KEY=VALUE.
func QueueSettings(n int) []string {
	const prefix, created = "yarn.scheduler.capacity.", "yarn.scheduler.capacity." + parentQueue + ".auto-queue-creation-v2."
	return []string{
		prefix + "root.queues=default,made", prefix + "root.default.capacity=1w", prefix + parentQueue + ".capacity=1w",
		created + "enabled=true", fmt.Sprintf(created+"max-queues=%d", n+1), created + "leaf-template.user-limit-factor=1000000",
		fmt.Sprintf(prefix+"maximum-applications=%d", 10_000+2*n), prefix + "maximum-am-resource-percent=1",
	}
}

// ofUser is how many queues a user creates. A ResourceManager of Heddle bounds them (rm/ledger/queues).
const ofUser = 4000

// CreateQueues makes an application in each queue, and ends it: the queue stays.
func CreateQueues(ctx context.Context, o Options, paths []string) error {
	client := o.client()
	defer client.Close()
	var g errgroup.Group
	g.SetLimit(16)
	for i, path := range paths {
		g.Go(func() error {
			o := o
			o.User, o.Queue = fmt.Sprintf("%s%d", o.User, i/ofUser), path
			rm := client.Failover(o.Client, protocol.ApplicationClient, o.user(), ipc.RetryPolicy{})
			var app string
			o.Submits = func(id string) error { app = id; return nil }
			_, err := submit(ctx, rm, o)
			if err == nil {
				err = kill(ctx, rm, app)
			}
			if err != nil {
				return fmt.Errorf("create the queue %s: %w", path, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// queueOf returns the queue of the i-th ApplicationMaster.
func queueOf(o *Options, i int) string {
	if len(o.Queues) == 0 {
		return o.Queue
	}
	return o.Queues[i%len(o.Queues)]
}
