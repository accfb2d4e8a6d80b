package machine

import (
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sirupsen/logrus"

	"heddle/internal/machine"
	"heddle/nm/disks"
	"heddle/yarn/rest"
	"heddle/yarn/rest/machinestate"
)

// node is a machine with a folder for /proc.
func node(t *testing.T, look func() []disks.State) (*Service, *rest.API) {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc/pressure"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"memory": "some avg10=1.50 avg60=0.70 avg300=0.10 total=9\nfull avg10=0.25 avg60=0.00 avg300=0.00 total=1\n",
		"cpu":    "some avg10=90.00 avg60=80.00 avg300=70.00 total=9\n", // older kernels have no line "full" of it
	} {
		if err := os.WriteFile(filepath.Join(root, "proc/pressure", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &Service{Root: root, Disks: look, Use: func() machine.Use { return machine.Use{CPU: 1.25, Processors: 2, Memory: 5, TotalMemory: 9} }}
	log := logrus.New()
	log.SetOutput(io.Discard)
	api := rest.NewAPI(logrus.NewEntry(log))
	s.Route(api)
	return s, api
}

func ask(api *rest.API) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", machinestate.Path, nil))
	return w
}

func TestState(t *testing.T) {
	_, api := node(t, func() []disks.State {
		return []disks.State{
			{Kind: "local-dirs", Path: "/a", Space: disks.Space{Total: 10, Free: 4}}, {Kind: "log-dirs", Path: "/b", Full: "used space above threshold"}, {Kind: "log-dirs", Path: "/c", Bad: "read-only file system"},
		}
	})
	got, err := machinestate.Parse(ask(api).Body.Bytes())
	if err != nil || len(got.Pressure) != 2 || len(got.Disks) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if p := got.Pressure[1]; got.Pressure[0].Some300 != 70 || p.Resource != "memory" || p.Some10 != 1.5 || p.Full10 != 0.25 {
		t.Errorf("pressure %+v", got.Pressure)
	}
	for i, want := range []string{"GOOD", "FULL", "BAD"} {
		if d := got.Disks[i]; d.State != want || (d.Problem == "") != (want == "GOOD") {
			t.Errorf("disk %d: %+v", i, d)
		}
	}
	if got.CPU != 1.25 || got.Disks[0].Free != 4 {
		t.Errorf("%+v", got)
	}
}

// A disk that hangs holds up one look; readers are told, and get an answer as soon as the disk gives one.
func TestADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs, looks := make(chan struct{}), 0
		_, api := node(t, func() []disks.State {
			looks++
			<-hangs
			return nil
		})
		for range 3 {
			if w := ask(api); w.Code != 503 || !strings.Contains(w.Body.String(), "a disk of this node doesn't answer within 2s") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		close(hangs)
		synctest.Wait()
		var said map[string]json.RawMessage
		if w := ask(api); w.Code != 200 || json.Unmarshal(w.Body.Bytes(), &said) != nil || said["machine"] == nil {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if looks != 1 {
			t.Errorf("%d looks at the disks", looks)
		}
	})
}
