package load

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/minicluster"
	"heddle/internal/await"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// resourceManager runs one on ports of its own and returns options that point at it.
func resourceManager(tb testing.TB) Options {
	tb.Helper()
	return configured(tb, nil)
}

// configured does the same with some settings.
func configured(tb testing.TB, set map[string]string) Options {
	tb.Helper()
	r := minicluster.Start(tb, 1, set).RM(0)
	return Options{
		Client:  []string{r.Addr(rm.ClientAddress).String()},
		Master:  []string{r.Addr(rm.MasterAddress).String()},
		Tracker: []string{r.Addr(rm.TrackerAddress).String()},
		Admin:   []string{r.Addr(rm.AdminAddress).String()},
		User:    "load", Queue: "default",
		Nodes: 20, NodeResource: records.NewResource(16384, 16), Heartbeat: 50 * time.Millisecond,
		Masters: 3, Container: records.NewResource(1024, 1),
		Outstanding: 20,
	}
}

func TestLoad(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"as fast as it goes": func(*Options) {},
		"at a rate":          func(o *Options) { o.Rate = 500 },
		"ended by nodes": func(o *Options) {
			o.Hold, o.EndByNode, o.Interval = 20*time.Millisecond, true, 5*time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Where the machine stands still for most of a run, a longer one has to show what is so.
			for d := 300 * time.Millisecond; ; d *= 4 {
				o := resourceManager(t)
				o.Duration = d
				change(&o)
				res, err := Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				works := res.Grants > 0 && res.Latency.Count > 0 && res.Latency.P50 <= res.Latency.Max && res.Heartbeats.Count >= o.Nodes
				obeys := o.Rate == 0 || float64(res.Grants) <= 2*o.Rate*res.Duration.Seconds()
				if works && obeys {
					return
				}
				if d > 10*time.Second {
					t.Fatalf("measured at a rate of %v/s: %+v", o.Rate, res)
				}
			}
		})
	}
}

// having starts a ResourceManager with settings, KEY=VALUE.
func having(tb testing.TB, settings []string) Options {
	tb.Helper()
	set := map[string]string{}
	for _, s := range settings {
		k, v, _ := strings.Cut(s, "=")
		set[k] = v
	}
	o := configured(tb, set)
	o.Duration = 300 * time.Millisecond
	return o
}

// granted runs a load, for longer where the machine stands still, and checks that containers are granted.
func granted(t *testing.T, o Options) {
	t.Helper()
	res, err := Run(t.Context(), o)
	for d := o.Duration; err == nil && res.Grants == 0 && d < 20*time.Second; d *= 4 {
		o.Duration = d
		res, err = Run(t.Context(), o)
	}
	if err != nil || res.Grants == 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// Each of two ApplicationMasters asks for the nodes of one label, so that both get containers only where nodes and asks have them.
func TestLoadOfPartitions(t *testing.T) {
	labels := Labels(2)
	o := having(t, PartitionSettings(labels))
	o.Labels, o.Masters = labels, 4
	if err := AddLabels(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); err != nil { // its applications live on
		t.Fatal(err)
	}
	granted(t, o)
}

// reports returns the reports of all applications that live.
func reports(t *testing.T, o Options) []*pb.ApplicationReport {
	t.Helper()
	client := o.client()
	defer client.Close()
	ask := &pb.GetApplicationsRequest{}
	ask.SetApplicationStates(liveApps)
	resp, err := protocol.GetApplications.Call(t.Context(), client.Failover(o.Client, protocol.ApplicationClient, o.user(), ipc.RetryPolicy{}), ask)
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetApplications()
}

// ApplicationMasters ask by scheduling requests and get containers, while others wait for ever.
func TestLoadOfConstraints(t *testing.T) {
	o := having(t, ConstraintSettings())
	o.Constrained, o.Unmet, o.Masters = true, 2500, 2
	granted(t, o)
	if waits := queueInfo(t, o, "default").GetQueueStatistics().GetPendingContainers(); waits < int64(o.Unmet) {
		t.Errorf("%d requests wait", waits)
	}
	o.Labels = Labels(1)
	if _, err := Run(t.Context(), o); err == nil {
		t.Error("scheduling requests with labels: accepted")
	}
}

// Applications run in queues that were created for the load.
func TestLoadOfCreatedQueues(t *testing.T) {
	const n = 12
	o := having(t, QueueSettings(n))
	paths := CreatedQueues(n)
	if err := CreateQueues(t.Context(), o, paths); err != nil {
		t.Fatal(err)
	}
	if left := reports(t, o); len(left) > 0 {
		t.Errorf("%d applications are left of the making of queues", len(left))
	}
	o.Queues = paths
	granted(t, o)
	for _, app := range reports(t, o) {
		if !strings.HasPrefix(app.GetQueue(), parentQueue+".q") {
			t.Errorf("an application is in %s", app.GetQueue())
		}
	}
}

// Queues that have no application any more are deleted while a load runs in others, and those when its applications have ended.
func TestIdleQueuesAreDeletedUnderLoad(t *testing.T) {
	const n, busy = 24, 3
	o := having(t, append(QueueSettings(n), "yarn.scheduler.capacity.auto-queue-creation-v2.queue-expiration-time=1", "yarn.resourcemanager.scheduler.monitor.enable=true",
		"yarn.resourcemanager.scheduler.monitor.policies=org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedQueueDeletionPolicy"))
	paths := CreatedQueues(n)
	if err := CreateQueues(t.Context(), o, paths); err != nil {
		t.Fatal(err)
	}
	o.Queues, o.Masters = paths[:busy], busy
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		long := o
		long.Duration = time.Hour
		_, _ = Run(ctx, long) // it is ended
	}()
	await.Until(t, "idle queues are deleted under load", func() bool { return slices.Equal(created(t, o), paths[:busy]) })
	granted(t, o)
	cancel()
	<-ended
	client := o.client()
	defer client.Close()
	for _, app := range reports(t, o) {
		id := records.ApplicationIDFrom(app.GetApplicationId()).String()
		if err := kill(t.Context(), client.Failover(o.Client, protocol.ApplicationClient, o.user(), ipc.RetryPolicy{}), id); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "the last ones are deleted", func() bool { return len(created(t, o)) == 0 })
}

// created returns the paths of the queues that were created and live, sorted.
func created(t *testing.T, o Options) (paths []string) {
	t.Helper()
	for _, q := range queueInfo(t, o, parentQueue).GetChildQueues() {
		paths = append(paths, q.GetQueuePath())
	}
	slices.Sort(paths)
	return paths
}

// queueInfo asks for a queue with those below it.
func queueInfo(t *testing.T, o Options, queue string) *pb.QueueInfo {
	t.Helper()
	client := o.client()
	defer client.Close()
	ask := &pb.GetQueueInfoRequest{}
	ask.SetQueueName(queue)
	ask.SetIncludeChildQueues(true)
	resp, err := protocol.GetQueueInfo.Call(t.Context(), client.Failover(o.Client, protocol.ApplicationClient, o.user(), ipc.RetryPolicy{}), ask)
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetQueueInfo()
}

func TestWrongOptionsAreRefused(t *testing.T) {
	good := Options{
		Client: []string{"a:1"}, Master: []string{"a:2"}, Tracker: []string{"a:3"}, Masters: 1, Heartbeat: time.Second,
		Duration: time.Second, Outstanding: 1,
	}
	for name, change := range map[string]func(*Options){
		"no address":    func(o *Options) { o.Master = nil },
		"nobody asks":   func(o *Options) { o.Masters = 0 },
		"no heartbeats": func(o *Options) { o.Heartbeat = 0 },
		"no time":       func(o *Options) { o.Duration = 0 },
		"no asks":       func(o *Options) { o.Outstanding = 0 },
	} {
		o := good
		change(&o)
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
