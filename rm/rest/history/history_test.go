package history

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/access"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/usage"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// now is a day's noon.
const now = int64(1_795_262_400_000)

type kept struct{ s *ledger.State }

func (k kept) Read(f func(*ledger.State)) { f(k.s) }

// sampled is a cluster whose user ann has used 1,000 MB for two days, and bob as much as 3,000 for the last hour.
func sampled(a *access.Checker) *Service {
	s := ledger.New()
	for at := now - 2*day.Milliseconds(); at < now; at += usage.Step {
		bob := int64(0)
		if at >= now-time.Hour.Milliseconds() {
			bob = 3000
		}
		f := func(n int64) *usage.Figures { return &usage.Figures{usage.UsedMB: n, usage.UsedVCores: n / 1000} }
		s.Usage.Apply(at, &ledgerpb.UsageSampled{Rows: []*ledgerpb.UsageRow{
			usage.Row(usage.Cluster, f(1000+bob)), usage.Row(usage.Queue("root"), f(1000+bob)), usage.Row(usage.Queue("root.a"), f(1000)), usage.Row(usage.Queue("root.b"), f(bob)),
			usage.Row(usage.Queue("root.b.c"), f(bob)), usage.Row(usage.User("ann"), f(1000)), usage.Row(usage.User(`=bob,"`), f(bob)),
		}})
	}
	return &Service{Ledger: kept{s}, Access: a, Now: func() time.Time { return time.UnixMilli(now) }}
}

func ask(t *testing.T, s *Service, user, path string) (int, string) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	api := yarnrest.NewAPI(logrus.NewEntry(log))
	s.Route(api, "")
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Identity{User: user})))
	return w.Code, w.Body.String()
}

func TestHistoryOfQueues(t *testing.T) {
	s := sampled(&access.Checker{})
	code, text := ask(t, s, "ann", "/history?of=queues&below=root&from=2h&step=1800")
	var got struct{ History answer }
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 {
		t.Fatal(code, err, text)
	}
	for _, want := range []string{
		`"stepMs":1800000`, `"series":[{"name":"root.b","usedMB":[0,0,3000,3000],"usedVCores":[0,0,3,3]},{"name":"root.a","usedMB":[1000,1000,1000,1000],"usedVCores":[1,1,1,1]}]`,
		`"samples":[180,180,180,180]`, `"more":0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s: %s", want, text)
		}
	}
	if _, text = ask(t, s, "ann", "/history?of=queues&limit=1"); !strings.Contains(text, `"more":3`) || !strings.Contains(text, `"name":"root"`) {
		t.Error(text)
	}
	if _, text = ask(t, s, "ann", "/history?of=queues&name=root.a&from=36h&step=3600&format=csv"); !strings.HasPrefix(text, "time,name,samples,guaranteedMB,") || strings.Count(text, "root.a,360,0,0,1000,1,") != 36 {
		t.Error(text)
	}
}

// The sums are those of the samples, by day of the reader's zone; names are cells of a table and never formulas.
func TestUsageByUserAndDay(t *testing.T) {
	s := sampled(&access.Checker{})
	code, text := ask(t, s, "ann", "/usage?from=2d&each=day&zone=60&format=csv")
	want := `from,user,memoryMBSeconds,vcoreSeconds,gpuSeconds,containerSeconds,pendingMBSeconds,suspendedMBSeconds
2026-11-19T12:00:00Z,ann,39600000,39600,0,0,0,0
2026-11-19T23:00:00Z,ann,86400000,86400,0,0,0,0
2026-11-20T23:00:00Z,ann,46800000,46800,0,0,0,0
2026-11-20T23:00:00Z,"'=bob,""",10800000,10800,0,0,0,0
`
	if code != 200 || text != want {
		t.Errorf("%d\n%s\nand not\n%s", code, text, want)
	}
	if _, text = ask(t, s, "ann", "/usage?by=queue&name=root.b,root.a"); !strings.Contains(text, `"by":"queue"`) || strings.Count(text, `"name"`) != 2 ||
		!strings.Contains(text, `{"name":"root.a","from":1795176000000,"samples":8640,"memoryMBSeconds":86400000,`) {
		t.Error(text)
	}
}

// Where access control lists are on, a user sees himself alone among users, and is told that there are others; administrators see all.
func TestUsersSeeThemselves(t *testing.T) {
	a := &access.Checker{Enabled: true, Self: "root"}
	s := sampled(a)
	for _, path := range []string{"/usage?from=2d", "/history?of=users"} {
		if _, text := ask(t, s, "ann", path); strings.Contains(text, "bob") || !strings.Contains(text, "ann") || !strings.Contains(text, `"hidden":1`) {
			t.Errorf("%s: ann is told %s", path, text)
		}
		if _, text := ask(t, s, "root", path); !strings.Contains(text, "bob") || !strings.Contains(text, `"hidden":0`) {
			t.Errorf("%s: root is told %s", path, text)
		}
		if _, text := ask(t, s, "ann", path+"&name==bob"); strings.Contains(text, "bob") {
			t.Errorf("%s: ann is told %s", path, text)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := sampled(&access.Checker{})
	for path, want := range map[string]string{
		"/history?of=x":                            "it must be cluster, queues or users",
		"/history?from=x":                          "or how long ago",
		"/history?from=99999999h":                  "or how long ago",
		"/history?from=1&to=1":                     "from must be before to",
		"/history?from=30d&step=10":                "at least 1296 for this span",
		"/history?limit=201":                       "from 1 to 200",
		"/history?below=root":                      "of=queues alone",
		"/history?format=xls":                      "json or csv",
		"/history?x=1":                             `there is no parameter \"x\": there are below, format, from`,
		"/usage?by=x":                              "it must be user or queue",
		"/usage?zone=7":                            "minutes that local time",
		"/usage?each=week":                         "it may be day",
		"/usage?name=" + strings.Repeat("a,", 300): "are too many",
	} {
		if code, text := ask(t, s, "ann", path); code != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	none := &Service{Ledger: kept{ledger.New()}, Access: &access.Checker{}, Now: s.Now}
	for _, path := range []string{"/history?of=users", "/usage", "/history"} {
		if code, text := ask(t, none, "ann", path); code != 200 || !strings.Contains(text, `"begins":0`) {
			t.Errorf("%s without any sample: %d %s", path, code, text)
		}
	}
}

// FuzzQuery: a query is refused, or names a span of time and a bounded answer.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"of=users&from=6h&to=1h&step=60", "from=-1", "each=day&zone=-330&by=queue", "from=1e9h", "limit=0x10", "step=-1"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		if q, err := parse(v, now); err == nil && (q.from >= q.to || q.from < 0 || q.limit > maxLimit || (q.to-q.from)/max(q.step, 1) > maxPoints+1) {
			t.Errorf("%q is read as %+v", text, q)
		}
		if q, err := parseUsage(v, now); err == nil && (q.from >= q.to || q.from < 0) {
			t.Errorf("%q is read as %+v", text, q)
		}
	})
}
