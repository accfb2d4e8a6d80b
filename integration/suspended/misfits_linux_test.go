package suspended

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
)

// misfits are programs that do in a container what few do. Each returns how it sees that nothing of what it has was lost.
var misfits = map[string]func(dir string) (intact func() error, err error){
	"2000 threads":                     threads,
	"little of much memory":            sparse,
	"much shared memory":               shared,
	"a thread with real-time priority": realTime,
	"a child that is stopped":          stopped,
	"a child that is traced":           traced,
	"a child that holds a lock":        locks,
	"groups of its own":                groups,
	"children without end":             forks,
}

func init() { misfit = answer }

// answer is a misfit's answer to worker.intact.
func answer(name, dir string) func() string {
	intact, err := misfits[name](dir)
	return func() string {
		if err == nil {
			err = intact()
		}
		if err != nil {
			return err.Error()
		}
		return sumOf()
	}
}

func threads(string) (func() error, error) {
	const n = 2000
	r, w, err := os.Pipe()
	var woken atomic.Int32
	if err != nil {
		return nil, err
	}
	fd := int(r.Fd()) // it blocks
	for range n {
		go func() {
			runtime.LockOSThread()
			b := make([]byte, 1)
			for {
				switch _, err := syscall.Read(fd, b); {
				case err == nil:
					woken.Add(1)
				case !errors.Is(err, syscall.EINTR):
					panic(err)
				}
			}
		}()
	}
	return func() error {
		woken.Store(0)
		for range n { // whoever wakes may take more than one
			if _, err := w.Write([]byte{1}); err != nil {
				return err
			}
		}
		for woken.Load() < n {
			runtime.Gosched()
		}
		if tasks := must(os.ReadDir("/proc/self/task")); len(tasks) < n {
			return fmt.Errorf("%d threads", len(tasks))
		}
		runtime.KeepAlive(r)
		return nil
	}, nil
}

func sparse(dir string) (func() error, error) {
	const size, step = 64 << 30, 1 << 30
	private, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, err
	}
	file, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	for at := 0; at < size; at += step {
		copy(private[at:], fmt.Sprint(at+1))
		copy(file[at:], fmt.Sprint(at+2))
	}
	return func() error {
		for at := 0; at < size; at += step {
			if a, b := private[at:at+20], file[at:at+20]; !bytes.HasPrefix(a, []byte(fmt.Sprint(at+1))) || !bytes.HasPrefix(b, []byte(fmt.Sprint(at+2))) {
				return fmt.Errorf("at %d: %q, %q", at, a, b)
			}
		}
		return nil
	}, nil
}

func shared(string) (func() error, error) {
	fd, err := unix.MemfdCreate("shared", 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "shared")
	b := make([]byte, 200<<20)
	random := rand.NewChaCha8([32]byte{7})
	_, _ = random.Read(b) // never fails
	want := sha256.Sum256(b)
	_, err = f.Write(b)
	b = nil
	runtime.GC()
	return func() error {
		b := make([]byte, 200<<20)
		if _, err := f.ReadAt(b, 0); err != nil {
			return err
		}
		if got := sha256.Sum256(b); got != want {
			return errors.New("its shared memory is not what it was")
		}
		return nil
	}, err
}

func realTime(string) (func() error, error) {
	var turns atomic.Int64
	set := make(chan error)
	go func() {
		runtime.LockOSThread()
		set <- unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 10}, 0)
		for {
			turns.Add(1)
		}
	}()
	if err := <-set; err != nil && !errors.Is(err, unix.EPERM) { // groups may have no time for that
		return nil, err
	}
	return func() error {
		for was := turns.Load(); turns.Load() == was; {
			runtime.Gosched()
		}
		return nil
	}, nil
}

// state is what the kernel says a process does.
func state(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, found := bytes.Cut(b, []byte(") "))
	if err != nil || !found {
		return "gone"
	}
	return string(after[:1])
}

func sleeper(traced bool) (*exec.Cmd, error) {
	cmd := exec.Command("sleep", "3600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: traced}
	return cmd, cmd.Start()
}

func is(pid int, want string) func() error {
	return func() error {
		if got := state(pid); got != want {
			return fmt.Errorf("its child is %s, and was %s", got, want)
		}
		return nil
	}
}

func stopped(string) (func() error, error) {
	cmd, err := sleeper(false)
	if err != nil {
		return nil, err
	}
	return is(cmd.Process.Pid, "T"), cmd.Process.Signal(syscall.SIGSTOP)
}

func traced(string) (func() error, error) {
	pid := make(chan int)
	fails := make(chan error)
	go func() {
		runtime.LockOSThread() // the tracer is a thread
		cmd, err := sleeper(true)
		if err != nil {
			fails <- err
			return
		}
		pid <- cmd.Process.Pid
		select {}
	}()
	select {
	case err := <-fails:
		return nil, err
	case p := <-pid:
		return is(p, "t"), nil
	}
}

func locks(dir string) (func() error, error) {
	file := filepath.Join(dir, "lock")
	ready := filepath.Join(dir, "locked")
	cmd := exec.Command("flock", file, "-c", "touch "+ready+"; sleep 3600")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		runtime.Gosched()
	}
	return func() error {
		f := must(os.Open(file))
		defer f.Close()
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("its lock is free: %v", err)
		}
		return nil
	}, nil
}

// groups has a child in a group below each of the container's own.
func groups(string) (func() error, error) {
	cmd, err := sleeper(false)
	if err != nil {
		return nil, err
	}
	moved := 0
	for line := range strings.Lines(string(must(os.ReadFile("/proc/self/cgroup")))) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for _, root := range []string{"/sys/fs/cgroup/" + f[1], "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
			own := filepath.Join(root, f[2], "mine")
			if strings.Contains(f[2], "container_") && os.Mkdir(own, 0o755) == nil &&
				os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0) == nil {
				moved++
			}
		}
	}
	if moved == 0 {
		return nil, errors.New("it can't have groups of its own")
	}
	return is(cmd.Process.Pid, "S"), nil
}

func forks(string) (func() error, error) {
	var ran atomic.Int64
	for range 20 {
		go func() {
			for {
				if exec.Command("true").Run() == nil {
					ran.Add(1)
				}
			}
		}()
	}
	return func() error {
		for was := ran.Load(); ran.Load() < was+10; {
			runtime.Gosched()
		}
		return nil
	}, nil
}

// Programs that do what few do stand still, give back their memory, or their node says why they don't, go on as if nothing had been, and end while they stand
// still. Nothing is left of them.
func TestMisfits(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	l := start(t, 1, 1, nil)
	for name := range misfits {
		if !t.Run(name, func(t *testing.T) {
			defer func(was *testing.T) { l.t = was }(l.t)
			l.t = t
			m := l.submit(nil)
			m.does = name
			w := m.work(1, 768)[0]
			w.intact()
			stands := func(level string) {
				t.Helper()
				if out, err := l.heddle("container", "-suspend", w.id, "-level", level, "-breathe", "never"); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				await.Slowly(t, "it has the level, or a reason", func() bool {
					s, known := l.onNode(w.node, w.id)
					b, _ := l.box(w.id)
					return known && s.Suspended && (s.Level == level || b.Suspension != nil && b.Suspension.OnNode != nil && b.Suspension.OnNode.Reason != "")
				})
				s, _ := l.onNode(w.node, w.id)
				b, _ := l.box(w.id)
				t.Logf("%+v; %+v", s, b.Suspension.OnNode)
				if len(l.frozen()) == 0 {
					t.Error("nothing is frozen")
				}
			}
			for _, level := range []string{"frozen", "reclaimed", "reclaimed"} {
				stands(level)
				m.resumes(w)
			}
			stands("reclaimed")
			m.release(w)
			m.finish()
			l.empty()
		}) {
			return
		}
	}
}
