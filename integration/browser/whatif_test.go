package browser

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The page that heddle what-if writes shows its plots and tables in Chromium, in both themes, without an error, and asks for nothing else, whatever a user is called.
func TestPageOfWhatIf(t *testing.T) {
	binary, dir := built(t), t.TempDir()
	record, html := filepath.Join(dir, "events.log"), filepath.Join(dir, "answer.html")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(binary, args...).CombinedOutput(); err != nil {
			t.Fatalf("heddle %q: %v: %s", args, err, out)
		}
	}
	const evil = `<img src=x onerror=alert(1)>`
	run("sim", "--conf", dir, "-D", "yarn.resourcemanager.scheduler.class=capacity", "-D", "yarn.scheduler.capacity.root.queues=prod,dev", "-D", "yarn.scheduler.capacity.root.prod.capacity=60",
		"-D", "yarn.scheduler.capacity.root.dev.capacity=40", "-D", "yarn.scheduler.capacity.root.prod.user-limit-factor=9", "-D", "yarn.scheduler.capacity.root.dev.user-limit-factor=9",
		"--nodes", "10", "--slots", "4", "--tasks", "1000", "--job", "20", "--load", "1", "--queue", "root.prod,root.dev", "--record", record)
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, bytes.ReplaceAll(text, []byte(`"user1"`), []byte(`"`+evil+`"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	run("what-if", "-record", record, "-nodes", "-3", "-html", html)

	var mu sync.Mutex
	var asked []string
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	tab := tabOf(t)
	tab.Go(server.URL + "/answer.html")
	tab.Until(`document.title === "What if" && document.readyState === "complete"`)
	var seen struct {
		Headings []string
		Plots    []string // what has no size
		Narrow   int      // names that have no room for a word
		N, Marks int
		Text     string
	}
	tab.Eval(`({
		headings: [...document.querySelectorAll("h2")].map((h) => h.textContent),
		plots: [...document.querySelectorAll("svg")].filter((s) => { const r = s.getBoundingClientRect(); return r.width < 100 || r.height < 40 }).map((s) => s.outerHTML.slice(0, 200)),
		narrow: [...document.querySelectorAll("td:first-child")].filter((c) => c.getBoundingClientRect().width < 100).length,
		n: document.querySelectorAll("svg").length, marks: document.querySelectorAll("svg rect, svg circle, svg path, svg polygon").length, text: document.body.innerText,
	})`, &seen)
	for _, want := range []string{"Who loses", "Queues", "Wait of containers, from the request to the grant", "Each application", "Memory in use, before", "Memory in use, after", "Users"} {
		if !slices.Contains(seen.Headings, want) {
			t.Errorf("there is no %q among %q", want, seen.Headings)
		}
	}
	for _, want := range []string{"root.prod", "root.dev", "memory, GB·h", "Backtest: ", evil} {
		if !strings.Contains(seen.Text, want) {
			t.Errorf("%q is not to be read:\n%s", want, seen.Text)
		}
	}
	if seen.N < 5 || seen.Marks < 60 || len(seen.Plots) > 0 {
		t.Errorf("%d plots with %d marks; without a size: %q", seen.N, seen.Marks, seen.Plots)
	}
	if seen.Narrow > 0 {
		t.Errorf("%d names stand in columns that are narrower than a word", seen.Narrow)
	}
	if found := tab.Violations(); len(found) > 0 {
		t.Errorf("%q", found)
	}
	if ink := inked(Screenshot(t, server.URL+"/answer.html", "What would have happened")); ink < 1000 {
		t.Errorf("%d pixels are drawn", ink)
	}
	mu.Lock()
	defer mu.Unlock()
	if rest := slices.DeleteFunc(slices.Clone(asked), func(path string) bool { return path == "/answer.html" || path == "/favicon.ico" }); len(rest) > 0 {
		t.Errorf("the page asks for %q", rest)
	}
	if said := slices.DeleteFunc(tab.Errors(), func(s string) bool { return strings.Contains(s, "favicon") }); len(said) > 0 {
		t.Errorf("the page says %q", said)
	}
}
