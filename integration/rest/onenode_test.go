package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/yarn/records"
)

// oneNode is a cluster with a node, whose web port is the test's.
type oneNode struct {
	*testing.T
	at   string
	id   string
	says atomic.Pointer[string] // the node's web port
	left chan error
	c    *minicluster.Cluster
	o    minicluster.NodeOptions
}

func startOneNode(t *testing.T, set map[string]string) *oneNode {
	w := &oneNode{T: t, left: make(chan error, 1)}
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if text := w.says.Load(); text != nil && r.URL.Path == "/ws/v1/heddle/machine" {
			_, _ = io.WriteString(out, *text)
			return
		}
		http.NotFound(out, r)
	}))
	t.Cleanup(web.Close)
	w.c = minicluster.Start(t, 1, set)
	w.o = minicluster.NodeOptions{WebPort: web.Listener.Addr().(*net.TCPAddr).Port, Left: func(err error) { w.left <- err }, Run: untilKilled}
	w.id = w.c.Node(w.o).ID.String()
	w.at = "http://" + w.c.Conf.Text(rm.WebAddress) + "/ws/v1/heddle/nodes/"
	return w
}

// untilKilled runs until its container is killed.
func untilKilled(ctx context.Context, _ minicluster.Container) int {
	<-ctx.Done()
	return 0
}

// ask sends a request as a user.
func (w *oneNode) ask(user, method, path, body string) (int, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.at+path+map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]+"user.name="+user, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/plain, text/csv")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// expect checks an answer.
func (w *oneNode) expect(user, method, path, body string, code int, want string) {
	w.Helper()
	if got, text := w.ask(user, method, path, body); got != code || !strings.Contains(text, want) {
		w.Errorf("%s %s %s by %s: %d %s, want %d %s", method, path, body, user, got, text, code, want)
	}
}

// submit has alice run an application, and waits until its ApplicationMaster's container is there.
func (w *oneNode) submit() records.ApplicationID {
	w.Helper()
	cluster, err := client.NewCluster(w.c.Conf, minicluster.Log(w))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(cluster.Close)
	apps, err := cluster.Applications("alice")
	if err != nil {
		w.Fatal(err)
	}
	id, _, err := apps.New(w.Context())
	if err == nil {
		err = apps.Submit(w.Context(), client.Submission{ID: id, Name: "job", MaxAttempts: 1, Resource: records.NewResource(128, 1)})
	}
	if err != nil {
		w.Fatal(err)
	}
	w.c.Until("the ApplicationMaster has a container", func() bool {
		_, text := w.ask("boss", "GET", w.id+"/timeline", "")
		return strings.Contains(text, id.String())
	})
	return id
}

// Administrators drain a node, with a deadline, and keep it after all; others may not, and see of its containers what is theirs.
func TestANodeIsDrainedAndStays(t *testing.T) {
	w := startOneNode(t, map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "boss", "yarn.scheduler.capacity.root.acl_administer_queue": " "})
	app := w.submit()
	w.expect("alice", "GET", w.id+"/timeline", "", 200, `"applicationId":"`+app.String()+`","name":"job","user":"alice","applicationMaster":true`)
	w.expect("bob", "GET", w.id+"/timeline?span=60", "", 200, `"hidden":1,"more":0}`)
	w.expect("bob", "GET", w.id+"/timeline?span=0", "", 400, "from 1 to 10080")
	for _, path := range []string{"/drain", "/recommission"} {
		w.expect("alice", "POST", w.id+path, "{}", 403, "Only admins can carry out this operation.")
	}
	w.expect("boss", "POST", "nowhere:1/drain", "{}", 404, "nodeId, nowhere:1, is not found")
	w.expect("boss", "POST", w.id+"/recommission", "", 400, "is not being decommissioned: it is RUNNING")
	w.expect("boss", "POST", w.id+"/drain", `{"timeoutSeconds":-2}`, 400, "from 0 to 31536000, or -1 for no end")
	w.expect("boss", "POST", w.id+"/drain", `{"timeoutSeconds":-1}`, 200, `"state":"DECOMMISSIONING"}`)
	before := time.Now().Add(time.Hour).UnixMilli()
	code, text := w.ask("boss", "POST", w.id+"/drain", `{"timeoutSeconds":3600}`)
	var said struct {
		Node struct{ DecommissionDeadline int64 }
	}
	if json.Unmarshal([]byte(text), &said) != nil || code != 200 || said.Node.DecommissionDeadline < before-1000 || said.Node.DecommissionDeadline > before+60_000 {
		t.Errorf("%d %s, want a deadline near %d", code, text, before)
	}
	w.expect("boss", "POST", w.id+"/recommission", "", 200, `"state":"RUNNING"}`)
	w.expect("boss", "POST", w.id+"/drain", `{"timeoutSeconds":0}`, 200, `"state":"DECOMMISSIONED"`)
	if err := <-w.left; !strings.Contains(err.Error(), "Disallowed NodeManager") {
		t.Errorf("the node is told %v", err)
	}
	w.expect("boss", "POST", w.id+"/recommission", "", 400, "has left the cluster. It joins again when its NodeManager is started")
	w.expect("boss", "GET", w.id+"/machine", "", 404, "isn't running: it is DECOMMISSIONED")
}

// What a node says of its machine is passed on; what it says wrongly, or not at all, is said.
func TestStateOfAMachine(t *testing.T) {
	w := startOneNode(t, nil)
	for text, want := range map[string]struct {
		code int
		text string
	}{
		`{"machine":{"cpuCores":1.5,"disk":[{"kind":"local-dirs","path":"/<b>","state":"GOOD","totalBytes":9,"freeBytes":4}]}}`: {200, `"path":"/<b>","state":"GOOD","totalBytes":9,"freeBytes":4}`},
		`{"machine":{"memoryBytes":-5}}`: {503, "amount -5"},
		`<html>`:                         {503, "invalid character"},
		strings.Repeat(" ", 300<<10):     {503, "more than"},
	} {
		w.says.Store(&text)
		w.expect("alice", "GET", w.id+"/machine", "", want.code, want.text)
	}
	w.says.Store(nil)
	w.expect("alice", "GET", w.id+"/machine", "", 404, fmt.Sprintf("node %s doesn't tell the state of its machine (status 404)", w.id))
}
