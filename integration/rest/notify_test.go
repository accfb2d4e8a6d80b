package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/yarn/records"
)

// The example that posts failed applications to a web hook does so, with names as text, and leaves out those that succeed.
func TestTheExampleForWebHooks(t *testing.T) {
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v; `make prerequisites` installs it", err)
		}
	}
	c := minicluster.Start(t, 1, nil)
	posted := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var got struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		posted <- got.Text
	}))
	defer hook.Close()
	ctx, cancel := context.WithCancel(t.Context())
	script := exec.CommandContext(ctx, "sh", "../../docs/examples/notify.sh", hook.URL, "http://"+c.Conf.Text(rm.WebAddress))
	script.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	script.Cancel = func() error { return syscall.Kill(-script.Process.Pid, syscall.SIGKILL) } // its curl, too
	if err := script.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = script.Wait()
	}()
	cluster, err := client.NewCluster(c.Conf, minicluster.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	apps, err := cluster.Applications("alice")
	if err != nil {
		t.Fatal(err)
	}
	// the script may not follow yet when the first ones are killed
	patience := time.After(2 * time.Minute)
	for {
		id, _, err := apps.New(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := apps.Submit(t.Context(), client.Submission{ID: id, Name: `a "b" $(x) \n <c>`, Unmanaged: true, Resource: records.NewResource(128, 1)}); err != nil {
			t.Fatal(err)
		}
		if err := apps.Kill(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		select {
		case text := <-posted:
			if !strings.HasPrefix(text, `a "b" $(x) \n <c> of alice in root.default: KILLED. `) {
				t.Errorf("it posted %q", text)
			}
			return
		case <-patience:
			t.Fatal("nothing was posted")
		case <-time.After(time.Second): // the next one
		}
	}
}
