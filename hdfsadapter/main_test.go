package hdfsadapter

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/user"
	"testing"

	"go.uber.org/goleak"

	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// cluster is the HDFS of this package's tests.
var cluster = hadooplab.NewShared(hadooplab.Options{DataNodes: 2})

func TestMain(m *testing.M) {
	// The library leaves a goroutine behind for every file whose DataNode fails while it is written.
	theirs := goleak.IgnoreAnyFunction("github.com/colinmarc/hdfs/v2/internal/transfer.(*blockWriteStream).ackPackets")
	os.Exit(await.NoGoroutines(cluster.Run(m), theirs))
}

// newAdapter returns an adapter for a configuration folder.
func newAdapter(t testing.TB, dir string, overrides ...string) *Adapter {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: dir, Overrides: overrides})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(c, Options{Host: "this-host"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// onHDFS returns the file systems as the superuser sees them, and an empty directory on HDFS.
func onHDFS(t testing.TB, overrides ...string) (*Adapter, *FS, string) {
	t.Helper()
	a := newAdapter(t, cluster.Lab(t).Conf(), overrides...)
	f := a.As("")
	dir := "/test/" + t.Name()
	if err := f.RemoveAll(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := f.MkdirAll(t.Context(), dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return a, f, dir
}

func self(t testing.TB) string {
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

func put(t testing.TB, f *FS, name string, data []byte, o CreateOptions) {
	t.Helper()
	w, err := f.Create(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write(data); err != nil || n != len(data) {
		t.Fatalf("wrote %d bytes of %d: %v", n, len(data), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, f *FS, name string) []byte {
	t.Helper()
	r, err := f.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// randomBytes returns the same bytes every time for a seed.
func randomBytes(n int, seed uint64) []byte {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(out) // never fails
	return out
}

// same fails without printing megabytes.
func same(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		t.Errorf("%s: got %d bytes, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: byte %d is %#x, want %#x", what, i, got[i], want[i])
			return
		}
	}
}
