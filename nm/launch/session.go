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

	"heddle/internal/bounded"
	"heddle/internal/within"
	"heddle/nm/cgroup"
	"heddle/nm/proc"
)

// Exit codes that a NodeManager assigns (Hadoop: ContainerExecutor.ExitCode).
const (
	ExitForceKilled = 137 // by SIGKILL
	ExitTerminated  = 143 // by SIGTERM
	ExitLost        = 154 // unknown: the container ended unseen, or the machine was restarted
)

// keeper is the shell around a container. It first waits at the gate (descriptor 3) until the NodeManager has put it
// into its group and recorded it. End of file there means that the NodeManager has ended, and that nothing must start.
// Then the keeper runs the script in a session of its own (if there is setsid). It writes the pid of the session's
// leader, and finally its exit code, into the status file (descriptor 4). It has a descriptor of the file because the
// container's user can't reach the file. The file has its final size from the start, so that the exit code fits even on
// a full disk.
//
// The container's processes are of the same user as the keeper. They can't take its descriptors if it is protected
// (closedShell): then descriptor 5 is its program. The subshell runs nothing else before it has closed descriptor 4.
const keeper = `read -r -u 3 go || exit 0
exec 3<&- 5<&-
(echo "pid $BASHPID" >&4; exec 4>&-; s=$(command -v setsid) && exec "$s" /bin/bash "$0"; exec /bin/bash "$0")
code=$?
echo "exit $code" >&4
exit $code`

// userUmask is what precedes the keeper of a container that runs as its user, as in Hadoop's container-executor: files that
// the container makes are hidden from all but the user and their group. Other containers inherit the NodeManager's.
const userUmask = "umask 0027\n"

// statusSize is the size of a status file in bytes: two lines and a reserve. Whatever is behind that isn't read.
const statusSize = 64

// Spec describes the container to start.
type Spec struct {
	ID         string              // the container's id, which is also the name of its group
	Script     string              // path of launch_container.sh
	WorkDir    string              // its work folder
	Status     string              // path of the status file, in a folder that only the NodeManager can enter
	Output     string              // path of a file for the shells' own output, such as why the script could not start
	Credential *syscall.Credential // nil: this process's own

	// Image is how an image is run; nil: the script runs on the machine. Of a session that Reattach is called for it matters only whether it is there.
	Image *Image
}

// Session is a started container.
type Session struct {
	spec   Spec
	group  cgroup.Group
	keeper proc.ID

	cmd  *exec.Cmd // nil if the keeper is not a child of this process
	gate *os.File

	once sync.Once
	done chan struct{} // closed when code is set
	code int

	leader atomic.Int64 // pid of the session's leader, 0 until it is known
}

// Start puts a container's shell into its group, and lets it wait at the gate. Record Keeper, and then call Open or
// Abandon. group must have the name spec.ID.
func Start(spec Spec, group cgroup.Group) (*Session, error) {
	s := &Session{spec: spec, group: group, done: make(chan struct{})}
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("start container %s: %w", spec.ID, err)
	}
	return s, nil
}

// shell returns the container's shell, without its files.
func (s *Session) shell() *exec.Cmd {
	text, credential := keeper, s.spec.Credential
	if credential != nil {
		text = userUmask + keeper
	}
	args := []string{"-c", text, s.spec.Script}
	if s.spec.Image != nil {
		credential, args = nil, append([]string{"-c", imageKeeper, bash}, s.spec.Image.Command...)
	}
	cmd := exec.Command(bash, args...)
	cmd.Dir = s.spec.WorkDir
	cmd.Env = []string{cgroup.Marker + "=" + s.spec.ID}
	// A session of its own protects it from a terminal's Ctrl-C and hang-up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: credential}
	return cmd
}

func (s *Session) start() (err error) {
	if _, err := os.Stat(s.spec.WorkDir); err != nil { // the error of exec would blame bash
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

	cmd := s.shell()
	cmd.Stdout, cmd.Stderr = output, output
	cmd.ExtraFiles = []*os.File{wait, status}
	credential := cmd.SysProcAttr.Credential
	// Processes of this process's own user can do worse than take descriptors.
	if shell := closedShell(); shell != nil && credential != nil {
		cmd.Path = pathOf(len(cmd.ExtraFiles))
		cmd.ExtraFiles = append(cmd.ExtraFiles, shell)
	}
	keepDescriptors()
	if err := s.spec.Image.start(cmd); err != nil {
		gate.Close()
		if errors.Is(err, fs.ErrPermission) && credential != nil {
			return fmt.Errorf("user %d can't enter %s, or use /bin/bash: let all users pass through the folders above it: %w",
				credential.Uid, cmd.Dir, err)
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

// Keeper identifies the container's shell. Record it, so that a restarted NodeManager can call Reattach.
func (s *Session) Keeper() proc.ID { return s.keeper }

// Open lets the container start.
func (s *Session) Open() error {
	_, err := s.gate.WriteString("\n")
	err = errors.Join(err, s.gate.Close())
	if err != nil {
		return fmt.Errorf("start container %s: %w", s.spec.ID, err)
	}
	go s.follow()
	return nil
}

// Abandon ends a container that was not let through the gate.
func (s *Session) Abandon() {
	s.gate.Close()
	s.cmd.Wait()
}

// Reattach returns the session of a container that an earlier process has started. It never fails: a container that has
// gone has ended, with its recorded exit code or ExitLost. A zero keeper stands for a container that is known to have
// gone.
func Reattach(spec Spec, group cgroup.Group, keeper proc.ID) *Session {
	s := &Session{spec: spec, group: group, keeper: keeper, done: make(chan struct{})}
	if g, ok := group.(interface{ Adopt(keeper proc.ID) }); ok && keeper.PID != 0 {
		g.Adopt(keeper)
	}
	go s.follow()
	return s
}

// Begun waits until it is certain whether the container has begun to run its script. If it returns false, the container
// never will. If ctx ends first, or the state can't be read for long, it returns true.
//
// A keeper that still waits at the gate will end soon, because the gate is no longer held. One that has passed the
// gate will begin soon. The difference shows only when the keeper has ended or begun.
//
// If passed is true the keeper is known to have passed the gate, and there is nothing to wait for: one that was frozen at once can't begin.
func (s *Session) Begun(ctx context.Context, passed bool) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	begun, err := within.Do(ctx, func() (bool, error) {
		for wait := time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 50*time.Millisecond) { // hundreds may ask at a time
			gone := s.gone()
			if pid, _, _ := s.status(); pid != 0 {
				s.leader.Store(int64(pid))
				return true, nil
			}
			if gone || passed {
				return !gone, nil
			}
			time.Sleep(wait)
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

// follow finds the session's leader in the background: callers of PID must not wait for the disk. One that was frozen before it began is looked for until it
// continues, which may take hours.
func (s *Session) follow() {
	for wait := time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
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

// Wait waits until the container's script has ended, and returns its exit code as a shell does: 128+n for signal n.
// Other processes of the container may still run; Kill ends them.
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
	cmd.Wait() // the error only repeats the state
	if cmd.ProcessState == nil {
		return ExitLost
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// status reads the status file: the pid of the session's leader (0: not begun), the exit code, and whether that is
// there. The container may have written the file: whatever it has, it takes no memory and names a possible process and
// exit code.
func (s *Session) status() (pid, code int, ended bool) {
	text, err := bounded.ReadHead(s.spec.Status, statusSize)
	if err != nil {
		return 0, 0, false
	}
	return parseStatus(string(text))
}

// maxPID is the largest pid that Linux gives out.
const maxPID = 1 << 22

// parseStatus ignores incomplete lines, and everything from the first wrong one on.
func parseStatus(text string) (pid, code int, ended bool) {
	for line := range strings.Lines(text) {
		line, complete := strings.CutSuffix(line, "\n")
		key, value, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(value)
		switch {
		case !complete || err != nil || n < 0:
			return pid, code, ended
		case key == "pid" && n <= maxPID:
			pid = n
		case key == "exit" && n <= 255:
			code, ended = n, true
		default:
			return pid, code, ended
		}
	}
	return pid, code, ended
}

// PID returns the pid of the session's leader, or 0 while that isn't known. It waits for no disk.
func (s *Session) PID() int { return int(s.leader.Load()) }

// Output returns the last max bytes that the shells around the container have printed. If a script could not even write
// to its log folder, the reason is there.
func (s *Session) Output(max int64) string {
	f, err := bounded.Open(s.spec.Output)
	if err != nil {
		return ""
	}
	defer f.Close()
	return tailOf(f, max)
}

// Signal sends sig to all processes of the container, but not to the shell that keeps its exit code.
func (s *Session) Signal(sig syscall.Signal) error {
	if leader := s.PID(); s.spec.Image != nil && leader != 0 {
		return s.group.Signal(sig, s.keeper.PID, leader) // the OCI runtime would pass it on a second time
	}
	return s.group.Signal(sig, s.keeper.PID)
}

// Stop asks the container's processes to end, gives them the time grace, and kills those that remain, daemons included.
// It doesn't ask a frozen container, whose processes can't react. It returns when no process is left.
func (s *Session) Stop(ctx context.Context, grace time.Duration) error {
	if frozen, err := s.group.Frozen(); err == nil && !frozen && grace > 0 {
		s.ask(ctx, grace)
	}
	return s.group.Kill(ctx)
}

// ask asks the container's processes to end, and waits until none is left, but not longer than most.
func (s *Session) ask(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	begun := s.PID() != 0
	_ = s.Signal(syscall.SIGTERM) // Kill reports a persistent failure
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		if pids, err := s.group.Processes(); err != nil || len(pids) == 0 {
			return
		}
		// The keeper may have been alone when the signal came, just before the session began.
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
