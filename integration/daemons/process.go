package daemons

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// process is a daemon that runs.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and was waited for
	kill bool          // it is to end
}

// Ended is a daemon's end that nobody asked for.
type Ended struct {
	Name  string
	State string
	Said  string // its last line
}

func (e Ended) String() string {
	return fmt.Sprintf("%s ended by itself (%s): %s", e.Name, e.State, e.Said)
}

// restartPause is the time after which a supervisor starts a daemon again.
const restartPause = 500 * time.Millisecond

// Start starts a daemon that doesn't run.
func (c *Cluster) Start(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.start(name)
}

// StartAll starts all daemons.
func (c *Cluster) StartAll() error {
	var errs []error
	for _, name := range c.Daemons() {
		errs = append(errs, c.Start(name))
	}
	return errors.Join(errs...)
}

func (c *Cluster) start(name string) error {
	if c.procs[name] != nil {
		return fmt.Errorf("%s runs already", name)
	}
	log, err := os.OpenFile(c.LogFile(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	line := c.Command(name)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	c.procs[name] = p
	delete(c.down, name)
	go c.watch(name, p)
	return nil
}

// watch waits for a daemon's end.
func (c *Cluster) watch(name string, p *process) {
	_ = p.cmd.Wait() // its state says how it ended
	close(p.done)
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.kill {
		return
	}
	c.ended = append(c.ended, Ended{name, p.cmd.ProcessState.String(), lastLine(c.LogFile(name))})
	delete(c.procs, name)
	if c.o.Supervise {
		time.AfterFunc(restartPause, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.procs[name] == nil && !c.down[name] {
				_ = c.start(name) // whoever waits for it says that it isn't there
			}
		})
	}
}

// Ended are the ends of daemons since the last call that nobody asked for.
func (c *Cluster) Ended() []Ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.ended
	c.ended = nil
	return out
}

// PID is the process of a daemon, 0 if it doesn't run.
func (c *Cluster) PID(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.procs[name]; p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// Signal sends a signal to a daemon, if it runs.
func (c *Cluster) Signal(name string, s os.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.procs[name]; p != nil {
		_ = p.cmd.Process.Signal(s) // it may end at this moment
	}
}

// Kill ends a daemon as a power cut would.
func (c *Cluster) Kill(name string) { c.end(name, syscall.SIGKILL) }

// Dump ends a daemon that runs, and has it write into its log what its goroutines do.
func (c *Cluster) Dump(name string) { c.end(name, syscall.SIGQUIT) }

// Stop asks a daemon to end, and kills it if it hasn't within a minute, which is an error.
func (c *Cluster) Stop(name string) error {
	if !c.end(name, syscall.SIGTERM) {
		return fmt.Errorf("%s didn't end within a minute of being told to", name)
	}
	return nil
}

func (c *Cluster) end(name string, s os.Signal) bool {
	c.mu.Lock()
	c.down[name] = true
	p := c.procs[name]
	if p == nil {
		c.mu.Unlock()
		return true
	}
	p.kill = true
	delete(c.procs, name)
	c.mu.Unlock()
	_ = p.cmd.Process.Signal(s) // it may have ended
	select {
	case <-p.done:
		return true
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.done
		return false
	}
}

// Isolate cuts a daemon off: a ResourceManager from the other members and from nodes, a node from the ResourceManagers. Clients still
// reach it. Join undoes it.
func (c *Cluster) Isolate(name string) { c.plug.isolate(name) }

// Join undoes Isolate.
func (c *Cluster) Join(name string) { c.plug.join(name) }

// Leads tells whether a ResourceManager says that it leads.
func (c *Cluster) Leads(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	ep := c.client.Endpoint(c.Address(id, rm.AdminAddress), protocol.HAService, ipc.Identity{User: "root"})
	s, err := protocol.GetServiceStatus.Call(ctx, ep, &pb.GetServiceStatusRequest{})
	return err == nil && s.GetState() == pb.HAServiceState_ACTIVE
}

// Leader asks every ResourceManager but one whether it leads, until one does.
func (c *Cluster) Leader(ctx context.Context, other string) (string, error) {
	for ctx.Err() == nil {
		for _, id := range c.ResourceManagers {
			if id != other && c.PID(id) != 0 && c.Leads(ctx, id) {
				return id, nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond):
		}
	}
	return "", fmt.Errorf("no ResourceManager leads but perhaps %q: %w", other, context.Cause(ctx))
}

// LogFile is what a daemon writes its log to.
func (c *Cluster) LogFile(name string) string { return filepath.Join(c.o.Dir, name+".log") }

// Panics are the places in the daemons' logs where one panicked, or Go's runtime gave up.
func (c *Cluster) Panics() []string {
	var out []string
	for _, name := range c.Daemons() {
		raw, err := os.ReadFile(c.LogFile(name))
		if err != nil {
			continue
		}
		for _, mark := range []string{"\npanic: ", "\nfatal error: ", "panic in "} {
			if i := bytes.Index(raw, []byte(mark)); i >= 0 {
				out = append(out, fmt.Sprintf("%s: %s", name, raw[i:min(len(raw), i+3000)]))
			}
		}
	}
	return out
}

// Tails are the ends of the daemons' logs.
func (c *Cluster) Tails(size int) string {
	var b strings.Builder
	for _, name := range c.Daemons() {
		raw, err := os.ReadFile(c.LogFile(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		fmt.Fprintf(&b, "--- %s said at last:\n%s\n", name, raw[max(0, len(raw)-size):])
	}
	return b.String()
}

func lastLine(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	raw = bytes.TrimSpace(raw[max(0, len(raw)-2000):])
	return string(raw[bytes.LastIndexByte(raw, '\n')+1:])
}
