package browser

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// browse returns the page after its scripts have run for a while by the browser's own clock, and what the browser
// logged.
func browse(t testing.TB, url string, budget time.Duration, options ...string) (page, log string) {
	t.Helper()
	return run(t, url, append([]string{fmt.Sprintf("--virtual-time-budget=%d", budget.Milliseconds()), "--dump-dom"}, options...)...)
}

// chromium is the browser's program.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Fatal("no Chromium on the PATH; `make prerequisites` installs it")
	return ""
}

// run has Chromium open a page, without a window.
func run(t testing.TB, url string, options ...string) (out, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium(t), append(append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr", "--user-data-dir=" + t.TempDir(),
	}, options...), url)...)
	var said strings.Builder
	cmd.Stderr = &said
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", url, err, said.String())
	}
	return string(stdout), said.String()
}

// Screenshot returns what a reader of the page sees in a window of 1000 × 700 pixels.
func Screenshot(t testing.TB, url string) image.Image {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.png")
	run(t, url, "--virtual-time-budget=20000", "--hide-scrollbars", "--window-size=1000,700", "--screenshot="+name)
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
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
