package browser

import (
	"bytes"
	"context"
	"image/png"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/integration/load"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/yarn/records"
)

// pictures are those of the documents: of pages, in a window of 1,400 pixels.
var pictures = []struct {
	name, path, theme string
	height            int
	drawn             string // is true once the page is
}{
	{"overview", "/cluster/overview?span=1h", "light", 900, `document.querySelector("#use canvas") && document.querySelector(".news li")`},
	{"overview-dark", "/cluster/overview?span=1h", "dark", 900, `document.querySelector("#use canvas") && document.querySelector(".news li")`},
	{"waiting", "/cluster/waiting", "light", 500, `document.querySelector("table tbody tr")`},
	{"queues", "/cluster/scheduler", "light", 800, `document.body.textContent.includes("root.adhoc")`},
	{"nodes", "/cluster/nodes/map", "light", 500, `document.querySelector("#nodes-map canvas")?.height > 20`},
}

// TestPictures draws the pictures of the documents from a cluster under load, so that they can't be old: make screenshots sets HEDDLE_PICTURES to their folder, and
// the load then lasts until the curves have a shape. Without it each page must have something on it.
func TestPictures(t *testing.T) {
	folder, lasts := os.Getenv("HEDDLE_PICTURES"), time.Second
	if folder != "" {
		lasts = 4 * time.Minute
	}
	const queues = "yarn.scheduler.capacity.root."
	c := minicluster.Start(t, 1, map[string]string{
		queues + "queues": "prod,dev,adhoc", queues + "prod.capacity": "50", queues + "dev.capacity": "30", queues + "adhoc.capacity": "20", queues + "adhoc.maximum-capacity": "40",
		queues + "prod.user-limit-factor": "4", queues + "dev.user-limit-factor": "4", queues + "adhoc.user-limit-factor": "4",
	})
	ctx, end := context.WithCancel(t.Context())
	var loads sync.WaitGroup
	defer loads.Wait()
	defer end()
	for _, x := range []struct {
		user, queue string
		nodes       int
		rate        float64
		after       time.Duration
	}{{"reports", "prod", 48, 4, 0}, {"ann", "dev", 24, 2.5, lasts / 6}, {"bob", "adhoc", 24, 1.5, lasts / 3}} {
		o := load.Options{
			User: x.user, Queue: x.queue, Nodes: x.nodes, NodeResource: records.NewResource(4096, 4), Heartbeat: time.Second, Masters: 2,
			Container: records.NewResource(1024, 1), Rate: x.rate, Hold: 20 * time.Second, Duration: time.Hour, Outstanding: 1,
		}
		if err := o.Address(c.Conf); err != nil {
			t.Fatal(err)
		}
		loads.Go(func() {
			if !within(ctx, x.after) {
				return
			}
			if _, err := load.Run(ctx, o); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	_, apps := alice(t, c)
	submit(t, apps, client.Submission{Name: "nightly", Queue: "prod", Resource: records.NewResource(8192, 1)}) // fits on no node
	within(ctx, lasts)
	tab := Open(t, 1400, 900)
	for _, p := range pictures {
		tab.Theme(p.theme)
		tab.Size(1400, p.height)
		tab.Go("http://" + c.Conf.Text(rm.WebAddress) + p.path)
		tab.Until(p.drawn)
		raw := tab.Picture()
		drawn, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if n := inked(drawn); n < 10_000 {
			t.Errorf("%s: %d pixels of the picture aren't empty", p.path, n)
		}
		if folder == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, p.name+".png"), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// within waits for a while, and reports whether the context still holds.
func within(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
