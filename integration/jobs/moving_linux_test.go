package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// Files are written, replaced and removed while they are copied, NameNodes take turns, and the node is killed: no command fails, none reads what isn't the file's any more, and
// nothing is left. It isn't parallel: it looks at all groups of RAM disks.
func TestStagingWhileHDFSChanges(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it takes a minute
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, NameNodes: 2})
	c := startStaging(t, lab, 1, 16)
	files := files(t, c.conf)
	put(t, files, "/in/first", "first")

	t.Run("names", func(t *testing.T) {
		one := fmt.Sprintf("hdfs://localhost:%d/in/one", lab.Port("namenode1"))
		want := map[string]string{"/in/first": "", "/in/one": "1", "/in/😀 %41": "odd", "hdfs://lab/in/other": "other", "/in/empty": "", one: "", "viewfs://lab/in/one": "", "/in/open": ""}
		for name, text := range map[string]string{"/in/one": "1", "/in/😀 %41": "odd", "/in/other": "other", "/in/empty": "", "/in/open": "closed"} {
			put(t, files, name, text)
		}
		// Readers see what was written to a file that is open, and the NameNode doesn't know how much that is.
		w, err := files.Append(t.Context(), "/in/open")
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write([]byte(", and open again"))
		if flushed := w.Flush(); err != nil || flushed != nil {
			t.Fatal(err, flushed)
		}
		var names []string
		for name := range want {
			if name != "/in/first" {
				names = append(names, name)
			}
		}
		h := c.hold("anna", "/in/first", names...)
		c.staged(3)
		h.proceeds(want)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})

	const size = 3 << 20
	text, data, tries := strings.Repeat("0123456789abcdef", size/16), lab.Daemon("datanode1"), 0
	// copying calls do while a file is copied of which the DataNode gives nothing.
	copying := func(do func(name string)) (*held, string) {
		t.Helper()
		tries++
		name := fmt.Sprint("/in/large", tries)
		putBlocks(t, files, name, text, 16<<20)
		await.Slowly(t, "helpers of earlier copies have ended", func() bool { return len(processes("stager", c.dir)) == 0 })
		data.Pause()
		defer data.Resume()
		h := c.hold("anna", "/in/first", name)
		await.Slowly(t, "the file is being copied", func() bool { return len(processes("stager", c.dir)) > 0 })
		do(name)
		return h, name
	}

	t.Run("what changes while it is copied", func(t *testing.T) {
		putBlocks(t, files, "/in/another", strings.Repeat("other text 76543", size/16), 16<<20)
		for what, change := range map[string]func(name string) error{
			"removed":    func(name string) error { return files.Remove(t.Context(), name) },
			"made again": func(name string) error { return files.Rename(t.Context(), "/in/another", name, true) },
			"another's":  func(name string) error { return files.Chmod(t.Context(), name, 0o700) },
			"cut": func(name string) error {
				_, err := lab.Run(t.Context(), "hdfs", "dfs", "-truncate", "1000", name) // which gives the block another stamp
				return err
			},
		} {
			h, name := copying(func(name string) {
				if err := change(name); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
			await.Slowly(t, "the copy has ended", func() bool { return len(processes("stager", c.dir)) == 0 })
			c.staged(0)
			h.proceeds(map[string]string{"/in/first": "", name: ""})
		}
	})

	t.Run("NameNodes take turns", func(t *testing.T) {
		h, name := copying(func(string) {
			if _, err := lab.Run(t.Context(), "hdfs", "haadmin", "-failover", "nn1", "nn2"); err != nil {
				t.Error(err)
			}
		})
		c.staged(1)
		h.disturbed = true // the other NameNode may be slow at first
		h.proceeds(map[string]string{"/in/first": "", name: text})
		// The one that has gone stands still, and would not answer who asks it first.
		h = c.begin("anna", "/in/first")
		lab.Daemon("namenode1").Pause()
		defer lab.Daemon("namenode1").Resume()
		h.add("/in/one", "/in/other")
		c.staged(2)
		h.proceeds(map[string]string{"/in/first": "", "/in/one": "1", "/in/other": "other"})
	})

	t.Run("a node that is killed", func(t *testing.T) {
		h, name := copying(func(string) {
			helpers := processes("stager", c.dir)
			for _, pid := range helpers {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Error(err)
				}
			}
			c.Kill("nm1")
			c.start("nm1")
			await.Slowly(t, "the next node has ended the helper, which stands still", func() bool {
				return !slices.ContainsFunc(processes("stager", c.dir), func(pid int) bool { return slices.Contains(helpers, pid) })
			})
		})
		h.disturbed = true
		h.proceeds(map[string]string{"/in/first": "", name: text})
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
