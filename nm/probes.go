package nm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/conf"
	"heddle/internal/connections"
	"heddle/internal/listen"
	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/enclosure"
	"heddle/nm/heartbeat"
	"heddle/nm/probe"
	"heddle/nm/program"
	"heddle/nm/shorttasks"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// probing carries heartbeats' news of short tasks in both directions. It implements heartbeat.ShortTasks.
type probing struct {
	*shorttasks.Node
	types records.ResourceTypes
	told  shorttasks.Counts // heartbeats come one after the other
}

// openProbes takes probes of short tasks, if it is to, and says so in what the node registers with. It returns nil if the node takes none.
func (n *NodeManager) openProbes(capable *pb.NodeCapabilities) (p heartbeat.ShortTasks, err error) {
	if n.s.probes == nil {
		return nil, nil
	}
	binary := n.o.Binary
	if binary == "" {
		if binary, err = os.Executable(); err != nil {
			return p, fmt.Errorf("the program for executors of short tasks: %w", err)
		}
	}
	staging, err := n.openStager(binary)
	if err != nil {
		return p, err
	}
	l, err := listen.TCP(n.s.probes.String(), "heddle.nodemanager.probes.port")
	if err != nil {
		return p, err
	}
	counter, err := connections.New(n.o.Conf, n.o.Log)
	if err != nil {
		l.Close()
		return p, err
	}
	at := l.Addr().(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "127.0.0.1"
		if at.IP.To4() == nil {
			host = "localhost"
		}
	}
	x := &executors{
		n: n, binary: binary, address: net.JoinHostPort(host, strconv.Itoa(at.Port)),
		log: n.log.WithField("port", at.Port),
	}
	var stop context.CancelFunc
	x.ctx, stop = context.WithCancel(context.Background())
	var bounds shorttasks.Bounds
	if n.lent != nil {
		bounds = lentBounds{enclosure.Together{Group: n.lent, Rules: &n.s.container.Rules}}
	}
	n.shortTasks = shorttasks.New(shorttasks.Options{
		Bounds:   bounds,
		Listener: counter.Listen(l, "heddle.nodemanager.probes.port"), Bearer: n.keys.Bearer, Admitted: n.keys.Started, Executors: x, Share: n.s.share, Steal: n.o.Conf.Bool("heddle.probes.steal"), Stager: staging, Log: n.log,
	})
	n.closing(func() {
		n.shortTasks.Close()
		stop()
	})
	if err := n.countProbes(); err != nil {
		return p, err
	}
	capable.SetProbePort(int32(at.Port))
	return &probing{Node: n.shortTasks, types: n.s.types}, nil
}

// Lend says what the node may use for short tasks.
func (p *probing) Lend(r records.Resource) {
	p.Node.Lend(probe.Amount{MemoryMB: r.MemoryMB(), VCores: r.VCores()})
}

// State says how the node uses that, and what has come since the last call.
func (p *probing) State() *pb.NodeShortTasks {
	m := &pb.NodeShortTasks{}
	lent, used, _ := p.Use()
	m.SetLent(p.types.PB(records.NewResource(lent.MemoryMB, lent.VCores)))
	m.SetUsed(p.types.PB(records.NewResource(used.MemoryMB, used.VCores)))
	all := p.Counts()
	news := all.Since(p.told)
	p.told = all
	m.SetStarted(news.Started)
	m.SetWaitedMs(news.Waited.Milliseconds())
	m.SetQuotes(news.Quotes)
	m.SetBrokenQuotes(news.Broken)
	waiting, ages := p.Waits()
	m.SetWaiting(int32(waiting))
	m.SetWaitingMs(ages.Milliseconds())
	return m
}

// countProbes adds the metrics of short tasks.
func (n *NodeManager) countProbes() (err error) {
	add := func(name, help string, value func(shorttasks.Counts) float64) {
		err = errors.Join(err, n.metrics.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "heddle", Subsystem: "nm", Name: name, Help: help},
			func() float64 { return value(n.shortTasks.Counts()) })))
	}
	add("short_tasks_started_total", "Short tasks that have started.", func(c shorttasks.Counts) float64 { return float64(c.Started) })
	add("short_task_wait_seconds_total", "How long these have waited since they were submitted.", func(c shorttasks.Counts) float64 { return c.Waited.Seconds() })
	add("probe_quotes_total", "Quotes of when a probe is served, of which it is known whether they came true.", func(c shorttasks.Counts) float64 { return float64(c.Quotes) })
	add("probe_quotes_broken_total", "Quotes whose 95th percentile was too early.", func(c shorttasks.Counts) float64 { return float64(c.Broken) })
	add("probes_avoided_total", "Probes that were rejected because long tasks run here.", func(c shorttasks.Counts) float64 { return float64(c.Avoided) })
	add("staged_promises_total", "Quotes that an input would be in memory, of which it is known whether it was.", func(c shorttasks.Counts) float64 { return float64(c.Promises) })
	add("staged_promises_broken_total", "Such quotes of which the input was not there in time.", func(c shorttasks.Counts) float64 { return float64(c.Unkept) })
	add("staged_hits_total", "Short tasks whose input was in memory when they started.", func(c shorttasks.Counts) float64 { return float64(c.Hits) })
	add("staged_misses_total", "Short tasks that have named an input which was not in memory, while inputs are preloaded.", func(c shorttasks.Counts) float64 { return float64(c.Misses) })
	gauge := func(name, help string, value func(lent, used probe.Amount, waiting int) float64) {
		err = errors.Join(err, n.metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "heddle", Subsystem: "nm", Name: name, Help: help},
			func() float64 { return value(n.shortTasks.Use()) })))
	}
	gauge("short_tasks_lent_memory_bytes", "Memory that the node was lent for short tasks.", func(lent, _ probe.Amount, _ int) float64 { return float64(lent.MemoryMB << 20) })
	gauge("short_tasks_used_memory_bytes", "What short tasks were given of it, or what their processes take, whichever is more.", func(_, used probe.Amount, _ int) float64 { return float64(used.MemoryMB << 20) })
	gauge("short_tasks_lent_vcores", "Vcores that the node was lent for short tasks.", func(lent, _ probe.Amount, _ int) float64 { return float64(lent.VCores) })
	gauge("short_tasks_used_vcores", "What short tasks take of them.", func(_, used probe.Amount, _ int) float64 { return float64(used.VCores) })
	gauge("probes_waiting", "Probes of short tasks that wait.", func(_, _ probe.Amount, waiting int) float64 { return float64(waiting) })
	return err
}

// lentAmounts says for people what short tasks have of the node.
func (n *NodeManager) lentAmounts() string {
	lent, used, waiting := n.shortTasks.Use()
	return fmt.Sprintf("%d MB and %d virtual cores, of which %d MB and %d are used; %d probes wait", lent.MemoryMB, lent.VCores, used.MemoryMB, used.VCores, waiting)
}

// shares reads what users have of a node.
func shares(c *conf.Config) (func(user string) shorttasks.Share, error) {
	const key = "heddle.probes.users"
	of, err := c.Shares(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return func(user string) shorttasks.Share { return shorttasks.Share(of[user]) }, nil
}

// executors starts executors of short tasks as containers that the ResourceManager doesn't know.
type executors struct {
	n       *NodeManager
	ctx     context.Context // ends when their end is no longer waited for
	binary  string
	address string // where they connect to
	log     *logrus.Entry
}

// Start implements shorttasks.Executors.
func (x *executors) Start(e shorttasks.Executor, ended func(why string)) (stop func(), err error) {
	n := x.n
	grant, raw, err := x.grant(e, 0)
	if err != nil {
		return nil, err
	}
	secret := &token.Credentials{Tokens: e.Tokens}
	secret.SetSecret(wire.SecretAlias, e.Secret)
	tokens, err := secret.Encode(token.FormatWritable)
	if err != nil {
		return nil, err
	}
	launch := &pb.ContainerLaunchContext{}
	launch.SetTokens(tokens)
	usual := n.s.container.Runtimes.Usual
	command, files, err := program.Of(x.binary, usual != "" && usual != "default")
	if err != nil {
		return nil, fmt.Errorf("executors of short tasks: %w", err)
	}
	launch.SetLocalResources(files)
	launch.SetCommand([]string{fmt.Sprintf("exec %s executor --slots %d %s 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr", command, e.Slots, x.address)})
	if err := n.containers.Start(grant, launch, raw); err != nil {
		return nil, err
	}
	c, err := n.containers.Container(e.ID)
	if err != nil {
		return nil, err
	}
	go func() {
		if c.WaitDone(x.ctx) != nil {
			return // the node ends; the next one ends the executor
		}
		s := c.Status()
		n.containers.Forget(e.ID)
		ended(fmt.Sprintf("executor %v has ended with exit code %d: %s", e.ID, s.ExitCode, strings.TrimSpace(s.Diagnostics)))
	}()
	return func() { c.Kill(records.ExitKilledByAppMaster, "There are no short tasks for it.\n") }, nil
}

// Resize implements shorttasks.Executors. An executor that has just ended needs no other size.
func (x *executors) Resize(e shorttasks.Executor, version int32) {
	grant, raw, err := x.grant(e, version)
	if err == nil {
		var c *container.Container
		if c, err = x.n.containers.Container(e.ID); err == nil {
			err = c.Update(x.ctx, grant, raw)
		}
	}
	if err != nil && !errors.Is(err, container.ErrVersion) {
		x.log.WithError(err).Infof("executor %v keeps its size, not %d MB and %d vcores", e.ID, e.Most.MemoryMB, e.Most.VCores)
	}
}

// grant returns what an executor's container may have, and its token.
func (x *executors) grant(e shorttasks.Executor, version int32) (allocation.Grant, []byte, error) {
	n := x.n
	id := &pb.ContainerTokenIdentifier{}
	id.SetContainerId(e.ID.PB())
	id.SetNmHostAddr(n.identity.node().String())
	id.SetAppSubmitter(e.User)
	id.SetResource(n.s.types.PB(records.NewResource(e.Most.MemoryMB, e.Most.VCores)))
	id.SetVersion(version)
	id.SetCreationTime(time.Now().UnixMilli())
	id.SetRmIdentifier(n.rm.Load())
	id.SetContainerType(pb.ContainerType_TASK)
	raw, err := proto.Marshal(id)
	if err != nil {
		return allocation.Grant{}, nil, err
	}
	grant, err := allocation.From(id, n.s.types)
	return grant, raw, err
}

// endExecutors ends the executors of an earlier life: their schedulers were connected to it.
func (n *NodeManager) endExecutors() {
	for _, c := range n.containers.Containers() {
		if allocation.IsOnLent(c.ID()) {
			c.Kill(records.ExitKilledByAppMaster, "Its NodeManager was restarted.\n")
			ctx, cancel := context.WithCancel(context.Background())
			n.closing(cancel)
			go forget(ctx, n.containers, c)
		}
	}
}

// forget lets go of a container when it has ended.
func forget(ctx context.Context, all *container.Manager, c *container.Container) {
	if c.WaitDone(ctx) == nil {
		all.Forget(c.ID())
	}
}
