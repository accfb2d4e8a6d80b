package rest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

var update = flag.Bool("update", false, "write down what a stock Hadoop answers to the probes (with HEDDLE_TEST_STOCK=1)")

const (
	probesGolden = "testdata/probes.txt"
	// arrow stands between a request and what was answered.
	arrow = " -> "
)

// TestProbes makes some hundred requests that are wrong in one way or another, and compares the answers with those of a stock
// Hadoop: status, content type, exception, and the names in documents. What may differ is in testdata/differences/probes.txt.
// A stock 5xx that is a 4xx here is no difference: whoever made a mistake is told so.
func TestProbes(t *testing.T) {
	o := hadooplab.Options{ResourceManager: true, NodeManagers: 1, Dir: t.TempDir(), Site: map[string]string{
		"hadoop.http.staticuser.user":          "root",
		"yarn.resourcemanager.am.max-attempts": "1",
	}}
	if hadooplab.OnHeddle() {
		heddle, remove, err := hadooplab.BuildHeddle()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(remove)
		o.Heddle = heddle
	} else if !*update {
		t.Skip("the answers of a stock Hadoop are only written down, with -update")
	}
	p := newProber(t, hadooplab.Start(t, o))
	var lines []string
	for _, r := range probes() {
		lines = append(lines, r.String()+arrow+p.ask(r))
	}
	if *update && !hadooplab.OnHeddle() {
		write(t, probesGolden, []byte(strings.Join(lines, "\n")+"\n"))
		return
	}
	golden, err := os.ReadFile(probesGolden)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	want := strings.Split(strings.TrimSpace(string(golden)), "\n")
	if len(want) != len(lines) {
		t.Fatalf("%d answers are written down, and %d requests were made", len(want), len(lines))
	}
	for i, line := range lines {
		request, got, _ := strings.Cut(line, arrow)
		recorded, stock, _ := strings.Cut(want[i], arrow)
		if request != recorded {
			t.Fatalf("%s was asked where %s is written down", request, recorded)
		}
		if got != stock && !(stock[0] == '5' && got[0] == '4') {
			found = append(found, fmt.Sprintf("%s: %s, stock has %s", request, got, stock))
		}
	}
	for _, d := range readList(t, filepath.Join("testdata", "differences", "probes.txt")).checkBy(answersOf, found) {
		t.Error(d)
	}
}

// answersOf splits a difference into a request, and the two answers.
func answersOf(difference string) (request, answers string) {
	request, answers, _ = strings.Cut(difference, ": ")
	return request, answers
}

// probe is a request. Its target and body may have names in braces, which stand for what the cluster has.
type probe struct {
	nm      bool
	method  string
	target  string
	accept  string
	kind    string // Content-Type
	body    string
	chunked bool
}

func (p probe) String() string {
	daemon := "rm"
	if p.nm {
		daemon = "nm"
	}
	s := daemon + " " + p.method + " " + p.target
	if p.accept != "" {
		s += " accept=" + p.accept
	}
	if p.kind != "" {
		s += " type=" + p.kind
	}
	if p.chunked {
		s += " chunked"
	}
	if p.body != "" {
		s += " body=" + strconv.Quote(p.body)
	}
	return s
}

// prober makes requests to a cluster in which one application has failed and one runs.
type prober struct {
	t      *testing.T
	rm, nm string // host:port
	names  *strings.Replacer
	hide   *strings.Replacer
}

const (
	masterEnds = "exit 3"
	masterRuns = "sleep 1000"
)

func newProber(t *testing.T, lab *hadooplab.Lab) *prober {
	t.Helper()
	at := func(service string) string { return fmt.Sprintf("localhost:%d", lab.Port(service)) }
	p := &prober{t: t, rm: at("rm-http"), nm: at("nodemanager1-http"), names: strings.NewReplacer(), hide: strings.NewReplacer()}
	ended, live := p.submit(masterEnds, "FAILED"), p.submit(masterRuns, "ACCEPTED")
	container := strings.Replace(live, "application", "container", 1) + "_01_000001"
	await.Slowly(t, "the container runs", func() bool {
		return strings.Contains(p.get(p.nm, "/ws/v1/node/containers/"+container), "RUNNING")
	})
	await.Slowly(t, "the node has no other container", func() bool {
		return strings.Count(p.get(p.nm, "/ws/v1/node/containers"), `"id"`) == 1
	})
	var nodes struct {
		Nodes struct{ Node []struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(p.get(p.rm, "/ws/v1/cluster/nodes")), &nodes); err != nil || len(nodes.Nodes.Node) != 1 {
		t.Fatalf("%v %v", nodes, err)
	}
	values := map[string]string{
		"{ended}": ended, "{live}": live, "{container}": container,
		"{attempt}": strings.Replace(live, "application", "appattempt", 1) + "_000001",
		"{node}":    nodes.Nodes.Node[0].ID, "{time}": strings.Split(live, "_")[1],
	}
	var in, out []string
	for _, name := range []string{"{container}", "{attempt}", "{ended}", "{live}", "{node}", "{time}"} {
		in = append(in, name, values[name])
		out = append(out, values[name], name)
	}
	p.names = strings.NewReplacer(in...)
	p.hide = strings.NewReplacer(append(out, p.rm, "{rm}", p.nm, "{nm}")...)
	return p
}

// submit has an ApplicationMaster run a command, and waits until the application is in a state.
func (p *prober) submit(command, state string) string {
	p.t.Helper()
	var granted struct {
		ID string `json:"application-id"`
	}
	const apps = "/ws/v1/cluster/apps"
	_, body := p.do(p.rm, probe{method: http.MethodPost, target: apps + "/new-application"})
	if err := json.Unmarshal(body, &granted); err != nil {
		p.t.Fatalf("%v: %s", err, body)
	}
	ctx := fmt.Sprintf(`{"application-id":%q,"application-name":"probe","application-type":"PROBE","max-app-attempts":1,`+
		`"resource":{"memory":1024,"vCores":1},"am-container-spec":{"commands":{"command":%q}}}`, granted.ID, command)
	if resp, body := p.do(p.rm, probe{method: http.MethodPost, target: apps, kind: "application/json", body: ctx}); resp.StatusCode != http.StatusAccepted {
		p.t.Fatalf("%s: %s", resp.Status, body)
	}
	await.Slowly(p.t, "the application is "+state, func() bool {
		return strings.Contains(p.get(p.rm, apps+"/"+granted.ID), `"state":"`+state+`"`)
	})
	return granted.ID
}

func (p *prober) get(host, target string) string {
	_, body := p.do(host, probe{method: http.MethodGet, target: target})
	return string(body)
}

// do makes a request as it is, without putting anything right as an http.Client would.
func (p *prober) do(host string, r probe) (*http.Response, []byte) {
	p.t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		p.t.Fatal(err)
	}
	body := p.names.Replace(r.body)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", r.method, p.names.Replace(r.target), host)
	if r.accept != "" {
		fmt.Fprintf(&b, "Accept: %s\r\n", r.accept)
	}
	if r.kind != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", r.kind)
	}
	switch {
	case r.chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		w := httputil.NewChunkedWriter(&b)
		for part := range slices.Chunk([]byte(body), 7) {
			_, _ = w.Write(part) // to a buffer
		}
		_ = w.Close()
		b.WriteString("\r\n")
	case r.method == http.MethodGet || r.method == http.MethodHead:
		b.WriteString("\r\n")
	default:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	if _, err := conn.Write(b.Bytes()); err != nil {
		p.t.Fatalf("%s: %v", r, err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.method})
	if err != nil {
		p.t.Fatalf("%s: %v", r, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		p.t.Fatalf("%s: %v", r, err)
	}
	return resp, answer
}

// ask makes a request and says what is to be compared of the answer.
func (p *prober) ask(r probe) string {
	p.t.Helper()
	host := p.rm
	if r.nm {
		host = p.nm
	}
	resp, body := p.do(host, r)
	s := strconv.Itoa(resp.StatusCode)
	if kind := resp.Header.Get("Content-Type"); kind != "" && r.method != http.MethodHead {
		s += " " + kind
	}
	if to := resp.Header.Get("Location"); to != "" {
		s += " to " + to
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch strings.TrimSpace(kind) {
	case "application/json":
		s += " " + jsonSummary(body)
	case "application/xml", "text/xml":
		s += " " + xmlSummary(body)
	}
	return strings.TrimSpace(oneLine(p.hide.Replace(s)))
}

var blanks = regexp.MustCompile(`\s+`)

func oneLine(s string) string { return blanks.ReplaceAllString(s, " ") }

// exception is how errors are told.
type exception struct {
	Exception     string `json:"exception" xml:"exception"`
	Message       string `json:"message" xml:"message"`
	JavaClassName string `json:"javaClassName" xml:"javaClassName"`
}

// String cuts off the words of Java's parsers.
func (e exception) String() string {
	s := e.JavaClassName + ": " + e.Message
	if i := strings.Index(s, "javax.xml.bind.UnmarshalException"); i >= 0 {
		return s[:i] + "UnmarshalException"
	}
	return s
}

// jsonSummary is the exception or the names of the first two levels.
func jsonSummary(body []byte) string {
	var failed struct{ RemoteException *exception }
	if json.Unmarshal(body, &failed) == nil && failed.RemoteException != nil {
		return failed.RemoteException.String()
	}
	var doc any
	if err := json.Unmarshal(body, &doc); err != nil {
		return strconv.Quote(string(body[:min(len(body), 200)]))
	}
	return names(doc, 2)
}

func names(v any, depth int) string {
	switch v := v.(type) {
	case map[string]any:
		if depth == 0 {
			return "{…}"
		}
		var list []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, k+names(v[k], depth-1))
		}
		return "{" + strings.Join(list, " ") + "}"
	case []any:
		return "[…]"
	case nil:
		return "=null"
	}
	return ""
}

// xmlSummary is the exception or the root with the names of what is in it.
func xmlSummary(body []byte) string {
	var e exception
	if bytes.Contains(body, []byte("<RemoteException>")) && xml.Unmarshal(body, &e) == nil {
		return e.String()
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	var root string
	children := map[string]bool{}
	for depth := 0; ; {
		switch token, err := d.Token(); token := token.(type) {
		case xml.StartElement:
			if depth++; depth == 1 {
				root = token.Name.Local
			} else if depth == 2 {
				children[token.Name.Local] = true
			}
		case xml.EndElement:
			depth--
		default:
			if err != nil {
				return "<" + root + "> " + strings.Join(slices.Sorted(maps.Keys(children)), " ")
			}
		}
	}
}
