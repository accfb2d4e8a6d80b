package usage

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heddle/conf"
)

var now = time.Date(2026, 11, 29, 15, 4, 5, 0, time.FixedZone("CET", 3600))

func TestMoments(t *testing.T) {
	for text, want := range map[string]string{
		"today": "2026-11-29T00:00:00+01:00", "yesterday": "2026-11-28T00:00:00+01:00", "2026-11-01": "2026-11-01T00:00:00+01:00",
		"2026-11-29T14:00": "2026-11-29T14:00:00+01:00", "2026-11-29T14:00:00Z": "2026-11-29T14:00:00Z", "6h": "2026-11-29T09:04:05+01:00", "7d": "2026-11-22T15:04:05+01:00",
	} {
		if got, err := moment(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s is %v (%v)", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "-6h", "tomorrow", "99999999d"} {
		if got, err := moment(text, now); err == nil || !strings.Contains(err.Error(), "want a day") {
			t.Errorf("%q is %v (%v)", text, got, err)
		}
	}
}

// The command asks for the span in this machine's zone, and prints names as text, whatever a user calls himself.
func TestAccountsArePrinted(t *testing.T) {
	var asked string
	rm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RequestURI()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"usage": map[string]any{
			"from": 1795820400000, "to": 1795961100000, "begins": 1795824000000, "hidden": 2,
			"account": []any{map[string]any{"name": "an\x1b[2Jn", "from": 1795820400000, "memoryMBSeconds": 3686400, "vcoreSeconds": 1800}},
		}})
	}))
	defer rm.Close()
	c, err := conf.Load(conf.Options{Overrides: []string{"yarn.resourcemanager.webapp.address=" + strings.TrimPrefix(rm.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	o := options{since: "yesterday", by: "user", each: "day"}
	if err := o.run(t.Context(), c, &out, now); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(asked, "zone=60") || !strings.Contains(asked, "by=user&each=day&from=1795820400000&to=1795961045000&") {
		t.Errorf("it asked for %s", asked)
	}
	for _, want := range []string{"From 2026-11-28 00:00 to 2026-11-29 15:05:", "2026-11-28", "1.0", "0.5", "The history begins at 2026-11-28 01:00", "2 users are left out"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("a name reaches the terminal: %q", out.String())
	}
}

// FuzzMoment: any text is a time or an error.
func FuzzMoment(f *testing.F) {
	for _, s := range []string{"yesterday", "7d", "1h", "2026-02-30", "65536d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at, err := moment(s, now); err == nil && at.IsZero() {
			t.Errorf("%q is no time", s)
		}
	})
}
