package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"heddle/internal/deathsig"
	"heddle/internal/ports"
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
	options
	dir   string
	ports map[string]int // ports by the configuration keys of their addresses
	free  []func()       // release the ports
	procs []*daemon
}

// daemon is a process of the cluster.
type daemon struct {
	name string
	args []string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

func (d *daemon) pid() int { return d.cmd.Process.Pid }

// kill ends the process as a power cut would.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
}

func newCluster(o options, dir string) *cluster {
	return &cluster{options: o, dir: dir, ports: map[string]int{}}
}

func rmID(i int) string { return fmt.Sprintf("rm%d", i+1) }

// start starts all daemons and waits until a ResourceManager leads and all nodes have joined.
func (c *cluster) start(ctx context.Context) error {
	if err := c.configure(); err != nil {
		return err
	}
	began := time.Now()
	for i := range resourceManagers {
		c.procs = append(c.procs, &daemon{name: rmID(i), args: []string{"rm", "--conf", c.conf(""), "--id", rmID(i)}})
	}
	for i := range nodeManagers {
		name := fmt.Sprintf("nm%d", i+1)
		c.procs = append(c.procs, &daemon{name: name, args: []string{"nm", "--conf", c.conf(name)}})
	}
	for _, d := range c.procs {
		if err := c.launch(d); err != nil {
			return err
		}
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
	say("%d ResourceManagers and %d NodeManagers run in %s; %s leads (%.1f s)", resourceManagers, nodeManagers, c.dir, leader, time.Since(began).Seconds())
	say("  UI    http://%s/cluster", c.web(leader))
	say("  REST  http://%s/ws/v1/cluster/info", c.web(leader))
	return nil
}

// launch starts a daemon. Unless the cluster is kept, it dies with the demo, however that ends.
func (c *cluster) launch(d *daemon) error {
	log, err := os.OpenFile(c.logFile(d.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	d.cmd = exec.Command(c.heddle, d.args...)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !c.options.keep {
		deathsig.Set(d.cmd.SysProcAttr)
	}
	if err := d.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	d.done = make(chan struct{})
	go func() {
		defer close(d.done)
		_ = d.cmd.Wait()
	}()
	return nil
}

func (c *cluster) logFile(name string) string { return filepath.Join(c.dir, name+".log") }

// conf returns the configuration folder of a NodeManager. Without a name it returns that of all others.
func (c *cluster) conf(node string) string { return filepath.Join(c.dir, "conf", node) }

func (c *cluster) web(id string) string {
	return fmt.Sprintf("127.0.0.1:%d", c.ports["yarn.resourcemanager.webapp.address."+id])
}

// until waits until ok returns true. what says what it waits for.
func (c *cluster) until(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v: %s", patience, what))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if d := c.dead(); d != nil {
			return fmt.Errorf("%s ended by itself (%v)", d.name, d.cmd.ProcessState)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// dead returns a daemon that has ended without being killed.
func (c *cluster) dead() *daemon {
	for _, d := range c.procs {
		select {
		case <-d.done:
			return d
		default:
		}
	}
	return nil
}

// stop ends all daemons: the nodes first, so that they end their containers.
func (c *cluster) stop() {
	for _, d := range slices.Backward(c.procs) {
		if d.cmd == nil || d.cmd.Process == nil {
			continue
		}
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-d.done:
		case <-time.After(patience):
			d.kill()
		}
	}
	for _, release := range c.free {
		release()
	}
}

// showLogs prints the end of each daemon's log.
func (c *cluster) showLogs(w io.Writer) {
	const tail = 2000
	for _, d := range c.procs {
		raw, err := os.ReadFile(c.logFile(d.name))
		if err != nil || len(raw) == 0 {
			continue
		}
		fmt.Fprintf(w, "--- end of the log of %s:\n%s\n", d.name, bytes.TrimSpace(raw[max(0, len(raw)-tail):]))
	}
}

// configure writes the configuration folders that an administrator of a small cluster on one machine would write.
func (c *cluster) configure() error {
	common := map[string]string{
		"hadoop.tmp.dir": filepath.Join(c.dir, "tmp"), "heddle.state.dir": filepath.Join(c.dir, "state"),
		"fs.defaultFS":                      "file:///",
		"yarn.app.mapreduce.am.staging-dir": filepath.Join(c.dir, "staging"),
		"yarn.resourcemanager.ha.enabled":   "true", "yarn.resourcemanager.cluster-id": "demo",
		"yarn.resourcemanager.bind-host": "127.0.0.1", "yarn.nodemanager.bind-host": "127.0.0.1",
		// Its jobs are the ones that it submits itself, and only this machine reaches its ports.
		"heddle.container.run-as-root": "true",
	}
	suspendable(common)
	var ids []string
	for i := range resourceManagers {
		id := rmID(i)
		ids = append(ids, id)
		for _, key := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"} {
			if err := c.reserve(common, "yarn.resourcemanager."+key+"."+id); err != nil {
				return err
			}
		}
		if err := c.reserve(common, "heddle.raft.address."+id); err != nil {
			return err
		}
	}
	common["yarn.resourcemanager.ha.rm-ids"] = strings.Join(ids, ",")
	if err := writeConf(c.conf(""), common); err != nil {
		return err
	}
	for i := range nodeManagers {
		name := fmt.Sprintf("nm%d", i+1)
		own := map[string]string{
			"yarn.nodemanager.hostname": "127.0.0.1", "heddle.node.id": name,
			"yarn.nodemanager.local-dirs":         filepath.Join(c.dir, name, "local"),
			"yarn.nodemanager.log-dirs":           filepath.Join(c.dir, name, "logs"),
			"yarn.nodemanager.resource.memory-mb": "4096", "yarn.nodemanager.resource.cpu-vcores": strconv.Itoa(nodeCores),
			// Temporary files go to any disk with room, which may be nearly full.
			"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
		}
		for k, v := range common {
			own[k] = v
		}
		for _, key := range []string{"address", "localizer.address", "webapp.address"} {
			if err := c.reserve(own, "yarn.nodemanager."+key); err != nil {
				return err
			}
		}
		if err := writeConf(c.conf(name), own); err != nil {
			return err
		}
	}
	return nil
}

// reserve sets the address of a key to a free port.
func (c *cluster) reserve(conf map[string]string, key string) error {
	found, release, err := ports.Free(1)
	if err != nil {
		return fmt.Errorf("find a port for %s: %w", key, err)
	}
	c.free = append(c.free, release)
	c.ports[key] = found[0]
	conf[key] = fmt.Sprintf("127.0.0.1:%d", found[0])
	return nil
}

type property struct {
	XMLName xml.Name `xml:"property"`
	Name    string   `xml:"name"`
	Value   string   `xml:"value"`
}

// writeConf writes settings as a core-site.xml and a yarn-site.xml.
func writeConf(dir string, settings map[string]string) error {
	files := map[string][]property{}
	for k, v := range settings {
		file := "core-site.xml"
		if strings.HasPrefix(k, "yarn.") || strings.HasPrefix(k, "heddle.") {
			file = "yarn-site.xml"
		}
		files[file] = append(files[file], property{Name: k, Value: v})
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var errs []error
	for file, props := range files {
		slices.SortFunc(props, func(a, b property) int { return strings.Compare(a.Name, b.Name) })
		raw, err := xml.MarshalIndent(struct {
			XMLName xml.Name `xml:"configuration"`
			Props   []property
		}{Props: props}, "", "  ")
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, file), raw, 0o644))
	}
	return errors.Join(errs...)
}
