package jobs

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
)

// files is the file system that a configuration has as its default.
func files(t testing.TB, dir string) *hdfsadapter.FS {
	t.Helper()
	a, err := adapter(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a.As("")
}

func adapter(dir string) (*hdfsadapter.Adapter, error) {
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	return hdfsadapter.New(c, hdfsadapter.Options{})
}

func put(t testing.TB, fs *hdfsadapter.FS, name, text string) {
	t.Helper()
	putBlocks(t, fs, name, text, 1<<20)
}

// putBlocks writes a file with blocks of so many bytes.
func putBlocks(t testing.TB, fs *hdfsadapter.FS, name, text string, block int64) {
	t.Helper()
	w, err := fs.Create(t.Context(), name, hdfsadapter.CreateOptions{BlockSize: block, Replication: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, fs *hdfsadapter.FS, dir string) string {
	t.Helper()
	list, err := fs.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range list {
		r, err := fs.Open(context.WithoutCancel(t.Context()), f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&out, r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return out.String()
}

// numbered has a number of lines of 32 bytes.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%-12d the loom's heddle\n", i*7919%n)
	}
	return b.String()
}

// Input, output and staged files are on HDFS; tasks run where their blocks are.
func TestHDFS(t *testing.T) {
	t.Parallel() // most of it waits
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 2})
	c := startCluster(t, 1, 2, map[string]string{
		"fs.defaultFS": lab.URI(), "dfs.client.use.datanode.hostname": "true", "yarn.app.mapreduce.am.staging-dir": "/staging",
	}, "localhost", "127.0.0.2")
	fs := files(t, c.conf)
	text := numbered(200_000) // 7 blocks
	put(t, fs, "/in/large", text)
	for i := range 20 {
		put(t, fs, fmt.Sprintf("/in/small/%02d", i), "small\n")
	}
	text += strings.Repeat("small\n", 20)
	// maps last longer than workers take to start: a worker that is through early takes what is left, wherever it is
	r := c.mr("-input", "/in", "-output", "/out/x", "-mapper", "sleep 1; cat", "-combiner", "uniq", "-reducer", "uniq", "-numReduceTasks", "2").end()
	if got, want := lines(get(t, fs, "/out/x")), lines(pipe(t, text, "sort -u")); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d lines, not %d, or others", len(got), len(want))
	}
	jobs := r.Counters[jobCounters]
	if maps := jobs["TOTAL_LAUNCHED_MAPS"]; maps < 7 || maps > 9 || jobs["DATA_LOCAL_MAPS"] < maps-2 {
		t.Errorf("%v", jobs)
	}
	if left, err := fs.Glob(t.Context(), "/staging/*/.staging/*"); err != nil || len(left) > 0 {
		t.Errorf("left in the staging folder: %v, %v", left, err)
	}

	// A pattern over a scheme, and a file of another file system.
	j := c.mr("-input", lab.URI()+"/in/{small,none}/0*", "-output", path.Join("file://", c.dir, "out"), "-mapper", "cat")
	j.end()
	if got := c.output(path.Join(c.dir, "out")); got != strings.Repeat("small\n", 10) {
		t.Errorf("%q", got)
	}
	j = c.mr("-input", "/in", "-output", "/out/x", "-mapper", "cat")
	if _, err := j.wait(); err == nil || !strings.Contains(j.stderr.String(), "/out/x exists already") {
		t.Errorf("%v: %s", err, j.stderr)
	}
}

// heddle mr on a stock Hadoop, with each of its rules for slow tasks and for when reduces begin: its ResourceManager says nothing of nodes and other
// jobs, and can't suspend a container.
func TestStockHadoop(t *testing.T) {
	t.Parallel() // most of it waits
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 2})
	b, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, binary: b, dir: t.TempDir(), conf: lab.Conf()}
	fs := files(t, c.conf)
	text := numbered(100_000)
	put(t, fs, "/in/large", text)
	r := c.mr("-input", "/in", "-output", "/out/sorted", "-mapper", "cat", "-reducer", "cat", "-speculation", "esplash", "-slowstart", "omo").end()
	if got, want := get(t, fs, "/out/sorted"), pipe(t, text, "sort"); got != want {
		t.Errorf("%d bytes instead of %d: %v", len(got), len(want), r.Counters)
	}
	fail := `case $mapreduce_task_attempt_id in *_0) exit 7;; esac; cat`
	r = c.mr("-input", "/in", "-output", "/out/failed", "-mapper", fail, "-reducer", "wc -l", "-numReduceTasks", "3", "-speculation", "late", "-slowstart", "0.5").end()
	total := 0
	for _, l := range strings.Fields(get(t, fs, "/out/failed")) {
		var n int
		if _, err := fmt.Sscan(l, &n); err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if total != 100_000 || r.Counters[jobCounters]["NUM_FAILED_MAPS"] == 0 {
		t.Errorf("%d lines; %v", total, r.Counters)
	}
	c.mr("-input", "/in", "-output", "/out/mapped", "-mapper", "cat", "-numReduceTasks", "0", "-speculation", "split", "-freeze").end()
	if got := get(t, fs, "/out/mapped"); got != text {
		t.Errorf("%d bytes instead of %d", len(got), len(text))
	}
	j := c.mr("-input", "/in", "-output", "/out/none", "-mapper", "exit 5")
	if r, err := j.wait(); err == nil || r.FinalStatus != "FAILED" || !strings.Contains(j.stderr.String(), "exit status 5") {
		t.Errorf("%v %+v: %s", err, r, j.stderr)
	}
}
