package switching

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/sockets"
	"heddle/conf/conftest"
	"heddle/rm/hosts"
)

type service map[string]string

func (s service) LookupHost(_ context.Context, host string) ([]string, error) {
	if a := s[host]; a != "" {
		return []string{a}, nil
	}
	return nil, fmt.Errorf("no such host: %s", host)
}

// At the switch each NodeManager that called from another address than its name's shut down, and nothing told it before.
func TestNodesThatWouldBeKeptOutAreNamedBefore(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"nodes":{"node":[{"nodeHostName":"w1","state":"RUNNING"},{"nodeHostName":"w2","state":"RUNNING"},{"nodeHostName":"w3","state":"RUNNING"},
			{"nodeHostName":"w4","state":"UNHEALTHY"},{"nodeHostName":"old","state":"LOST"}]}}`)
	}))
	defer web.Close()
	nodes, err := Nodes(t.Context(), conftest.With(t, nil), web.URL)
	if err != nil || strings.Join(nodes, " ") != "w1 w2 w3 w4" {
		t.Fatalf("%v, %v", nodes, err)
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc/net"), 0o755); err != nil {
		t.Fatal(err)
	}
	const table = `  sl  local_address rem_address   st
   0: 0100000A:1F5F 0B00000A:D431 01 00000000:00000000
   1: 0100000A:1F5F 6300A8C0:D432 01 00000000:00000000
   2: 0100000A:1F5F 6400A8C0:D433 06 00000000:00000000
   3: 0100000A:1F90 6500A8C0:D434 01 00000000:00000000
`
	if err := os.WriteFile(filepath.Join(root, "proc/net/tcp"), []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	callers, err := Callers(root, 8031)
	if err != nil || fmt.Sprint(callers) != "[10.0.0.11 192.168.0.99]" {
		t.Fatalf("%v, %v", callers, err)
	}
	include := filepath.Join(root, "include")
	if err := os.WriteFile(include, []byte("w1 w2 w3"), 0o600); err != nil {
		t.Fatal(err)
	}
	lists, err := hosts.Files{Include: include}.Read()
	if err != nil {
		t.Fatal(err)
	}
	found := Compare(t.Context(), lists, nodes, callers, service{"w1": "10.0.0.11", "w2": "10.0.0.12"})
	var said []string
	for _, p := range found {
		said = append(said, p.Message)
	}
	want := []string{"node w3 of the running cluster has no address", "node w4 of the running cluster isn't admitted", "a node calls from 192.168.0.99"}
	if len(said) != len(want) {
		t.Fatalf("%q", said)
	}
	for i := range want {
		if !strings.Contains(said[i], want[i]) {
			t.Errorf("%q, want %q", said[i], want[i])
		}
	}
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	if err := os.WriteFile(include, []byte("w1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if lists, err = (hosts.Files{Include: include}).Read(); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]int{"127.0.0.1": 0, "127.0.0.7": 1} { // the second one isn't this machine's
		if found := Compare(t.Context(), lists, nodes[:1], loopback, service{"w1": address}); len(found) != want {
			t.Errorf("a node %s that calls from the loopback: %v", address, found)
		}
	}
	if found := Compare(t.Context(), nil, nodes[:2], []netip.Addr{netip.MustParseAddr("10.0.0.12")}, service{"w1": "10.0.0.11", "w2": "10.0.0.12"}); len(found) > 0 {
		t.Errorf("without lists: %v", found)
	}
}

func FuzzParseConnections(f *testing.F) {
	f.Add("   0: 0100000A:1F5F 0B00000A:D431 01\n", 8031)
	f.Add("   0: 00000000000000000000000001000000:1F5F 00000000000000000000000001000000:D431 01\n", 8031)
	f.Fuzz(func(t *testing.T, text string, port int) {
		all, _ := sockets.Parse(strings.NewReader(text), port, sockets.Established)
		for _, a := range callers(all) {
			if !a.IsValid() {
				t.Error("no address")
			}
		}
	})
}

func FuzzParseNodes(f *testing.F) {
	f.Add(`{"nodes":{"node":[{"nodeHostName":"w1","state":"RUNNING"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		names, _ := parseNodes(strings.NewReader(text))
		for _, n := range names {
			if n == "" {
				t.Error("a node without a name")
			}
		}
	})
}
