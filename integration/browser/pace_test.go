package browser

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/am/client"
	"heddle/integration/load"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/yarn/records"
)

// With 10,000 nodes, 10,000 applications and 100,000 containers, of which some come and go, a page answers a key within 100 ms, scrolls at 50 frames a second, and has no task above 100 ms while nothing happens. It needs a machine that isn't busy.
func TestPagesOfTenThousandNodesAreQuick(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs it, as it takes minutes")
	}
	c := minicluster.Start(t, 1, map[string]string{"yarn.scheduler.capacity.maximum-applications": "20000"})
	at := "http://" + c.Conf.Text(rm.WebAddress) + "/cluster/"
	large(t, c)
	tab := Open(t, 1400, 1000)
	for _, page := range []string{"overview", "apps", "waiting", "nodes", "nodes/map", "scheduler", "users", "nodelabels", "preemptions", "queue/root.default", "user/alice", "configuration", "cluster"} {
		quick(t, tab, at+page)
	}
	const moving = 300_000 // bytes a minute: the map of 10,000 nodes is another one at each look
	idle(t, tab, at+"nodes/map", moving)
	idle(t, tab, at+"overview", moving)
}

// large makes a cluster one of 10,000 nodes, 10,000 applications and 100,000 containers, of which some come and go.
func large(t *testing.T, c *minicluster.Cluster) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	peers, ctx := errgroup.WithContext(ctx) // the first failure ends them all, and fails what waits for them
	t.Cleanup(func() {
		stop()
		if err := peers.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	moving := load.Options{
		User: "alice", Queue: "default", Nodes: 1000, NodeResource: records.NewResource(262144, 128), Heartbeat: time.Second,
		Masters: 4, Container: records.NewResource(1024, 1), Rate: 20, Hold: 5 * time.Second, Duration: time.Hour,
	}
	if err := moving.Address(c.Conf); err != nil {
		t.Fatal(err)
	}
	peers.Go(func() error {
		_, err := load.Run(ctx, moving)
		return err
	})
	register(t, c, 0, 9000) // which are silent and get nothing: each other node is two open files of this process
	cluster, apps := alice(t, c)
	for range 10 {
		hold(ctx, t, peers, master(t, cluster, apps), 10_000)
	}
	var all errgroup.Group
	all.SetLimit(64)
	for range 10_000 {
		all.Go(func() error {
			id, _, err := apps.New(ctx)
			if err == nil {
				err = apps.Submit(ctx, client.Submission{ID: id, Name: "job", Unmanaged: true, Resource: records.NewResource(128, 1)})
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// hold gives an application n containers, and keeps them until ctx ends.
func hold(ctx context.Context, t *testing.T, peers *errgroup.Group, m *client.Master, n int) {
	t.Helper()
	if _, err := m.Request(client.Request{Resource: records.NewResource(1024, 1), Count: n}); err != nil {
		t.Fatal(err)
	}
	for has := 0; has < n; {
		got, err := m.Allocate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		has += len(got.Containers)
	}
	peers.Go(func() error {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
			if _, err := m.Allocate(ctx); err != nil {
				return err
			}
		}
	})
}

// master registers the ApplicationMaster of a new application.
func master(t *testing.T, cluster *client.Cluster, apps *client.Applications) *client.Master {
	t.Helper()
	attempt, token, err := apps.MasterToken(t.Context(), submit(t, apps, client.Submission{Name: "large", Unmanaged: true}))
	if err != nil {
		t.Fatal(err)
	}
	m, err := cluster.Master(client.MasterOptions{Attempt: attempt, Token: token, Host: "127.0.0.1", Port: -1})
	if err == nil {
		_, err = m.Register(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// quick measures how fast a page answers keys and scrolls.
func quick(t *testing.T, tab *Tab, url string) {
	t.Helper()
	tab.Go(url)
	tab.Until(`document.querySelector("main h1") && document.querySelector("#state").textContent`)
	tab.Eval(`{ window.slowest = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) window.slowest = Math.max(window.slowest, e.duration); }).observe({ type: "event", durationThreshold: 16 }); 0 }`, nil)
	for range 20 {
		tab.Press("Tab")
	}
	var typed bool
	if tab.Eval(`!!document.querySelector("#filter-q")`, &typed); typed {
		tab.Eval(`document.querySelector("#filter-q").focus()`, nil)
		for range 8 {
			tab.Press("x")
			tab.pause()
		}
		tab.Until(`location.search.includes("q=")`)
		tab.Eval(`{ const f = document.querySelector("#filter-q"); f.value = ""; f.dispatchEvent(new Event("input")); 0 }`, nil)
		tab.Until(`!location.search.includes("q=")`)
	}
	tab.pause()
	var got struct{ Slowest, Frames, Longest float64 }
	tab.Eval(`{ window.frames_ = []; const beat = (t) => { window.frames_.push(t); window.beats = requestAnimationFrame(beat); }; requestAnimationFrame(beat); 0 }`, nil)
	for _, way := range []int{-2000, 2000} {
		tab.call("Input.synthesizeScrollGesture", map[string]any{"x": 600, "y": 600, "yDistance": way, "speed": 2000}, nil)
	}
	tab.Eval(`(() => { cancelAnimationFrame(window.beats); const f = window.frames_; return { Slowest: window.slowest, Frames: 1000 * (f.length - 1) / (f.at(-1) - f[0]), Longest: Math.max(...f.slice(1).map((t, i) => t - f[i])) }; })()`, &got)
	t.Logf("%s: the slowest key took %.0f ms to the paint; %.0f frames a second while it scrolled, the longest took %.0f ms", url, got.Slowest, got.Frames, got.Longest)
	if got.Slowest > 100 || got.Frames < 50 {
		t.Errorf("%s: %.0f ms from a key to the paint, %.0f frames a second", url, got.Slowest, got.Frames)
	}
}
