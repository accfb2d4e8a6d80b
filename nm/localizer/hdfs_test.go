package localizer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// cluster is the HDFS of this package's tests.
var cluster = hadooplab.NewShared(hadooplab.Options{DataNodes: 1, Site: map[string]string{"dfs.permissions.enabled": "true"}})

func TestMain(m *testing.M) {
	os.Exit(await.NoGoroutines(cluster.Run(m)))
}

// hdfsNode is a node whose default file system is an HDFS, and a directory there.
func hdfsNode(t *testing.T) (n *node, root *hdfsadapter.FS, dir string) {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: cluster.Lab(t).Conf()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := hdfsadapter.New(c, hdfsadapter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	root = a.As("")
	dir = "/test/" + t.Name()
	if err := root.RemoveAll(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := root.MkdirAll(t.Context(), dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return newNode(t, func(cfg *Config) { cfg.Source = OnHDFS(a, LocalFiles{}) }), root, dir
}

// put copies a local file to HDFS and returns it as a resource of the default file system.
func put(t *testing.T, to *hdfsadapter.FS, local, name string, perm fs.FileMode, typ Type, v Visibility) Resource {
	t.Helper()
	in, err := os.Open(local)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := to.Create(t.Context(), name, hdfsadapter.CreateOptions{Perm: perm})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := to.Stat(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return Resource{Location: Location{Path: name}, Type: typ, Visibility: v, Size: info.Size, Timestamp: info.ModTime}
}

func TestHDFS(t *testing.T) {
	n, root, dir := hdfsNode(t)
	tree := filepath.Join(n.src, "tree")
	realTree(t, tree)
	tarball := filepath.Join(n.src, "a.tar.gz")
	run(t, tree, "tar", "-czf", tarball, ".")
	odd := filepath.Join(n.src, "odd")
	if err := os.WriteFile(odd, []byte("odd"), 0o644); err != nil {
		t.Fatal(err)
	}

	r := put(t, root, tarball, dir+"/a.tar.gz", 0o644, Archive, Public)
	sameTree(t, n.get(container(1, 1), "alice", r), tree, nil)

	// With scheme, host and port it is another resource, but the same file.
	host, port, _ := strings.Cut(strings.TrimPrefix(cluster.Lab(t).URI(), "hdfs://"), ":")
	full := r
	full.Type, full.Location.Scheme, full.Location.Host = File, "hdfs", host
	fmt.Sscan(port, &full.Location.Port)
	want, err := os.ReadFile(tarball)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(n.get(container(1, 1), "alice", full)); err != nil || string(got) != string(want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}

	// Nothing in a name is an escape.
	r = put(t, root, odd, dir+"/odd %41?#name", 0o644, File, Private)
	if got := n.get(container(1, 1), "alice", r); filepath.Base(got) != "odd %41?#name" {
		t.Errorf("localized as %s", got)
	}

	// Archives that are read from their end; the tools that make them may be missing.
	zipped := filepath.Join(n.src, "classes.zip")
	if err := os.WriteFile(zipped, []byte(zipOf(t, "d/f", "content")), 0o644); err != nil {
		t.Fatal(err)
	}
	r = put(t, root, zipped, dir+"/classes.zip", 0o644, Archive, Public)
	if got, err := os.ReadFile(filepath.Join(n.get(container(1, 1), "alice", r), "d/f")); string(got) != "content" || err != nil {
		t.Errorf("%q, %v", got, err)
	}

	// A directory, of any type.
	info, err := root.Stat(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	all := Resource{Location: Location{Path: dir}, Type: Archive, Visibility: Private, Timestamp: info.ModTime}
	if got, err := os.ReadDir(n.get(container(1, 1), "alice", all)); err != nil || len(got) != 3 {
		t.Errorf("the directory holds %v, %v", got, err)
	}
}

// Files are read with the rights of the user, PUBLIC ones with the NodeManager's, and only if everybody could.
func TestHDFSRights(t *testing.T) {
	n, root, dir := hdfsNode(t)
	local := filepath.Join(n.src, "f")
	if err := os.WriteFile(local, []byte("alice's"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := put(t, root, local, dir+"/secret", 0o600, File, Private)
	if err := root.Chown(t.Context(), dir+"/secret", "alice", ""); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(n.get(container(1, 1), "alice", r)); string(got) != "alice's" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := n.fail(container(2, 1), "bob", r); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("another user: %v", err)
	}
	r.Visibility = Public
	if err := n.fail(container(2, 1), "bob", r); !strings.Contains(err.Error(), "Resource "+dir+"/secret is not publicly accessible and as such cannot be part of the public cache.") {
		t.Errorf("as PUBLIC: %v", err)
	}
	if err := root.MkdirAll(t.Context(), dir+"/closed", 0o750); err != nil {
		t.Fatal(err)
	}
	r = put(t, root, local, dir+"/closed/f", 0o644, File, Public)
	if err := n.fail(container(2, 1), "bob", r); !strings.Contains(err.Error(), "("+dir+"/closed has mode 0750)") {
		t.Errorf("in a closed directory: %v", err)
	}
	r.Location.Path = dir + "/nosuch"
	if err := n.fail(container(2, 1), "bob", r); err.Error() != "File does not exist: "+dir+"/nosuch" {
		t.Errorf("missing: %v", err)
	}
	r = put(t, root, local, dir+"/changed", 0o644, File, Private)
	r.Timestamp--
	if err := n.fail(container(2, 1), "bob", r); !strings.Contains(err.Error(), "changed on src filesystem - expected: ") {
		t.Errorf("changed: %v", err)
	}
	// The node's own files are not read by way of the adapter.
	r = n.file("here", "local", Private)
	if got, err := os.ReadFile(n.get(container(1, 1), "alice", r)); string(got) != "local" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	r.Location.Scheme = "s3a"
	if err := n.fail(container(2, 1), "bob", r); !strings.Contains(err.Error(), `"s3a"`) {
		t.Errorf("another scheme: %v", err)
	}
}
