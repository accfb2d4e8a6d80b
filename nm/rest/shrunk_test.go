package rest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/nm/logs"
	"heddle/yarn/records"
)

// folder is the log folder of a node.
type folder string

func (f folder) Writable() []string { return []string{string(f)} }
func (f folder) Readable() []string { return []string{string(f)} }

// truncating is a client of which the first bytes have a log made shorter, as its owner may at any time.
type truncating struct {
	http.ResponseWriter
	log string
}

func (w *truncating) Write(b []byte) (int, error) {
	if err := os.Truncate(w.log, 4); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(b)
}

func (w *truncating) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestALogThatShrinksWhileItIsReadIsNotServedAsIfWhole(t *testing.T) {
	s, dir := server(t, false), t.TempDir()
	s.Logs = logs.Local{Dirs: folder(dir)}
	id, err := records.ParseContainerID("container_7_0001_01_000001")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, id.Attempt.App.String(), id.String(), "stdout")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, serve := range map[string]func(w http.ResponseWriter, r *http.Request){
		"REST": func(w http.ResponseWriter, _ *http.Request) {
			log, err := s.Logs.Open(id, "alice", "stdout")
			if err != nil {
				t.Error(err)
				return
			}
			s.serveLog(&truncating{w, path}, log, 1<<20, true)
		},
		"page": func(w http.ResponseWriter, r *http.Request) {
			if err := (webPages{s}).filePage(&truncating{w, path}, r, id, "alice", "stdout"); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(strings.Repeat("line\n", 10000)), 0o644); err != nil {
				t.Fatal(err)
			}
			node := httptest.NewServer(http.HandlerFunc(serve))
			defer node.Close()
			resp, err := node.Client().Get(node.URL + "/?start=0")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(string(b), "line") {
				t.Errorf("the client gets %q, %v", b, err)
			}
		})
	}
}
