package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// Users of the recordings, and their groups: admin administers the cluster, root runs the ResourceManager.
const (
	aclGroups = "alice=eng;bob=ops;carol=;dave=hadoopadmins;admin=;root=root;dr.who=;"
	aclAdmins = "admin"
)

var aclUsers = []string{"alice", "bob", "carol", "dave", "admin", "root"}

// aclCase is a configuration whose rights are recorded.
type aclCase struct {
	name   string
	site   map[string]string
	queues []string
}

func aclCases(t *testing.T) []aclCase {
	t.Helper()
	file := func(name string) string {
		path, err := filepath.Abs(filepath.Join("testdata", "queueacls", name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	fair := func(name, list string) map[string]string {
		return map[string]string{
			"yarn.resourcemanager.scheduler.class":       "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
			"yarn.scheduler.fair.allocation.file":        file(name),
			"yarn.acl.enable":                            list,
			"yarn.scheduler.fair.allow-undeclared-pools": "true",
		}
	}
	closed := []string{"root.eng", "ops", "root.dept.inherits", "root.dept.more", "root.everyone", "root.nolist", "root.dept.made", "root.made"}
	return []aclCase{
		{"fair-closed-off", fair("fair-closed.xml", "false"), closed},
		{"fair-closed-on", fair("fair-closed.xml", "true"), closed},
		{"fair-open-off", fair("fair-open.xml", "false"), []string{"root.eng", "root.nolist", "root.made"}},
		{"capacity-off", map[string]string{
			"yarn.resourcemanager.scheduler.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler", "yarn.acl.enable": "false",
			"yarn.scheduler.capacity.root.queues": "eng,ops", "yarn.scheduler.capacity.root.eng.capacity": "50", "yarn.scheduler.capacity.root.ops.capacity": "50",
			"yarn.scheduler.capacity.root.acl_submit_applications": " ", "yarn.scheduler.capacity.root.acl_administer_queue": " hadoopadmins",
			"yarn.scheduler.capacity.root.eng.acl_submit_applications": " eng", "yarn.scheduler.capacity.root.ops.acl_administer_queue": "carol",
			"yarn.scheduler.capacity.maximum-am-resource-percent": "1",
		}, []string{"root.eng", "ops"}},
		{"fifo-off", map[string]string{
			"yarn.resourcemanager.scheduler.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler", "yarn.acl.enable": "false",
		}, []string{"default"}},
	}
}

// A FairScheduler checks the lists of its queues also where yarn.acl.enable is off: 31 of 40 submissions that a stock ResourceManager
// refuses were admitted. What a stock one answers to every user at every queue is recorded.
func TestQueueACLsAsInAStockResourceManager(t *testing.T) {
	var heddle string
	if hadooplab.OnHeddle() {
		path, remove, err := hadooplab.BuildHeddle()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(remove)
		heddle = path
	} else if !*update {
		t.Skip("the answers of a stock Hadoop are only written down, with -update")
	}
	for _, c := range aclCases(t) {
		t.Run(c.name, func(t *testing.T) {
			c.site["hadoop.user.group.static.mapping.overrides"] = aclGroups
			c.site["yarn.admin.acl"] = aclAdmins
			c.site["yarn.resourcemanager.am.max-attempts"] = "1"
			lab := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, Heddle: heddle, Site: c.site})
			r := &rights{t: t, web: fmt.Sprintf("http://localhost:%d/ws/v1/cluster", lab.Port("rm-http")), rpc: fmt.Sprintf("localhost:%d", lab.Port("rm"))}
			got := strings.Join(r.all(c.queues), "\n") + "\n"
			golden := filepath.Join("testdata", "queueacls", c.name+".txt")
			if *update && !hadooplab.OnHeddle() {
				write(t, golden, []byte(got))
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			mine, stock := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			if len(mine) != len(stock) {
				t.Fatalf("%d lines, and %d are written down", len(mine), len(stock))
			}
			var found []string
			for i, line := range mine {
				if line != stock[i] {
					_, there, _ := strings.Cut(stock[i], ": ")
					found = append(found, line+", stock has "+there)
				}
			}
			for _, d := range readList(t, filepath.Join("testdata", "differences", "queueacls-"+c.name+".txt")).checkBy(answersOf, found) {
				t.Error(d)
			}
		})
	}
}

// rights asks a ResourceManager what users may do.
type rights struct {
	t        *testing.T
	web, rpc string
}

func (r *rights) all(queues []string) (lines []string) {
	for _, user := range aclUsers {
		for _, q := range queues {
			_, outcome := r.submit(user, q)
			lines = append(lines, fmt.Sprintf("%s submits to %s: %s", user, q, outcome))
		}
	}
	for _, user := range aclUsers {
		lines = append(lines, user+" may: "+r.listed(user))
	}
	for _, asker := range []string{"carol", "dave", "admin"} {
		for _, q := range queues {
			for _, kind := range []string{"SUBMIT_APPLICATIONS", "ADMINISTER_QUEUE"} {
				for _, about := range []string{"alice", "bob", "admin"} {
					status, text := r.ask("GET", "/queues/"+q+"/access?user="+about+"&queue-acl-type="+kind, asker, nil)
					lines = append(lines, fmt.Sprintf("%s asks whether %s may %s %s: %d %s", asker, about, kind, q, status, short(text)))
				}
			}
		}
	}
	return append(lines, r.operations(queues)...)
}

// operations are those on an application of alice, in the last queue that admits her.
func (r *rights) operations(queues []string) (lines []string) {
	for _, user := range []string{"bob", "dave"} {
		for _, to := range queues[:min(2, len(queues))] {
			var id, outcome string
			for _, q := range queues {
				if id, outcome = r.submit("alice", q); outcome == "ACCEPTED" {
					break
				}
			}
			body, _ := json.Marshal(map[string]string{"queue": to})
			status, text := r.ask("PUT", "/apps/"+id+"/queue", user, body)
			lines = append(lines, fmt.Sprintf("%s moves alice's application to %s: %d %s", user, to, status, short(strings.ReplaceAll(text, id, "APP"))))
			status, text = r.ask("PUT", "/apps/"+id+"/state", user, []byte(`{"state":"KILLED"}`))
			if status == http.StatusOK {
				status, text = http.StatusAccepted, "" // it was already killed
			} else if status == http.StatusAccepted {
				text = ""
			}
			lines = append(lines, fmt.Sprintf("%s kills alice's application: %d %s", user, status, short(strings.ReplaceAll(text, id, "APP"))))
		}
	}
	return lines
}

// submit submits an unmanaged application, and returns what becomes of it.
func (r *rights) submit(user, queue string) (id, outcome string) {
	r.t.Helper()
	_, text := r.ask("POST", "/apps/new-application", user, nil)
	var made struct {
		ID string `json:"application-id"`
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		r.t.Fatalf("%v: %s", err, text)
	}
	body, _ := json.Marshal(map[string]any{
		"application-id": made.ID, "application-name": "x", "queue": queue, "unmanaged-AM": "true",
		"am-container-spec": map[string]any{"commands": map[string]string{"command": "true"}}, "resource": map[string]int{"memory": 256, "vCores": 1},
	})
	if status, text := r.ask("POST", "/apps", user, body); status != http.StatusAccepted {
		return made.ID, fmt.Sprintf("%d %s", status, short(strings.ReplaceAll(text, made.ID, "APP")))
	}
	return made.ID, await.Value(r.t, made.ID+" is accepted or refused", func() (string, bool) {
		_, text := r.ask("GET", "/apps/"+made.ID, user, nil)
		var a struct {
			App struct{ State, Diagnostics string }
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return "", false
		}
		switch a.App.State {
		case "FAILED":
			return "FAILED " + strings.ReplaceAll(a.App.Diagnostics, made.ID, "APP"), true
		case "ACCEPTED", "RUNNING":
			return "ACCEPTED", true
		}
		return "", false
	})
}

// listed is what "mapred queue -showacls" shows a user.
func (r *rights) listed(user string) string {
	r.t.Helper()
	client := ipc.NewClient(ipc.ClientConfig{CallTimeout: time.Minute})
	defer client.Close()
	resp, err := protocol.GetQueueUserAcls.Call(r.t.Context(), client.Endpoint(r.rpc, protocol.ApplicationClient, ipc.Identity{User: user}), &pb.GetQueueUserAclsInfoRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	byQueue := map[string]string{}
	for _, q := range resp.GetQueueUserAcls() {
		var may []string
		for _, a := range q.GetUserAcls() {
			may = append(may, strings.TrimPrefix(a.String(), "QACL_"))
		}
		byQueue[q.GetQueueName()] = strings.Join(may, "+")
	}
	out, _ := json.Marshal(byQueue) // in the order of names
	return string(out)
}

func (r *rights) ask(method, path, user string, body []byte) (status int, text string) {
	r.t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.web+path+sep+"user.name="+user, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// short is the message of an exception, or the document itself.
func short(text string) string {
	var e struct{ RemoteException struct{ Message string } }
	if json.Unmarshal([]byte(text), &e) == nil && e.RemoteException.Message != "" {
		return e.RemoteException.Message
	}
	return strings.Join(strings.Fields(text), " ")
}
