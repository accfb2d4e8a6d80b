package browser

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// browse returns the page after its scripts have run for a while by the browser's own clock, and what the browser
// logged.
func browse(t testing.TB, url string, budget time.Duration, options ...string) (page, log string) {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Fatal("no Chromium on the PATH; `make prerequisites` installs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
		"--user-data-dir=" + t.TempDir(), fmt.Sprintf("--virtual-time-budget=%d", budget.Milliseconds()), "--dump-dom",
	}, append(options, url)...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", url, err, said.String())
	}
	return string(out), said.String()
}

// patience is for how long a page is opened again that lacks something, by our own clock.
const patience = 3 * time.Minute

// Shows opens a page until it contains every text in want, and returns it. The browser's clock, which ends the wait for scripts, runs ahead of the server's, the more so on a busy
// machine: there even a long wait may be over before the page has what it asked for.
func Shows(t testing.TB, url string, want ...string) (page string) {
	t.Helper()
	var missing []string
	var log string
	begun, budget := time.Now(), 5*time.Second
	for tries := 1; ; tries++ {
		page, log = browse(t, url, budget)
		missing = slices.DeleteFunc(slices.Clone(want), func(w string) bool { return strings.Contains(page, w) })
		if len(missing) == 0 {
			return page
		}
		if time.Since(begun) > patience {
			t.Errorf("%s lacks %q after %d tries:\n%s\nthe browser said:\n%s", url, missing, tries, page, log)
			return page
		}
		budget = min(2*budget, time.Minute)
	}
}
