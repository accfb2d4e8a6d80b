package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/lines"
)

// tailLines is how many of the last lines that a command wrote to its standard error come with its failure.
const tailLines = 10

// command is a user's command as it is run for a task.
type command struct {
	role string // mapper, combiner or reducer
	line string // for sh
	dir  string
	env  []string // in addition to that of this process
	log  *stderr

	gauge  *gauge        // of what it reads; nil: it isn't reported
	atOnce int           // so much lies in its pipe and on the way there, in bytes; 0: as much as is quick
	grace  time.Duration // how long its pipes may be open when it has ended, before it is asked who holds them; 0: lingering
}

// CommandError is the failure of a command.
type CommandError struct {
	Role, Line string
	Err        error // such as "exit status 1"
}

func (e *CommandError) Error() string {
	text := fmt.Sprintf("%s %q: %v", e.Role, e.Line, e.Err)
	var exit *exec.ExitError
	if errors.As(e.Err, &exit) {
		switch exit.ExitCode() {
		case 127:
			text += " (there is no such command on the node; -files takes one there)"
		case 126:
			text += " (the command can't be executed)"
		}
	}
	return text
}

func (e *CommandError) Unwrap() error { return e.Err }

// lingering is how long the end of what a command writes is waited for once it has ended: something that it has started may
// hold its standard error.
const lingering = 3 * time.Second

// errEnough is the error of writing to a command that reads no more.
var errEnough = errors.New("the command has closed its standard input")

// stdin is a command's standard input. Only its own errors say that the command has read enough: where the input comes from
// there are broken pipes as well.
type stdin struct {
	w     io.Writer
	gauge *gauge // nil: its use isn't reported
	sip   int    // how much is written at once
}

// sip is how much is written to a command at once, in bytes, so that what it has taken is known about as exactly.
const sip = 16 << 10

func (s stdin) Write(b []byte) (written int, err error) {
	for err == nil && written < len(b) {
		var n int
		n, err = s.w.Write(b[written:min(len(b), written+s.sip)])
		written += n
		if s.gauge != nil {
			s.gauge.fed.Add(int64(n))
		}
	}
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		err = errEnough
	}
	return written, err
}

// run runs the command with what feed writes as its input; take reads its output to the end. A command that doesn't read
// all of its input, and succeeds, is fine. feed's writer is buffered; its error must wrap the writer's errors.
func (c *command) run(ctx context.Context, feed func(io.Writer) error, take func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, "sh", "-c", c.line)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = lingering
	cmd.Stderr = c.log
	input, stdout, err := c.start(cmd)
	if err != nil {
		return err
	}
	defer input.Close()
	defer stdout.Close()
	defer context.AfterFunc(ctx, func() {
		// A process outside the command's process group isn't killed, and may hold both pipes for ever.
		input.Close()
		_ = stdout.SetReadDeadline(time.Unix(1, 0))
	})()
	var watching sync.WaitGroup
	finished := make(chan struct{})
	watching.Go(func() {
		if err := c.watchPipes(cmd.Process.Pid, input, stdout, finished); err != nil {
			cancel(err)
		}
	})
	if c.gauge != nil {
		c.gauge.pipe.Store(input)
		defer c.gauge.release()
	}
	var feeding sync.WaitGroup
	feeding.Go(func() {
		if err := c.feed(input, feed); err != nil {
			cancel(err) // before its input ends, so that it doesn't take this for the end
		}
		if c.gauge != nil {
			c.gauge.hold(input)
		}
		input.Close()
	})
	taken := take(stdout)
	if taken != nil {
		cancel(taken)
	}
	if taken == nil {
		feeding.Wait() // the command may have closed its output and continue reading
	}
	close(finished)
	watching.Wait() // it needs the process, which is gone once it was waited for
	exited := cmd.Wait()
	input.Close() // another may hold the other end, and read nothing
	feeding.Wait()
	c.log.flush()
	c.log.hold("")
	return c.outcome(context.Cause(ctx), exited)
}

// start starts the command, with the pipes by which it is fed and its output is taken.
func (c *command) start(cmd *exec.Cmd) (input, stdout *os.File, err error) {
	output, input, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer output.Close()
	stdout, write, err := os.Pipe()
	if err != nil {
		input.Close()
		return nil, nil, err
	}
	defer write.Close()
	cmd.Stdin, cmd.Stdout = output, write
	if err := cmd.Start(); err != nil {
		input.Close()
		stdout.Close()
		return nil, nil, &CommandError{c.role, c.line, err}
	}
	return input, stdout, nil
}

// feed writes the command's input. That the command wants no more of it is fine.
func (c *command) feed(input *os.File, feed func(io.Writer) error) error {
	buffer, sip := lines.Chunk, sip
	if c.atOnce > 0 {
		shrink(input, c.atOnce)
		buffer, sip = min(buffer, c.atOnce), min(sip, c.atOnce)
	}
	w := bufio.NewWriterSize(stdin{input, c.gauge, sip}, buffer)
	err := feed(w)
	if err == nil {
		err = w.Flush()
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// outcome is the error of a command that has ended. cause is why it was to end, if it was.
func (c *command) outcome(cause, exited error) error {
	var held *HeldError
	var exit *exec.ExitError
	if errors.As(cause, &held) && errors.As(exited, &exit) {
		return &CommandError{c.role, c.line, exited}
	}
	if cause != nil {
		return cause
	}
	if exited != nil && !errors.Is(exited, exec.ErrWaitDelay) {
		return &CommandError{c.role, c.line, exited}
	}
	return nil
}

// stderr takes what commands write to their standard error: it is passed on, but for lines such as
// "reporter:counter:group,name,1" and "reporter:status:text", which Hadoop Streaming understands.
type stderr struct {
	to io.Writer

	mu       sync.Mutex
	counters job.Counters
	names    int  // of counters
	full     bool // one of them has reached its limit
	status   string
	partial  []byte
	passed   bytes.Buffer // to be passed on
	tail     []string
	seen     time.Time // when something was written
	held     string    // the holder of the pipes of a command that has ended; "": none
}

func newStderr(to io.Writer) *stderr {
	return &stderr{to: to, counters: job.Counters{}, seen: time.Now()}
}

// maxStderrLine is how much of a line is kept, in bytes.
const maxStderrLine = 4096

func (s *stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = time.Now()
	defer s.pass()
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			s.partial = append(s.partial, rest[:min(len(rest), max(0, maxStderrLine-len(s.partial)))]...)
			break
		}
		line := append(s.partial, rest[:min(i, max(0, maxStderrLine-len(s.partial)))]...)
		s.line(string(line))
		s.partial = s.partial[:0]
		rest = rest[i+1:]
	}
	return len(b), nil
}

func (s *stderr) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.partial) > 0 {
		s.line(string(s.partial))
		s.partial = s.partial[:0]
	}
	s.pass()
}

// hold records that a process holds the pipes of a command that has ended, and says so once.
func (s *stderr) hold(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != "" && s.held == "" {
		fmt.Fprintln(&s.passed, text)
		s.pass()
	}
	s.held = text
}

// pass passes on all at once: a command may write millions of lines.
func (s *stderr) pass() {
	if s.passed.Len() > 0 {
		_, _ = s.passed.WriteTo(s.to) // a slow reader doesn't hold up the command
		s.passed.Reset()
	}
}

func (s *stderr) line(line string) {
	if text, ok := strings.CutPrefix(line, "reporter:counter:"); ok {
		// As in Hadoop the number is behind the last comma, and the name may have none.
		parts := strings.Split(text, ",")
		if len(parts) == 3 {
			if n, err := strconv.ParseInt(strings.TrimSpace(parts[2]), 10, 64); err == nil {
				s.count(parts[0], parts[1], n)
				return
			}
		}
	} else if text, ok := strings.CutPrefix(line, "reporter:status:"); ok {
		s.status = text
		return
	}
	fmt.Fprintln(&s.passed, line)
	if s.tail = append(s.tail, line); len(s.tail) > tailLines {
		s.tail = s.tail[1:]
	}
}

// maxCounters is how many counters of its own a task may have (Hadoop: mapreduce.job.counters.max, which is 120 by default).
const maxCounters = 1000

// count counts for a command. Counters beyond the limit are dropped.
func (s *stderr) count(group, name string, n int64) {
	if _, ok := s.counters[group][name]; !ok {
		if s.names++; s.names == maxCounters+1 {
			fmt.Fprintf(&s.passed, "more than %d counters: %s,%s and further ones are not counted\n", maxCounters, group, name)
		}
		if s.names > maxCounters {
			return
		}
	}
	if !s.counters.Add(group, name, n) && !s.full {
		s.full = true
		fmt.Fprintf(&s.passed, "counter %s,%s stays at %d: 64 bits hold no more\n", group, name, s.counters.Get(group, name))
	}
}

func (s *stderr) last() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.tail...)
}
