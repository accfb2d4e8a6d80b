package worker

import (
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/am/mapreduce/input"
	"heddle/internal/await"
)

// A mapper that had read one line of a hundred was told to be done with all: they were in its pipe. It reads lines when the
// test lets it.
func TestProgressIsWhatTheCommandHasRead(t *testing.T) {
	var text strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		fmt.Fprintf(&text, "%04d %x\n", i, r.Uint64())
	}
	for _, name := range []string{"plain", "packed.gz"} {
		path := filepath.Join(t.TempDir(), name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z := gzip.NewWriter(f)
			fmt.Fprint(z, text.String())
			z.Close()
		} else {
			fmt.Fprint(f, text.String())
		}
		info, err := f.Stat()
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		gate := filepath.Join(t.TempDir(), "gate")
		x := testTask(t, fmt.Sprintf(`for i in 1 2 3 4 5 6 7 8 9 10; do while [ ! -e %s$i ]; do sleep 0.01; done; head -c $(( %d / 10 )); done; cat`, gate, text.Len()),
			input.Piece{Path: path, Length: info.Size()})
		ended := make(chan error, 1)
		go func() {
			_, err := x.mapped(t)
			ended <- err
		}()
		for i := 1; i <= 10; i++ {
			await.Until(t, fmt.Sprintf("%s: %d tenths to be read", name, i-1), func() bool {
				f := x.fraction()
				if want := float64(i-1) / 10; f > want+0.07 {
					t.Fatalf("%s: %.2f was read, of %.2f at most", name, f, want)
				} else {
					return f > want-0.03
				}
				return false
			})
			if err := os.WriteFile(fmt.Sprint(gate, i), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if f := x.fraction(); f != 1 {
			t.Errorf("%s: %v in the end", name, f)
		}
	}
}
