package rest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/machine"
	"heddle/nm/application"
	"heddle/nm/container"
	"heddle/nm/health"
	"heddle/yarn/acl"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/rest/auth"
)

func TestWhoMaySeeAndChangeApplications(t *testing.T) {
	app := application.Info{User: "owner", ACLs: map[pb.ApplicationAccessType]string{
		pb.ApplicationAccessType_APPACCESS_VIEW_APP: "viewer watchers", pb.ApplicationAccessType_APPACCESS_MODIFY_APP: "changer",
	}}
	a := Access{Enabled: true, Operator: "yarn", Admins: acl.Parse("admin"), Groups: func(user string) ([]string, error) {
		switch user {
		case "member":
			return []string{"watchers"}, nil
		case "lost":
			return nil, errors.New("no directory answers")
		}
		return nil, nil
	}}
	for user, want := range map[string][2]bool{
		"owner": {true, true}, "yarn": {true, true}, "admin": {true, true}, "viewer": {true, false}, "member": {true, false}, "changer": {false, true},
		"stranger": {}, "lost": {}, "": {},
	} {
		got := [2]bool{a.Admits(user, pb.ApplicationAccessType_APPACCESS_VIEW_APP, app), a.Admits(user, pb.ApplicationAccessType_APPACCESS_MODIFY_APP, app)}
		if got != want {
			t.Errorf("%q may see and change: %v, want %v", user, got, want)
		}
	}
	nobody := app
	nobody.User = ""
	if a.Admits("", pb.ApplicationAccessType_APPACCESS_VIEW_APP, nobody) {
		t.Error("who doesn't say who he is is taken for the owner of an application without one")
	}
	a.Enabled = false
	if !a.Admits("", pb.ApplicationAccessType_APPACCESS_MODIFY_APP, app) {
		t.Error("without ACLs somebody may not")
	}
}

// server is that of a node without containers.
func server(t *testing.T, acls bool) *Server {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	types, err := records.NewResourceTypes()
	if err != nil {
		t.Fatal(err)
	}
	c, err := conf.Load(conf.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	m := container.NewManager(container.Options{Log: logrus.NewEntry(log)})
	t.Cleanup(m.Close)
	return New(Options{
		Node: records.NodeID{Host: "n1", Port: 8041}, WebPort: 8042, Started: time.Unix(1e9, 0), Types: types, SuspendTimeout: time.Second,
		Access: Access{Enabled: acls, Operator: "yarn", Groups: func(string) ([]string, error) { return nil, nil }},
		Filter: &auth.Filter{Anonymous: true, Secrets: auth.RandomSecret(), Now: time.Now}, Configuration: c, Containers: m, Registry: prometheus.NewRegistry(),
		Use: func() machine.Use { return machine.Use{} }, Health: func() health.Status { return health.Status{Healthy: true} }, Log: logrus.NewEntry(log),
	})
}

func ask(s *Server, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// Errors have Hadoop's statuses and exceptions.
func TestErrorsOfANodeWithoutContainers(t *testing.T) {
	const (
		app  = "application_1_0001"
		here = "container_1_0001_01_000001"
	)
	s := server(t, false)
	for _, x := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/ws/v1/node/apps", 200, `{"apps":`},
		{"GET", "/ws/v1/node/apps?state=nonsense", 200, `{"apps":`}, // as in Hadoop there is nothing to compare it with
		{"GET", "/ws/v1/node/apps/nonsense", 400, "Invalid ApplicationId prefix: nonsense"},
		{"GET", "/ws/v1/node/apps/application_x", 400, "IllegalArgumentException"},
		{"GET", "/ws/v1/node/apps/" + app, 404, "NotFoundException"},
		{"GET", "/ws/v1/node/containers/nonsense", 400, "BadRequestException"},
		{"GET", "/ws/v1/node/containers/" + here, 404, "NotFoundException"},
		{"GET", "/ws/v1/node/nonsense", 404, ""},
		{"GET", "/ws/v1/heddle/containers/" + here, 404, "NotFoundException"},
		{"PUT", "/ws/v1/heddle/containers/" + here + "/suspend?level=deep", 400, "deep"},
		{"PUT", "/ws/v1/heddle/containers/" + here + "/suspend?level=running", 400, "resume"},
		{"PUT", "/ws/v1/heddle/containers/" + here + "/suspend?breathe=1ns", 400, "breathe"},
		{"PUT", "/ws/v1/heddle/containers/" + here + "/suspend", 404, "NotFoundException"},
		{"PUT", "/ws/v1/heddle/containers/" + here + "/resume", 404, "NotFoundException"},
		{"GET", "/ws/v1/heddle/containers/" + here + "/resume", 405, ""},
		{"GET", "/nonsense", 404, "Not Found"},
	} {
		if w := ask(s, x.method, x.path); w.Code != x.status || !strings.Contains(w.Body.String(), x.says) {
			t.Errorf("%s %s: %d %s, want %d with %q", x.method, x.path, w.Code, w.Body, x.status, x.says)
		}
	}
	if w := ask(s, http.MethodGet, "/"); w.Code != http.StatusFound || !strings.HasSuffix(w.Header().Get("Location"), "/node") {
		t.Errorf("%d to %q", w.Code, w.Header().Get("Location"))
	}
	if w := ask(s, http.MethodGet, "/metrics"); w.Code != 200 || !strings.Contains(w.Body.String(), "heddle_nm_containers_running 0") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// With ACLs logs are only for users who say who they are, and the daemon's settings for administrators.
func TestStrangersAreAskedWhoTheyAre(t *testing.T) {
	const logs = "/ws/v1/node/containers/container_1_0001_01_000001/logs"
	s := server(t, true)
	w := ask(s, http.MethodGet, logs)
	if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "PseudoAuth" {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
	if w := ask(s, http.MethodGet, logs+"?user.name=joe"); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(server(t, false), http.MethodGet, logs); w.Code != http.StatusNotFound {
		t.Errorf("without ACLs: %d %s", w.Code, w.Body)
	}
	if w := ask(server(t, false), http.MethodGet, "/logLevel?log=nm&level=debug"); w.Code != http.StatusOK {
		t.Errorf("without ACLs nobody sets the level: %d %s", w.Code, w.Body)
	}
	for user, want := range map[string]int{"joe": http.StatusForbidden, "yarn": http.StatusOK} {
		if w := ask(s, http.MethodGet, "/logLevel?log=nm&level=debug&user.name="+user); w.Code != want {
			t.Errorf("%s sets the level: %d %s", user, w.Code, w.Body)
		}
	}
}
