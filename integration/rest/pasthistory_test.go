package rest

import (
	"strings"
	"testing"
)

// What the ResourceManager tells in place of a timeline server is for those who may see the application.
func TestPastApplicationsAreForThoseWhoMaySeeThem(t *testing.T) {
	w := startOneNode(t, map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "boss", "yarn.scheduler.capacity.root.acl_administer_queue": " "})
	app := w.submit().String()
	attempt, container := strings.Replace(app, "application", "appattempt", 1)+"_000001", strings.Replace(app, "application", "container", 1)+"_01_000001"
	if _, text := w.ask("boss", "GET", w.id+"/timeline", ""); !strings.Contains(text, container) {
		container = strings.Replace(container, "container", "container_e01", 1)
	}
	w.at = strings.TrimSuffix(w.at, "/v1/heddle/nodes/")
	one := "/v1/applicationhistory/apps/" + app
	two := "/v2/timeline/clusters/c/apps/" + app
	for path, want := range map[string]string{
		one:                             `"appState":"`,
		one + "/appattempts":            `"appAttemptId":"` + attempt,
		one + "/appattempts/" + attempt: `"appAttemptId":"` + attempt,
		one + "/appattempts/" + attempt + "/containers":              `"containerId":"` + container,
		one + "/appattempts/" + attempt + "/containers/" + container: `"containerId":"` + container,
		two + "?fields=INFO":                          `"YARN_APPLICATION_USER":"alice"`,
		two + "/entities/YARN_CONTAINER/" + container: `"id":"` + container,
		two + "/entities/YARN_CONTAINER?fields=ALL":   `"YARN_CONTAINER_ALLOCATED_HOST"`,
		two + `/entities/YARN_CONTAINER?infofilters=SYSTEM_INFO_PARENT_ENTITY%20eq%20%7B%22type%22:%22YARN_APPLICATION_ATTEMPT%22,%22id%22:%22` + attempt + `%22%7D`: container,
		"/v1/applicationhistory/apps": app,
	} {
		for _, user := range []string{"alice", "boss"} {
			if code, text := w.ask(user, "GET", path, ""); code != 200 || !strings.Contains(text, want) {
				t.Errorf("%s by %s: %d, no %q in %.1000s", path, user, code, want, text)
			}
		}
		code, text := w.ask("bob", "GET", path, "")
		if list := strings.HasSuffix(path, "/apps"); list && code != 200 || !list && code != 403 || list && strings.Contains(text, app) || strings.Contains(text, "alice") {
			t.Errorf("%s by bob: %d %.1000s", path, code, text)
		}
	}
	for path, want := range map[string]int{
		strings.Replace(one, "_0001", "_0099", 1): 404, "/v1/applicationhistory/apps/x": 400, "/v1/applicationhistory/apps?states=odd": 400, two + "/entities/YARN_CONTAINER/x": 404,
		two + "/entities/YARN_CONTAINER?limit=-1": 400, two + "/entities/YARN_CONTAINER?infofilters=x%20eq%20y": 400, two + "/entities/YARN_CONTAINER?metricfilters=x": 400,
		two + "/entities/YARN_CONTAINER?infofilters=SYSTEM_INFO_PARENT_ENTITY%20eq%20%7B%22id%22:%22x%22%7D": 400, two + "/entities/" + strings.Repeat("x", 5000): 200,
		"/v1/applicationhistory/about": 200, "/v2/timeline": 200,
	} {
		if code, text := w.ask("alice", "GET", path, ""); code != want || want == 200 && strings.Contains(text, "container_") {
			t.Errorf("%s: %d, want %d: %.300s", path, code, want, text)
		}
	}
	if code, text := w.ask("alice", "PUT", "/v1/cluster/apps/"+app+"/state", `{"state":"KILLED"}`); code != 202 && code != 200 {
		t.Fatal(code, text)
	}
	w.c.Until("history has the end", func() bool {
		_, text := w.ask("alice", "GET", one+"/appattempts/"+attempt+"/containers/"+container, "")
		_, other := w.ask("alice", "GET", two+"/entities/YARN_CONTAINER/"+container+"?fields=ALL", "")
		return strings.Contains(text, `"containerState":"COMPLETE"`) && strings.Contains(other, `"YARN_CONTAINER_STATE":"COMPLETE"`)
	})
	if _, text := w.ask("alice", "GET", "/v1/applicationhistory/apps?states=KILLED", ""); !strings.Contains(text, `"appState":"KILLED"`) {
		t.Error(text)
	}
}
