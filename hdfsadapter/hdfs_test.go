package hdfsadapter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/ipc"
)

// What Hadoop's own client writes we read, and the other way round.
func TestHadoopsClientAgrees(t *testing.T) {
	_, f, dir := onHDFS(t)
	lab := cluster.Lab(t)
	local := filepath.Join(t.TempDir(), "f")
	data := randomBytes(3_000_000, 11)
	if err := os.WriteFile(local, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Run(t.Context(), "hdfs", "dfs", "-Ddfs.blocksize=1048576", "-put", local, dir+"/theirs"); err != nil {
		t.Fatal(err)
	}
	same(t, "theirs", get(t, f, dir+"/theirs"), data)
	put(t, f, dir+"/ours", data, CreateOptions{BlockSize: 1 << 20, Perm: 0o640})
	back := local + ".back"
	if _, err := lab.Run(t.Context(), "hdfs", "dfs", "-get", dir+"/ours", back); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(back)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "ours", got, data)
	out, err := lab.Run(t.Context(), "hdfs", "dfs", "-stat", "%a %b %o %r %u %Y", dir+"/ours")
	if err != nil {
		t.Fatal(err)
	}
	i, err := f.Stat(t.Context(), dir+"/ours")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%o %d %d %d %s %d\n", i.Mode.Perm(), i.Size, i.BlockSize, i.Replication, i.Owner, i.ModTime); out != want {
		t.Errorf("we see %q, Hadoop %q", want, out)
	}
	out, err = lab.Run(t.Context(), "hdfs", "fsck", dir, "-files", "-blocks")
	if err != nil || !strings.Contains(out, "is HEALTHY") || strings.Contains(out, "OPENFORWRITE") {
		t.Errorf("%v\n%s", err, out)
	}
}

// replicated returns the blocks of a file when two replicas of each are known: a file is complete when one DataNode has reported its last block.
func replicated(t *testing.T, f *FS, path string, n int) []Block {
	t.Helper()
	return await.Value(t, "both replicas of each block are known", func() ([]Block, bool) {
		blocks, err := f.Blocks(t.Context(), path, 0, 1<<40)
		if err != nil || len(blocks) != n {
			t.Fatalf("%d blocks, %v", len(blocks), err)
		}
		return blocks, !slices.ContainsFunc(blocks, func(b Block) bool { return len(b.Hosts) < 2 })
	})
}

func TestBlockLocations(t *testing.T) {
	_, f, dir := onHDFS(t)
	put(t, f, dir+"/f", randomBytes(10*4096+1, 5), CreateOptions{BlockSize: 4096, Replication: 2})
	blocks := replicated(t, f, dir+"/f", 11)
	ids := map[uint64]bool{}
	for i, b := range blocks {
		if ids[b.ID] = true; b.Stamp == 0 || len(ids) != i+1 {
			t.Errorf("block %d: %+v", i, b)
		}
		want := int64(4096)
		if i == 10 {
			want = 1
		}
		hosts := slices.Sorted(slices.Values(b.Hosts))
		if b.Offset != int64(i)*4096 || b.Length != want || !slices.Equal(hosts, []string{"127.0.0.2", "localhost"}) || len(b.Cached) != 0 {
			t.Errorf("block %d: %+v", i, b)
		}
		for j, name := range b.Names {
			if !strings.HasPrefix(name, "127.0.0.1:") || b.Racks[j] != "/default-rack/"+name {
				t.Errorf("block %d: %+v", i, b)
			}
		}
	}
	some, err := f.Blocks(t.Context(), dir+"/f", 5000, 4096)
	if err != nil || len(some) != 2 || some[0].Offset != 4096 || some[1].Offset != 8192 {
		t.Errorf("got %+v, %v", some, err)
	}
}

// DataNodes are named localhost and 127.0.0.2.
func TestOnlyReplicasOnThisHostAreReadIfThatIsAsked(t *testing.T) {
	a, f, dir := onHDFS(t)
	data := randomBytes(3*4096, 6)
	put(t, f, dir+"/f", data, CreateOptions{BlockSize: 4096, Replication: 2})
	replicated(t, f, dir+"/f", 3)
	read := func(host string) ([]byte, error) {
		a.options.Host = host
		r, err := f.OpenHere(t.Context(), dir+"/f")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	for _, host := range []string{"localhost", "127.0.0.2"} {
		got, err := read(host)
		if err != nil {
			t.Errorf("%s: %v", host, err)
		}
		same(t, host, got, data)
	}
	if got, err := read("elsewhere"); len(got) != 0 || !errors.Is(err, errNoReplica) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	a.options.Host = "localhost"
	put(t, f, dir+"/one", data, CreateOptions{BlockSize: 4096, Replication: 1})
	blocks, err := f.Blocks(t.Context(), dir+"/one", 0, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.OpenHere(t.Context(), dir+"/one")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, b := range blocks {
		_, err := r.ReadAt(make([]byte, 100), b.Offset)
		if here := slices.Contains(b.Hosts, "localhost"); here != (err == nil) {
			t.Errorf("block %d on %v: %v", i, b.Hosts, err)
		}
	}
}

func TestLargeFile(t *testing.T) {
	_, f, dir := onHDFS(t)
	const size = 120 << 20
	pattern := randomBytes(1<<20+17, 9) // so that its repetitions lie differently in chunks and blocks
	w, err := f.Create(t.Context(), dir+"/f", CreateOptions{BlockSize: 16 << 20, Replication: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, &repeated{data: pattern}, size); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := f.Open(t.Context(), dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	compare := &comparing{want: &repeated{data: pattern}}
	if n, err := io.Copy(compare, r); err != nil || n != size {
		t.Fatalf("%d bytes, %v", n, err)
	}
	p := make([]byte, 100_000)
	for _, off := range []int64{0, 16<<20 - 50_000, 77_777_777, size - 100_000} {
		if n, err := r.ReadAt(p, off); err != nil || n != len(p) {
			t.Fatalf("at %d: %d, %v", off, n, err)
		}
		want := make([]byte, len(p))
		if _, err := io.ReadFull(&repeated{data: pattern, pos: int(off % int64(len(pattern)))}, want); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("at %d", off), p, want)
	}
}

// repeated repeats some bytes for ever.
type repeated struct {
	data []byte
	pos  int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.data[r.pos:])
	r.pos = (r.pos + n) % len(r.data)
	return n, nil
}

// comparing fails when what is written isn't what it wants.
type comparing struct {
	want io.Reader
	n    int64
}

func (c *comparing) Write(p []byte) (int, error) {
	want := make([]byte, len(p))
	if _, err := io.ReadFull(c.want, want); err != nil {
		return 0, err
	}
	if !bytes.Equal(p, want) {
		return 0, fmt.Errorf("wrong bytes between %d and %d", c.n, c.n+int64(len(p)))
	}
	c.n += int64(len(p))
	return len(p), nil
}

func TestPermissions(t *testing.T) {
	a, f, dir := onHDFS(t)
	ctx := t.Context()
	alice, bob := a.As("alice"), a.As("bob")
	home := dir + "/alice"
	if err := f.MkdirAll(ctx, home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Chown(ctx, home, "alice", "weavers"); err != nil {
		t.Fatal(err)
	}
	put(t, alice, home+"/secret", []byte("s"), CreateOptions{Perm: 0o600})
	put(t, alice, home+"/none", nil, CreateOptions{Perm: 0o600})
	put(t, alice, home+"/public", []byte("p"), CreateOptions{})
	if i, err := bob.Stat(ctx, home+"/secret"); err != nil || i.Owner != "alice" || i.Group != "weavers" {
		t.Errorf("got %+v, %v", i, err)
	}
	same(t, "public", get(t, bob, home+"/public"), []byte("p"))
	same(t, "secret", get(t, alice, home+"/secret"), []byte("s"))
	for what, err := range map[string]error{
		"open":       second(bob.Open(ctx, home+"/secret")),
		"open empty": second(bob.Open(ctx, home+"/none")),
		"create":     second(bob.Create(ctx, home+"/new", CreateOptions{})),
		"overwrite":  second(bob.Create(ctx, home+"/public", CreateOptions{Overwrite: true})),
		"append":     second(bob.Append(ctx, home+"/public")),
		"remove":     bob.Remove(ctx, home+"/public"),
		"remove all": bob.RemoveAll(ctx, home),
		"rename":     bob.Rename(ctx, home+"/public", home+"/x", false),
		"mkdir":      bob.MkdirAll(ctx, home+"/d", 0),
		"chmod":      bob.Chmod(ctx, home+"/public", 0o777),
		"chown":      alice.Chown(ctx, home+"/public", "bob", ""),
		"blocks":     second(bob.Blocks(ctx, home+"/secret", 0, 1)),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: got %v", what, err)
		}
		if r := (*ipc.RemoteError)(nil); what != "append" && what != "create" && !errors.As(err, &r) {
			t.Errorf("%s: %v doesn't hold what the NameNode said", what, err)
		}
	}
	if err := f.Chmod(ctx, home, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Stat(ctx, home+"/public"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("stat below a closed directory: %v", err)
	}
	if _, err := bob.Glob(ctx, home+"/*"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("glob in a closed directory: %v", err)
	}
}

func TestRelativeNamesStartAtHome(t *testing.T) {
	a, f, _ := onHDFS(t)
	ctx := t.Context()
	if err := f.MkdirAll(ctx, "/user/carol", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Chown(ctx, "/user/carol", "carol", ""); err != nil {
		t.Fatal(err)
	}
	put(t, a.As("carol"), "x/y", []byte("c"), CreateOptions{Overwrite: true})
	same(t, "by the full name", get(t, f, cluster.Lab(t).URI()+"/user/carol/x/y"), []byte("c"))
	if infos, err := a.As("carol").Glob(ctx, "*/y"); err != nil || len(infos) != 1 || infos[0].Path != cluster.Lab(t).URI()+"/user/carol/x/y" {
		t.Errorf("got %+v, %v", infos, err)
	}
}

func TestVisibleAfterClose(t *testing.T) {
	_, f, dir := onHDFS(t)
	w, err := f.Create(t.Context(), dir+"/f", CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("complete")); err != nil {
		t.Fatal(err)
	}
	if i, err := f.Stat(t.Context(), dir+"/f"); err != nil || i.Size != 0 {
		t.Errorf("before Close: %+v, %v", i, err)
	}
	if _, err := f.Create(t.Context(), dir+"/f", CreateOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second writer: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, "after Close", get(t, f, dir+"/f"), []byte("complete"))
}

func TestDirectoryOfManyFiles(t *testing.T) {
	_, f, dir := onHDFS(t)
	const n = 1200 // a NameNode lists 1000 at once
	for i := range n {
		if err := f.MkdirAll(t.Context(), fmt.Sprintf("%s/d/%04d", dir, i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	infos, err := f.List(t.Context(), dir+"/d")
	if err != nil || len(infos) != n {
		t.Fatalf("%d entries, %v", len(infos), err)
	}
	for i, info := range infos {
		if info.Name != fmt.Sprintf("%04d", i) {
			t.Fatalf("entry %d is %s", i, info.Name)
		}
	}
}

func TestNoNameNode(t *testing.T) {
	a := newAdapter(t, "", "fs.defaultFS=hdfs://localhost:1")
	a.options.Retry = 300 * time.Millisecond
	if _, err := a.As("x").Stat(t.Context(), "/f"); err == nil || !strings.Contains(err.Error(), "localhost:1") || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAfterClose(t *testing.T) {
	c := newAdapter(t, cluster.Lab(t).Conf())
	f := c.As("")
	put(t, f, "/test/after-close", randomBytes(10, 1), CreateOptions{Overwrite: true})
	r, err := f.Open(t.Context(), "/test/after-close")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, errClosed) {
		t.Errorf("read: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Stat(t.Context(), "/"); !errors.Is(err, errClosed) {
		t.Errorf("stat: %v", err)
	}
}
