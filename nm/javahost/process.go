package javahost

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

	"heddle/nm/proc"
)

// jvm is a process with services.
type jvm struct {
	pid  int
	conn net.Conn
	next int32

	done  chan struct{} // closed when it has ended
	ended error         // how; valid once done is closed

	mu     sync.Mutex
	reaped bool // its number may be another's
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
	servicesMain = "heddle.javahost.Main"
	filesMain    = "heddle.javahost.Files"
)

// startJVM starts a process with a program of the jar. It ends with this one: by its socket, and at once where the kernel has signals for that.
func (c *Config) startJVM(jar, main string) (*jvm, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|cloexec, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	theirs, ours := os.NewFile(uintptr(fds[0]), "services"), os.NewFile(uintptr(fds[1]), "services")
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
	j := &jvm{conn: conn, done: make(chan struct{})}
	started := make(chan error, 1)
	go c.run(j, cmd, said, started)
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
func (c *Config) run(j *jvm, cmd *exec.Cmd, said *os.File, started chan<- error) {
	runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
	endWithThread(cmd.SysProcAttr)
	err := cmd.Start()
	if err == nil {
		j.pid = cmd.Process.Pid
		err = errors.Join(proc.NotSpared(j.pid), c.Confine(j.pid))
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
		copyLines(said, c.Log.WithField("jvm", j.pid))
	}()
	awaitEnd(j.pid)
	j.signal(syscall.SIGKILL) // what it has started itself
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

// signal sends a signal to the JVM and the processes of its group.
func (j *jvm) signal(s syscall.Signal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.reaped {
		_ = syscall.Kill(-j.pid, s)
	}
}

// Bounds of what a JVM may print: a line's length in bytes, and lines in a second.
const (
	maxLine  = 4 << 10
	maxLines = 500
)

// copyLines logs lines until the other end is closed. It reads on when there are too many, so that nobody waits for it.
func copyLines(r io.Reader, log *logrus.Entry) {
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
				log.Warnf("%d lines of the JVM of the auxiliary services were left out", n-maxLines)
			}
			since, n = now, 0
		}
		if n++; n <= maxLines {
			log.Info(string(line))
		}
	}
}

// call sends a request and returns the results. Any other error than *Refused means that the JVM is of no use any more. A call that takes longer than
// limit is one: context.DeadlineExceeded.
func (j *jvm) call(op byte, args []byte, limit time.Duration) ([]byte, error) {
	j.next++
	if err := j.conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	err := writeRequest(j.conn, j.next, op, args)
	var body []byte
	if err == nil {
		body, err = readReply(j.conn)
	}
	if err == nil {
		return decodeReply(body, j.next)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, context.DeadlineExceeded
	}
	return nil, err
}

// kill ends the process, and waits for that. A process that can't be killed waits for a disk or a device; its successor doesn't wait for it.
func (j *jvm) kill() {
	j.signal(syscall.SIGKILL)
	j.wait(5 * time.Second)
}

// wait waits for the process's end.
func (j *jvm) wait(limit time.Duration) (ended bool) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-j.done:
		return true
	case <-t.C:
		return false
	}
}

// dump has the JVM print what its threads do.
func (j *jvm) dump() { j.signal(syscall.SIGQUIT) }
