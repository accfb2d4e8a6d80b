package browser

import (
	"os"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
)

// With 10,000 nodes a page answers a key within 100 ms, scrolls at 50 frames a second, and has no task above 100 ms while nothing happens. It needs a machine that isn't busy.
func TestPagesOfTenThousandNodesAreQuick(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs it, as it takes minutes")
	}
	c := minicluster.Start(t, 1, nil)
	_, apps := alice(t, c)
	register(t, c, 0, 10_000)
	for range 200 {
		submit(t, apps, client.Submission{Name: "job", Unmanaged: true})
	}
	tab := Open(t, 1400, 1000)
	at := "http://" + c.Conf.Text(rm.WebAddress) + "/cluster/"
	for _, page := range []string{"overview", "apps", "waiting", "nodes", "nodes/map", "scheduler", "users", "nodelabels"} {
		quick(t, tab, at+page)
	}
	idle(t, tab, at+"nodes/map")
	idle(t, tab, at+"overview")
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
