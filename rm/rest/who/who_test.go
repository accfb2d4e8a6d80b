package who

import (
	"io"
	"net/http"
	"net/http/httptest"
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

// The answer says who asks, and what he may do with an application; a browser can forget it.
func TestWhoami(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{"root.queues": "q", "root.q.capacity": "100", "root.acl_administer_queue": " "})
	if err != nil {
		t.Fatal(err)
	}
	state := ledger.New()
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	state.Apps[id] = &ledger.Application{ID: id, User: "ann", Queue: "root.q", Context: &pb.ApplicationSubmissionContext{}}
	s := &Service{
		View:   &view.Viewer{Source: source{state}, Now: time.Now},
		Access: &access.Checker{Enabled: true, Admins: acl.Parse("boss"), Queues: queue.NewLive(tree)},
		Forget: func(h http.Header, _ *http.Request) { h.Set("Set-Cookie", "forgotten") },
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	api := yarnrest.NewAPI(logrus.NewEntry(log))
	s.Route(api, "")
	ask := func(method, path string, id auth.Identity) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r.WithContext(auth.With(r.Context(), id)))
		return w
	}
	const app = "?app=application_1_0002"
	for user, want := range map[string]string{
		"ann":  `"named":true,"method":"SIMPLE","asks":true,"admin":false,"mayChangeQueues":false,"mayChangeNodes":false,"app":{"id":"application_1_0002","mayView":true,"mayModify":true}`,
		"bob":  `"admin":false,"mayChangeQueues":false,"mayChangeNodes":false,"app":{"id":"application_1_0002","mayView":false,"mayModify":false}`,
		"boss": `"admin":true,"mayChangeQueues":true,"mayChangeNodes":true,"app":{"id":"application_1_0002","mayView":true,"mayModify":true}`,
	} {
		if a := ask(http.MethodGet, "/whoami"+app, auth.Identity{User: user, Method: "SIMPLE"}); !strings.Contains(a.Body.String(), want) {
			t.Errorf("%s: %s", user, a.Body)
		}
	}
	if a := ask(http.MethodGet, "/whoami"+app, auth.Identity{Method: auth.Unnamed}); !strings.Contains(a.Body.String(), `{"user":"","named":false,`) || !strings.Contains(a.Body.String(), `"mayModify":false`) {
		t.Errorf("nobody: %s", a.Body)
	}
	for path, code := range map[string]int{"/whoami?app=x": 400, "/whoami?app=application_1_0003": 404} {
		if a := ask(http.MethodGet, path, auth.Identity{}); a.Code != code {
			t.Errorf("%s: %d", path, a.Code)
		}
	}
	if a := ask(http.MethodDelete, "/whoami", auth.Identity{User: "ann"}); a.Code != 204 || a.Header().Get("Set-Cookie") != "forgotten" {
		t.Errorf("%d %v", a.Code, a.Header())
	}
}
