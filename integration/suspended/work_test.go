package suspended

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"heddle/internal/await"
)

// workVariable has the test's own program work in a container. Its value is a folder: the program writes on to a file ticks. A file grow has it take so
// many MB of random memory more, and is removed when they are taken; ask is answered by a file sum with the checksum of all of it;
// shrink has it give all of it back.
const workVariable = "SUSPENDED_TEST_WORK"

// misfitVariable has it be one of the misfits as well, which answers with the checksum of nothing if it has all that it had.
const misfitVariable = "SUSPENDED_TEST_MISFIT"

// misfit begins to be one, and returns how it answers. Only Linux has them.
var misfit func(name, dir string) func() string

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func memoryOf(random *rand.ChaCha8, mb int) []byte {
	b := make([]byte, mb<<20)
	random.Read(b)
	return b
}

func work(dir string) {
	in := func(name string) string { return filepath.Join(dir, name) }
	var memory [][]byte
	random := rand.NewChaCha8([32]byte{5})
	sum := func() string { return sumOf(memory...) }
	if name := os.Getenv(misfitVariable); name != "" {
		sum = misfit(name, dir)
	}
	ticks := must(os.OpenFile(in("ticks"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))
	for must(ticks.WriteString(".")) > 0 {
		if b, err := os.ReadFile(in("grow")); err == nil {
			memory = append(memory, memoryOf(random, must(strconv.Atoi(string(b)))))
			must(0, os.Remove(in("grow")))
		}
		if _, err := os.Stat(in("shrink")); err == nil {
			memory = nil
			debug.FreeOSMemory()
			must(0, os.Remove(in("shrink")))
		}
		if _, err := os.Stat(in("ask")); err == nil {
			must(0, os.Remove(in("ask")))
			must(0, os.WriteFile(in("sum.part"), []byte(sum()), 0o644))
			must(0, os.Rename(in("sum.part"), in("sum")))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func sumOf(memory ...[]byte) string {
	h := sha256.New()
	for _, b := range memory {
		_, _ = h.Write(b) // never fails
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// worker is such a program in a container.
type worker struct {
	t       *testing.T
	dir     string
	id      string // of its container
	node    string
	random  *rand.ChaCha8
	memory  [][]byte
	version int32 // of its container's size
}

func newWorker(t *testing.T, dir, node, id string) *worker {
	return &worker{t: t, dir: dir, id: id, node: node, random: rand.NewChaCha8([32]byte{5})}
}

func (w *worker) in(name string) string { return filepath.Join(w.dir, name) }

func (w *worker) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.in(name+".part"), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(w.in(name+".part"), w.in(name)); err != nil {
		w.t.Fatal(err)
	}
}

// grow has it take memory, and returns when it has.
func (w *worker) grow(mb int) {
	w.t.Helper()
	w.memory = append(w.memory, memoryOf(w.random, mb))
	w.write("grow", strconv.Itoa(mb))
	await.Slowly(w.t, "it takes memory", func() bool { _, err := os.Stat(w.in("grow")); return os.IsNotExist(err) })
}

// shrink has it give back its memory, and returns when it has.
func (w *worker) shrink() {
	w.t.Helper()
	w.memory = nil
	w.write("shrink", "")
	await.Slowly(w.t, "it gives memory back", func() bool { _, err := os.Stat(w.in("shrink")); return os.IsNotExist(err) })
}

func (w *worker) ticks() int64 {
	info, err := os.Stat(w.in("ticks"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// progress waits until it goes on, intact until it has said that its memory is what it was.
func (w *worker) progress() {
	w.t.Helper()
	before := w.ticks()
	await.Slowly(w.t, w.id+" goes on", func() bool { return w.ticks() > before })
}

func (w *worker) intact() {
	w.t.Helper()
	w.write("ask", "")
	var got string
	await.Slowly(w.t, "a checksum", func() bool {
		b, err := os.ReadFile(w.in("sum"))
		got = string(b)
		return err == nil
	})
	if err := os.Remove(w.in("sum")); err != nil || got != sumOf(w.memory...) {
		w.t.Errorf("its memory is not what it was (%v): it says %s", err, got)
	}
}
