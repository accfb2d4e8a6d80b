package follow

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/nm/logs/part"
)

// script is a ResourceManager whose container writes more from one look to the next.
type script struct {
	looks []map[string]string // of all logs
	at    int
	fail  error
}

func (s *script) REST(_ context.Context, r cluster.Request) (*cluster.Answer, error) {
	_, name, _ := strings.Cut(r.Path, "/logs/")
	if name == "" {
		s.at++
	}
	now := s.looks[min(s.at, len(s.looks))-1]
	if name == "" {
		names := ""
		for _, n := range []string{"stderr", "stdout", "other"} {
			if _, ok := now[n]; ok {
				names += `{"fileName":"` + n + `"},`
			}
		}
		running := "true"
		if s.at >= len(s.looks) {
			running = "false"
		}
		return &cluster.Answer{Body: []byte(`{"logs":{"running":` + running + `,"containerLogsInfo":{"containerLogInfo":[` + strings.TrimSuffix(names, ",") + `]}}}`)}, s.fail
	}
	w := httptest.NewRecorder()
	want, _, err := part.Parse(r.Query)
	if err == nil {
		err = part.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), want, part.Log{Name: name, Length: int64(len(now[name])), Content: strings.NewReader(now[name])})
	}
	return &cluster.Answer{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}, err
}

func TestFollow(t *testing.T) {
	large := strings.Repeat("0123456789abcde\n", 3*piece/16)
	var out bytes.Buffer
	l := Logs{
		From: &script{looks: []map[string]string{
			{"stdout": strings.Repeat("x", before+5), "other": "no"}, {"stdout": strings.Repeat("x", before+5) + "more\n"}, {"stdout": "cut\n", "stderr": "bad\n"}, {"stdout": "cut\n" + large, "stderr": "bad\n"},
		}},
		Container: "container_1_0001_01_000001", Wanted: func(name string) bool { return name != "other" }, Every: time.Millisecond, Out: &out,
	}
	if err := l.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	want := "==> stdout <==\n" + strings.Repeat("x", before) + "more\n==> stderr <==\nbad\n==> stdout <==\ncut\n" + large
	if got != want {
		t.Errorf("%d bytes, want %d: it begins with %.40q and ends with %q", len(got), len(want), got, got[max(0, len(got)-40):])
	}
	l.From = &script{looks: []map[string]string{{}}, fail: errors.New("gone")}
	if err := l.Follow(t.Context()); err == nil || !strings.Contains(err.Error(), "logs of container_1_0001_01_000001: gone") {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	l.From, l.Out = &script{looks: []map[string]string{{"stdout": ""}, {"stdout": ""}}}, io.Discard
	if err := l.Follow(stopped); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"logs":{"running":true,"containerLogsInfo":[{"containerLogInfo":[{"fileName":"a"}]}]}}`))
	f.Add([]byte(`{"logs":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if names, _, err := read(b); err != nil && len(names) > 0 {
			t.Error(names, err)
		}
	})
}
