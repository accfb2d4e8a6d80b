package hdfsadapter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/hdfsadapter/access"
	"heddle/yarn/token"
)

func TestLocate(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	local := newAdapter(t, "").As("alice")
	remote := newAdapter(t, "", "fs.defaultFS=hdfs://nn:9000/base").As("alice")
	for _, c := range []struct {
		f        *FS
		in, want string // "" if it is no name
	}{
		{local, "/a/b", "file:///a/b"},
		{local, "/a//b/../c/.", "file:///a/c"},
		{local, "a", "file://" + wd + "/a"},
		{local, "file:/a", "file:///a"},
		{local, "file:///a", "file:///a"},
		{local, "file://localhost/a", "file:///a"},
		{local, "FILE:/a", "file:///a"},
		{local, "/a%20b", "file:///a%20b"},
		{local, "/a:b", "file:///a:b"},
		{local, "hdfs://h/a", "hdfs://h/a"},
		{local, "hdfs://h:1", "hdfs://h:1/"},
		{local, "//a/b", ""}, // a host without a scheme, which a local name can't have
		{local, "///a/b", "file:///a/b"},
		{local, "hdfs:///a", ""},
		{local, "file://other/a", ""},
		{local, "", ""},
		{local, "a\x00b", ""},
		{local, ":a", ""},
		{local, "a:b", ""},
		{local, "file:a", ""},
		{local, "viewfs://c/a", "viewfs://c/a"},
		{local, "S3A://bucket/a/../b", "s3a://bucket/b"},
		{local, "abfs://c@account.example/a", "abfs://c@account.example/a"},
		{local, "odd:///a", "odd:///a"},
		{remote, "/a", "hdfs://nn:9000/a"},
		{remote, "a", "hdfs://nn:9000/user/alice/a"},
		{remote, ".", "hdfs://nn:9000/user/alice"},
		{remote, "hdfs:/a", "hdfs://nn:9000/a"},
		{remote, "hdfs:///a", "hdfs://nn:9000/a"},
		{remote, "hdfs://other/a", "hdfs://other/a"},
		{remote, "//other/a", "hdfs://other/a"},
		{remote, "/../..", "hdfs://nn:9000/"},
		{remote, "file:///a", "file:///a"},
	} {
		got, err := c.f.Locate(c.in)
		if (err != nil) != (c.want == "") || (err == nil && got.String() != c.want) {
			t.Errorf("%q: got %v, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func FuzzLocate(f *testing.F) {
	for _, s := range []string{"/a", "a", "hdfs://nn:1/a/../b", "file:///x", "::", "//h/a", "a:b/c", "hdfs:", "\x00"} {
		f.Add(s)
	}
	a := newAdapter(f, "", "fs.defaultFS=hdfs://nn:9000")
	f.Fuzz(func(t *testing.T, name string) {
		at, err := a.As("alice").Locate(name)
		if err != nil {
			return
		}
		if !strings.HasPrefix(at.Path, "/") || strings.Contains(at.Path+"/", "/../") || strings.Contains(at.Path, "//") {
			t.Fatalf("%q leads to the path %q", name, at.Path)
		}
		again, err := a.As("alice").Locate(at.String())
		if err != nil || again != at {
			t.Fatalf("%q is %v, which is %v, %v", name, at, again, err)
		}
	})
}

func TestNameNodes(t *testing.T) {
	a := newAdapter(t, "",
		"dfs.nameservices=ha,single,broken,bad",
		"dfs.ha.namenodes.ha=nn1, nn2",
		"dfs.namenode.rpc-address.ha.nn1=one:8020",
		"dfs.namenode.rpc-address.ha.nn2=two",
		"dfs.namenode.rpc-address.single=only:1234",
		"dfs.ha.namenodes.broken=nn1,nn2",
		"dfs.namenode.rpc-address.broken.nn1=one:1",
		"dfs.namenode.rpc-address.bad=x:y",
	)
	for authority, want := range map[string]string{
		"ha": "one:8020 two:8020", "single": "only:1234", "host:99": "host:99", "host": "host:8020", "[::1]:5": "[::1]:5",
		"broken": "! dfs.namenode.rpc-address.broken.nn2 is not set", "bad": "! dfs.namenode.rpc-address.bad", "h:i": "! not a NameNode's address",
	} {
		got, err := access.NameNodes(a.conf, authority)
		text := strings.Join(got, " ")
		if err != nil {
			text = "! " + err.Error()
		}
		if text != want && (!strings.HasPrefix(want, "!") || !strings.Contains(text, want[2:])) {
			t.Errorf("%s: got %s, want %s", authority, text, want)
		}
	}
	one := newAdapter(t, "", "dfs.nameservices=ns", "dfs.namenode.rpc-address=h:7")
	if got, err := access.NameNodes(one.conf, "ns"); err != nil || len(got) != 1 || got[0] != "h:7" {
		t.Errorf("the only NameNode: %v, %v", got, err)
	}
}

func TestUnsupportedDefaults(t *testing.T) {
	for _, fs := range []string{"viewfs://c/", "s3a://b", "hdfs:///", "nonsense"} {
		c := newAdapter(t, "").conf
		c.Set("fs.defaultFS", fs)
		if _, err := New(c, Options{}); err == nil || !strings.Contains(err.Error(), "fs.defaultFS") {
			t.Errorf("%s: got %v", fs, err)
		}
	}
}

func TestChooseToken(t *testing.T) {
	tokens := []token.Token{
		{Kind: token.KindDelegation, Service: "nn:8020"},
		{Kind: token.KindHDFS, Service: "other:8020", Identifier: []byte("0")},
		{Kind: token.KindHDFS, Service: "nn:8020", Identifier: []byte("1")},
		{Kind: token.KindHDFS, Service: "ha-hdfs:ns", Identifier: []byte("2")},
	}
	for _, c := range []struct{ authority, addr, want string }{{"nn:8020", "nn:8020", "1"}, {"ns", "x:1", "2"}, {"y", "y:8020", ""}} {
		got := ""
		if tok := access.ChooseToken(tokens, c.authority, []string{c.addr}); tok != nil {
			got = string(tok.Identifier)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.authority, got, c.want)
		}
	}
}

func TestLocalOddities(t *testing.T) {
	f := newAdapter(t, "").As("")
	dir := t.TempDir()
	ctx := t.Context()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(dir, "self")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open(ctx, dir+"/pipe"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := f.Open(ctx, dir+"/dangling"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	infos, err := f.List(ctx, dir)
	if err != nil || len(infos) != 3 || infos[0].Name != "dangling" || infos[2].Name != "self" || !infos[2].IsDir() {
		t.Errorf("got %+v, %v", infos, err)
	}
	if i, err := f.Stat(ctx, dir+"/self/self"); err != nil || !i.IsDir() {
		t.Errorf("through links: %+v, %v", i, err)
	}
	put(t, f, dir+"/f", []byte("x"), CreateOptions{})
	blocks, err := f.Blocks(ctx, dir+"/f", 0, 1)
	if err != nil || len(blocks) != 1 || blocks[0].Hosts[0] != "this-host" || blocks[0].Length != 1 {
		t.Errorf("got %+v, %v", blocks, err)
	}
	// A file that grows ends where it did when it was opened.
	r, err := f.Open(ctx, dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := f.Append(ctx, dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("yz")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 3)
	if n, err := r.Read(p); n != 1 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
}
