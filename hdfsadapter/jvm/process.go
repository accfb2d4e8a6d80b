package jvm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/deathsig"
)

// Config says how a JVM is started. Java, Env, Confine, Sweep and Log must be set.
type Config struct {
	Java        string // the program
	JavaVersion int    // 8, 17, …
	JavaOptions []string
	HeapMB      int
	ClassPath   string
	Dir         string              // where it runs. It must exist
	User        *syscall.Credential // nil: this process's own
	Env         []string

	Confine func(pid int) error // bounds a JVM, before it has done anything
	Sweep   func()              // ends what a JVM has left
	// Log gets what it prints, at the level Info, or at Debug if Quiet.
	Log   *logrus.Entry
	Quiet bool
}

// Process is a JVM. It is safe for concurrent use.
type Process struct {
	PID  int
	conn net.Conn

	done  chan struct{} // closed when it has ended
	ended error         // how; valid once done is closed

	mu      sync.Mutex
	reaped  bool // its number may be another's
	last    int32
	waiting map[int32]chan<- answer
	broken  error // after which nothing is answered

	writing sync.Mutex // held while a request is sent
}

// answer is how a call went.
type answer struct {
	results []byte
	err     error
}

// arguments are those of the JVM: ours, then an administrator's, which win.
func (c *Config) arguments(jar, main string) []string {
	heap := strconv.Itoa(c.HeapMB) + "m"
	args := []string{
		"-Xmx" + heap, "-XX:MaxDirectMemorySize=" + heap, "-XX:MaxMetaspaceSize=" + strconv.Itoa(metaspaceMB) + "m", "-XX:+ExitOnOutOfMemoryError",
		"-XX:-UsePerfData",
	}
	if c.JavaVersion >= 9 {
		for _, p := range []string{"java.lang", "java.util", "java.net", "java.nio", "sun.nio.ch", "java.util.concurrent"} {
			args = append(args, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
		}
	}
	args = append(args, c.JavaOptions...)
	return append(args, "-cp", jar+":"+c.ClassPath, main)
}

// Programs of the jar.
const (
	ServicesMain = "heddle.javahost.Main"
	FilesMain    = "heddle.javahost.Files"

	CollectorsMain = "heddle.javahost.Collectors"
	NodeLabelsMain = "heddle.javahost.NodeLabels"
)

// Start starts a process with a program of the jar. It ends with this one: by its socket, and at once where the kernel has signals for that.
func (c *Config) Start(jar, main string) (*Process, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|cloexec, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	theirs, ours := os.NewFile(uintptr(fds[0]), "jvm"), os.NewFile(uintptr(fds[1]), "jvm")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Java, c.arguments(jar, main)...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.User, Setsid: true}
	said, says, err := os.Pipe()
	if err != nil {
		conn.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = says, says
	j := &Process{conn: conn, done: make(chan struct{}), waiting: map[int32]chan<- answer{}}
	started := make(chan error, 1)
	go c.run(j, cmd, said, started)
	go j.receive()
	err = <-started
	says.Close()
	if err != nil {
		conn.Close()
		said.Close()
		return nil, fmt.Errorf("start %s: %w", c.Java, err)
	}
	return j, nil
}

// run starts a process and waits for its end, in one thread: the kernel ends the process with the thread that started it.
func (c *Config) run(j *Process, cmd *exec.Cmd, said *os.File, started chan<- error) {
	runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
	deathsig.Set(cmd.SysProcAttr)
	err := cmd.Start()
	if err == nil {
		j.PID = cmd.Process.Pid
		err = c.Confine(j.PID)
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	started <- err
	if err != nil {
		return
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		copyLines(said, c.Log.WithField("jvm", j.PID), c.level())
	}()
	awaitEnd(j.PID)
	j.Signal(syscall.SIGKILL) // what it has started itself
	j.mu.Lock()
	j.ended, j.reaped = cmd.Wait(), true
	j.mu.Unlock()
	c.Sweep()
	_ = said.SetReadDeadline(time.Now().Add(time.Second)) // a process that got away could hold the other end
	<-copied
	said.Close()
	j.conn.Close()
	close(j.done)
}

// Signal sends a signal to the JVM and the processes of its group.
func (j *Process) Signal(s syscall.Signal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.reaped {
		_ = syscall.Kill(-j.PID, s)
	}
}

// Bounds of what a JVM may print: a line's length in bytes, and lines in a second.
const (
	maxLine  = 4 << 10
	maxLines = 500
)

// copyLines logs lines until the other end is closed. It reads on when there are too many, so that the JVM does not wait for it.
func copyLines(r io.Reader, log *logrus.Entry, level logrus.Level) {
	lines := bufio.NewReaderSize(r, maxLine)
	var since time.Time
	n := 0
	for {
		line, cut, err := lines.ReadLine()
		if err != nil {
			return
		}
		for cut && err == nil {
			_, cut, err = lines.ReadLine() // the rest of a long line
		}
		if now := time.Now(); now.Sub(since) > time.Second {
			if n > maxLines {
				log.Logf(level, "%d lines of the JVM were left out", n-maxLines)
			}
			since, n = now, 0
		}
		if n++; n <= maxLines {
			log.Log(level, string(line))
		}
	}
}

func (c *Config) level() logrus.Level {
	if c.Quiet {
		return logrus.DebugLevel
	}
	return logrus.InfoLevel
}

// receive hands answers to those who wait for them.
func (j *Process) receive() {
	for {
		body, err := readReply(j.conn)
		var id int32
		var results []byte
		if err == nil {
			id, results, err = decodeReply(body)
		}
		var refused *Refused
		if err != nil && !errors.As(err, &refused) {
			j.fail(err)
			return
		}
		j.mu.Lock()
		to := j.waiting[id]
		delete(j.waiting, id)
		j.mu.Unlock()
		if to != nil {
			to <- answer{results, err}
		}
	}
}

// fail ends all calls, now and later.
func (j *Process) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		j.broken = err
	}
	for id, to := range j.waiting {
		delete(j.waiting, id)
		to <- answer{err: j.broken}
	}
}

// begin takes a number for a request.
func (j *Process) begin() (id int32, to chan answer, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return 0, nil, j.broken
	}
	j.last++
	to = make(chan answer, 1)
	j.waiting[j.last] = to
	return j.last, to, nil
}

// forget says that an answer isn't wanted any more.
func (j *Process) forget(id int32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.waiting, id)
}

// Call sends a request and returns the results. Any other error than *Refused means that the JVM is of no use any more. A call that takes longer than
// limit is one: context.DeadlineExceeded.
func (j *Process) Call(op byte, args []byte, limit time.Duration) ([]byte, error) {
	id, to, err := j.begin()
	if err != nil {
		return nil, err
	}
	defer j.forget(id)
	t := time.NewTimer(limit)
	defer t.Stop()
	if err := j.send(id, op, args, limit); err != nil {
		return nil, err
	}
	select {
	case a := <-to:
		return a.results, a.err
	case <-t.C:
		return nil, context.DeadlineExceeded
	}
}

func (j *Process) send(id int32, op byte, args []byte, limit time.Duration) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	err := writeRequest(j.conn, id, op, args)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// Kill ends the process, and waits for that. A process that can't be killed waits for a disk or a device; its successor doesn't wait for it.
func (j *Process) Kill() {
	j.Signal(syscall.SIGKILL)
	j.Wait(5 * time.Second)
}

// Wait waits for the process's end.
func (j *Process) Wait(limit time.Duration) (ended bool) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-j.done:
		return true
	case <-t.C:
		return false
	}
}

// Dump has the JVM print what its threads do.
func (j *Process) Dump() { j.Signal(syscall.SIGQUIT) }

// Ended returns how the process has ended, once Wait has returned true.
func (j *Process) Ended() error { return j.ended }

// Done returns a channel that is closed when the process has ended.
func (j *Process) Done() <-chan struct{} { return j.done }
