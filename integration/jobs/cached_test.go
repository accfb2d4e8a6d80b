package jobs

import (
	"fmt"
	"strings"
	"testing"

	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// The input of maps is cached by the NameNode where there is a pool for it, and read ahead by nodes where there is no room in it. Neither the end of a job nor a node that is killed
// leaves a directive behind.
func TestTheNameNodeCachesTheInputOfMaps(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it takes a minute
	t.Parallel()
	b, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	const pool = "heddle"
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: b, Cache: 64 << 20, Site: map[string]string{
		"heddle.nodemanager.warming.enabled": "true", "heddle.nodemanager.warming.cache-pool": pool, "heddle.nodemanager.warming.cache-lease-ms": "4000",
		"dfs.cachereport.intervalMsec": "500",
	}})
	fs := files(t, lab.Conf())
	admin := func(args ...string) {
		t.Helper()
		if out, err := lab.Run(t.Context(), append([]string{"hdfs", "cacheadmin"}, args...)...); err != nil {
			t.Fatalf("%v: %v, %s", args, err, out)
		}
	}
	admin("-addPool", pool, "-mode", "0700")
	const blocks, size = 4, 1 << 20
	putBlocks(t, fs, "/in/words", strings.Repeat("a word or two\n\n", blocks*size/15), size)
	jar, err := lab.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	directives := func() []hdfsadapter.Directive {
		t.Helper()
		all, err := fs.Directives(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	cached := func() (n int) {
		for _, b := range must(fs.Blocks(t.Context(), "/in/words", 0, blocks*size)) {
			n += len(b.Cached)
		}
		return n
	}
	number := 0
	begin := func() *hadooplab.Command {
		t.Helper()
		number++
		c, err := lab.Begin("", "hadoop", "jar", jar, "wordcount", "/in", fmt.Sprintf("/out/%d", number))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	succeeds := func(c *hadooplab.Command) {
		t.Helper()
		if r, err := c.Wait(t.Context()); err != nil || r.Code != 0 {
			t.Fatalf("%v, %+v", err, r)
		}
	}

	before := hadooplab.ReadAhead(t, lab)
	job := begin()
	await.Slowly(t, "all blocks are cached", func() bool { return cached() == blocks })
	succeeds(job)
	await.Slowly(t, "no directive is left of a job that has ended", func() bool { return len(directives()) == 0 })
	if ahead := hadooplab.ReadAhead(t, lab) - before; ahead > 0 {
		t.Errorf("%v bytes were read ahead besides", ahead)
	}

	admin("-modifyPool", pool, "-limit", "0")
	succeeds(begin())
	if ahead := hadooplab.ReadAhead(t, lab) - before; ahead < blocks*size-100 {
		t.Errorf("only %v bytes were read ahead, as the pool has no room", ahead)
	}
	if n := len(directives()); n > 0 {
		t.Errorf("%d directives are left", n)
	}
	admin("-modifyPool", pool, "-limit", "unlimited")

	begin()
	await.Slowly(t, "a directive is there", func() bool { return len(directives()) > 0 })
	node := lab.Daemon("nodemanager1")
	node.Kill()
	await.Slowly(t, "the directive of the killed node has expired", func() bool {
		all := directives()
		return len(all) == 1 && all[0].Expired
	})
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	await.Slowly(t, "the node has removed what it had left", func() bool { return len(directives()) == 0 })
}
