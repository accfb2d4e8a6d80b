package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// small has a node keep its containers' files on a disk that has room for little more than the program. The node doesn't run yet.
func (c *cluster) small(t *testing.T, node string, mb int) {
	t.Helper()
	hadooplab.SmallDisk(t, filepath.Join(c.dir, node, "local"), mb)
}

// fill leaves some MB of a small disk.
func (c *cluster) fill(t *testing.T, node string, mb int64) {
	t.Helper()
	local := filepath.Join(c.dir, node, "local")
	var disk syscall.Statfs_t
	if err := syscall.Statfs(local, &disk); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "filler"), make([]byte, int64(disk.Bavail)*disk.Bsize-mb<<20), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Maps fill the disk of a node. They are done on the other one, and the output is whole. Where there is no other one the job fails, says
// why, and leaves no output.
func TestFullDisks(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	const maps, lines, disk = 4, 500_000, 400 // of 79 bytes: 40 MB a map; downloads leave 256 MB of a disk
	for _, nodes := range []int{2, 1} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			c := startCluster(t, 1, 0, map[string]string{"yarn.nodemanager.resource.memory-mb": "4096"}) // one node isn't enough for all
			c.small(t, "nm1", disk)
			for i := range nodes {
				c.node(i)
			}
			c.ready(nodes)
			in, _ := c.numbered(maps)
			out := filepath.Join(c.dir, "out")
			wait, open := gate(t)
			j := c.mr("-input", in, "-output", out, "-mapper", wait+fmt.Sprintf("yes %s | head -n %d", strings.Repeat("x", 78), lines), "-reducer", "wc -l", "-numReduceTasks", "1",
				"-D", "mapreduce.input.fileinputformat.split.maxsize=3")
			await.Slowly(t, "mappers run", func() bool { return len(c.on("nm1", processes("while [ ! -e"))) > 0 })
			c.fill(t, "nm1", 10)
			open()
			r, err := j.wait()
			full := 0
			for _, f := range r.Failures {
				if strings.Contains(f.Error, "no space left on device") {
					full++
				}
			}
			if nodes == 1 {
				if _, e := os.Stat(out); err == nil || full == 0 || !os.IsNotExist(e) || !strings.Contains(j.stderr.String(), "no space left on device") {
					t.Errorf("%v, with the output %v; %d attempts failed as the disk was full: %s", err, e, full, j.stderr)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, j.stderr)
			}
			if got := strings.TrimSpace(c.output(out)); got != fmt.Sprint(maps*lines) || r.Attempts != 1 {
				t.Errorf("%q lines instead of %d; %+v", got, maps*lines, r)
			}
			if full == 0 {
				t.Error("no map has seen the full disk")
			}
		})
	}
}
