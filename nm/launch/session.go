package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"heddle/internal/within"
	"heddle/nm/cgroup"
	"heddle/nm/proc"
)

// Exit codes that a NodeManager makes up (Hadoop: ContainerExecutor.ExitCode).
const (
	ExitForceKilled = 137 // by SIGKILL
	ExitTerminated  = 143 // by SIGTERM
	ExitLost        = 154 // nobody knows: the container ended unseen, or the machine was restarted
)

// keeper is the shell around a container. It first waits at the gate (descriptor 3) until it has been put into its
// group and noted down; end of file there means that the NodeManager is gone and nothing is to be started. Then it
// runs the script in a session of its own (where there is setsid) and notes, in the status file (descriptor 4), the pid of the session's leader
// and at last its exit code. The file is written through a descriptor, since the user whom the container runs as can't
// reach it, and it has its final size from the start, so that a full disk can't keep the exit code out.
const keeper = `read -r -u 3 go || exit 0
exec 3<&-
/bin/bash -c 'echo "pid $$" >&4; exec 4>&-; s=$(command -v setsid) && exec "$s" /bin/bash "$0"; exec /bin/bash "$0"' "$0"
code=$?
echo "exit $code" >&4
exit $code`

// statusSize is the size of a status file: two lines and a reserve.
const statusSize = 64

// Spec says what to start and where.
type Spec struct {
	ID         string              // the container's id, which is also the name of its group
	Script     string              // path of launch_container.sh
	WorkDir    string              // where it runs
	Status     string              // path of the status file, in a folder that only the NodeManager reaches
	Output     string              // path of a file for what the shells themselves say, for instance why the script could not start
	Credential *syscall.Credential // nil: this process's own
}

// Session is a started container.
type Session struct {
	spec   Spec
	group  cgroup.Group
	keeper proc.ID

	cmd  *exec.Cmd // nil if the keeper is not our child
	gate *os.File

	once sync.Once
	done chan struct{} // closed when code is set
	code int

	leader atomic.Int64 // pid of the process that leads the session, when it is known
}

// Start puts a container's shell into its group and makes it wait at the gate: note down Keeper, then call Open, or
// Abandon. group must be the group named spec.ID.
func Start(spec Spec, group cgroup.Group) (*Session, error) {
	s := &Session{spec: spec, group: group, done: make(chan struct{})}
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("start container %s: %w", spec.ID, err)
	}
	return s, nil
}

func (s *Session) start() (err error) {
	if _, err := os.Stat(s.spec.WorkDir); err != nil { // the error of a failed exec would blame bash
		return err
	}
	status, err := os.OpenFile(s.spec.Status, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer status.Close()
	if _, err := status.WriteAt(make([]byte, statusSize), 0); err != nil {
		return err
	}
	output, err := os.OpenFile(s.spec.Output, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	wait, gate, err := os.Pipe()
	if err != nil {
		return err
	}
	defer wait.Close()

	cmd := exec.Command("/bin/bash", "-c", keeper, s.spec.Script)
	cmd.Dir = s.spec.WorkDir
	cmd.Env = []string{cgroup.Marker + "=" + s.spec.ID}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.ExtraFiles = []*os.File{wait, status}
	// A session of its own, so that a terminal's Ctrl-C and hang-up stay away.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.spec.Credential}
	keepDescriptors()
	if err := cmd.Start(); err != nil {
		gate.Close()
		if errors.Is(err, fs.ErrPermission) && s.spec.Credential != nil {
			return fmt.Errorf("user %d can't enter %s, or use /bin/bash: let everybody pass through the folders above it: %w", s.spec.Credential.Uid, cmd.Dir, err)
		}
		return err
	}
	s.cmd, s.gate = cmd, gate
	defer func() {
		if err != nil {
			s.Abandon()
		}
	}()
	p, err := proc.Read(cmd.Process.Pid)
	if err != nil {
		return err
	}
	s.keeper = p.ID
	if err := proc.NotSpared(s.keeper.PID); err != nil {
		return err
	}
	return s.group.Add(s.keeper.PID)
}

// Keeper identifies the container's shell; noted down, it leads to the container after a restart (Recover).
func (s *Session) Keeper() proc.ID { return s.keeper }

// Open lets the container begin.
func (s *Session) Open() error {
	_, err := s.gate.WriteString("\n")
	err = errors.Join(err, s.gate.Close())
	if err != nil {
		return fmt.Errorf("start container %s: %w", s.spec.ID, err)
	}
	go s.follow()
	return nil
}

// Abandon ends a container that has not been let in.
func (s *Session) Abandon() {
	s.gate.Close()
	s.cmd.Wait()
}

// Reattach takes up a container that an earlier process has started. It never fails: one that is gone has ended, with the
// exit code it has left or ExitLost. A zero keeper is one that is known to be gone.
func Reattach(spec Spec, group cgroup.Group, keeper proc.ID) *Session {
	s := &Session{spec: spec, group: group, keeper: keeper, done: make(chan struct{})}
	go s.follow()
	return s
}

// Begun waits until it is certain whether the container has begun to run its script. One that has not never will. When ctx
// ends before, or nothing can be seen for long, it may have.
//
// A keeper that still waits at the gate is about to go away, as nobody holds the gate any more, and one that has passed
// it is about to begin: only when it is gone or has begun there is a difference to be seen.
func (s *Session) Begun(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	begun, err := within.Do(ctx, func() (bool, error) {
		for ctx.Err() == nil {
			gone := s.gone()
			if pid, _, _ := s.status(); pid != 0 {
				s.leader.Store(int64(pid))
				return true, nil
			}
			if gone {
				return false, nil
			}
			time.Sleep(time.Millisecond)
		}
		return true, nil
	})
	return begun || err != nil
}

// gone reports whether the keeper has ended.
func (s *Session) gone() bool {
	if s.keeper.PID == 0 {
		return true
	}
	p, err := proc.Read(s.keeper.PID)
	return err != nil || p.Start != s.keeper.Start || p.Dead()
}

// follow finds out which process leads the session: whoever asks for it must not wait for the disk that knows it.
func (s *Session) follow() {
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		gone := s.gone()
		if pid, _, _ := s.status(); pid != 0 {
			s.leader.Store(int64(pid))
			return
		}
		if gone {
			return
		}
		time.Sleep(wait)
	}
}

// Wait returns the container's exit code when its script has ended, as a shell would give it: 128+n for signal n.
// Other processes of the container may still be there; Kill ends them.
func (s *Session) Wait(ctx context.Context) (code int, err error) {
	s.once.Do(func() {
		if s.cmd != nil {
			go func() {
				s.code = exitCode(s.cmd)
				close(s.done)
			}()
		}
	})
	if s.cmd == nil {
		if s.keeper.PID != 0 {
			if err := proc.WaitExit(ctx, s.keeper); err != nil {
				return 0, err
			}
		}
		return within.Do(ctx, func() (int, error) {
			if _, code, ended := s.status(); ended {
				return code, nil
			}
			return ExitLost, nil
		})
	}
	select {
	case <-s.done:
		return s.code, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func exitCode(cmd *exec.Cmd) int {
	cmd.Wait() // its error repeats the state
	if cmd.ProcessState == nil {
		return ExitLost
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// status reads the status file: the pid of the container's session (0: it has not begun) and its exit code.
func (s *Session) status() (pid, code int, ended bool) {
	text, err := os.ReadFile(s.spec.Status)
	if err != nil {
		return 0, 0, false
	}
	return parseStatus(string(text))
}

// parseStatus takes only lines that are complete.
func parseStatus(text string) (pid, code int, ended bool) {
	for line := range strings.Lines(text) {
		line, complete := strings.CutSuffix(line, "\n")
		key, value, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(value)
		if !complete || err != nil || n < 0 {
			return pid, code, ended
		}
		switch key {
		case "pid":
			pid = n
		case "exit":
			code, ended = n, true
		}
	}
	return pid, code, ended
}

// PID returns the process that leads the container's session, or 0 while that isn't known. It waits for no disk.
func (s *Session) PID() int { return int(s.leader.Load()) }

// Output returns what the shells around the container have said, which is where a script that could not even write to
// its log folder leaves its complaint. At most max bytes of the end are returned.
func (s *Session) Output(max int64) string {
	f, err := os.Open(s.spec.Output)
	if err != nil {
		return ""
	}
	defer f.Close()
	return tailOf(f, max)
}

// Signal sends sig to all processes of the container, but not to the shell that keeps its exit code.
func (s *Session) Signal(sig syscall.Signal) error {
	return s.group.Signal(sig, s.keeper.PID)
}

// Stop asks the container's processes to end, gives all of them that long, and kills what is left: daemons too. A
// frozen container is not asked: its processes could not hear. It returns when no process is left.
func (s *Session) Stop(ctx context.Context, grace time.Duration) error {
	if frozen, err := s.group.Frozen(); err == nil && !frozen && grace > 0 {
		s.ask(ctx, grace)
	}
	return s.group.Kill(ctx)
}

// ask has the container's processes end by themselves, and waits until none is left, at most that long.
func (s *Session) ask(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	begun := s.PID() != 0
	_ = s.Signal(syscall.SIGTERM) // a failure shows again in Kill, whose error is the one that counts
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		if pids, err := s.group.Processes(); err != nil || len(pids) == 0 {
			return
		}
		// The keeper may have been alone and on its way to begin the session, which then hasn't heard.
		if !begun && s.PID() != 0 {
			begun = true
			_ = s.Signal(syscall.SIGTERM)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
