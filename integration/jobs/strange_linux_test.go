package jobs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// Files of any name are staged, if they are on the cluster's HDFS and have one block whose checksums are right. No command fails by its input, and none reads what it may not.
func TestStagingOfStrangeFiles(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it takes half a minute
	t.Parallel()
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1})
	c := startStaging(t, lab, 1, 16)
	files := files(t, c.conf)
	run := func(args ...string) {
		t.Helper()
		if out, err := lab.Run(t.Context(), args...); err != nil {
			t.Fatalf("%v: %v, %s", args, err, out)
		}
	}
	put(t, files, "/odd/first", "first")
	want := map[string]string{"/odd/first": ""}
	staged := 0
	for _, name := range []string{"/odd/a b", "/odd/50%25 ", "/odd/ü€", `/odd/quote'"\`, "/odd/line\nbreak", "/odd/#?&"} {
		put(t, files, name, "text of "+name)
		want[strings.ReplaceAll(name, "\n", "?")] = "text of " + name
		staged++
	}
	put(t, files, "/snap/file", "as it was")
	run("hdfs", "dfsadmin", "-allowSnapshot", "/snap")
	run("hdfs", "dfs", "-createSnapshot", "/snap", "one")
	if err := files.Remove(t.Context(), "/snap/file"); err != nil {
		t.Fatal(err)
	}
	want["/snap/.snapshot/one/file"] = "as it was"
	staged++

	put(t, files, "/odd/empty", "")
	putBlocks(t, files, "/odd/blocks", strings.Repeat("x", 1024), 512)
	put(t, files, "/odd/corrupt", strings.Repeat("good", 1<<18))
	corrupt(t, lab, must(files.Blocks(t.Context(), "/odd/corrupt", 0, 1))[0].ID)
	for _, name := range []string{"/odd/empty", "/odd/blocks", "/odd/corrupt", "/odd", "/odd/missing", "relative", "hdfs://127.0.0.1:1/odd/first", "file:///etc/passwd", "/etc/passwd", "/odd/\xff", "-"} {
		want[name] = ""
	}
	var names []string
	for name := range want {
		if name != "/odd/first" {
			names = append(names, strings.ReplaceAll(name, "line?", "line\n"))
		}
	}
	h := c.hold("", "/odd/first", names...)
	c.staged(staged)
	h.proceeds(want)

	t.Run("what changes", func(t *testing.T) {
		const text = "a text of some length"
		for _, name := range []string{"/own/first", "/own/same", "/own/cut", "/own/denied", "/closed/file"} {
			put(t, files, name, text)
		}
		h := c.hold("anna", "/own/first", "/own/same", "/own/cut", "/own/denied", "/closed/file")
		c.staged(4)
		run("hdfs", "dfs", "-truncate", "-w", "5", "/own/cut")
		run("hdfs", "dfs", "-setfacl", "-m", "user:anna:---", "/own/denied")
		if err := files.Chmod(t.Context(), "/closed", 0o700); err != nil {
			t.Fatal(err)
		}
		h.proceeds(map[string]string{"/own/first": "", "/own/same": text, "/own/cut": "", "/own/denied": "", "/closed/file": ""})
	})

	disk := filepath.Join(c.dir, "nm1", "local", "ramdisk", "in", "files")
	t.Run("a disk that is read-only", func(t *testing.T) {
		if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
				t.Error(err)
			}
		}()
		c.hold("", "/own/first", "/own/same").proceeds(map[string]string{"/own/first": "", "/own/same": ""})
	})

	t.Run("a helper that stands still, and is killed", func(t *testing.T) {
		const size = 3 << 20
		text := strings.Repeat("0123456789abcdef", size/16)
		put(t, files, "/own/large", text)
		h := c.hold("", "/own/first", "/own/same")
		c.staged(1)
		for _, pid := range processes("stager", c.dir) {
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		other := c.hold("bob", "", "/own/large")
		await.Slowly(t, "the helper is at work", func() bool { return len(processes("stager", c.dir)) > 0 })
		for _, pid := range processes("stager", c.dir) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(other.proceed, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		h.proceeds(map[string]string{"/own/first": "", "/own/same": "a text of some length"})
		if code := other.code(); code != 0 || !strings.HasPrefix(other.stdout.String(), "/own/large: ") {
			t.Errorf("%d: %s, %s", code, other.stdout, other.stderr)
		}
	})
	c.stop()
	if b, err := os.ReadFile("/proc/mounts"); err != nil || strings.Contains(string(b), c.dir) {
		t.Errorf("mounts are left: %v", err)
	}
	if p := processes("stager", c.dir); len(p) > 0 {
		t.Errorf("helpers %v are left", p)
	}
}

// corrupt changes a byte of a block on the disk of a lab's DataNode.
func corrupt(t *testing.T, lab *hadooplab.Lab, id uint64) {
	t.Helper()
	name, found := fmt.Sprint("blk_", id), false
	if err := filepath.WalkDir(filepath.Join(lab.Dir(), "data1"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != name {
			return err
		}
		found = true
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt([]byte("B"), 1<<19)
		return err
	}); err != nil || !found {
		t.Fatalf("block %d: found %t, %v", id, found, err)
	}
}
