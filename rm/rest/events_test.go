package rest

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/rm/leader"
	"heddle/yarn/records"
)

// followed is an event as a client gets it.
type followed struct{ id, kind, data string }

// follow follows the events of a member until the test ends.
func (c *cluster) follow(member, query string, headers ...string) func() followed {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.urls[member]+"/ws/v1/heddle/events?"+query, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		cancel()
		_ = resp.Body.Close()
	})
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || ct != "text/event-stream" {
		c.t.Fatalf("%d %s", resp.StatusCode, ct)
	}
	in := bufio.NewScanner(resp.Body)
	return func() (e followed) {
		c.t.Helper()
		late := time.AfterFunc(time.Minute, cancel)
		defer late.Stop()
		for in.Scan() {
			name, value, _ := strings.Cut(in.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data = value
			case "":
				if e.kind != "" {
					return e
				}
			}
		}
		return followed{kind: "end"}
	}
}

// until skips events that lack a text.
func until(t *testing.T, next func() followed, text string) followed {
	t.Helper()
	for {
		e := next()
		if strings.Contains(e.kind+" "+e.data, text) {
			return e
		}
		if e.kind == "end" {
			t.Fatalf("the stream ended without %s", text)
		}
	}
}

// Applications, attempts and nodes are told of as they change, by the same numbers at all members: who followed the leader goes on at another member
// when it is gone, and misses nothing.
func TestEvents(t *testing.T) {
	c := start(t, 3)
	first := c.leader()
	next := c.follow(first, "")
	if e := next(); e.kind != "hello" || !strings.Contains(e.data, `"leader":"`+first+`"`) {
		t.Fatalf("%+v", e)
	}
	app := c.submit(first, "")
	submitted := until(t, next, `"what":"submitted","applicationId":"`+app+`"`)
	if submitted.kind != "application" || !strings.Contains(submitted.data, `"state":"ACCEPTED"`) {
		t.Errorf("%+v", submitted)
	}
	attempt := until(t, next, `"what":"started"`)
	if _, err := c.rms[first].Leader().RegisterNode(leader.NodeRegistration{Node: records.NodeID{Host: "n1", Port: 1}, Capability: records.NewResource(1024, 1)}); err != nil {
		t.Fatal(err)
	}
	node := until(t, next, `"subject":"n1:1"`)
	c.stop[first]()
	delete(c.stop, first)
	delete(c.rms, first)
	if e := until(t, next, "end"); e.kind != "end" {
		t.Errorf("a member that stops goes on: %+v", e)
	}
	second := c.leader()
	next = c.follow(second, "", "Last-Event-ID", submitted.id)
	if e := next(); e.kind != "hello" || e.id != submitted.id {
		t.Errorf("%+v", e)
	}
	for _, want := range []followed{attempt, node} {
		if e := until(t, next, want.data); e != want {
			t.Errorf("at the next leader it is %+v, and was %+v", e, want)
		}
	}
	until(t, next, `"kind":"leadership","what":"began","subject":"`+second+`"`)
	// a follower tells of them as well
	for id := range c.rms {
		if id != second {
			if e := until(t, c.follow(id, "kind=node&after="+attempt.id), `"kind"`); e != node {
				t.Errorf("a follower tells of %+v, not %+v", e, node)
			}
		}
	}
	if e := until(t, c.follow(second, "after=1-0"), "missed"); !strings.Contains(e.data, `"after":"1-0"`) {
		t.Errorf("%+v", e)
	}
}

// Nobody is told of applications that he may not see.
func TestRightsOnEvents(t *testing.T) {
	dir := t.TempDir()
	const queues = `<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>default</value></property>
		<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>100</value></property>
		<property><name>yarn.scheduler.capacity.root.acl_administer_queue</name><value> </value></property></configuration>`
	if err := os.WriteFile(filepath.Join(dir, "capacity-scheduler.xml"), []byte(queues), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startIn(t, 1, dir, "yarn.acl.enable=true", "yarn.admin.acl=boss")
	me := c.leader()
	streams := map[string]func() followed{}
	for _, user := range []string{"alice", "eve", "boss"} {
		streams[user] = c.follow(me, "user.name="+user)
		until(t, streams[user], "hello")
	}
	app := c.submit(me, "") // alice's
	if _, err := c.rms[me].Leader().RegisterNode(leader.NodeRegistration{Node: records.NodeID{Host: "n1", Port: 1}, Capability: records.NewResource(1024, 1)}); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"alice", "boss"} {
		until(t, streams[user], app)
	}
	for e := streams["eve"](); !strings.Contains(e.data, "n1:1"); e = streams["eve"]() {
		if e.kind != "node" && e.kind != "leadership" && e.kind != "queues" {
			t.Fatalf("eve is told of %+v", e)
		}
	}
	// Nor by an answer to the same address that another has just got. Cookies say who asks.
	for _, user := range []string{"boss", "eve", "alice"} {
		cookie := c.ask(me, "GET", "/ws/v1/cluster/info?user.name="+user, "").header.Get("Set-Cookie")
		for _, path := range []string{"/ws/v1/heddle/events?kind=application", "/ws/v1/heddle/waiting"} {
			got := c.ask(me, "GET", path, "", "Cookie", cookie, "Cache-Control", "max-age=1")
			if sees := strings.Contains(got.body, app); got.status != 200 || sees == (user == "eve") {
				t.Errorf("%s gets %d %s from %s", user, got.status, got.body, path)
			}
		}
	}
}

// Who asks for JSON gets what is remembered, and an end.
func TestPastEvents(t *testing.T) {
	c := start(t, 1)
	me := c.leader()
	first, second := c.submit(me, ""), c.submit(me, "")
	got := c.ask(me, "GET", "/ws/v1/heddle/events?kind=application", "").json(t)
	if a, b := at(got, "events", "event", 0, "applicationId"), at(got, "events", "event", 1, "applicationId"); a != first || b != second {
		t.Fatalf("%v", got)
	}
	got = c.ask(me, "GET", "/ws/v1/heddle/events?kind=application&after="+at(got, "events", "event", 0, "id").(string), "").json(t)
	if a, b := at(got, "events", "event", 0, "applicationId"), at(got, "events", "missed"); a != second || b != false {
		t.Errorf("%v", got)
	}
	got = c.ask(me, "GET", "/ws/v1/heddle/events?kind=application&limit=1", "").json(t)
	if a := at(got, "events", "event", 0, "applicationId"); a != second {
		t.Errorf("the newest is not in %v", got)
	}
}

func TestWrongRequestsForEvents(t *testing.T) {
	c := start(t, 1)
	me := c.leader()
	for query, want := range map[string]string{
		"after=5":      "is no number of an event",
		"after=01-0":   "is no number of an event",
		"kind=a,node":  "kind has",
		"kind=Node":    "it may have",
		"limit=0":      "from 1 to 1000",
		"after=x%0Aid": "is no number of an event",
	} {
		if a := c.ask(me, "GET", "/ws/v1/heddle/events?"+query, ""); a.status != http.StatusBadRequest || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}
