package timelineservice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/internal/output"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos/negotiate"
	"heddle/yarn/token"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// fakeServer keeps what is posted to it.
type fakeServer struct {
	mu     sync.Mutex
	ids    []string
	calls  int
	answer func(call int, w http.ResponseWriter) bool // false: the entities are stored
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.answer != nil && s.answer(s.calls, w) {
		return
	}
	var posted struct{ Entities []struct{ Entity string } }
	if err := json.Unmarshal(body, &posted); err != nil || r.Method != http.MethodPost || r.URL.Path != "/ws/v1/timeline/" || r.URL.Query().Get("user.name") != "yarn" ||
		r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "this is no list of entities", http.StatusBadRequest)
		return
	}
	for _, e := range posted.Entities {
		s.ids = append(s.ids, e.Entity)
	}
	_, _ = w.Write([]byte(`{"errors":[]}`))
}

func (s *fakeServer) stored() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids
}

// publisher returns one that publishes to an address, and its log.
func publisher(t *testing.T, address string) (*Publisher, *output.Buffer) {
	t.Helper()
	all, l := publishers(t, address)
	return all.v1, l
}

func publishers(t *testing.T, address string) (*Publishers, *output.Buffer) {
	t.Helper()
	s, err := Of(with(t, "yarn.timeline-service.webapp.address="+address))
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	l := &output.Buffer{}
	log := logrus.New()
	log.SetOutput(l)
	p := Start(s, "yarn", func() (negotiate.Tickets, error) { return nil, fmt.Errorf("no tickets") }, nil, nil, logrus.NewEntry(log))
	t.Cleanup(p.Close)
	return p, l
}

// with returns a configuration with a timeline server.
func with(t *testing.T, settings ...string) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append([]string{"yarn.timeline-service.enabled=true", "yarn.system-metrics-publisher.enabled=true"}, settings...) {
		key, value, _ := strings.Cut(s, "=")
		c.Set(key, value)
	}
	return c
}

func some(from, to int) (out []entity) {
	for i := from; i < to; i++ {
		out = append(out, entity{Type: appType, ID: fmt.Sprint(i)})
	}
	return out
}

func (s *fakeServer) mustHave(t *testing.T, n int) {
	t.Helper()
	await.Until(t, "the entities are there", func() bool { return len(s.stored()) >= n })
	for i, id := range s.stored() {
		if id != fmt.Sprint(i) {
			t.Fatalf("entity %d is %s", i, id)
		}
	}
	if got := len(s.stored()); got != n {
		t.Errorf("%d entities, want %d", got, n)
	}
}

// Entities come in order, many in one call.
func TestOrder(t *testing.T) {
	s := &fakeServer{}
	web := httptest.NewServer(s)
	defer web.Close()
	p, log := publisher(t, web.Listener.Addr().String())
	for i := range 1000 {
		p.add(some(i*10, i*10+10), nil)
	}
	s.mustHave(t, 10000)
	if s.calls > 1000 || log.String() != "" {
		t.Errorf("%d calls\n%s", s.calls, log)
	}
}

// A server that is away costs nothing but memory, up to a bound. That is said once, and what was left out when it is back.
func TestServerThatIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p, log := publisher(t, address)
	p.most = 20000
	p.add(some(0, 3), nil)
	await.Until(t, "it is said", func() bool { return strings.Contains(log.String(), "can't be reached") })
	big := entity{Type: appType, ID: "3", Info: info{"x": strings.Repeat("x", 10000)}}
	p.add([]entity{big}, nil)
	for range 100 {
		p.add([]entity{big}, nil) // too many
	}
	if p.bytes > p.most {
		t.Errorf("%d bytes wait", p.bytes)
	}
	s := &fakeServer{}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: s}
	go func() { _ = web.Serve(l) }()
	defer web.Close()
	s.mustHave(t, 4)
	await.Until(t, "it is said", func() bool { return strings.Contains(log.String(), "100 entities were left out") })
	if n := strings.Count(log.String(), "can't be reached"); n != 1 {
		t.Errorf("said %d times\n%s", n, log)
	}
}

// A refused call is not repeated, a failed one is. Either way what follows gets through.
func TestRefusals(t *testing.T) {
	s := &fakeServer{answer: func(call int, w http.ResponseWriter) bool {
		switch call {
		case 1:
			http.Error(w, "you may not", http.StatusForbidden)
		case 2:
			http.Error(w, "try again", http.StatusServiceUnavailable)
		case 4:
			_, _ = w.Write([]byte(`{"errors":[{"entity":"bad\u001b[31m","entitytype":"YARN_APPLICATION","errorcode":2}]}`))
		default:
			return false
		}
		return true
	}}
	web := httptest.NewServer(s)
	defer web.Close()
	p, log := publisher(t, web.Listener.Addr().String())
	p.add([]entity{{ID: "refused"}}, nil)
	await.Until(t, "it is refused", func() bool { return strings.Contains(log.String(), "you may not") })
	p.add(some(0, 1), nil)
	s.mustHave(t, 1)
	p.add([]entity{{ID: "bad"}}, nil)
	await.Until(t, "it is said", func() bool { return strings.Contains(log.String(), "has not stored 1 of 1 entities") })
	if strings.Contains(log.String(), "\x1b") {
		t.Errorf("the server writes to the terminal: %q", log)
	}
}

// A ResourceManager that ends sends what waits, and doesn't wait for a server that doesn't answer.
func TestClose(t *testing.T) {
	s := &fakeServer{}
	web := httptest.NewServer(s)
	defer web.Close()
	p, _ := publisher(t, web.Listener.Addr().String())
	p.add(some(0, 20000), nil)
	p.Close()
	s.mustHave(t, 20000)
	p.Close()
	p.add(some(0, 1), nil) // it does no harm

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	p, _ = publisher(t, silent.Addr().String())
	p.add(some(0, 1), nil)
	await.Until(t, "it is under way", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.waiting == nil })
	p.Close()
}

// Tokens of clients are renewed and cancelled by the configured server, whatever address they have.
func TestTokens(t *testing.T) {
	tok := token.Token{Kind: token.KindTimeline, Service: "192.0.2.1:80", Identifier: []byte("id"), Password: []byte("secret")}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch sent, err := token.ParseURLString(q.Get("token")); {
		case r.Method != http.MethodPut || r.URL.Path != "/ws/v1/timeline/" || err != nil || sent.Kind != tok.Kind || string(sent.Password) != "secret":
			http.Error(w, "no", http.StatusBadRequest)
		case q.Get("op") == "RENEWDELEGATIONTOKEN":
			_, _ = w.Write([]byte(`{"long":1700000000000}`))
		case string(sent.Identifier) == "gone":
			http.Error(w, "token can't be found", http.StatusForbidden)
		}
	}))
	p, _ := publishers(t, web.Listener.Addr().String())
	until, err := p.RenewToken(t.Context(), tok)
	if err != nil || until.UnixMilli() != 1700000000000 || !p.Renews(tok) || p.Renews(token.Token{Kind: token.KindHDFS}) {
		t.Error(until, err)
	}
	if err := p.CancelToken(t.Context(), tok); err != nil {
		t.Error(err)
	}
	tok.Identifier = []byte("gone")
	var refused *ipc.RemoteError
	if err := p.CancelToken(t.Context(), tok); !errors.As(err, &refused) || !strings.Contains(err.Error(), "can't be found") {
		t.Error(err)
	}
	web.Close()
	if err := p.CancelToken(t.Context(), tok); err == nil || errors.As(err, &refused) || strings.Contains(err.Error(), "token=") {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		settings  string
		published bool
		endpoint  string
	}{
		{"", true, ":8188/ws/v1/timeline/"},
		{"yarn.timeline-service.hostname=history", true, "http://history:8188/ws/v1/timeline/"},
		{"yarn.timeline-service.webapp.address=history:99", true, "http://history:99/ws/v1/timeline/"},
		{"yarn.timeline-service.webapp.https.address=history:99 yarn.http.policy=HTTPS_ONLY", true, "https://history:99/ws/v1/timeline/"},
		{"yarn.timeline-service.enabled=false", false, ""},
		{"yarn.system-metrics-publisher.enabled=false", false, ""},
		{"yarn.timeline-service.version=1.5", true, ":8188/ws/v1/timeline/"},
		{"yarn.timeline-service.version=2.0f", true, ""},
		{"yarn.timeline-service.version=3.0f", false, ""},
		{"yarn.timeline-service.versions=1.5,2.0", true, ":8188/ws/v1/timeline/"},
	} {
		cfg := with(t, strings.Fields(c.settings)...)
		if got, want := len(Problems(cfg)) > 0, strings.HasSuffix(c.settings, "=2.0f") || strings.HasSuffix(c.settings, "2.0") || strings.HasSuffix(c.settings, "=3.0f"); got != want {
			t.Errorf("%s: %v", c.settings, Problems(cfg))
		}
		s, err := Of(cfg)
		if err != nil || (s != nil) != c.published || s != nil && !strings.HasSuffix(s.endpoint, c.endpoint) {
			t.Errorf("%s: %+v, %v", c.settings, s, err)
		}
	}
	s, err := Of(with(t, "yarn.timeline-service.generic-application-history.save-non-am-container-meta-info=false", "yarn.timeline-service.generic-application-history.enabled=true"))
	if err != nil || s.all || !strings.HasSuffix(s.pages, "/applicationhistory/app/") {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Of(with(t, "yarn.timeline-service.hostname=")); err == nil {
		t.Error("a server without a name")
	}
}

func FuzzExpiry(f *testing.F) {
	f.Add([]byte(`{"long":1700000000000}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if until, err := expiry(b); err == nil && until.UnixMilli() <= 0 {
			t.Errorf("%q: %v", b, until)
		}
	})
}

func FuzzRefusals(f *testing.F) {
	f.Add([]byte(`{"errors":[{"entity":"a","errorcode":2}]}`))
	f.Add([]byte(`{"errors":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if first, n := refusals(b); n < 0 || n == 0 && first != "" || strings.ContainsAny(first, "\x1b\n") {
			t.Errorf("%q: %q, %d", b, first, n)
		}
	})
}

// Where the timeline server is a ResourceManager, which tells of ended applications by itself, nothing is published, and that is said.
func TestAResourceManagerAsTheServer(t *testing.T) {
	own := with(t, "yarn.resourcemanager.webapp.address=rm:8088", "yarn.timeline-service.webapp.address=rm:8088")
	if s, err := Of(own); s != nil || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if found := Problems(own); len(found) != 1 || !strings.Contains(found[0].String(), "takes no entities") {
		t.Errorf("%v", found)
	}
	if s, err := Of(with(t, "yarn.resourcemanager.webapp.address=rm:8088", "yarn.timeline-service.webapp.address=rm:8188")); s == nil || err != nil {
		t.Errorf("another port: %+v, %v", s, err)
	}
}
