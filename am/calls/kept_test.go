package calls

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func replayed(t *testing.T, k *kept) (string, error) {
	t.Helper()
	var got strings.Builder
	err := k.replay(func(stream int, b []byte) { fmt.Fprintf(&got, "%d:%s;", stream, b) })
	return got.String(), err
}

// A task that floods its output takes no more memory than one that writes some.
func TestOutputIsKeptWhole(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	rng := rand.New(rand.NewPCG(1, 2))
	for _, total := range []int{0, 100, inMemory - pieceHead, 3 * inMemory} {
		var k kept
		k.add(0, []byte("of an executor that was lost"))
		k.forget()
		var want strings.Builder
		for written := 0; written < total; {
			b := bytes.Repeat([]byte{byte('a' + rng.IntN(26))}, min(1+rng.IntN(100_000), total-written))
			stream := rng.IntN(2)
			k.add(stream, b)
			fmt.Fprintf(&want, "%d:%s;", stream, b)
			clear(b) // they are the caller's again
			written += len(b)
		}
		if cap(k.memory) > 2*inMemory {
			t.Errorf("%d of %d bytes are in memory", cap(k.memory), total)
		}
		if got, err := replayed(t, &k); err != nil || got != want.String() {
			t.Errorf("of %d bytes: %d came back, %v", total, len(got), err)
		}
		if got, err := replayed(t, &k); got != "" || err != nil {
			t.Errorf("again: %q, %v", got, err)
		}
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// Without a folder for the rest, what fits into memory comes, and who reads it learns that there was more.
func TestLostOutputIsTold(t *testing.T) {
	t.Setenv("TMPDIR", "/no/such/folder")
	var k kept
	k.add(0, []byte("some"))
	for range 3 {
		k.add(1, make([]byte, inMemory))
	}
	if got, err := replayed(t, &k); got != "0:some;" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}
