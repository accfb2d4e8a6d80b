package past

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/nm/logs"
	"heddle/yarn/records"
	"heddle/yarn/rest"
	"heddle/yarn/rest/logplace"
)

// known is a ResourceManager that knows one place.
type known struct {
	logplace.Place
	err error
}

func (k *known) Container(*rest.Call, records.ContainerID) (logplace.Place, error) {
	return k.Place, k.err
}

func (k *known) App(*rest.Call, records.ApplicationID) (logplace.Place, error) { return k.Place, k.err }

func (k *known) MayView(c *rest.Call, owner, viewers string) bool {
	return c.Query().Get("user.name") == owner || strings.Contains(viewers, c.Query().Get("user.name"))
}

// shelf serves what is below a folder.
func shelf(t *testing.T, k *known) (root string, api *rest.API) {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	c.Set("yarn.nodemanager.remote-app-log-dir", "file://"+root)
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	l := New(c, logrus.NewEntry(quiet), nil)
	t.Cleanup(l.Close)
	api = rest.NewAPI(logrus.NewEntry(quiet))
	l.Route(api, "", k)
	return root, api
}

const container = "container_1_0007_01_000001"

// put writes a node's file into the folder of a user. owner is who it says that it belongs to.
func put(t *testing.T, root, folder, owner, viewers, text string) string {
	t.Helper()
	dir := filepath.Join(root, folder, "bucket-logs-tfile", "0007", "application_1_0007")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "n_1"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := logs.NewFileWriter(f, "none", owner, map[string]string{logs.ViewApp: viewers})
	for _, step := range []func() error{
		func() error { return w.Begin(container) },
		func() error { return w.Log("stdout", int64(len(text)), strings.NewReader(text)) },
		w.End, w.Close, f.Close,
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func get(api *rest.API, path string) (int, string) {
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// An owner may write what it likes into its own folder of logs. A link there to another user's file shows nothing of it.
func TestAUsersFolderLeadsToNobodyElsesLogs(t *testing.T) {
	k := &known{Place: logplace.Place{User: "mallory", Owner: "mallory", Ended: true}}
	root, api := shelf(t, k)
	secret := put(t, root, "alice", "alice", "", "secret")
	at := filepath.Dir(put(t, root, "mallory", "mallory", "", "mine"))
	if err := os.Symlink(secret, filepath.Join(at, "n_1_2")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/containers/" + container + "/logs", "/containers/" + container + "/logs/stdout?start=0", "/apps/application_1_0007/logs?node=n_1_2"} {
		if code, text := get(api, path+map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]+"node=n_1_2"); strings.Contains(text, "secret") || strings.Contains(text, "stdout\"") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := get(api, "/containers/"+container+"/logs/stdout?start=0"); code != 200 || text != "mine" {
		t.Errorf("%d %s", code, text)
	}
}

// Logs of an application that the ResourceManager has forgotten are shown by the rights in the file itself.
func TestForgottenApplications(t *testing.T) {
	k := &known{Place: logplace.Place{User: "x"}, err: logplace.ErrForgotten}
	root, api := shelf(t, k)
	put(t, root, "alice", "alice", "carl", "text")
	at := "/containers/" + container + "/logs/stdout?start=0"
	for query, want := range map[string]string{
		"":                                   "404 application_1_0007: the ResourceManager has no such application, or has forgotten it; name its owner with ?owner=",
		"&owner=alice&user.name=alice":       "200 text",
		"&owner=alice&user.name=carl":        "200 text",
		"&owner=alice&user.name=bob":         "404 application_1_0007: the ResourceManager has no such application, or has forgotten it, and user alice has no aggregated logs",
		"&owner=bob&user.name=bob":           "404 ",
		"&owner=../alice&user.name=../alice": "400 owner must be a user's name",
		"&owner=..&user.name=..":             "400 owner must be a user's name",
	} {
		code, says, _ := strings.Cut(want, " ")
		if got, text := get(api, at+query); fmt.Sprint(got) != code || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s", query, got, text)
		}
	}
}

// A node may answer anything: it leads no reader elsewhere, and its bytes are text.
func TestHostileNodes(t *testing.T) {
	k := &known{Place: logplace.Place{User: "alice", Owner: "alice", Lives: true, Node: "n:1"}}
	_, api := shelf(t, k)
	var asked string
	answer := func(http.ResponseWriter) {}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		answer(w)
	}))
	defer node.Close()
	k.Web = node.URL
	file := "/containers/" + container + "/logs/a%2Fb%3Fc?start=0"
	answer = func(w http.ResponseWriter) {
		w.Header().Set("Location", "http://169.254.169.254/")
		w.WriteHeader(http.StatusFound)
	}
	if code, text := get(api, file); code != 404 {
		t.Errorf("%d %s", code, text)
	}
	if want := "/ws/v1/node/containers/" + container + "/logs/a%2Fb%3Fc?start=0&user.name=alice"; asked != want {
		t.Errorf("the node was asked for %s", asked)
	}
	answer = func(w http.ResponseWriter) { _, _ = io.WriteString(w, "Container: …\nLogContents:\n") }
	if code, text := get(api, file); code != http.StatusNotImplemented || !strings.Contains(text, "none of Heddle's") {
		t.Errorf("a stock node: %d %s", code, text)
	}
	answer = func(w http.ResponseWriter) {
		h := w.Header()
		h.Set("Log-Length", "9")
		h.Set("Content-Type", "text/html")
		h.Set("Set-Cookie", "hadoop.auth=x")
		_, _ = io.WriteString(w, "<script>")
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, file, nil))
	if h := w.Header(); w.Code != 200 || h.Get("Set-Cookie") != "" || !strings.HasPrefix(h.Get("Content-Type"), "text/plain") || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", w.Code, h)
	}
	answer = func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, maxAnswer+1)) }
	if code, text := get(api, "/containers/"+container+"/logs"); code != http.StatusServiceUnavailable {
		t.Errorf("an endless list: %d %.200s", code, text)
	}
	k.Web = "http://127.0.0.1:1"
	if code, text := get(api, "/containers/"+container+"/logs"); code != http.StatusServiceUnavailable || !strings.Contains(text, "node n:1 doesn't answer") {
		t.Errorf("a node that is gone: %d %.200s", code, text)
	}
}

// What is served is described: all paths of logs, and no others.
func TestDescription(t *testing.T) {
	b, err := os.ReadFile("../../../docs/heddle-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, api := shelf(t, &known{})
	for _, path := range api.Paths() {
		if !strings.Contains(string(b), "\n  /ws/v1/heddle"+path+":\n") {
			t.Errorf("%s isn't described", path)
		}
	}
	if n := strings.Count(string(b), "/logs:\n") + strings.Count(string(b), "/logs/{file}:\n"); n != len(api.Paths()) {
		t.Errorf("described are %d paths", n)
	}
}

// One user's slow readers leave others their turns.
func TestTurns(t *testing.T) {
	var all turns
	for range ofUser {
		if !all.take("a") {
			t.Fatal("no turn")
		}
	}
	if all.take("a") || !all.take("b") {
		t.Error("one user has all turns")
	}
	all.give("a")
	if !all.take("a") {
		t.Error("a turn was lost")
	}
	for _, user := range []string{"a", "a", "a", "a", "b"} {
		all.give(user)
	}
	if all.all != 0 || len(all.by) != 0 {
		t.Errorf("left are %+v", all.by)
	}
}

func FuzzNodesLogs(f *testing.F) {
	f.Add([]byte(`{"containerLogsInfo":[{"logAggregationType":"LOCAL","containerLogInfo":[{"fileName":"x","fileSize":"1"}]}]}`))
	f.Add([]byte(`{"containerLogsInfo":{"containerLogInfo":null}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if all, err := readNodesLogs(b); err != nil && len(all) > 0 {
			t.Errorf("%v and %v", all, err)
		}
		_ = messageOf(b)
	})
}
