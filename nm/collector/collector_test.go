package collector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/internal/output"
	"heddle/nm/container"
	"heddle/yarn/flow"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

var app = records.ApplicationID{ClusterTimestamp: 1700000000000, ID: 7}

func numbered(n int64) records.ContainerID {
	return records.ContainerID{Attempt: records.AttemptID{App: app, Attempt: 1}, ID: n}
}

// endpoint is the port of a collector.
type endpoint struct {
	mu   sync.Mutex
	ids  []string
	refs int // calls that it refuses first
}

func (s *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs > 0 {
		s.refs--
		http.Error(w, "Application is not found", http.StatusInternalServerError)
		return
	}
	var put struct{ Entities []flow.Entity }
	q := r.URL.Query()
	if err := json.Unmarshal(body, &put); err != nil || r.Method != http.MethodPut || r.URL.Path != "/ws/v2/timeline/entities" || q.Get("appid") != app.String() || q.Get("user.name") != "yarn" {
		http.Error(w, "this is no list of entities", http.StatusBadRequest)
		return
	}
	for _, e := range put.Entities {
		s.ids = append(s.ids, e.ID)
	}
}

func (s *endpoint) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids
}

func publisher(t *testing.T) (*Publisher, *output.Buffer) {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, to := &output.Buffer{}, logrus.New()
	to.SetOutput(l)
	p, err := NewPublisher(c, "yarn", nil, logrus.NewEntry(to))
	if err != nil {
		t.Fatal(err)
	}
	p.pause, p.grace = time.Millisecond, time.Millisecond
	t.Cleanup(p.Close)
	return p, l
}

// Entities wait until it is known where their collector is, and come in order though it refuses some calls.
func TestEntitiesWaitForTheirCollector(t *testing.T) {
	p, l := publisher(t)
	for i := range int64(100) {
		p.Add(app, of(numbered(i)))
	}
	s := &endpoint{refs: 5}
	web := httptest.NewServer(s)
	defer web.Close()
	p.At(app, web.Listener.Addr().String())
	await.Until(t, "all have come", func() bool { return len(s.got()) == 100 })
	for i, id := range s.got() {
		if id != numbered(int64(i)).String() {
			t.Fatalf("entity %d is %s", i, id)
		}
	}
	p.Add(app, of(numbered(100)))
	await.Until(t, "the next has come", func() bool { return len(s.got()) == 101 })
	if l.String() != "" {
		t.Error(l)
	}
}

// A collector that is away costs nothing but some memory, and one word in the log. When it is back, what comes then gets through.
func TestCollectorThatIsAway(t *testing.T) {
	p, l := publisher(t)
	web := httptest.NewServer(&endpoint{refs: 1 << 30})
	defer web.Close()
	p.At(app, web.Listener.Addr().String())
	for i := range int64(3 * maxEntities) {
		p.Add(app, of(numbered(i)))
	}
	p.mu.Lock()
	n, bytes := len(p.apps[app].waiting), p.bytes
	p.mu.Unlock()
	if n > maxEntities || bytes > maxWaiting {
		t.Errorf("%d entities of %d bytes wait", n, bytes)
	}
	await.Until(t, "it is said", func() bool { return strings.Contains(l.String(), "were left out") })
	s := &endpoint{}
	another := httptest.NewServer(s)
	defer another.Close()
	p.At(app, another.Listener.Addr().String())
	p.Add(app, of(numbered(1)))
	await.Until(t, "entities come again", func() bool { return len(s.got()) > 0 })
	p.Ended(app)
	await.Until(t, "nothing waits", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.apps) == 0 && p.bytes == 0 })
	if n := strings.Count(l.String(), "were left out"); n != 1 {
		t.Errorf("said %d times\n%s", n, l)
	}
}

// The end of an application's last container comes after its own. What comes still later, with no collector, is kept no longer than a while.
func TestEndsOfLastContainers(t *testing.T) {
	p, _ := publisher(t)
	p.grace = time.Hour
	s := &endpoint{}
	web := httptest.NewServer(s)
	defer web.Close()
	p.At(app, web.Listener.Addr().String())
	p.Ended(app)
	p.Add(app, of(numbered(1)))
	await.Until(t, "it has come", func() bool { return len(s.got()) == 1 })
	late := records.ApplicationID{ID: 7}
	p.Add(late, of(numbered(2)))
	p.grace = 0
	p.Add(records.ApplicationID{ID: 8}, of(numbered(3)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.apps[late] != nil || len(p.apps) != 2 {
		t.Errorf("%d applications wait for collectors", len(p.apps))
	}
}

// What waits for a collector that never comes goes with its application; the end of the node waits for no collector.
func TestEndsWaitForNoCollector(t *testing.T) {
	p, _ := publisher(t)
	p.Add(app, of(numbered(1)))
	p.Ended(app)
	await.Until(t, "nothing waits", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.apps) == 0 && p.bytes == 0 })
	hangs := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer web.Close()
	defer close(hangs)
	p.At(app, web.Listener.Addr().String())
	p.Add(app, of(numbered(1)))
	p.Close()
}

// known returns collectors of a node with the ApplicationMaster of app.
func known(t *testing.T) (*Collectors, *int) {
	t.Helper()
	p, _ := publisher(t)
	changes := 0
	env := map[string]string{flow.Name: "nightly", flow.Version: "2", flow.Run: "42"}
	k := New(Config{
		Master: func(id records.ApplicationID) (Master, bool) {
			return Master{"alice", func(name string) string { return env[name] }}, id == app
		},
		Here:  func(id records.ApplicationID) bool { return id == app },
		Admit: func(context.Context) error { return nil }, Changed: func() { changes++ }, Publisher: p,
	})
	return k, &changes
}

func data(id records.ApplicationID, address string, rm, version int64) *pb.AppCollectorData {
	d := &pb.AppCollectorData{}
	d.SetAppId(id.PB())
	d.SetAppCollectorAddr(address)
	d.SetRmIdentifier(rm)
	d.SetVersion(version)
	return d
}

// A collector is told its flow. Heartbeats report it until the ResourceManager has it, and again to the next ResourceManager.
func TestCollectorsAreReported(t *testing.T) {
	k, changes := known(t)
	ask := &pb.GetTimelineCollectorContextRequest{}
	ask.SetAppId(app.PB())
	about, err := k.context(t.Context(), ask)
	if err != nil || about.GetUserId() != "alice" || about.GetFlowName() != "nightly" || about.GetFlowVersion() != "2" || about.GetFlowRunId() != 42 {
		t.Fatal(about, err)
	}
	report := &pb.ReportNewCollectorInfoRequest{}
	report.SetAppCollectors([]*pb.AppCollectorData{data(app, "node:1", 99, 99)})
	if _, err := k.report(t.Context(), report); err != nil || *changes != 1 {
		t.Fatal(err)
	}
	list := k.Registering()
	if len(list) != 1 || list[0].GetRmIdentifier() != -1 || list[0].GetVersion() != -1 {
		t.Fatalf("%v: a collector has said that a ResourceManager knows it", list)
	}
	k.Told([]*pb.AppCollectorData{data(app, "other:1", 1, 1)})
	if len(k.Registering()) != 1 {
		t.Error("an answer about an earlier collector has confirmed it")
	}
	k.Told([]*pb.AppCollectorData{data(app, "node:1", 1, 2)})
	if len(k.Registering()) != 0 {
		t.Error("it is reported for ever")
	}
	k.Registered()
	if list := k.Registering(); len(list) != 1 || list[0].GetVersion() != 2 {
		t.Errorf("another ResourceManager hears %v", list)
	}
	k.Told([]*pb.AppCollectorData{data(app, "old:1", 1, 1), data(records.ApplicationID{ID: 9}, "x:1", 5, 5)})
	if at := k.Publisher.apps[app].address; at != "node:1" || len(k.known) != 1 {
		t.Errorf("entities go to %s; %d are known", at, len(k.known))
	}
	k.Ended(app)
	if len(k.known)+len(k.registering) != 0 {
		t.Error("an ended application is known")
	}
}

// A process that claims to be a collector can't name an application whose ApplicationMaster isn't here, nor fill the memory.
func TestReportsThatAreFalse(t *testing.T) {
	k, _ := known(t)
	for what, d := range map[string]*pb.AppCollectorData{
		"another application": data(records.ApplicationID{ID: 9}, "x:1", -1, -1), "a long address": data(app, strings.Repeat("x", maxBytes), -1, -1), "none": {},
	} {
		report := &pb.ReportNewCollectorInfoRequest{}
		report.SetAppCollectors([]*pb.AppCollectorData{d})
		if _, err := k.report(t.Context(), report); err == nil {
			t.Error(what)
		}
	}
	ask := &pb.GetTimelineCollectorContextRequest{}
	if _, err := k.context(t.Context(), ask); err == nil {
		t.Error("an application that isn't here has a flow")
	}
	k.Admit = func(context.Context) error { return errors.New("no") }
	ask.SetAppId(app.PB())
	if _, err := k.context(t.Context(), ask); err == nil {
		t.Error("a stranger is told")
	}
	if _, err := k.report(t.Context(), &pb.ReportNewCollectorInfoRequest{}); err == nil {
		t.Error("a stranger reports")
	}
	k.Told([]*pb.AppCollectorData{data(app, strings.Repeat("x", maxBytes), 1, 1), nil})
	if len(k.Registering())+len(k.known) != 0 {
		t.Error(fmt.Sprint(k.registering, k.known))
	}
}

// A suspension is published once the processes stand still, and its end once they run; steps on the way and ends of suspended containers aren't.
func TestSuspensionsArePublished(t *testing.T) {
	for _, x := range []struct {
		from, to container.State
		want     string
	}{
		{container.Running, container.Pausing, ""},
		{container.Pausing, container.Paused, "YARN_CONTAINER_PAUSED"},
		{container.Pausing, container.Running, ""},
		{container.Paused, container.Resuming, ""},
		{container.Resuming, container.Running, "YARN_CONTAINER_RESUMED"},
		{container.Resuming, container.Reinitializing, "YARN_CONTAINER_RESUMED"},
		{container.Resuming, container.Paused, ""},
		{container.Paused, container.Killing, ""},
	} {
		e, ok := moved(numbered(2), x.from, x.to, time.UnixMilli(5))
		if ok != (x.want != "") || ok && (e.Events[0].ID != x.want || e.Events[0].At != 5 || e.Info["YARN_CONTAINER_DIAGNOSTICS_INFO"] == nil) {
			t.Errorf("%v to %v: %+v", x.from, x.to, e)
		}
	}
	if (*Witness)(nil).Observing() != nil {
		t.Error("a node that publishes nothing is told of transitions")
	}
}
