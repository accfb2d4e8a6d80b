package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Tab is a page of a running Chromium that a test uses as a reader does: it clicks, types and waits. Commands go through pipes, by Chromium's protocol for
// DevTools.
type Tab struct {
	t       testing.TB
	out     io.Writer
	session string
	gone    chan struct{} // closed when Chromium has ended

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	errors  []string // what the page logged as an error
}

type reply struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// Open starts a Chromium with a window of some size, in pixels. It ends with the test.
func Open(t testing.TB, width, height int) *Tab {
	t.Helper()
	in, out := pipe(t), pipe(t)
	dir, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(chromium(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
		fmt.Sprintf("--window-size=%d,%d", width, height), "--user-data-dir="+dir, "about:blank")
	cmd.ExtraFiles = []*os.File{in.read, out.write} // its file descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.read.Close(), out.write.Close()
	tab := &Tab{t: t, out: in.write, waiting: map[int]chan reply{}, gone: make(chan struct{})}
	go func() {
		defer close(tab.gone)
		tab.listen(out.read)
	}()
	t.Cleanup(func() {
		// its other processes still write to its folder for a moment after a kill
		tab.session = ""
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		_ = tab.try("Browser.close", nil, nil)
		_ = cmd.Wait()
		<-tab.gone
		for tries := 0; os.RemoveAll(dir) != nil && tries < 100; tries++ {
			time.Sleep(50 * time.Millisecond)
		}
	})
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	tab.call("Target.getTargets", nil, &targets)
	for _, x := range targets.TargetInfos {
		if x.Type == "page" {
			var attached struct{ SessionID string }
			tab.call("Target.attachToTarget", map[string]any{"targetId": x.TargetID, "flatten": true}, &attached)
			tab.session = attached.SessionID
		}
	}
	tab.call("Page.enable", nil, nil)
	tab.call("Runtime.enable", nil, nil)
	tab.call("Log.enable", nil, nil)
	tab.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	return tab
}

type ends struct{ read, write *os.File }

func pipe(t testing.TB) ends {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return ends{r, w}
}

func (tab *Tab) listen(in io.Reader) {
	r := bufio.NewReader(in)
	for {
		b, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m reply
		if json.Unmarshal(b[:len(b)-1], &m) != nil {
			continue
		}
		tab.mu.Lock()
		switch {
		case m.ID != 0:
			if c := tab.waiting[m.ID]; c != nil {
				c <- m
			}
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded" && strings.Contains(string(m.Params), `"level":"error"`):
			tab.errors = append(tab.errors, string(m.Params))
		}
		tab.mu.Unlock()
	}
}

// Errors returns what the page has logged as errors, such as exceptions and what the policy for content forbids.
func (tab *Tab) Errors() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return append([]string(nil), tab.errors...)
}

// call sends a command and waits for its answer.
func (tab *Tab) call(method string, params, result any) {
	tab.t.Helper()
	if err := tab.try(method, params, result); err != nil {
		tab.t.Fatal(err)
	}
}

func (tab *Tab) try(method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	tab.mu.Lock()
	tab.last++
	id, c := tab.last, make(chan reply, 1)
	tab.waiting[id] = c
	b, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": tab.session})
	if tab.session == "" {
		b, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err == nil {
		_, err = tab.out.Write(append(b, 0))
	}
	tab.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-c:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-tab.gone:
		return fmt.Errorf("%s: Chromium has ended", method)
	case <-time.After(patience):
		return fmt.Errorf("%s: Chromium doesn't answer", method)
	}
}

// TrustAll has the tab take any certificate of servers.
func (tab *Tab) TrustAll() {
	tab.t.Helper()
	tab.call("Security.setIgnoreCertificateErrors", map[string]any{"ignore": true}, nil)
}

// Go opens a page.
func (tab *Tab) Go(url string) {
	tab.t.Helper()
	tab.call("Page.navigate", map[string]any{"url": url}, nil)
}

// Eval evaluates an expression in the page, and waits if it is a promise. The result must fit into JSON.
func (tab *Tab) Eval(expression string, result any) {
	tab.t.Helper()
	if problem := tab.eval(expression, result); problem != "" {
		tab.t.Fatalf("%s: %s", expression, problem)
	}
}

func (tab *Tab) eval(expression string, result any) (problem string) {
	tab.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	how := map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}
	if err := tab.try("Runtime.evaluate", how, &out); err != nil {
		return err.Error()
	}
	if out.ExceptionDetails != nil {
		return string(out.ExceptionDetails)
	}
	if result != nil {
		if err := json.Unmarshal(out.Result.Value, result); err != nil {
			return fmt.Sprintf("%s: %v", out.Result.Value, err)
		}
	}
	return ""
}

// Until waits until an expression is true in the page.
func (tab *Tab) Until(expression string) {
	tab.t.Helper()
	for begun := time.Now(); ; {
		ok := false
		if tab.eval("!!("+expression+")", &ok) == "" && ok {
			return
		}
		if time.Since(begun) > patience {
			var page string
			tab.Eval("document.documentElement.outerHTML", &page)
			tab.t.Fatalf("it never came true that %s; the page said %q and has\n%.20000s", expression, tab.Errors(), page)
		}
		tab.pause()
	}
}

// pause lets the page work for a moment.
func (tab *Tab) pause() {
	tab.t.Helper()
	tab.eval("new Promise((done) => setTimeout(done, 50))", nil)
}

// Click clicks on the first element that a selector finds.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf("document.querySelector(%q)", selector))
	tab.Eval(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)
}

// Type puts the caret into an element and types.
func (tab *Tab) Type(selector, text string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf("document.querySelector(%q)", selector))
	tab.Eval(fmt.Sprintf("document.querySelector(%q).focus()", selector), nil)
	tab.call("Input.insertText", map[string]any{"text": text}, nil)
}

// keys are those that Press knows, with their codes.
var keys = map[string]int{"Tab": 9, "Enter": 13, " ": 32, "x": 88}

// Press presses a key, as a reader does who has no mouse.
func (tab *Tab) Press(key string) {
	tab.t.Helper()
	text := map[string]string{"Enter": "\r", " ": " ", "x": "x"}[key]
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "code": map[string]string{" ": "Space"}[key], "windowsVirtualKeyCode": keys[key]}
		if kind == "keyDown" && text != "" {
			params["text"] = text
		}
		tab.call("Input.dispatchKeyEvent", params, nil)
	}
}

// TabTo presses Tab until an element that a selector finds has the focus.
func (tab *Tab) TabTo(selector string) {
	tab.t.Helper()
	for range 200 {
		var there bool
		if tab.Eval(fmt.Sprintf("document.activeElement?.matches(%q) ?? false", selector), &there); there {
			return
		}
		tab.Press("Tab")
	}
	tab.t.Fatalf("the keyboard doesn't reach %s", selector)
}

// Theme chooses the light or the dark theme.
func (tab *Tab) Theme(name string) {
	tab.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": name}}}, nil)
}

// Size sets the size of what a reader sees, in pixels.
func (tab *Tab) Size(width, height int) {
	tab.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Picture returns a picture of what a reader sees, as a PNG.
func (tab *Tab) Picture() []byte {
	tab.t.Helper()
	var out struct{ Data string }
	tab.call("Page.captureScreenshot", map[string]any{"format": "png"}, &out)
	b, err := base64.StdEncoding.DecodeString(out.Data)
	if err != nil {
		tab.t.Fatal(err)
	}
	return b
}
