package lists

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/access"
	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/acl"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// source is a ledger that nobody leads.
type source struct{ state *ledger.State }

func (s source) Read(f func(*ledger.State)) { f(s.state) }

func (s source) Leader() *leader.Leader { return nil }

// world is a ledger with its lists.
type world struct {
	state *ledger.State
	lists *Lists
	api   *yarnrest.API
}

// shared are the users who may see an application besides its owner.
func submission(name, kind, shared string) *pb.ApplicationSubmissionContext {
	c := &pb.ApplicationSubmissionContext{}
	c.SetApplicationName(name)
	c.SetApplicationType(kind)
	c.SetApplicationTags([]string{"nightly"})
	if shared != "" {
		m := &pb.ApplicationACLMap{}
		m.SetAccessType(pb.ApplicationAccessType_APPACCESS_VIEW_APP)
		m.SetAcl(shared)
		spec := &pb.ContainerLaunchContext{}
		spec.SetApplication_ACLs([]*pb.ApplicationACLMap{m})
		c.SetAmContainerSpec(spec)
	}
	return c
}

func newWorld(t testing.TB) *world {
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "prod,dev", "root.prod.capacity": "60", "root.dev.capacity": "40", "root.prod.queues": "etl", "root.prod.etl.capacity": "100",
		"root.acl_administer_queue": " ", "root.dev.acl_administer_queue": "lead", "root.acl_submit_applications": "*",
	})
	if err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	w := &world{state: ledger.New(), api: yarnrest.NewAPI(logrus.NewEntry(log))}
	v := &view.Viewer{Source: source{w.state}, Now: time.Now, Web: "rm:8088", Proxy: "rm:8088"}
	w.lists = &Lists{
		View: v, Rows: view.NewRows(v),
		Access: &access.Checker{Queues: queue.NewLive(tree), Admins: acl.Parse("boss")},
		Leads:  func() error { return nil }, Hidden: func(*yarnrest.Call, int, string) error { return nil },
		Container: func(c *view.Container) any { return struct{}{} },
	}
	w.lists.Route(w.api, "/l")
	return w
}

func (w *world) app(n int32, user, queue string, state ledger.AppState, ctx *pb.ApplicationSubmissionContext) *ledger.Application {
	id := records.ApplicationID{ClusterTimestamp: 1700000000000, ID: n}
	a := &ledger.Application{
		ID: id, User: user, Queue: queue, State: state, Context: ctx, SubmitTime: 1700000000000 + int64(n)*1000, Live: int(n % 7), Used: records.NewResource(int64(n%7)*1024, int64(n%7)),
	}
	if state.Ended() {
		a.FinishTime, a.Live, a.Used = a.SubmitTime+60000, 0, records.Resource{}
	}
	w.state.Apps[id] = a
	return a
}

// get asks as a user.
func (w *world) get(user, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/l"+path, nil)
	r = r.WithContext(auth.With(r.Context(), auth.Identity{User: user}))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	out := httptest.NewRecorder()
	w.api.ServeHTTP(out, r)
	return out
}

type listed struct {
	Apps struct {
		Total, Matched, Before int
		Next, Prev             string
		Count                  []struct {
			State  string
			Number int
		}
		App []struct {
			ID, Name, User, State string
			Started               int64
			Containers            int
			Hidden                bool
		}
	}
}

func (w *world) apps(t testing.TB, user, query string) listed {
	t.Helper()
	a := w.get(user, "/apps?"+query)
	var out listed
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil || a.Code != http.StatusOK {
		t.Fatalf("%s: %d %s: %v", query, a.Code, a.Body, err)
	}
	return out
}

func (l listed) names() (out []string) {
	for _, a := range l.Apps.App {
		out = append(out, a.Name)
	}
	return out
}

func TestFiltersOfApplications(t *testing.T) {
	w := newWorld(t)
	w.app(1, "alice", "root.prod.etl", ledger.AppRunning, submission("Daily Report", "SPARK", ""))
	w.app(2, "bob", "root.dev", ledger.AppAccepted, submission("train", "TEZ", ""))
	w.app(3, "bob", "root.prod.etl", ledger.AppFailed, submission("<b>dädä</b>", "SPARK", ""))
	w.app(4, "carol", "root.prod.etl", ledger.AppFinished, submission("report 2", "MAPREDUCE", ""))
	for query, want := range map[string][]string{
		"":                          {"report 2", "<b>dädä</b>", "train", "Daily Report"},
		"sort=started":              {"Daily Report", "train", "<b>dädä</b>", "report 2"},
		"sort=-name":                {"train", "report 2", "Daily Report", "<b>dädä</b>"},
		"sort=id":                   {"Daily Report", "train", "<b>dädä</b>", "report 2"},
		"state=running,failed":      {"<b>dädä</b>", "Daily Report"},
		"user=bob&user=carol":       {"report 2", "<b>dädä</b>", "train"},
		"queue=prod&sort=id":        {"Daily Report", "<b>dädä</b>", "report 2"},
		"queue=root.dev":            {"train"},
		"queue=root.de":             nil,
		"q=REPORT":                  {"report 2", "Daily Report"},
		"q=_0002":                   {"train"},
		"q=dädä":                    {"<b>dädä</b>"},
		"name=report&user=alice":    {"Daily Report"},
		"type=spark&sort=id":        {"Daily Report", "<b>dädä</b>"},
		"tag=NIGHTLY&limit=1":       {"report 2"},
		"startedFrom=1700000003000": {"report 2", "<b>dädä</b>"},
		"finishedTo=1700000063000&finishedFrom=1": {"<b>dädä</b>"},
	} {
		got := w.apps(t, "", query)
		if !slices.Equal(got.names(), want) {
			t.Errorf("%q gives %q, not %q", query, got.names(), want)
		}
	}
	// counts by state don't depend on the filter of states, so that a page can offer the other states
	got := w.apps(t, "", "state=FAILED&user=bob")
	if c := fmt.Sprint(got.Apps.Count); c != "[{ACCEPTED 1} {RUNNING 0} {FINISHED 0} {FAILED 1} {KILLED 0}]" || got.Apps.Total != 4 || got.Apps.Matched != 1 {
		t.Errorf("counts %s, %d of %d", c, got.Apps.Matched, got.Apps.Total)
	}
	if a := w.get("", "/apps?stat=x"); a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), "there is no parameter") {
		t.Errorf("%d %s", a.Code, a.Body)
	}
}

// Who may not see an application sees that it exists, as in YARN, and can't find out what it uses by sorting or filtering either.
func TestRightsOnApplications(t *testing.T) {
	w := newWorld(t)
	w.lists.Access.Enabled = true
	w.app(1, "alice", "root.prod.etl", ledger.AppRunning, submission("own", "X", ""))
	w.app(2, "bob", "root.prod.etl", ledger.AppRunning, submission("private", "X", ""))
	w.app(3, "bob", "root.prod.etl", ledger.AppRunning, submission("shared", "X", "alice"))
	w.app(4, "bob", "root.dev", ledger.AppRunning, submission("dev", "X", ""))
	seen := func(user, query string) (out []string) {
		for _, a := range w.apps(t, user, query).Apps.App {
			if (a.Containers > 0) == a.Hidden || (a.Started > 0) == a.Hidden {
				t.Errorf("%s sees %+v", user, a)
			}
			if !a.Hidden {
				out = append(out, a.Name)
			}
		}
		return out
	}
	for user, want := range map[string][]string{
		"alice": {"own", "shared"}, "bob": {"private", "shared", "dev"}, "lead": {"dev"}, "boss": {"own", "private", "shared", "dev"}, "": nil, "eve": nil,
	} {
		if got := seen(user, "sort=id"); !slices.Equal(got, want) {
			t.Errorf("%q sees %q, not %q", user, got, want)
		}
	}
	if got := w.apps(t, "alice", "sort=-containers").names(); got[len(got)-1] != "private" {
		t.Errorf("sorting by containers shows that a hidden application has some: %q", got)
	}
	if got := w.apps(t, "alice", "startedFrom=1&sort=id").names(); !slices.Equal(got, []string{"own", "shared"}) {
		t.Errorf("filtering shows when a hidden application started: %q", got)
	}
	w.lists.OnlyOwn = true
	if got := w.apps(t, "alice", "sort=id"); got.Apps.Total != 2 || !slices.Equal(got.names(), []string{"own", "shared"}) {
		t.Errorf("with filter-entity-list-by-user she is told of %q, %d in all", got.names(), got.Apps.Total)
	}
	var users struct {
		Users struct {
			UnseenApplications int
			User               []struct {
				Name       string
				Containers int
			}
		}
	}
	if err := json.Unmarshal(w.get("alice", "/users").Body.Bytes(), &users); err != nil || users.Users.UnseenApplications != 2 ||
		fmt.Sprint(users.Users.User) != "[{alice 1} {bob 3}]" {
		t.Errorf("%+v: %v", users, err)
	}
}

// An answer that the client has already isn't sent again, compressed or not; one that has changed is.
func TestAnUnchangedPageIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	a := w.app(1, "alice", "root.dev", ledger.AppRunning, submission("a", "X", ""))
	first := w.get("", "/apps", "Accept-Encoding", "gzip")
	tag := first.Header().Get("ETag")
	if first.Code != http.StatusOK || !strings.HasPrefix(tag, `W/"`) {
		t.Fatal(first.Code, first.Header())
	}
	if again := w.get("", "/apps", "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("%d %s", again.Code, again.Body)
	}
	if other := w.get("", "/apps?state=FAILED", "If-None-Match", tag); other.Code != http.StatusOK {
		t.Errorf("another page: %d", other.Code)
	}
	a.Live++
	if changed := w.get("", "/apps", "If-None-Match", tag); changed.Code != http.StatusOK || changed.Header().Get("ETag") == tag {
		t.Errorf("%d %s", changed.Code, changed.Header())
	}
}

func TestNodesOfAList(t *testing.T) {
	w := newWorld(t)
	for i, state := range []pb.NodeState{pb.NodeState_NS_RUNNING, pb.NodeState_NS_LOST, pb.NodeState_NS_RUNNING} {
		n := &ledger.Node{
			ID: records.NodeID{Host: fmt.Sprintf("n%d", i), Port: 8041}, State: state, Rack: fmt.Sprintf("/r%d", i%2),
			Capability: records.NewResource(10<<10, 10), Used: records.NewResource(int64(i)*1024, int64(2*i)), Suspended: i,
		}
		w.state.Nodes[n.ID] = n
	}
	for query, want := range map[string]string{
		"":                              "n0:8041 n1:8041 n2:8041",
		"sort=-use":                     "n2:8041 n1:8041 n0:8041",
		"state=lost":                    "n1:8041",
		"rack=/r0&sort=-id":             "n2:8041 n0:8041",
		"useFrom=20&useTo=20":           "n1:8041",
		"suspendedFrom=1&state=RUNNING": "n2:8041",
		"q=N2":                          "n2:8041",
	} {
		var out struct {
			Nodes struct {
				Node []struct {
					ID         string
					UsePercent float64
				}
			}
		}
		a := w.get("", "/nodes?"+query)
		if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil {
			t.Fatalf("%s: %v: %s", query, err, a.Body)
		}
		var ids []string
		for _, n := range out.Nodes.Node {
			ids = append(ids, n.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q gives %s, not %s", query, got, want)
		}
	}
}

// BenchmarkPage asks for a page of 100 of 100,000 applications, of which most have ended. Its bytes are those that are sent, not compressed.
func BenchmarkPage(b *testing.B) {
	w := newWorld(b)
	names := []string{"wordcount", "daily-report 2026-11-28", "Spark shell", "INSERT OVERWRITE TABLE clicks PARTITION…(Stage-4)"}
	for i := range int32(100_000) {
		state := ledger.AppFinished
		switch {
		case i%100 == 0:
			state = ledger.AppRunning
		case i%9 == 0:
			state = ledger.AppFailed
		}
		w.app(i, fmt.Sprintf("user%d", i%300), []string{"root.prod.etl", "root.dev"}[i%2], state, submission(names[i%4], "SPARK", ""))
	}
	for _, query := range []string{"", "sort=-memory&state=RUNNING", "sort=name&user=user7", "q=report", "sort=user"} {
		b.Run(query, func(b *testing.B) {
			size := 0
			for b.Loop() {
				a := w.get("", "/apps?limit=100&"+query)
				if size = a.Body.Len(); a.Code != http.StatusOK {
					b.Fatal(a.Code, a.Body)
				}
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
