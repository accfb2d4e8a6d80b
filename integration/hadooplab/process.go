package hadooplab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"heddle/internal/deathsig"
)

// starter starts processes that the kernel kills when this one dies. The kernel counts the thread that started them,
// not the process. So one goroutine starts all of them, and keeps its thread until the end.
type starter struct {
	requests chan startRequest
	done     chan struct{}
}

type startRequest struct {
	cmd   *exec.Cmd
	reply chan error
}

func newStarter() *starter {
	s := &starter{requests: make(chan startRequest), done: make(chan struct{})}
	go func() {
		// The thread must not end before all that it has ever started: other goroutines may have used it before, and started processes
		// that die with it. So it is given back.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.done)
		for r := range s.requests {
			r.reply <- r.cmd.Start()
		}
	}()
	return s
}

// process is a started process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // of exec.Cmd.Wait; valid after done
}

func (s *starter) start(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	deathsig.Set(cmd.SysProcAttr)
	r := startRequest{cmd, make(chan error, 1)}
	s.requests <- r
	if err := <-r.reply; err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

func (p *process) signal(sig syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, sig) } // it may have ended

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

func (s *starter) close() {
	close(s.requests)
	<-s.done
}

// Daemon is a daemon of Hadoop or Heddle.
type Daemon struct {
	lab    *Lab
	name   string
	class  string
	args   []string
	log    string
	heddle bool

	mu    sync.Mutex
	p     *process // nil once killed
	since int64    // length of the log at its last start
}

// launch starts a daemon whose output goes to its log.
func (l *Lab) launch(name, class string, args ...string) error {
	d := &Daemon{lab: l, name: name, class: class, args: args, log: l.logFile(name)}
	if err := d.start(); err != nil {
		return err
	}
	l.daemons = append(l.daemons, d)
	return nil
}

// launchHeddle starts a daemon of Heddle.
func (l *Lab) launchHeddle(name string, args ...string) error {
	d := &Daemon{lab: l, name: name, args: args, log: l.logFile(name), heddle: true}
	if err := d.start(); err != nil {
		return err
	}
	l.daemons = append(l.daemons, d)
	return nil
}

func (d *Daemon) command() *exec.Cmd {
	if !d.heddle {
		heap := d.lab.options.Heap
		if heap == "" {
			heap = "512m"
		}
		return d.lab.javaCommand(heap, d.class, d.args...)
	}
	cmd := exec.Command(d.lab.options.Heddle, d.args...)
	cmd.Dir = d.lab.dir
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+d.lab.Conf(), "YARN_LOG_DIR="+filepath.Join(d.lab.dir, "log"))
	return cmd
}

func (d *Daemon) start() error {
	f, err := os.OpenFile(d.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the daemon has a descriptor of its own
	st, err := f.Stat()
	if err != nil {
		return err
	}
	d.since = st.Size()
	cmd := d.command()
	cmd.Stdout, cmd.Stderr = f, f
	d.p, err = d.lab.starter.start(cmd)
	return err
}

// Name returns the daemon's name, such as datanode1.
func (d *Daemon) Name() string { return d.name }

// Log returns everything that the daemon has logged.
func (d *Daemon) Log() string {
	b, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Kill ends the daemon with SIGKILL, and waits until it has ended.
func (d *Daemon) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.p != nil {
		d.p.kill()
		d.p = nil
	}
}

// stopLimit bounds how long a daemon may take to stop.
const stopLimit = 2 * time.Minute

// Stop ends the daemon with SIGTERM, and returns how it ended. If it doesn't end in time, Stop kills it.
func (d *Daemon) Stop() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.p == nil {
		return nil
	}
	p := d.p
	d.p = nil
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
		return p.err
	case <-time.After(stopLimit):
		p.kill()
		return fmt.Errorf("%s did not stop within %v", d.name, stopLimit)
	}
}

// PID returns the daemon's process id, or 0 after Kill or Stop.
func (d *Daemon) PID() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.p == nil {
		return 0
	}
	return d.p.cmd.Process.Pid
}

// WaitLog waits until the daemon has logged a text since its last start.
func (d *Daemon) WaitLog(ctx context.Context, text string) error {
	return d.lab.poll(ctx, d.name, func(context.Context) error {
		d.mu.Lock()
		since := d.since
		d.mu.Unlock()
		if log := d.Log(); strings.Contains(log[min(int(since), len(log)):], text) {
			return nil
		}
		return fmt.Errorf("it hasn't logged %q", text)
	})
}

// Registered is a DataNode's log message when it has joined its NameNode.
const Registered = "successfully registered with NN"

// Restart starts the daemon again after Kill. It doesn't wait until the daemon is ready.
func (d *Daemon) Restart() error {
	d.Kill()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.start()
}

// Pause stops the daemon with SIGSTOP. Its connections stay open, but silent.
func (d *Daemon) Pause() { d.signal(syscall.SIGSTOP) }

// Resume lets a paused daemon continue.
func (d *Daemon) Resume() { d.signal(syscall.SIGCONT) }

func (d *Daemon) signal(sig syscall.Signal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.p != nil {
		d.p.signal(sig)
	}
}

// ended reports whether the daemon has ended by itself.
func (d *Daemon) ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.p == nil {
		return false
	}
	select {
	case <-d.p.done:
		return true
	default:
		return false
	}
}

// watchdog is a process that outlives this one by a moment. Its standard input ends when this process ends, whatever
// the reason. Then it kills all processes that work in the lab's folder, such as containers, or are in its cgroups, and
// removes folder and cgroups.
type watchdog struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// sweep repeats until it finds nothing, because a process may start another one in between.
const sweep = `
# $1 is the folder, $2 the name of its cgroups
cat >/dev/null
for round in 1 2 3 4 5 6 7 8 9 10; do
	found=
	for p in /proc/[0-9]*; do
		case $(readlink "$p/cwd" 2>/dev/null) in
		"$1"|"$1"/*) kill -9 "${p#/proc/}" 2>/dev/null && found=yes;;
		esac
	done
	for group in $(find /sys/fs/cgroup -depth -type d -path "*/$2" -o -type d -path "*/$2/*" 2>/dev/null); do
		echo THAWED 2>/dev/null >"$group/freezer.state"
		for p in $(cat "$group/cgroup.procs" 2>/dev/null); do
			kill -9 "$p" 2>/dev/null && found=yes
		done
		rmdir "$group" 2>/dev/null || found=yes
	done
	[ -z "$found" ] && break
done
while read -r swap rest; do
	case $swap in
	"$1"/*) swapoff "$swap";;
	esac
done </proc/swaps
for note in "$1"/zram-*; do # swapfile.Zram's
	[ -e "$note" ] || continue
	id=${note##*-}
	swapoff "/dev/zram$id"
	echo 1 >"/sys/block/zram$id/reset"
	echo "$id" >/sys/class/zram-control/hot_remove
done
[ ! -s "$1/zswap" ] || cat "$1/zswap" >/sys/module/zswap/parameters/enabled
rm -rf "$1"
`

// cgroupOf returns the name of the parent cgroup for the NodeManagers of a lab.
func cgroupOf(dir string) string { return "heddle-" + filepath.Base(dir) }

// Guarded makes a folder in parent, "" being the system's for temporary files. A watchdog sees to it that nothing is left of what works there, or in the cgroups
// below root, when sweep is called, or this process ends. It also removes swap files from there, and zram devices that swapfile.Zram has noted there.
func Guarded(parent string) (dir, root string, sweep func() error, err error) {
	if dir, err = os.MkdirTemp(parent, "heddle-bench-"); err != nil {
		return "", "", nil, err
	}
	var w *watchdog
	whole, err := filepath.Abs(dir)
	if err == nil {
		w, err = startWatchdog(whole)
	}
	if err != nil {
		return "", "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return whole, "/" + cgroupOf(whole), w.finish, nil
}

func startWatchdog(dir string) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", sweep, "sh", dir, cgroupOf(dir))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that ^C at a terminal doesn't reach it
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	return &watchdog{cmd, stdin}, nil
}

// finish lets the watchdog do its work and waits for it.
func (w *watchdog) finish() error {
	_ = w.stdin.Close() // Wait reports a watchdog that has died
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("the lab's watchdog: %w", err)
	}
	return nil
}
