package browser

import (
	"context"
	"fmt"
	"os/exec"
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

// Shows opens a page until it contains every text in want, and returns it. On a busy machine the browser's clock, which
// ends the wait for scripts, runs ahead of the server.
func Shows(t testing.TB, url string, want ...string) (page string) {
	t.Helper()
	var missing, log string
	for budget := 5 * time.Second; budget < 3*time.Minute; budget *= 2 {
		page, log = browse(t, url, budget)
		missing = ""
		for _, w := range want {
			if !strings.Contains(page, w) {
				missing = w
			}
		}
		if missing == "" {
			return page
		}
	}
	t.Errorf("%s lacks %q:\n%s\nthe browser said:\n%s", url, missing, page, log)
	return page
}
