package container

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/cgroup"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// able has the node's handler of cgroups say that it can, or can't, take memory back: other tests may turn swap on and off meanwhile.
func (h *hooked) able(reclaim bool) func(o *Options) {
	return func(o *Options) {
		h.tweak(o)
		h.reclaims = &reclaim
	}
}

func level(l suspend.Level, memory, vcores int64, version int32) suspend.Order {
	return suspend.Order{Level: l, Held: records.NewResource(memory, vcores), Version: version}
}

func order(t testing.TB, c *Container, o suspend.Order) {
	t.Helper()
	if err := c.Order(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func settled(t testing.TB, c *Container, want suspend.Level) suspend.State {
	t.Helper()
	return await.Value(t, "level "+want.String(), func() (suspend.State, bool) {
		s := c.Status().Suspension
		return s, s.Have == want && !s.Lags()
	})
}

// Orders may come in any order and any number of times: the newest counts.
func TestTheNewestOrderCounts(t *testing.T) {
	l := newLab(t)
	c, file := l.counter()
	order(t, c, level(suspend.Frozen, 256, 0, 5))
	for _, o := range []suspend.Order{level(suspend.Frozen, 256, 0, 5), level(suspend.Running, 256, 1, 5), level(suspend.Running, 256, 1, 3)} {
		order(t, c, o)
		if s := c.Status(); s.State != Paused || s.Suspension.Version != 5 || !s.Suspended {
			t.Errorf("after %+v: %s, %+v", o, s.State, s.Suspension)
		}
	}
	l.restart()
	c = l.container(c.ID())
	await.Until(t, "PAUSED", func() bool { return c.State() == Paused })
	order(t, c, level(suspend.Running, 256, 1, 5))
	if s := c.Status(); s.State != Paused || s.Suspension.Version != 5 {
		t.Errorf("after a restart: %s, %+v", s.State, s.Suspension)
	}
	order(t, c, level(suspend.Running, 256, 1, 6))
	before := size(t, file)
	await.Until(t, "progress", func() bool { return size(t, file) > before })
	l.restart()
	c = l.container(c.ID())
	await.Until(t, "version 6", func() bool { return c.Status().Suspension.Version == 6 })
	if s := c.Status(); s.State != Running || s.Suspension.Lags() || s.Suspension.Have != suspend.Running {
		t.Errorf("at last: %s, %+v", s.State, s.Suspension)
	}
}

// What a container lends stays lent until the ResourceManager says otherwise: its ApplicationMaster and its owner can't take it back.
func TestOnlyTheResourceManagerTakesBackWhatIsLent(t *testing.T) {
	for _, low := range []suspend.Level{suspend.Shrunk, suspend.Frozen} {
		t.Run(low.String(), func(t *testing.T) {
			l := newLab(t)
			c, file := l.counter()
			lent := level(low, 256, 0, 1)
			lent.For = "root.short"
			order(t, c, lent)
			at := settled(t, c, low)
			if err := c.Resume(t.Context()); !errors.Is(err, ErrHeldByRM) || !strings.Contains(err.Error(), "root.short") {
				t.Errorf("resume: %v", err)
			}
			if err := c.SuspendTo(t.Context(), suspend.Shrunk, 0); err != nil {
				t.Error(err)
			}
			if s := c.Status().Suspension; s.Order != at.Order || s.Have != low {
				t.Errorf("%+v, and before %+v", s, at)
			}
			if err := c.Resume(t.Context()); err != nil {
				t.Errorf("what its application wanted is taken back: %v", err)
			}
			if s := c.Status().Suspension; s.Order != at.Order || s.Have != low {
				t.Errorf("%+v, and before %+v", s, at)
			}
			order(t, c, level(suspend.Running, 256, 1, 2))
			before := size(t, file)
			await.Until(t, "progress", func() bool { return size(t, file) > before })
			if err := errors.Join(c.Suspend(t.Context()), c.Resume(t.Context())); err != nil {
				t.Errorf("when nothing is lent: %v", err)
			}
		})
	}
}

// What can't be done is refused with the reason, and counts as answered.
func TestOrdersThatAreRefused(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.able(false))
	c, _ := l.counter()
	for version, o := range []suspend.Order{
		level(suspend.Reclaimed, 64, 0, 1), level(suspend.Shrunk, 999, 1, 2), level(suspend.Running, 100, 1, 3), level(77, 256, 1, 4),
	} {
		if err := c.Order(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.ID().String()) {
			t.Errorf("%+v: %v", o, err)
		}
		if s := c.Status(); s.State != Running || s.Suspension.Version != int32(version)+1 || !s.Suspension.Failed || s.Suspension.Reason == "" || s.Suspension.Have != suspend.Running {
			t.Errorf("after %+v: %s, %+v", o, s.State, s.Suspension)
		}
	}
	order(t, c, level(suspend.Shrunk, 256, 0, 5))
	if s := c.Status(); s.State != Running || s.Suspension.Failed || s.Suspension.Have != suspend.Shrunk || c.box.Limits().CPU != suspend.LeastCPU {
		t.Errorf("shrunk to no CPU: %s, %+v, %+v", s.State, s.Suspension, c.box.Limits())
	}
	c.Kill(records.ExitKilledByAppMaster, "")
	waitDone(t, c)
	if err := c.Order(t.Context(), level(suspend.Frozen, 256, 0, 9)); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after its end: %v", err)
	}
}

// rememberVariable has the test's own program hold so many bytes of random memory, and write their checksum to the file sum once there
// is a file go.
const rememberVariable = "CONTAINER_TEST_REMEMBER"

// With "locked " before the number it locks the memory: the kernel doesn't page that out. With "half " half of it is a file in memory, which no process has mapped.
func remember(size string) {
	size, locked := strings.CutPrefix(size, "locked ")
	size, half := strings.CutPrefix(size, "half ")
	n, err := strconv.Atoi(size)
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(err)
	random, own := random(), n
	if half {
		own = n / 2
	}
	memory := make([]byte, own)
	random.Read(memory)
	if locked {
		check(syscall.Mlock(memory))
	}
	file, err := os.CreateTemp("/dev/shm", "remember")
	check(err)
	check(os.Remove(file.Name()))
	for piece := make([]byte, 1<<20); own < n; own += len(piece) {
		random.Read(piece)
		_, err := file.Write(piece)
		check(err)
	}
	write := func(name, text string) {
		check(os.WriteFile(name+".part", []byte(text), 0o644))
		check(os.Rename(name+".part", name))
	}
	write("ready", "")
	for !exists("go") {
		time.Sleep(10 * time.Millisecond)
	}
	sum := sha256.New()
	sum.Write(memory)
	_, err = io.Copy(sum, io.NewSectionReader(file, 0, int64(n)))
	check(err)
	write("sum", fmt.Sprintf("%x", sum.Sum(nil)))
	for {
		time.Sleep(time.Hour)
	}
}

func random() *rand.ChaCha8 { return rand.NewChaCha8([32]byte{1}) }

func randomBytes(n int) []byte {
	memory := make([]byte, n)
	random().Read(memory)
	return memory
}

func sumOf(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// rememberer runs a container of so many MB that holds so many bytes of random memory.
func (l *lab) rememberer(size int64, bytes int) *Container {
	l.t.Helper()
	return l.remembers(size, strconv.Itoa(bytes))
}

func (l *lab) remembers(size int64, what string) *Container {
	l.t.Helper()
	c := l.run(job{id: containerID(1, 1), memory: size, command: "exec " + os.Args[0], env: map[string]string{rememberVariable: what, "GOGC": "off"}})
	await.Until(l.t, "RUNNING", func() bool { return c.State() == Running })
	waitFile(l.t, c.Status().WorkDir+"/ready")
	return c
}

// remembers verifies that the memory of a rememberer, which runs, is what it was.
func remembers(t *testing.T, c *Container, bytes int) {
	t.Helper()
	dir := c.Status().WorkDir
	if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	want := sumOf(randomBytes(bytes))
	if got := waitFile(t, dir+"/sum"); got != want {
		t.Errorf("its memory has the sum %s, and should have %s", got, want)
	}
}

// What is paged out of a container, also across a restart of its NodeManager, is what it was. The node has room for others meanwhile.
func TestContentsSurviveTheLadder(t *testing.T) { survives(t, 96<<20, 512) }

// The same with as much memory as real tasks have, on whatever groups this machine has; in the virtual machine they are cgroups v2.
func TestAGigabyteIsReclaimedAndComesBack(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 pages a gigabyte out and in, which takes a while")
	}
	survives(t, 1<<30, 1536)
}

// survives takes a container of so many MB, with so many bytes of random memory, down the ladder and up.
func survives(t *testing.T, remembered int, size int64) {
	swapfile.On(t, size<<20)
	l := newLab(t)
	if !l.node.Groups.Capabilities().Reclaim {
		return // it says so: see nm/cgroup
	}
	c := l.remembers(size, fmt.Sprint("half ", remembered))
	memory := func() cgroup.Memory {
		m, err := c.Group().Memory()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := memory(); m.Used() < int64(remembered)*9/10 || m.File < int64(remembered)/2 || m.Swapped > 0 {
		t.Fatalf("at first %+v", m)
	}
	o := level(suspend.Reclaimed, 64, 0, 1)
	o.BreathEvery = 300 * time.Millisecond
	order(t, c, o)
	settled(t, c, suspend.Reclaimed)
	await.Until(t, "a breath", func() bool { return !c.Status().Suspension.LastBreath.IsZero() })
	if used := l.node.room.Used().MemoryMB(); used > size {
		t.Errorf("%d MB are in use", used)
	}
	l.restart()
	c = l.container(c.ID())
	s := settled(t, c, suspend.Reclaimed)
	if s.Version != 1 || s.BreathEvery != o.BreathEvery || s.Swapped < int64(remembered)/5 {
		t.Errorf("after a restart %+v", s)
	}
	await.Until(t, "what it doesn't hold is free", func() bool {
		m := memory()
		return m.Anon+m.File <= 64<<20 && l.node.room.Used().MemoryMB() == 64
	})
	order(t, c, level(suspend.Shrunk, 128, 1, 2))
	settled(t, c, suspend.Shrunk)
	order(t, c, level(suspend.Running, size, 1, 3))
	if l := c.box.Limits(); l.High != 0 || l.Swap != 0 || l.Memory != size<<20 {
		t.Errorf("at last it is held to %+v", l)
	}
	if used := l.node.room.Used().MemoryMB(); used != size {
		t.Errorf("at last %d MB are in use", used)
	}
	remembers(t, c, remembered)
}

// A kill waits for no step of the ladder, and nothing of the container is left. newLab checks the latter.
func TestKilledOnEachRung(t *testing.T) {
	for name, hang := range map[string]func(h *hooked, reached chan struct{}){
		"while it is frozen": func(h *hooked, reached chan struct{}) {
			h.freeze = func(ctx context.Context, _ cgroup.Group) error {
				close(reached)
				<-ctx.Done()
				return ctx.Err()
			}
		},
		"while its memory is taken": func(h *hooked, reached chan struct{}) {
			h.reclaim = func(ctx context.Context, _ cgroup.Group, _ int64) error {
				close(reached)
				<-ctx.Done()
				return ctx.Err()
			}
		},
		"while it is read back": func(h *hooked, reached chan struct{}) {
			h.pageIn = func(ctx context.Context, _ cgroup.Group) error {
				close(reached)
				<-ctx.Done()
				return ctx.Err()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hooked{}
			l := newLab(t, h.able(true))
			c, _ := l.counter()
			reached := make(chan struct{})
			h.set(func(h *hooked) {
				h.memory = &cgroup.Memory{Anon: 200 << 20, Swapped: 10 << 20}
				hang(h, reached)
			})
			result := make(chan error, 1)
			go func() {
				err := c.Order(context.Background(), level(suspend.Reclaimed, 64, 0, 1))
				if err == nil && strings.Contains(name, "read back") {
					err = c.Order(context.Background(), level(suspend.Running, 256, 1, 2))
				}
				result <- err
			}()
			<-reached
			c.Kill(records.ExitKilledByAppMaster, "")
			s := waitDone(t, c)
			// The memory is taken after the order has been answered.
			if err := <-result; !errors.Is(err, ErrNotRunning) && (err != nil || !strings.Contains(name, "taken")) {
				t.Errorf("the order: %v", err)
			}
			if s.Suspended || s.Suspension.Have != suspend.Running || l.node.room.Used().MemoryMB() != 0 {
				t.Errorf("after its end %+v, and %v are in use", s, l.node.room.Used())
			}
		})
	}
}

// Another size leaves taken from a container what was taken from it.
func TestAResizeLeavesAShrunkContainerShrunk(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.able(true))
	j := job{id: containerID(1, 1), user: "ann", memory: 256, command: "while :; do sleep 0.1; done"}
	c := l.run(j)
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	order(t, c, level(suspend.Shrunk, 128, 0, 1))
	settled(t, c, suspend.Shrunk)
	for _, memory := range []int64{512, 100} {
		j.memory = memory
		if err := c.Update(t.Context(), j.grant(int32(1000-memory)), j.token(int32(1000-memory))); err != nil {
			t.Fatal(err)
		}
		held := min(128, memory)
		s := c.Status().Suspension
		if s.Holds != records.NewResource(held, 0) || l.node.room.Used().MemoryMB() != held || c.box.Limits().CPU != suspend.LeastCPU {
			t.Errorf("of %d MB it holds %v, %v are in use, it is held to %+v", memory, s.Holds, l.node.room.Used(), c.box.Limits())
		}
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := c.Status().Suspension; s.Have != suspend.Running || s.Holds != records.NewResource(100, 1) || c.box.Limits().CPU != 0 {
		t.Errorf("resumed: %+v, held to %+v", s, c.box.Limits())
	}
}

// The node has become too small for a container whose neighbour has let go, too: nobody makes room for it. It goes on.
func TestAResumeDoesNotWaitForTheShrunk(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.able(true))
	var all []*Container
	for i := range int64(2) {
		c := l.run(job{id: containerID(1, i+1), memory: 2048, command: "while :; do sleep 0.1; done"})
		await.Until(t, "RUNNING", func() bool { return c.State() == Running })
		order(t, c, level(suspend.Shrunk, 64, 0, 1))
		settled(t, c, suspend.Shrunk)
		all = append(all, c)
	}
	l.node.room.Resize(records.NewResource(1000, 8))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := all[0].Order(ctx, level(suspend.Running, 2048, 1, 2)); err != nil {
		t.Fatal(err)
	}
	settled(t, all[0], suspend.Running)
}

// Others use by now what a suspended container held: it is resumed when it fits.
func TestAResumeWaitsForRoom(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.able(true))
	first := l.run(job{id: containerID(1, 1), memory: 8000, command: "while :; do sleep 0.1; done"})
	await.Until(t, "RUNNING", func() bool { return first.State() == Running })
	order(t, first, level(suspend.Reclaimed, 64, 0, 1))
	settled(t, first, suspend.Reclaimed)
	second := l.run(job{id: containerID(1, 2), memory: 8000, command: "while :; do sleep 0.1; done"})
	await.Until(t, "RUNNING", func() bool { return second.State() == Running })
	result := make(chan error, 1)
	go func() { result <- first.Order(context.Background(), level(suspend.Running, 8000, 1, 2)) }()
	await.Until(t, "RESUMING", func() bool { return first.State() == Resuming })
	if frozen, err := first.Group().Frozen(); err != nil || !frozen {
		t.Errorf("it runs though it doesn't fit: %v, %v", frozen, err)
	}
	order(t, first, level(suspend.Running, 8000, 1, 2)) // it is told again, and waits on
	order(t, first, level(suspend.Reclaimed, 100, 0, 3))
	if err := <-result; err != nil || first.State() != Paused {
		t.Errorf("overtaken by another order: %v, it is %s", err, first.State())
	}
	settled(t, first, suspend.Reclaimed)
	go func() { result <- first.Order(context.Background(), level(suspend.Running, 8000, 1, 4)) }()
	await.Until(t, "RESUMING", func() bool { return first.State() == Resuming })
	second.Kill(records.ExitKilledByAppMaster, "")
	if err := <-result; err != nil || first.State() != Running {
		t.Errorf("%v, it is %s", err, first.State())
	}
}
