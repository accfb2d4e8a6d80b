package cgroup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/swapfile"
)

// holdVariable has the test's own program hold so many bytes of random memory, and say their checksum for every line that it reads.
const holdVariable = "HEDDLE_TEST_HOLD"

func hold(size string) {
	size, shared := strings.CutPrefix(size, "shared ")
	n, err := strconv.Atoi(size)
	if err != nil {
		panic(err)
	}
	var memory []byte
	if shared {
		if memory, err = syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON); err != nil {
			panic(err)
		}
	} else {
		memory = make([]byte, n)
	}
	rand.NewChaCha8([32]byte{1}).Read(memory)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Printf("%x\n", sha256.Sum256(memory))
	}
}

// heldMemory is that of a process in a group.
type heldMemory struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// sum has the process look at all of its memory.
func (h heldMemory) sum() string {
	h.t.Helper()
	fmt.Fprintln(h.in)
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func holding(t *testing.T, d Handler, l Limits, bytes int) (Group, heldMemory) {
	t.Helper()
	return holdingWhat(t, d, l, strconv.Itoa(bytes))
}

// holdingWhat is a process of the test's own program that holds memory.
func holdingWhat(t *testing.T, d Handler, l Limits, what string) (Group, heldMemory) {
	t.Helper()
	g, err := d.Create("c", l)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/bash", "-c", `read; exec "$0"`, os.Args[0])
	cmd.Env = []string{Marker + "=c", holdVariable + "=" + what, "GOGC=off"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := g.Kill(ctx)
		cmd.Wait()
		if err := errors.Join(err, g.Destroy(ctx)); err != nil {
			t.Error(err)
		}
	})
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in)
	return g, heldMemory{t, in, bufio.NewReader(out)}
}

// What is taken back of a frozen group, and read back, is what it was; the limits are lifted, and it lives on.
func TestContentsSurviveReclaim(t *testing.T) {
	swapfile.On(t, 256<<20)
	limitedKinds(t, func(c Capabilities) bool { return c.Reclaim }, func(t *testing.T, d Handler) {
		const size, least = 96 << 20, 16 << 20
		running := Limits{Memory: 256 << 20}
		g, held := holding(t, d, running, size)
		want := held.sum()
		ctx := deadline(t)
		before := memory(t, g)
		if before.Anon < size || before.Swapped > 0 {
			t.Fatalf("at first it has %+v", before)
		}
		if err := g.Freeze(ctx); err != nil {
			t.Fatal(err)
		}
		if err := g.SetLimits(Limits{Memory: 256 << 20, Swap: 256 << 20}); err != nil {
			t.Fatal(err)
		}
		if err := g.Reclaim(ctx, before.Anon+before.File-least); err != nil && !errors.Is(err, syscall.EBUSY) {
			t.Fatal(err)
		}
		after := memory(t, g)
		if after.Anon > 2*least || after.Swapped < size-2*least {
			t.Errorf("after its memory was taken it has %+v", after)
		}
		if err := g.SetLimits(Limits{Memory: 256 << 20, High: 2 * least, Swap: 256 << 20}); err != nil {
			t.Error(err)
		}
		if frozen, err := g.Frozen(); err != nil || !frozen {
			t.Errorf("frozen %v, %v", frozen, err)
		}
		if err := g.SetLimits(running); err != nil {
			t.Fatal(err)
		}
		if err := g.PageIn(ctx); err != nil {
			t.Fatal(err)
		}
		if err := g.Thaw(ctx); err != nil {
			t.Fatal(err)
		}
		if got := held.sum(); got != want {
			t.Errorf("its memory has the sum %s, and had %s", got, want)
		}
		if back := memory(t, g); back.Anon < size {
			t.Errorf("at last it has %+v", back)
		}
		if use, err := g.Usage(); err != nil || use.OOMKills > 0 {
			t.Errorf("%+v, %v", use, err)
		}
	})
}

// No more of a frozen group is written than was asked for, though the disk may be slow: others need it, too.
func TestReclaimLeavesTheRest(t *testing.T) {
	swapfile.On(t, 256<<20)
	limitedKinds(t, func(c Capabilities) bool { return c.Reclaim }, func(t *testing.T, d Handler) {
		const size = 128 << 20
		g, held := holding(t, d, Limits{Memory: 256 << 20, Swap: 256 << 20}, size)
		held.sum()
		ctx := deadline(t)
		if err := g.Freeze(ctx); err != nil {
			t.Fatal(err)
		}
		before := memory(t, g)
		if err := g.Reclaim(ctx, size/4); err != nil {
			t.Fatal(err)
		}
		// on v2 the kernel may take back several times what it is asked for
		if gone := before.Anon - memory(t, g).Anon; gone < size/4-4<<20 || gone > size/2 && d.Kind() != V2 {
			t.Errorf("of %d bytes %d are gone", size, gone)
		}
	})
}

// Memory that a process shares, as those do that fork, is paged out and read back like its own.
func TestSharedMemoryIsReadBack(t *testing.T) {
	swapfile.On(t, 256<<20)
	limitedKinds(t, func(c Capabilities) bool { return c.Reclaim }, func(t *testing.T, d Handler) {
		const size = 64 << 20
		g, held := holdingWhat(t, d, Limits{Memory: 256 << 20, Swap: 256 << 20}, fmt.Sprint("shared ", size))
		want := held.sum()
		ctx := deadline(t)
		if err := g.Freeze(ctx); err != nil {
			t.Fatal(err)
		}
		before := memory(t, g)
		if err := g.Reclaim(ctx, before.Anon+before.File); err != nil && !errors.Is(err, syscall.EBUSY) {
			t.Fatal(err)
		}
		out := memory(t, g)
		if before.File < size || out.File > size/2 || out.Swapped < size/2 {
			t.Fatalf("of %+v it has %+v", before, out)
		}
		if err := g.PageIn(ctx); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "it is read", func() bool { use, err := g.Usage(); return err == nil && use.Memory > size })
		if err := g.Thaw(ctx); err != nil {
			t.Fatal(err)
		}
		if got := held.sum(); got != want {
			t.Errorf("its memory has the sum %s, and had %s", got, want)
		}
	})
}

func memory(t *testing.T, g Group) Memory {
	t.Helper()
	m, err := g.Memory()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A running group that needs more than it is squeezed to waits or pages out. It isn't killed, and goes on when it gets what it needs.
func TestASqueezedGroupIsNotKilled(t *testing.T) {
	swapfile.On(t, 256<<20)
	limitedKinds(t, func(c Capabilities) bool { return c.Reclaim }, func(t *testing.T, d Handler) {
		const size = 64 << 20
		g, held := holding(t, d, Limits{Memory: 256 << 20, High: 24 << 20, Swap: 256 << 20}, size)
		var sums [2]string
		sums[0] = held.sum() // its first line comes when it has all of its memory
		m := memory(t, g)
		if m.Anon > 32<<20 || m.Swapped < 16<<20 {
			t.Errorf("squeezed it has %+v", m)
		}
		if err := g.SetLimits(Limits{Memory: 256 << 20}); err != nil {
			t.Fatal(err)
		}
		sums[1] = held.sum()
		if sums[0] != sums[1] {
			t.Error(sums)
		}
		await.Until(t, "it has all of its memory", func() bool { return memory(t, g).Anon >= size })
		if use, err := g.Usage(); err != nil || use.OOMKills > 0 {
			t.Errorf("%+v, %v", use, err)
		}
	})
}
