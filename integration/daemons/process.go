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

	"heddle/internal/deathsig"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// process is a running daemon.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and its state is known
	kill bool          // its end is intended
}

// Ended describes the unintended end of a daemon.
type Ended struct {
	Name  string
	State string
	Said  string // last line of its log
}

func (e Ended) String() string {
	return fmt.Sprintf("%s ended by itself (%s): %s", e.Name, e.State, e.Said)
}

// restartPause is how long a supervisor waits before it restarts a daemon.
const restartPause = 500 * time.Millisecond

// Start starts a daemon. It fails if the daemon runs already.
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C in a terminal ends only this process
	if !c.o.Keep {
		deathsig.Set(cmd.SysProcAttr)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	c.procs[name] = p
	delete(c.down, name)
	go c.watch(name, p)
	return nil
}

// watch waits until a daemon has ended.
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
				_ = c.start(name) // the caller that waits for the daemon reports its absence
			}
		})
	}
}

// Ended returns the unintended ends of daemons since the previous call.
func (c *Cluster) Ended() []Ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.ended
	c.ended = nil
	return out
}

// PID returns the process id of a daemon, or 0 if it doesn't run.
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
		_ = p.cmd.Process.Signal(s) // it may have just ended
	}
}

// Kill ends a daemon as a power cut would.
func (c *Cluster) Kill(name string) { c.end(name, syscall.SIGKILL) }

// Dump ends a running daemon, and makes it write its goroutines' stacks into its log.
func (c *Cluster) Dump(name string) { c.end(name, syscall.SIGQUIT) }

// Stop asks a daemon to end. If it hasn't within a minute, Stop kills it and returns an error.
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

// Isolate cuts a daemon off: a ResourceManager from the other members and from nodes, a node from the ResourceManagers.
// Clients can still reach it. Join undoes it.
func (c *Cluster) Isolate(name string) { c.plug.isolate(name) }

// Join undoes Isolate.
func (c *Cluster) Join(name string) { c.plug.join(name) }

// Leads reports whether a ResourceManager claims to lead.
func (c *Cluster) Leads(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	ep := c.client.Endpoint(c.Address(id, rm.AdminAddress), protocol.HAService, c.admin())
	s, err := protocol.GetServiceStatus.Call(ctx, ep, &pb.GetServiceStatusRequest{})
	return err == nil && s.GetState() == pb.HAServiceState_ACTIVE
}

// Leader asks every ResourceManager except other whether it leads, until one does.
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
	return "", fmt.Errorf("no ResourceManager leads, except perhaps %q: %w", other, context.Cause(ctx))
}

func (c *Cluster) admin() ipc.Identity {
	if c.o.Admin.User == "" {
		return ipc.Identity{User: "root"}
	}
	return c.o.Admin
}

// LogFile returns the path of a daemon's log.
func (c *Cluster) LogFile(name string) string { return filepath.Join(c.o.Dir, name+".log") }

// Panics returns the places in the daemons' logs where one panicked or Go's runtime gave up.
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

// Tails returns the ends of the daemons' logs.
func (c *Cluster) Tails(size int) string {
	var b strings.Builder
	for _, name := range c.Daemons() {
		raw, err := os.ReadFile(c.LogFile(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		fmt.Fprintf(&b, "--- end of the log of %s:\n%s\n", name, raw[max(0, len(raw)-size):])
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
