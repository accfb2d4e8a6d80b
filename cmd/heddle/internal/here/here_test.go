package here

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"heddle/conf"
)

func TestOwners(t *testing.T) {
	root := t.TempDir()
	if owners, err := Owners(root, 8032); err != nil || len(owners) > 0 {
		t.Errorf("where the kernel shows nothing: %v, %v", owners, err)
	}
	if err := os.MkdirAll(filepath.Join(root, "proc/net"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{
		"tcp": `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F60 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:1F61 00000000:0000 0A 00000000:00000000 00:00000000 00000000   7        0 1 1 0 100 0 0 10 0
   2: 0100007F:1F60 0100007F:9999 01 00000000:00000000 00:00000000 00000000   8        0 1 1 0 100 0 0 10 0
`,
		"tcp6": "   0: 00000000000000000000000001000000:1F60 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1\n",
	} {
		if err := os.WriteFile(filepath.Join(root, "proc/net", name), []byte(table), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if owners, err := Owners(root, 8032); err != nil || !slices.Equal(owners, []int{1000, 0}) {
		t.Errorf("%v, %v", owners, err)
	}
	if owners, err := Owners(root, 80); err != nil || len(owners) > 0 {
		t.Errorf("nobody listens there, but %v, %v", owners, err)
	}
}

// A program of this user that listens at the port, but is no ResourceManager, is none.
func TestOtherProgramsAreNoCluster(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Close()
		}
	}()
	defer l.Close()
	at := l.Addr().String()
	c, err := conf.Load(conf.Options{Overrides: []string{"yarn.resourcemanager.address=" + at}})
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := net.SplitHostPort(at)
	port, _ := strconv.Atoi(text)
	if owners, err := Owners("", port); err != nil || !slices.Equal(owners, []int{os.Geteuid()}) {
		t.Errorf("who listens is %v, %v, not %d", owners, err, os.Geteuid())
	}
	if ResourceManager(t.Context(), c) {
		t.Error("a program that closes its connections is a ResourceManager")
	}
}
