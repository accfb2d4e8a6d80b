package suspended

import (
	"bytes"
	"crypto/sha256"
	bytesof "encoding/binary"
	"errors"
	"fmt"
	"io"
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
	"unsafe"

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
	"a thread with real-time priority": realTime(unix.SCHED_FIFO),
	"a thread that takes turns":        realTime(unix.SCHED_RR),
	"a child that is stopped":          stopped,
	"a child that is traced":           traced,
	"a child that holds a lock":        locks,
	"groups of its own":                groups,
	"children without end":             forks,
	atLimit:                            limited,
	"a file in memory":                 inShm,
	"locked memory":                    locked,
	"a token that goes to and fro":     passes,
	"a process that waits for a vfork": vforks,
	"reads in flight":                  ring,
}

const atLimit = "as many processes as it may have"

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

func realTime(policy uint32) func(string) (func() error, error) {
	return func(string) (func() error, error) {
		var turns atomic.Int64
		set := make(chan error)
		var thread int
		go func() {
			runtime.LockOSThread()
			thread = unix.Gettid()
			set <- unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: 10}, 0)
			for {
				turns.Add(1)
			}
		}()
		refused := <-set
		if refused != nil && !errors.Is(refused, unix.EPERM) { // groups may have no time for that
			return nil, refused
		}
		return func() error {
			for was := turns.Load(); turns.Load() == was; {
				runtime.Gosched()
			}
			if a, err := unix.SchedGetAttr(thread, 0); err != nil || refused == nil && a.Policy != policy {
				return fmt.Errorf("its thread is scheduled by %+v (%v)", a, err)
			}
			return nil
		}, nil
	}
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

// ownGroups are the folders of the container's groups.
func ownGroups() (dirs []string) {
	for line := range strings.Lines(string(must(os.ReadFile("/proc/self/cgroup")))) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for _, root := range []string{"/sys/fs/cgroup/" + f[1], "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
			dir := filepath.Join(root, f[2])
			if _, err := os.Stat(dir); err == nil && strings.Contains(f[2], "container_") {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// groups has a child in a group below each of the container's own.
func groups(string) (func() error, error) {
	cmd, err := sleeper(false)
	if err != nil {
		return nil, err
	}
	moved := 0
	for _, dir := range ownGroups() {
		own := filepath.Join(dir, "mine")
		if os.Mkdir(own, 0o755) == nil && os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0) == nil {
			moved++
		}
	}
	if moved == 0 {
		return nil, errors.New("it can't have groups of its own")
	}
	return is(cmd.Process.Pid, "S"), nil
}

func forks(string) (func() error, error) {
	ran, _ := forking()
	return further(ran), nil
}

// forking has children without end, and counts those that ran and those that it could not have.
func forking() (ran, refused *atomic.Int64) {
	ran, refused = new(atomic.Int64), new(atomic.Int64)
	for range 20 {
		go func() {
			for {
				switch err := exec.Command("true").Run(); {
				case err == nil:
					ran.Add(1)
				case errors.Is(err, syscall.EAGAIN):
					refused.Add(1)
				}
			}
		}()
	}
	return ran, refused
}

// further waits until numbers have grown.
func further(numbers ...*atomic.Int64) func() error {
	return func() error {
		for _, n := range numbers {
			for was := n.Load(); n.Load() < was+10; {
				runtime.Gosched()
			}
		}
		return nil
	}
}

// limited fills the container's group, and forks where one more process fits. This program has threads enough before: Go ends when it can't have one.
func limited(string) (func() error, error) {
	const threads = 100
	ready, enough := make(chan bool), make(chan bool)
	for range threads {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread() // it stays, for whoever needs one
			ready <- true
			<-enough
		}()
	}
	for range threads {
		<-ready
	}
	close(enough)
	var last *exec.Cmd
	for {
		cmd, err := sleeper(false)
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		if err != nil {
			return nil, err
		}
		last = cmd
	}
	if last == nil {
		return nil, errors.New("there is no room for a process")
	}
	err := last.Process.Kill()
	_ = last.Wait() // it was killed
	return further(forking()), err
}

// shmFile is the file in memory of the container that works in a folder. It outlives the container.
func shmFile(dir string) string { return filepath.Join("/dev/shm", filepath.Base(dir)) }

func inShm(dir string) (func() error, error) {
	b := memoryOf(rand.NewChaCha8([32]byte{8}), 64)
	want := sha256.Sum256(b)
	return func() error {
		b, err := os.ReadFile(shmFile(dir))
		if got := sha256.Sum256(b); err == nil && got != want {
			err = errors.New("its file in memory is not what it was")
		}
		return err
	}, os.WriteFile(shmFile(dir), b, 0o600)
}

func locked(string) (func() error, error) {
	const mb = 32
	b, err := unix.Mmap(-1, 0, mb<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	copy(b, memoryOf(rand.NewChaCha8([32]byte{9}), mb))
	want := sha256.Sum256(b)
	if err := unix.Mlock(b); err != nil {
		return nil, err
	}
	return func() error {
		in := make([]byte, mb<<20/os.Getpagesize())
		if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&in[0]))); errno != 0 {
			return errno
		}
		if out := bytes.Count(in, []byte{0}); out > 0 {
			return fmt.Errorf("%d pages of its locked memory are not in memory", out)
		}
		if got := sha256.Sum256(b); got != want {
			return errors.New("its locked memory is not what it was")
		}
		return nil
	}, nil
}

// passes gives numbers to a process that gives them back.
func passes(string) (func() error, error) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var passed atomic.Int64
	go func() {
		b := make([]byte, 8)
		for n := uint64(1); ; n++ {
			must(in.Write(bytesof.BigEndian.AppendUint64(nil, n)))
			must(io.ReadFull(out, b))
			if got := bytesof.BigEndian.Uint64(b); got != n {
				panic(fmt.Sprintf("%d came back as %d", n, got))
			}
			passed.Add(1)
		}
	}()
	return further(&passed), cmd.Start()
}

// vforkVariable has this program wait for a child that neither ends nor becomes another program. No signal but SIGKILL wakes such a process.
const vforkVariable = "SUSPENDED_TEST_VFORK"

func init() {
	if os.Getenv(vforkVariable) == "" {
		return
	}
	if child, _, _ := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_VFORK|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0); child != 0 {
		os.Exit(1) // the child has ended, or there is none
	}
	for {
		_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0) // it waits for nothing; a signal may wake it
	}
}

func vforks(string) (func() error, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), vforkVariable+"=1")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	waits := is(cmd.Process.Pid, "D")
	for waits() != nil {
		if state(cmd.Process.Pid) == "Z" {
			return nil, errors.New("no vfork")
		}
		runtime.Gosched()
	}
	return waits, nil
}

// Programs that do what few do stand still, give back their memory, or their node says why they don't, go on as if nothing had been, and end while they stand
// still. Nothing is left of them.
func TestMisfits(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	l := start(t, 1, 1, nil)
	for name := range misfits {
		if name == atLimit {
			continue // in a lab whose containers have one
		}
		if !t.Run(name, func(t *testing.T) { l.ladder(t, name) }) {
			return
		}
	}
}

func TestMisfitAtItsLimitOfProcesses(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	start(t, 1, 1, map[string]string{"heddle.container.max-pids": "150"}).ladder(t, atLimit)
}

// ladder takes a misfit through all levels.
func (l *lab) ladder(t *testing.T, name string) {
	if name == "reads in flight" {
		needsRings(t)
	}
	defer func(was *testing.T) { l.t = was }(l.t)
	l.t = t
	m := l.submit(nil)
	m.does = name
	w := m.work(1, 768)[0]
	defer os.Remove(shmFile(w.dir)) // only one has it
	w.intact()
	stands := func(level string) {
		t.Helper()
		if out, err := l.heddle("container", "-suspend", w.id, "-level", level, "-breathe", "never"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		await.Slowly(t, "it has the level, or a reason", func() bool {
			s, known := l.onNode(w.node, w.id)
			b, _ := l.box(w.id)
			return known && b.Suspension != nil && s.Suspended == (level != "shrunk") && (s.Level == level || b.Suspension.OnNode != nil && b.Suspension.OnNode.Reason != "")
		})
		s, _ := l.onNode(w.node, w.id)
		b, _ := l.box(w.id)
		t.Logf("%+v; %+v", s, b.Suspension.OnNode)
		if frozen := len(l.frozen()); (frozen == 0) != (level == "shrunk") {
			t.Errorf("%d groups are frozen", frozen)
		}
	}
	for _, level := range []string{"shrunk", "frozen", "reclaimed", "reclaimed"} {
		stands(level)
		m.resumes(w)
		if frozen := l.frozen(); len(frozen) > 0 {
			t.Errorf("%q are frozen", frozen)
		}
	}
	stands("reclaimed")
	m.release(w)
	m.finish()
	l.empty()
}

// A container whose level people change faster than its node follows has lost nothing, and goes on when they are done.
func TestToggledQuickly(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	swapfile.On(t, 1<<30)
	l := start(t, 1, 1, nil)
	m := l.submit(nil)
	w := m.work(1, 768)[0]
	w.grow(64)
	levels := []string{"shrunk", "frozen", "reclaimed"}
	for i := range 100 {
		for _, args := range [][]string{{"-suspend", w.id, "-level", levels[i%len(levels)], "-breathe", "never"}, {"-resume", w.id}} {
			if out, err := l.heddle("container", args...); err != nil {
				t.Errorf("%d: %q: %v: %s", i, args, err, out)
			}
		}
	}
	l.running(w.node, w.id)
	w.progress()
	w.intact()
	if frozen := l.frozen(); len(frozen) > 0 {
		t.Errorf("%q are frozen", frozen)
	}
	l.suspend(w.node, w.id, "-level", "reclaimed", "-breathe", "never")
	m.release(w)
	m.finish()
	l.empty()
}
