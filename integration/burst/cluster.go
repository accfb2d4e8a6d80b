package burst

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/am/client"
	"heddle/conf"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/rm"
	"heddle/yarn/pb"
)

// Mode is a way of preemption.
type Mode struct {
	Name  string
	Stock bool // on YARN
	set   map[string]string
}

const (
	monitor = "yarn.resourcemanager.scheduler.monitor.enable"
	means   = "heddle.scheduler.preemption"
)

// Modes returns all that can be compared.
func Modes() []Mode {
	return []Mode{
		{Name: "none", set: map[string]string{monitor: "false"}},
		{Name: "kill", set: map[string]string{means: "kill"}},
		{Name: "suspend-immediate", set: map[string]string{means: "suspend-immediate"}},
		{Name: "suspend", set: map[string]string{means: "suspend"}},
		{Name: "big-c", set: map[string]string{means: "suspend", means + ".on-demand": "false", means + ".level": "footprint"}},
		{Name: "stock", Stock: true},
	}
}

// Ours returns the names of those that need no YARN.
func Ours() (names []string) {
	for _, m := range Modes() {
		if !m.Stock {
			names = append(names, m.Name)
		}
	}
	return names
}

// ModesOf returns the modes of some names.
func ModesOf(names []string) (list []Mode, err error) {
	all := Modes()
	for _, name := range names {
		i := slices.IndexFunc(all, func(m Mode) bool { return m.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is not one of %s, stock", name, strings.Join(Ours(), ", "))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// cluster is a running one.
type cluster struct {
	conf  *conf.Config
	web   string // where the ResourceManager's web port is
	tails func() string
	close func() error
}

// settings returns those of every cluster: YARN's keys, and what containers are given. A round of preemption may take all that is due.
func (o *Options) settings() map[string]string {
	const capacity, preemption = "yarn.scheduler.capacity.", "yarn.resourcemanager.monitor.capacity.preemption."
	s := map[string]string{
		capacity + "root.queues":                     "long,short",
		capacity + "root.long.capacity":              strconv.Itoa(100 - o.Guarantee),
		capacity + "root.short.capacity":             strconv.Itoa(o.Guarantee),
		capacity + "root.long.user-limit-factor":     "100",
		capacity + "root.short.user-limit-factor":    "100",
		capacity + "maximum-am-resource-percent":     "1.0",
		capacity + "resource-calculator":             "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		monitor:                                      "true",
		preemption + "total_preemption_per_round":    "1.0",
		preemption + "natural_termination_factor":    "1.0",
		"yarn.nodemanager.resource.memory-mb":        strconv.FormatInt(nodeSize.MemoryMB(), 10),
		"yarn.nodemanager.resource.cpu-vcores":       strconv.FormatInt(nodeSize.VCores(), 10),
		"yarn.scheduler.minimum-allocation-mb":       "256",
		"yarn.nodemanager.pmem-check-enabled":        "false",
		"yarn.nodemanager.vmem-check-enabled":        "false",
		"yarn.resourcemanager.am.max-attempts":       "100", // those that are preempted don't count, all others are faults
		"heddle.scheduler.preemption.unit.vcores":    "1",
		"heddle.scheduler.preemption.unit.memory-mb": "1024",
		"heddle.scheduler.preemption.step":           "1",
	}
	maps.Copy(s, o.Set)
	return s
}

func (o *Options) start(ctx context.Context, m Mode, dir string) (c *cluster, err error) {
	site := o.settings()
	maps.Copy(site, m.set)
	if m.Stock {
		c, err = o.startStock(ctx, site)
	} else {
		c, err = o.startOurs(site, dir)
	}
	if err != nil {
		return nil, err
	}
	if err = c.ready(ctx, o.Nodes); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (o *Options) startOurs(site map[string]string, dir string) (*cluster, error) {
	// Nodes of one machine have its cores together.
	site["yarn.nodemanager.resource.percentage-physical-cpu-limit"] = "100"
	site["heddle.cgroup.root"] = o.root
	d, err := daemons.New(daemons.Options{Binary: o.Binary, Dir: dir, ResourceManagers: 1, NodeManagers: o.Nodes, Direct: true, Set: site})
	if err != nil {
		return nil, err
	}
	c := &cluster{web: d.Address(d.ResourceManagers[0], rm.WebAddress), tails: func() string { return d.Tails(3000) }, close: d.Close}
	if err = d.StartAll(); err == nil {
		c.conf, err = conf.Load(conf.Options{Dir: d.Conf()})
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (o *Options) startStock(ctx context.Context, site map[string]string) (*cluster, error) {
	lab, err := hadooplab.New(ctx, hadooplab.Options{ResourceManager: true, NodeManagers: o.Nodes, OwnJVM: true, Site: site})
	if err != nil {
		return nil, err
	}
	c := &cluster{tails: func() string { return "" }, close: lab.Close}
	if c.conf, err = conf.Load(conf.Options{Dir: lab.Conf()}); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// ready waits until all nodes are there.
func (c *cluster) ready(ctx context.Context, nodes int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
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
		if err == nil && len(list) == nodes {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d nodes are there: %w\n%s", len(list), nodes, errors.Join(err, context.Cause(ctx)), c.tails())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// folder makes a folder that containers of any user can reach.
func folder(name string) error {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return err
	}
	return os.Chmod(name, 0o755)
}
