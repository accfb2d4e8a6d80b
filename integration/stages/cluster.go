package stages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"heddle/am/client"
	"heddle/conf"
	"heddle/integration/daemons"
	"heddle/internal/pause"
	"heddle/internal/swapfile"
	"heddle/nm/cgroup"
	"heddle/yarn/pb"
)

// Node is a node of the cluster.
type Node struct {
	Cores float64 // that all its processes may use together; 0: all of the machine's
	Slots int     // containers of tasks
	Disk  int64   // bytes per second that its disk writes when it has become slow; 0: it doesn't
	Dies  bool    // with all that runs there
}

// SixNodes are two each with one, half and a quarter of so many cores.
func SixNodes(cores float64, slots int) (out []Node) {
	for _, share := range []float64{1, 1, 0.5, 0.5, 0.25, 0.25} {
		out = append(out, Node{Cores: share * cores, Slots: slots})
	}
	return out
}

// Sizes of containers, in MB. ApplicationMasters are so large that they fit on the last node only, which none of the others disturbs. Tasks need
// so many cores that they fit on the others only.
const (
	taskMB   = 256
	masterMB = 1 << 20

	standingMB = 64 // what a container keeps that is suspended
	swapMB     = 1 << 10
)

// groupsID is the folder of the nodes' groups below the root.
const groupsID = "nm-x"

// taskCores returns how many cores the ResourceManager counts for a task: one more than all of the last node's.
func taskCores(jobs int) int { return jobs + 1 }

// cluster is a ResourceManager, the nodes, and one more for ApplicationMasters.
type cluster struct {
	*daemons.Cluster
	nodes  []Node
	groups cgroup.Handler
	group  []cgroup.Group // by node
	disks  []string       // folders of blkio groups, by node
	conf   *conf.Config

	swapOff func() error
}

func startCluster(ctx context.Context, options *Options) (_ *cluster, err error) {
	nodes, jobs, least, spare := options.Nodes, len(options.Jobs), taskMB, 0
	if options.Suspends {
		least, spare = standingMB, 2*standingMB
	}
	c := &cluster{nodes: nodes, group: make([]cgroup.Group, len(nodes)), disks: make([]string, len(nodes))}
	o := daemons.Options{
		Binary: options.Binary, Dir: options.Dir, ResourceManagers: 1, NodeManagers: len(nodes) + 1, Direct: true,
		Set: map[string]string{
			"yarn.nm.liveness-monitor.expiry-interval-ms":         "10000",
			"yarn.nodemanager.pmem-check-enabled":                 "false",
			"yarn.nodemanager.vmem-check-enabled":                 "false",
			"yarn.scheduler.minimum-allocation-mb":                strconv.Itoa(least),
			"yarn.scheduler.maximum-allocation-mb":                strconv.Itoa(masterMB),
			"yarn.scheduler.maximum-allocation-vcores":            strconv.Itoa(taskCores(jobs)),
			"yarn.scheduler.capacity.resource-calculator":         "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
			"yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
			"heddle.log.level":                                    "warn",
		},
		NodeSet: map[string]map[string]string{},
	}
	if options.NodesServe {
		o.Set["yarn.nodemanager.aux-services"] = "mapreduce_shuffle"
	}
	if options.Suspends {
		o.Set["yarn.resourcemanager.scheduler.monitor.enable"] = "true"
		o.Set["heddle.scheduler.preemption"] = "suspend-immediate"
		if c.swapOff, err = swapfile.File(filepath.Join(options.Dir, "swap"), swapMB<<20); err != nil {
			return nil, fmt.Errorf("suspended tasks need swap: %w", err)
		}
	}
	root := fmt.Sprintf("/heddle-bench-%d", os.Getpid())
	for i, n := range nodes {
		name := fmt.Sprintf("nm%d", i+1)
		o.NodeSet[name] = map[string]string{
			"heddle.cgroup.root":                  filepath.Join(root, groupsID, name, "containers"), // below the group of the node
			"yarn.nodemanager.resource.memory-mb": strconv.Itoa(n.Slots*taskMB + spare), "yarn.nodemanager.resource.cpu-vcores": strconv.Itoa(n.Slots * taskCores(jobs)),
		}
	}
	o.NodeSet[fmt.Sprintf("nm%d", len(nodes)+1)] = map[string]string{
		"yarn.nodemanager.resource.memory-mb": strconv.Itoa(jobs * masterMB), "yarn.nodemanager.resource.cpu-vcores": strconv.Itoa(jobs),
	}
	if c.Cluster, err = daemons.New(o); err != nil {
		return nil, errors.Join(err, c.close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	log := logrus.New()
	log.SetLevel(logrus.ErrorLevel)
	if c.groups, err = cgroup.Detect(cgroup.Options{Root: root, ID: "x", Log: logrus.NewEntry(log)}); err != nil {
		return nil, err
	}
	if !c.groups.Capabilities().CPULimit || !c.groups.Capabilities().KillTree {
		return nil, fmt.Errorf("nodes can't have cores of their own: this needs root and cgroups (%v)", c.groups.Capabilities().Missing)
	}
	if err := c.Start(c.ResourceManagers[0]); err != nil {
		return nil, err
	}
	for i := range nodes {
		if err := c.startNode(i); err != nil {
			return nil, err
		}
	}
	if err := c.Start(c.NodeManagers[len(nodes)]); err != nil {
		return nil, err
	}
	if c.conf, err = conf.Load(conf.Options{Dir: c.Conf()}); err != nil {
		return nil, err
	}
	return c, c.ready(ctx)
}

// startNode starts a node in a group of its own.
func (c *cluster) startNode(i int) (err error) {
	n, name := c.nodes[i], c.NodeManagers[i]
	if c.group[i], err = c.groups.Create(name, cgroup.Limits{CPU: n.Cores}); err != nil {
		return err
	}
	if err := c.Start(name); err != nil {
		return err
	}
	if err := c.group[i].Add(c.PID(name)); err != nil {
		return err
	}
	if n.Disk == 0 {
		return nil
	}
	c.disks[i] = filepath.Join("/sys/fs/cgroup/blkio", fmt.Sprintf("heddle-bench-%d-%s", os.Getpid(), name))
	if err := os.MkdirAll(c.disks[i], 0o755); err != nil {
		return fmt.Errorf("a slow disk needs the cgroup controller blkio of version 1: %w", err)
	}
	return os.WriteFile(filepath.Join(c.disks[i], "cgroup.procs"), []byte(strconv.Itoa(c.PID(name))), 0)
}

// slow makes the disk of a node slow; 0 makes it as quick as it is.
func (c *cluster) slow(i int, bytesPerSecond int64) error {
	var s unix.Stat_t
	if err := unix.Stat(c.Dir(), &s); err != nil {
		return err
	}
	line := fmt.Sprintf("%d:%d %d", unix.Major(uint64(s.Dev)), unix.Minor(uint64(s.Dev)), bytesPerSecond)
	if err := os.WriteFile(filepath.Join(c.disks[i], "blkio.throttle.write_bps_device"), []byte(line), 0); err != nil {
		return fmt.Errorf("the disk below %s can't be made slow: %w", c.Dir(), err)
	}
	return nil
}

// kill ends a node with all that runs there.
func (c *cluster) kill(ctx context.Context, i int) error {
	var err error
	if c.nodes[i].Disk > 0 {
		err = c.slow(i, 0) // what waits for the disk can't die
	}
	err = errors.Join(err, c.group[i].Kill(ctx))
	c.Kill(c.NodeManagers[i])
	return errors.Join(err, c.group[i].Destroy(ctx))
}

// restore makes the nodes what they were before a run.
func (c *cluster) restore(ctx context.Context) error {
	for i, n := range c.nodes {
		if n.Disk > 0 {
			if err := c.slow(i, 0); err != nil {
				return err
			}
		}
		if n.Dies && c.PID(c.NodeManagers[i]) == 0 {
			if err := c.startNode(i); err != nil {
				return err
			}
		}
	}
	return c.ready(ctx)
}

// ready waits until all nodes are there.
func (c *cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cl, err := client.NewCluster(c.conf, nil)
	if err != nil {
		return err
	}
	defer cl.Close()
	apps, err := cl.Applications("")
	if err != nil {
		return err
	}
	for {
		list, err := apps.NodeReports(ctx, pb.NodeState_NS_RUNNING)
		if err == nil && len(list) == len(c.nodes)+1 {
			return nil
		}
		if over := pause.For(ctx, 200*time.Millisecond); over != nil {
			return fmt.Errorf("%d of %d nodes are there: %w\n%s", len(list), len(c.nodes)+1, errors.Join(err, over), c.Tails(2000))
		}
	}
}

// close ends everything, as far as it was started.
func (c *cluster) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var errs []error
	for i, g := range c.group {
		if g != nil && c.Cluster != nil && c.PID(c.NodeManagers[i]) != 0 {
			errs = append(errs, c.kill(ctx, i))
		}
	}
	if c.Cluster != nil {
		errs = append(errs, c.Close())
	}
	for _, d := range c.disks {
		if d != "" {
			errs = append(errs, os.Remove(d))
		}
	}
	if c.groups != nil {
		errs = append(errs, c.groups.Close())
	}
	if c.swapOff != nil {
		errs = append(errs, c.swapOff())
	}
	return errors.Join(errs...)
}
