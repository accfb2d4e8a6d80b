package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"heddle/integration/daemons"
	"heddle/integration/history"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
)

// patience bounds how long a cluster may take for anything. It only passes when something has failed.
var patience = 4 * time.Minute

const (
	containerMB = 256  // memory of containers for ApplicationMasters that only ask
	jobMB       = 2048 // memory of a job's containers, which don't fit on simulated nodes
	nodeMB      = 8192
	diskBytes   = 400 << 20
	simulated   = 4 // number of simulated nodes
)

// theatre is a cluster of processes, with all that work on it.
type theatre struct {
	*daemons.Cluster
	world  *history.World
	client *ipc.Client
	work   *work
	group  string // cgroup of all containers
	log    func(format string, args ...any)

	mu   sync.Mutex
	free *sync.Cond      // signals that a daemon isn't held any more
	held map[string]bool // daemons that a fault holds
	errs []error
}

// siteOf returns the settings of a campaign's cluster.
func siteOf(group string) map[string]string {
	return map[string]string{
		"yarn.nodemanager.container-executor.class":                            "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor",
		"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users": "false",
		"heddle.cgroup.root":                              "/" + group,
		"heddle.raft.snapshot-threshold":                  "500",
		"heddle.raft.snapshot-interval-ms":                "500",
		"heddle.raft.min-free-mb":                         "64", // of diskBytes
		"yarn.scheduler.minimum-allocation-mb":            strconv.Itoa(containerMB),
		"yarn.resourcemanager.max-completed-applications": "1000000",
		"yarn.scheduler.capacity.maximum-applications":    "1000000",
		// Unmanaged applications count as ApplicationMasters, so jobs have a queue without any.
		"yarn.scheduler.capacity.maximum-am-resource-percent": "1",
		"yarn.scheduler.capacity.root.queues":                 "default,jobs",
		"yarn.scheduler.capacity.root.default.capacity":       "50",
		"yarn.scheduler.capacity.root.jobs.capacity":          "50",
		"yarn.scheduler.capacity.root.jobs.user-limit-factor": "2",
		// Power cuts leave jobs without clients. Their ApplicationMasters may not fill the node, or no task would ever run.
		"yarn.scheduler.capacity.root.jobs.maximum-am-resource-percent": "0.5",
		"yarn.resourcemanager.am.max-attempts":                          "100",
		"yarn.nm.liveness-monitor.expiry-interval-ms":                   "5000",
		"yarn.am.liveness-monitor.expiry-interval-ms":                   "60000",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms":       "200",
	}
}

// newTheatre starts a cluster in a folder.
func newTheatre(ctx context.Context, binary, dir string, witness bool, r *rand.Rand, log func(string, ...any)) (_ *theatre, err error) {
	resourceManagers := 3
	if witness {
		resourceManagers = 2
	}
	s := &theatre{log: log, group: fmt.Sprintf("heddle-campaign-%d-%s", os.Getpid(), filepath.Base(dir)), held: map[string]bool{}}
	s.free = sync.NewCond(&s.mu)
	if s.Cluster, err = daemons.New(daemons.Options{
		Binary: binary, Dir: dir, ResourceManagers: resourceManagers, Witness: witness, NodeManagers: 2, Memory: nodeMB, Disk: diskBytes, Supervise: true, Set: siteOf(s.group),
	}); err != nil {
		return nil, err
	}
	s.client = ipc.NewClient(ipc.ClientConfig{ConnectTimeout: time.Second, CallTimeout: 3 * time.Second})
	s.world = newWorld(s.client, s.Addresses, simulated)
	if s.work, err = newWork(binary, dir, s.Conf(), r); err != nil {
		return s, err
	}
	if err := s.StartAll(); err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := s.Leader(ctx, ""); err != nil {
		return s, err
	}
	return s, until(ctx, "both nodes have joined", func() bool {
		m, err := metricsOf(ctx, s.Addresses(rm.WebAddress))
		return err == nil && m.ActiveNodes == len(s.NodeManagers)
	})
}

func newWorld(client *ipc.Client, addresses func(string) []string, nodes int) *history.World {
	return history.New(history.Options{
		Addresses: addresses, Client: client, Nodes: nodes, Capacity: 4, Container: records.NewResource(containerMB, 1),
		Held:    func(records.NodeID) int { return nodeMB / containerMB },
		Masters: nodes, Submitters: 3, Pause: 50 * time.Millisecond, Patience: patience, Name: "campaign",
	})
}

// until waits until ok returns true. what completes the sentence "it was waited in vain until …".
func until(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain until %s: %w", what, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// play causes the faults of an episode, and returns what was wrong afterwards.
func (s *theatre) play(ctx context.Context, ep episode) (history.Checked, error) {
	working, rest := context.WithCancel(ctx)
	defer rest()
	var peers sync.WaitGroup
	if err := s.world.Run(working, &peers); err != nil {
		return history.Checked{}, err
	}
	jobs := make(chan error, 1)
	finish := make(chan struct{})
	go func() { jobs <- s.work.loop(ctx, finish) }()

	strikes := make(chan struct{}, 2) // at most two at a time
	var all sync.WaitGroup
	for _, f := range ep.faults {
		pause(ctx, f.Gap)
		strikes <- struct{}{}
		all.Go(func() {
			defer func() { <-strikes }()
			if err := s.strike(ctx, f); err != nil {
				s.failed(fmt.Errorf("%v: %w", f, err))
			}
		})
	}
	all.Wait()
	close(finish)
	errs := []error{s.recovers(ctx), <-jobs}
	rest()
	peers.Wait()
	s.mu.Lock()
	errs = append(errs, s.errs...)
	s.mu.Unlock()
	checked, err := s.audit(ctx)
	return checked, errors.Join(append(errs, err)...)
}

func (s *theatre) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// strike causes a fault, and undoes it.
func (s *theatre) strike(ctx context.Context, f fault) error {
	k := find(f.Kind)
	r := rand.New(rand.NewPCG(f.Pick, 0))
	names := s.take(k, r)
	defer s.release(names)
	s.log("%v %v", f, names)
	if err := k.strike(s, names, r); err != nil {
		return errors.Join(err, k.mend(s, names, r))
	}
	pause(ctx, f.Hold)
	return k.mend(s, names, r)
}

// take waits until no other fault holds the daemons that this one strikes, and holds them.
func (s *theatre) take(k kind, r *rand.Rand) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		s.mu.Unlock()
		names := k.who(s, r) // this may make calls to the cluster
		s.mu.Lock()
		busy := names == nil
		for _, name := range names {
			busy = busy || s.held[name]
		}
		if !busy {
			for _, name := range names {
				s.held[name] = true
			}
			return names
		}
		if names != nil {
			s.free.Wait()
		}
	}
}

func (s *theatre) release(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		delete(s.held, name)
	}
	s.free.Broadcast()
}

// recovers waits until there is a leader, both nodes are active, and containers are granted again.
func (s *theatre) recovers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := s.Leader(ctx, ""); err != nil {
		return fmt.Errorf("after all faults were undone: %w", err)
	}
	if err := until(ctx, "both nodes are active again", func() bool {
		m, err := metricsOf(ctx, s.Addresses(rm.WebAddress))
		return err == nil && m.ActiveNodes >= len(s.NodeManagers)+simulated
	}); err != nil {
		return err
	}
	s.world.ForgetGrants()
	select {
	case <-s.world.Granted():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no container was granted for %v after all faults were undone", patience)
	}
}

// close ends everything. If something has failed, the daemons' logs get their goroutines' stacks.
func (s *theatre) close(failed bool) error {
	if failed {
		for _, name := range s.Daemons() {
			s.Signal(name, syscall.SIGCONT)
			s.Dump(name)
		}
	}
	s.client.Close()
	return s.Cluster.Close()
}
