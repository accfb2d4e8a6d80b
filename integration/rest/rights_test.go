package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// rule says what comes of a route: the status that alice, who owns the application, bob, who may see nothing of it, and boss, an administrator, get.
type rule struct {
	alice, bob, boss int
	query, body      string
	// theirs: the answer to alice and boss names the container or the user, so that the test would see it in bob's.
	theirs bool
}

// routeRights are those of every route of Heddle's own API, as docs/heddle-api.yaml has them; a new one must be listed. Where all are admitted, bob's answer must lack what is alice's.
var routeRights = map[string]rule{
	"GET /members":                            {200, 200, 200, "", "", false},
	"POST /members/{member}/lead":             {403, 403, 400, "", "", false},
	"POST /members/{member}/remove":           {403, 403, 404, "", "", false},
	"GET /apps/{app}/pending":                 {200, 403, 200, "", "", false},
	"GET /record":                             {200, 200, 200, "", "", false},
	"GET /record/events":                      {403, 403, 404, "", "", false},
	"POST /queues/trial":                      {403, 403, 400, "", `{}`, false},
	"GET /queues/{queue}/what-if":             {200, 200, 200, "?resource=memory-mb=128,vcores=1", "", false},
	"GET /apps/{app}/timeline":                {200, 403, 200, "", "", true},
	"GET /apps/{app}/receipt":                 {200, 403, 200, "", "", false},
	"GET /apps/{app}/containers":              {200, 403, 200, "", "", true},
	"GET /node-map":                           {200, 200, 200, "", "", false},
	"GET /containers":                         {200, 200, 200, "", "", true},
	"GET /containers/{container}":             {200, 403, 200, "", "", true},
	"GET /preemptions":                        {200, 200, 200, "", "", false},
	"GET /nodes":                              {200, 200, 200, "", "", false},
	"GET /nodes/{node}/machine":               {404, 404, 404, "", "", false}, // the node tells none
	"GET /nodes/{node}/timeline":              {200, 200, 200, "", "", true},
	"POST /nodes/{node}/drain":                {403, 403, 400, "", `{"timeoutSeconds":-9}`, false},
	"POST /nodes/{node}/recommission":         {403, 403, 400, "", "", false},
	"GET /partitions":                         {200, 200, 200, "", "", false},
	"GET /apps":                               {200, 200, 200, "", "", false},
	"GET /waiting":                            {200, 200, 200, "", "", false},
	"GET /users":                              {200, 200, 200, "", "", true},
	"GET /configuration":                      {200, 200, 200, "?format=csv", "", false},
	"GET /whoami":                             {200, 200, 200, "", "", false},
	"DELETE /whoami":                          {204, 204, 204, "", "", false},
	"GET /history":                            {200, 200, 200, "?of=users", "", true},
	"GET /usage":                              {200, 200, 200, "?format=csv", "", true},
	"GET /events":                             {200, 200, 200, "?limit=1000", "", true},
	"POST /containers/{container}/suspend":    {400, 403, 400, "", "", false}, // an ApplicationMaster is not suspended
	"POST /containers/{container}/resume":     {400, 403, 400, "", "", false},
	"GET /apps/{app}/logs":                    {200, 403, 200, "", "", false}, // the test's nodes have none
	"GET /containers/{container}/logs":        {404, 403, 404, "", "", false},
	"GET /containers/{container}/logs/{file}": {404, 403, 404, "", "", false},
}

// routes lists the routes that the description of the API has.
func routes(t *testing.T) (all []string) {
	t.Helper()
	b, err := os.ReadFile("../../docs/heddle-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if p, ok := strings.CutPrefix(line, "  /ws/v1/heddle"); ok {
			path = strings.TrimSuffix(p, ":")
		} else if m := regexp.MustCompile(`^    (get|post|put|delete):$`).FindStringSubmatch(line); m != nil && path != "" {
			all = append(all, strings.ToUpper(m[1])+" "+path)
		} else if line == "components:" {
			break
		}
	}
	return all
}

// Two users and an administrator see and may do what YARN's access control lists say, by every route, in JSON, in CSV and in the stream of events.
func TestRightsOnEveryRoute(t *testing.T) {
	w := startOneNode(t, map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "boss", "yarn.scheduler.capacity.root.acl_administer_queue": " "})
	app := w.submit()
	container := strings.Replace(app.String(), "application", "container_e01", 1) + "_01_000001"
	if _, text := w.ask("boss", "GET", w.id+"/timeline", ""); !strings.Contains(text, container) {
		container = strings.Replace(container, "_e01", "", 1)
		if !strings.Contains(text, container) {
			t.Fatalf("no container in %s", text)
		}
	}
	base := strings.TrimSuffix(w.at, "/nodes/")
	w.at = base
	w.c.Until("the use of alice is sampled", func() bool {
		_, text := w.ask("boss", "GET", "/usage?format=csv", "")
		return strings.Contains(text, "alice")
	})
	fill := strings.NewReplacer("{app}", app.String(), "{container}", container, "{node}", w.id, "{queue}", "root.default", "{member}", "rm9", "{file}", "stdout")
	found := map[string]bool{}
	for _, route := range routes(t) {
		found[route] = true
		r, ok := routeRights[route]
		if !ok {
			t.Errorf("%s has no rule: say who may see it", route)
			continue
		}
		method, path, _ := strings.Cut(route, " ")
		for user, want := range map[string]int{"alice": r.alice, "bob": r.bob, "boss": r.boss} {
			code, text := w.ask(user, method, fill.Replace(path)+r.query, r.body)
			if code != want {
				t.Errorf("%s by %s: %d, want %d: %.300s", route, user, code, want, text)
			}
			shows := strings.Contains(text, container) || strings.Contains(text, "alice")
			if user == "bob" && code == 200 && shows && path != "/apps" { // YARN's list names applications, with their users, to all
				t.Errorf("%s tells bob: %.1000s", route, text)
			}
			if user != "bob" && r.theirs && !shows {
				t.Errorf("%s doesn't tell %s what is alice's: %.1000s", route, user, text)
			}
		}
	}
	for route := range routeRights {
		if !found[route] {
			t.Errorf("there is no route %s", route)
		}
	}
	var all sync.WaitGroup
	for user, want := range map[string]bool{"alice": true, "bob": false, "boss": true} {
		all.Go(func() {
			if got := w.follow(user); strings.Contains(got, app.String()) != want {
				t.Errorf("the stream of events tells %s %s", user, got)
			}
		})
	}
	all.Wait()
}

// follow returns what a stream of all remembered events tells a user within two seconds.
func (w *oneNode) follow(user string) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/events?after=0-0&user.name=%s", w.at, user), nil)
	if err != nil {
		w.Error(err)
		return ""
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Error(err)
		return ""
	}
	defer resp.Body.Close()
	var all strings.Builder
	_, _ = io.Copy(&all, resp.Body) // until the deadline
	if !strings.Contains(all.String(), "event: hello") {
		w.Errorf("%s is told %s", user, all.String())
	}
	return all.String()
}
