package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// Inputs that can't be staged, and what is lost while they are: no command fails, none reads wrong bytes, and nothing is left. It isn't parallel: it looks at all groups of RAM disks.
func TestStagingOutlivesWhatFails(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it takes a minute
	keys := filepath.Join(t.TempDir(), "keys.jceks")
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 3, Site: map[string]string{
		"hadoop.security.key.provider.path": "jceks://file" + keys, "dfs.client.socket-timeout": "30000",
	}})
	c := startStaging(t, lab, 1, 16)
	fs := files(t, c.conf)
	write := func(name, text string, replicas int) {
		t.Helper()
		w, err := fs.Create(t.Context(), name, hdfsadapter.CreateOptions{BlockSize: 16 << 20, Replication: replicas})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("/in/first", "first", 3)
	write("/in/plain", "plain", 3)

	t.Run("files that are encrypted or erasure coded", func(t *testing.T) {
		if _, err := lab.Run(t.Context(), "hadoop", "key", "create", "zone", "-size", "128"); err != nil {
			t.Fatal(err)
		}
		// It reads the keys when it starts.
		if err := lab.Daemon("namenode").Restart(); err != nil {
			t.Fatal(err)
		}
		if err := lab.WaitHDFS(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{
			"hdfs dfs -mkdir /zone /coded", "hdfs crypto -createZone -keyName zone -path /zone",
			"hdfs ec -enablePolicy -policy XOR-2-1-1024k", "hdfs ec -setPolicy -path /coded -policy XOR-2-1-1024k",
		} {
			if _, err := lab.Run(t.Context(), strings.Fields(command)...); err != nil {
				t.Fatal(err)
			}
		}
		lab.Put(t, "/zone/secret", "encrypted")
		lab.Put(t, "/coded/file", "coded")
		h := c.hold("", "/in/first", "/zone/secret", "/coded/file", "/in/plain")
		c.staged(1)
		h.disturbed = true // the NameNode has just started, and may be slow
		h.proceeds(map[string]string{"/in/first": "", "/zone/secret": "", "/coded/file": "", "/in/plain": "plain"})
	})

	// The DataNode of this host is asked first. It stands still, and dies when it was.
	t.Run("a DataNode that dies", func(t *testing.T) {
		text := strings.Repeat("0123456789abcde\n", 10<<20/16)
		write("/in/large", text, 2)
		write("/in/lost", text[:1<<20], 1)
		var only string
		if blocks := must(fs.Blocks(t.Context(), "/in/lost", 0, 1)); len(blocks) == 1 && len(blocks[0].Hosts) == 1 {
			only = blocks[0].Hosts[0]
		}
		dead := map[string]string{"localhost": "datanode1", "127.0.0.2": "datanode2", "127.0.0.3": "datanode3"}[only]
		node := lab.Daemon(dead)
		node.Pause()
		await.Slowly(t, "helpers of earlier copies have ended", func() bool { return len(processes("stager", c.dir)) == 0 })
		h := c.hold("", "/in/first", "/in/large", "/in/lost")
		await.Slowly(t, "a file is being copied", func() bool { return len(processes("stager", c.dir)) > 0 })
		node.Kill()
		c.staged(1)
		await.Slowly(t, "the other one has no replica", func() bool { return len(processes("stager", c.dir)) == 0 })
		h.proceeds(map[string]string{"/in/first": "", "/in/large": text, "/in/lost": ""})
		if err := node.Restart(); err != nil {
			t.Fatal(err)
		}
		if err := lab.WaitHDFS(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a full disk", func(t *testing.T) {
		text := strings.Repeat("y", 3<<20)
		names, fits := []string{"/in/first"}, 0
		for i := range 10 {
			names = append(names, fmt.Sprintf("/in/full%d", i))
			write(names[i+1], text, 1)
		}
		h := c.hold("", names[0], names[1:]...)
		c.staged(5) // of 3 MB each, on a disk of 16
		if err := os.WriteFile(h.proceed, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if code := h.code(); code != 0 {
			t.Errorf("exit code %d: %s", code, h.stderr)
		}
		for _, line := range lines(h.stdout.String()) {
			switch {
			case strings.HasSuffix(line, ": "+sum(text)):
				fits++
			case !strings.HasSuffix(line, ": not in memory"):
				t.Errorf("wrong bytes: %s", line)
			}
		}
		if n := len(lines(h.stdout.String())); fits == 0 || n != len(names) {
			t.Errorf("%d of %d were read from memory", fits, n)
		}
	})

	t.Run("a NameNode that doesn't answer", func(t *testing.T) {
		h := c.hold("", "/in/first", "/in/plain")
		c.staged(1)
		lab.Daemon("namenode").Pause()
		defer lab.Daemon("namenode").Resume()
		h.proceeds(map[string]string{"/in/first": "", "/in/plain": ""})
	})

	t.Run("a mount that is lost", func(t *testing.T) {
		h := c.hold("", "/in/first", "/in/plain", "/in/large")
		c.staged(2)
		for _, at := range []string{"out", "in/files"} {
			if err := syscall.Unmount(filepath.Join(c.dir, "nm1", "local", "ramdisk", at), syscall.MNT_DETACH); err != nil {
				t.Fatal(err)
			}
		}
		h.proceeds(map[string]string{"/in/first": "", "/in/plain": "", "/in/large": ""})
	})

	c.stop()
	if b, err := os.ReadFile("/proc/mounts"); err != nil || strings.Contains(string(b), c.dir) {
		t.Errorf("mounts are left: %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "nm1", "local", "ramdisk")); !os.IsNotExist(err) {
		t.Errorf("files are left: %v", err)
	}
	if g, p := hadooplab.Groups(t, "ramdisk"), processes("stager", c.dir); len(g)+len(p) > 0 {
		t.Errorf("groups %q and helpers %v are left", g, p)
	}
}
