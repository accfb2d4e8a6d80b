package rest

import (
	"os"
	"path/filepath"
	"testing"
)

// What john@CORP.COM submits is john's: the queue's list admits him, and mappings place it, as on YARN.
func TestShortNamesDecideOnQueues(t *testing.T) {
	dir := t.TempDir()
	text := "<configuration>"
	for key, value := range map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.acl_submit_applications": " ", "root.acl_administer_queue": " ", "root.a.acl_submit_applications": "john",
		"queue-mappings": "u:john:a", "queue-mappings-override.enable": "true",
	} {
		text += "<property><name>yarn.scheduler.capacity." + key + "</name><value>" + value + "</value></property>"
	}
	if err := os.WriteFile(filepath.Join(dir, "capacity-scheduler.xml"), []byte(text+"</configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startIn(t, 1, dir, "yarn.acl.enable=true", "yarn.admin.acl=nobody")
	me := c.leader()
	submit := func(user string) (app string, status int) {
		app, _ = at(c.ask(me, "POST", "/ws/v1/cluster/apps/new-application?user.name="+user, "").json(t), "application-id").(string)
		body := `{"application-id":"` + app + `","application-name":"n","queue":"b","am-container-spec":{"commands":{"command":"true"}},"resource":{"memory":1024,"vCores":1}}`
		return app, c.ask(me, "POST", "/ws/v1/cluster/apps?user.name="+user, body).status
	}
	app, status := submit("john@CORP.COM")
	got := c.ask(me, "GET", "/ws/v1/cluster/apps/"+app+"?user.name=john", "").json(t)
	if user, queue := at(got, "app", "user"), at(got, "app", "queue"); status != 202 || user != "john" || queue != "root.a" {
		t.Errorf("john's: %d, of %v in %v", status, user, queue)
	}
	if _, status := submit("jane@CORP.COM"); status != 400 {
		t.Errorf("jane's, whom the list lacks: %d", status)
	}
}
