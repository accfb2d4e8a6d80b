package browser

import (
	"bytes"
	"image"
	"image/png"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// chromium returns the browser's program.
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

var (
	tabsMu sync.Mutex
	tabs   = map[testing.TB]*Tab{}
)

// tabOf returns the tab of a test in a window of 1000 × 700 pixels.
func tabOf(t testing.TB) *Tab {
	t.Helper()
	tabsMu.Lock()
	defer tabsMu.Unlock()
	if tabs[t] == nil {
		tabs[t] = Open(t, 1000, 700)
		t.Cleanup(func() {
			tabsMu.Lock()
			defer tabsMu.Unlock()
			delete(tabs, t)
		})
	}
	return tabs[t]
}

// Screenshot opens a page and returns what a reader sees in a window of 1000 × 700 pixels once it contains a text.
func Screenshot(t testing.TB, url, want string) image.Image {
	t.Helper()
	_, picture := show(t, url, want)
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// patience is for how long a page is opened again that lacks something.
const patience = 3 * time.Minute

// Shows opens a page until it contains every text in want, and returns it.
func Shows(t testing.TB, url string, want ...string) (page string) {
	t.Helper()
	page, _ = show(t, url, want...)
	return page
}

// show leaves the page at the end, so that nothing of it keeps a connection to a server of the test.
func show(t testing.TB, url string, want ...string) (page string, picture []byte) {
	t.Helper()
	tab := tabOf(t)
	defer tab.Go("about:blank")
	var missing []string
	begun, wait := time.Now(), 5*time.Second
	for {
		tab.Go(url)
		for loaded := time.Now(); time.Since(loaded) < wait; tab.pause() {
			// a page that is left just now has no document for a moment
			if tab.eval("document.documentElement?.outerHTML ?? ''", &page) != "" {
				continue
			}
			missing = slices.DeleteFunc(slices.Clone(want), func(w string) bool { return strings.Contains(page, w) })
			if len(missing) == 0 {
				return page, tab.Picture()
			}
		}
		if time.Since(begun) > patience {
			t.Errorf("%s lacks %q:\n%s\nthe browser said:\n%q", url, missing, page, tab.Errors())
			return page, tab.Picture()
		}
		wait = min(2*wait, time.Minute)
	}
}
