package metrics2

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/rest/daemon"
)

// The files in testdata are of a stock 3.4.2 ResourceManager and NodeManager: some of their beans, and the names under which the
// same metrics reached /prom and four sinks at that time.

func stockBeans(t testing.TB) []daemon.Bean {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(read(t, "beans.json")))
	d.UseNumber()
	token := func() json.Token {
		tok, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	token() // [
	var out []daemon.Bean
	for d.More() {
		token() // {
		var b daemon.Bean
		for d.More() {
			name, _ := token().(string)
			switch v := token().(type) {
			case json.Number:
				if n, err := v.Int64(); err == nil {
					b.Attrs = append(b.Attrs, daemon.Attr{Name: name, Value: n})
				} else if f, err := v.Float64(); err == nil {
					b.Attrs = append(b.Attrs, daemon.Attr{Name: name, Value: f})
				}
			case string:
				if name == "name" {
					b.Name = v
				} else if name != "modelerType" {
					b.Attrs = append(b.Attrs, daemon.Attr{Name: name, Value: v})
				}
			case nil:
				b.Attrs = append(b.Attrs, daemon.Attr{Name: name})
			}
		}
		token() // }
		out = append(out, b)
	}
	return out
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lacks reports what of a recording isn't in our lines.
func lacks(t *testing.T, recording string, ours []string) {
	t.Helper()
	compared := 0
	for line := range strings.Lines(string(read(t, recording))) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, "ink_") || strings.Contains(line, "_sink_") {
			continue // of the sinks of the stock daemon
		}
		compared++
		if !slices.Contains(ours, line) {
			t.Errorf("%s: no %s", recording, line)
		}
	}
	if compared < 3 {
		t.Errorf("%s: %d lines were compared", recording, compared)
	}
}

// Prometheus got nothing where hadoop.prometheus.endpoint.enabled is set, and other names from /metrics.
func TestPromHasTheNamesOfYARN(t *testing.T) {
	w := httptest.NewRecorder()
	Prometheus(func() []daemon.Bean { return stockBeans(t) }).ServeHTTP(w, httptest.NewRequest("GET", "/prom", nil))
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/plain;charset=utf-8" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	var ours []string
	kind := ""
	for line := range strings.Lines(w.Body.String()) {
		if fields := strings.Fields(line); fields[0] == "#" {
			kind = fields[len(fields)-1]
			continue
		}
		ours = append(ours, kind+" "+line[:strings.LastIndexByte(line, ' ')])
	}
	lacks(t, "prometheus.txt", ours)
	if !strings.Contains(w.Body.String(), `queue_metrics_available_mb{queue="root.prod",context="yarn",hostname="vm"} 2252`+"\n") {
		t.Error("it lacks a value")
	}
}

func TestGraphiteGetsTheNamesOfYARN(t *testing.T) {
	var ours []string
	for line := range strings.Lines(graphiteLines("lab", Records(stockBeans(t)), time.Unix(7, 0))) {
		name, rest, _ := strings.Cut(line, " ")
		if !regexp.MustCompile(`^-?[0-9.E-]+ 7\n$`).MatchString(rest) {
			t.Errorf("%q", line)
		}
		ours = append(ours, name)
	}
	lacks(t, "graphite.txt", ours)
}

func TestStatsDGetsTheNamesOfYARN(t *testing.T) {
	var ours []string
	for _, r := range Records(stockBeans(t)) {
		for _, line := range statsdLines(map[string]string{"skip.hostname": "true", "service.name": "RM"}, &r) {
			name, kind, _ := strings.Cut(line, "|")
			ours = append(ours, name[:strings.LastIndexByte(name, ':')]+"|"+kind)
		}
		if line := statsdLines(map[string]string{"service.name": "RM"}, &r)[0]; !strings.HasPrefix(line, "vm.") {
			t.Errorf("without its host: %s", line)
		}
	}
	lacks(t, "statsd.txt", ours)
}

func TestAFileGetsTheLinesOfYARN(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	write, err := fileSink(name)
	if err == nil {
		err = write(Records(stockBeans(t)), time.UnixMilli(1795917476358))
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for line := range strings.Lines(string(b)) {
		text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "1795917476358 ")
		if !ok {
			t.Errorf("%q", line)
		}
		ours = append(ours, regexp.MustCompile(`=-?[0-9][-0-9.E]*(,|$)`).ReplaceAllString(text, "=0$1"))
	}
	lacks(t, "file.txt", ours)
}

func TestGangliaGetsThePacketsOfYARN(t *testing.T) {
	g := newGanglia(map[string]string{"slave.host.name": "localhost", "servers": "a:1 b"})
	g.version = 31
	if !slices.Equal(g.servers, []string{"a:1", "b:8649"}) {
		t.Errorf("%v", g.servers)
	}
	var ours []string
	for _, r := range Records(stockBeans(t)) {
		for _, p := range g.packets(&r) {
			ours = append(ours, hex.EncodeToString(p))
		}
	}
	for line := range strings.Lines(string(read(t, "ganglia.txt"))) {
		if f := strings.Fields(line); !slices.Contains(ours, f[2]) {
			t.Errorf("no packet %s %s", f[0], f[1])
		}
	}
	g.version = 30
	r := Record{Context: "c", Name: "r", Metrics: []Metric{{Name: "m", Value: "1", Type: "int32"}}}
	if p := g.packets(&r); len(p) != 1 || !bytes.HasPrefix(p[0], []byte("\x00\x00\x00\x00\x00\x00\x00\x05int32\x00\x00\x00\x00\x00\x00\x05c.r.m")) {
		t.Errorf("%q", p)
	}
}

func TestFiguresAreWrittenAsJavaDoes(t *testing.T) {
	for want, v := range map[string]any{
		"1.0": 1.0, "0.2": float32(0.2), "386.6875": float32(386.6875), "1.0E7": 1e7, "1.5E-4": 1.5e-4, "7": 7, "9": uint64(9), "-1.0": -1.0,
	} {
		if m, ok := metric(daemon.Attr{Name: "x", Value: v}); !ok || m.Value != want {
			t.Errorf("%v: %q, want %q", v, m.Value, want)
		}
	}
	if _, ok := metric(daemon.Attr{Name: "x", Value: "text"}); ok {
		t.Error("a text is no metric")
	}
}

// Sinks of hadoop-metrics2.properties went dark without a word.
func TestGraphiteIsSentEachPeriodAndAfterAnOutage(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	dir := t.TempDir()
	properties := fmt.Sprintf("*.sink.g.class=org.apache.hadoop.metrics2.sink.GraphiteSink\n*.periodMillis=20\n*.sink.g.server_host=127.0.0.1\n"+
		"resourcemanager.sink.g.server_port=%s\nresourcemanager.sink.g.metrics_prefix=p\nresourcemanager.sink.g.context=ugi\n", port)
	if err := os.WriteFile(filepath.Join(dir, "hadoop-metrics2.properties"), []byte(properties), 0o600); err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	s := NewSender(dir, "resourcemanager", func() []daemon.Bean { return stockBeans(t) }, logrus.NewEntry(log))
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(t.Context()) }()
	for range 2 { // the first connection ends without a word
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "p.ugi.UgiMetrics.Context=ugi.Hostname=vm.GetGroupsNumOps 0 ") {
			t.Errorf("%q, %v", line, err)
		}
		c.Close()
	}
	t.Cleanup(func() { <-ended })
}

func TestSinksHaveTheirOwnPeriods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := map[string]int{}
		s := &Sender{beans: func() []daemon.Bean { return nil }, log: logrus.NewEntry(logrus.New())}
		for name, period := range map[string]time.Duration{"ten": 10 * time.Second, "three": 3 * time.Second} {
			one := &sink{write: func([]Record, time.Time) error { got[name]++; return nil }}
			one.Name, one.Period = name, period
			s.sinks = append(s.sinks, one)
		}
		go s.Run(t.Context())
		time.Sleep(31 * time.Second) // the clock of the bubble
		synctest.Wait()
		if got["ten"] != 3 || got["three"] != 10 {
			t.Errorf("%v", got)
		}
	})
}
