package command

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"heddle/cmd/heddle/internal/when"

	"github.com/google/go-cmp/cmp"
)

// fakeWeb answers requests by their method and path, and notes them.
type fakeWeb struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

func startWeb(t *testing.T, answers map[string]func(http.ResponseWriter, *http.Request)) *fakeWeb {
	t.Helper()
	f := &fakeWeb{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		user := r.URL.Query().Get("user.name")
		f.mu.Lock()
		f.requests = append(f.requests, strings.TrimSpace(fmt.Sprintf("%s %s as %s %s", r.Method, r.URL.Path, user, body)))
		f.mu.Unlock()
		if h := answers[r.Method+" "+r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func say(status int, contentType, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func (f *fakeWeb) host() string { return strings.TrimPrefix(f.URL, "http://") }

func (f *fakeWeb) settings() map[string]string {
	return map[string]string{
		"yarn.resourcemanager.webapp.address":      f.host(),
		"yarn.resourcemanager.connect.max-wait.ms": "500",
	}
}

const jsonType = "application/json;charset=utf-8"

func TestSubmit(t *testing.T) {
	t.Setenv("HADOOP_USER_NAME", "alice")
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"POST /ws/v1/cluster/apps/new-application":   say(200, jsonType, `{"application-id":"application_5_0001"}`),
		"POST /ws/v1/cluster/apps":                   say(202, jsonType, ""),
		"GET /ws/v1/cluster/apps/application_5_0001": say(200, jsonType, `{"app":{"state":"ACCEPTED","diagnostics":""}}`),
	})
	dir := t.TempDir()
	file := filepath.Join(dir, "app.json")
	if err := os.WriteFile(file, []byte(`{"application-name": "a <b>", "max-app-attempts": 12345678901234567890}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, web.settings(), "app", "-submit", file); r.code != 0 || r.out != "Submitted application application_5_0001\n" {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
	want := []string{
		"POST /ws/v1/cluster/apps/new-application as alice",
		`POST /ws/v1/cluster/apps as alice {"application-id":"application_5_0001","application-name":"a \u003cb\u003e","max-app-attempts":12345678901234567890}`,
		"GET /ws/v1/cluster/apps/application_5_0001 as alice",
	}
	if diff := cmp.Diff(want, web.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for text, says := range map[string]string{
		"{\n\"a\": }":                  file + ":2: not JSON",
		"[]":                           "JSON object",
		"null":                         "JSON object",
		`{"application-id": "foo"}`:    "application-id",
		`{"application-id": {"id":1}}`: "application-id",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := run(t, web.settings(), "app", "-submit", file); r.code != 1 || !strings.Contains(r.failure.Error(), says) {
			t.Errorf("%s: exit code %d, %v; it should say %q", text, r.code, r.failure, says)
		}
	}
	if len(web.requests) != 3 {
		t.Errorf("a description that isn't one was sent: %q", web.requests)
	}
}

// app -submit said "Submitted" for a queue that doesn't exist, and took a mistyped key without a word.
func TestSubmitSaysThatAnApplicationIsRefused(t *testing.T) {
	looks := 0
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"POST /ws/v1/cluster/apps/new-application": say(200, jsonType, `{"application-id":"application_5_0001"}`),
		"POST /ws/v1/cluster/apps":                 say(202, jsonType, ""),
		"GET /ws/v1/cluster/apps/application_5_0001": func(w http.ResponseWriter, r *http.Request) {
			state := "SUBMITTED"
			if looks++; looks > 1 {
				state = "FAILED"
			}
			say(200, jsonType, `{"app":{"state":"`+state+`","diagnostics":"submitted by user alice to unknown queue: nope\n"}}`)(w, r)
		},
	})
	file := filepath.Join(t.TempDir(), "app.json")
	for text, says := range map[string]string{
		`{"queue": "nope"}`:            "failed to submit application_5_0001: submitted by user alice to unknown queue: nope",
		`{"aplication-name": "words"}`: `"aplication-name" is no member of a submission; there are application-id, application-name, `,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := run(t, web.settings(), "app", "-submit", file); r.code != 1 || !strings.Contains(r.failure.Error(), says) || r.out != "" {
			t.Errorf("%s: exit code %d, %v, %s", text, r.code, r.failure, r.out)
		}
	}
}

// app -why dropped the remedy that --json has, and said the same twice.
func TestWhyHasTheRemedyOnce(t *testing.T) {
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"GET /ws/v1/heddle/apps/application_5_0001/pending": say(200, jsonType, `{"pending":{"state":"ACCEPTED","queue":"root.a","summary":"too much",
			"reason":[{"priority":0,"numContainers":1,"resourceName":"*","capability":{"memory":2048,"vCores":1},"reason":"too much","remedy":"the end of another"}]}}`),
	})
	r := run(t, web.settings(), "app", "-why", "application_5_0001")
	const want = "application_5_0001 is ACCEPTED in queue root.a\n\t1 x <memory:2048, vCores:1> at *, priority 0: too much\n\t\tWhat would free it: the end of another.\n"
	if r.code != 0 || r.out != want {
		t.Errorf("%d, %v\ngot  %q\nwant %q", r.code, r.failure, r.out, want)
	}
}

func TestJSON(t *testing.T) {
	const answer = `{"apps":{"app":[{"id":"application_1_0001","memorySeconds":12345678901234567890,"m":{"entry":{"key":"a"},"entry":{"key":"b"}}}]}}`
	var query string
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"GET /ws/v1/cluster/apps": func(w http.ResponseWriter, r *http.Request) {
			query = r.URL.Query().Get("states") + " " + r.URL.Query().Get("applicationTypes") + " " + r.URL.Query().Get("applicationTags")
			say(200, jsonType, answer)(w, r)
		},
		"GET /ws/v1/cluster/apps/application_1_0002": say(404, jsonType,
			`{"RemoteException":{"exception":"NotFoundException","message":"java.lang.Exception: app with id: application_1_0002 not found","javaClassName":"x"}}`),
		"GET /ws/v1/cluster/nodes": say(200, "text/html", "<html>"),
	})
	r := run(t, web.settings(), "app", "-list", "-appTypes", "spark", "-appTags", "x,y", "--json")
	want := `{
  "apps": {
    "app": [
      {
        "id": "application_1_0001",
        "memorySeconds": 12345678901234567890,
        "m": {
          "entry": {
            "key": "a"
          },
          "entry": {
            "key": "b"
          }
        }
      }
    ]
  }
}
`
	if r.out != want {
		t.Errorf("exit code %d (%v):\n%s", r.code, r.failure, r.out)
	}
	if query != "SUBMITTED,ACCEPTED,RUNNING SPARK x,y" {
		t.Errorf("it asks for %q", query)
	}
	if r := run(t, web.settings(), "app", "-status", "application_1_0002", "--json"); r.code != 255 || !strings.Contains(r.err, "doesn't exist") || r.out != "" {
		t.Errorf("an unknown application: exit code %d, %s%s", r.code, r.out, r.err)
	}
	if r := run(t, web.settings(), "node", "-list", "--json"); r.code != 1 || r.out != "" || !strings.Contains(r.failure.Error(), "not JSON") {
		t.Errorf("an answer that isn't JSON: exit code %d, %v, %s", r.code, r.failure, r.out)
	}
}

// The active one of several ResourceManagers is found: by a redirect, and past those that say that they don't know.
func TestStandbys(t *testing.T) {
	active := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"GET /ws/v1/cluster/nodes": say(200, jsonType, `{"nodes":"from the active one"}`),
	})
	for name, standby := range map[string]func(http.ResponseWriter, *http.Request){
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, active.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		},
		"says so":     say(200, "text/plain", "This is standby RM. There is no active RM right now."),
		"is too busy": say(503, "text/plain", "no leader"),
	} {
		t.Run(name, func(t *testing.T) {
			other := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){"GET /ws/v1/cluster/nodes": standby})
			r := run(t, map[string]string{
				"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b",
				"yarn.resourcemanager.hostname.a": "localhost", "yarn.resourcemanager.hostname.b": "localhost",
				"yarn.resourcemanager.webapp.address.a": other.host(), "yarn.resourcemanager.webapp.address.b": active.host(),
			}, "node", "-list", "--json")
			if r.code != 0 || !strings.Contains(r.out, "from the active one") {
				t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
			}
		})
	}
}

func TestHeddlesOwnAPI(t *testing.T) {
	const container = "container_1_0002_01_000003"
	t.Setenv("HADOOP_USER_NAME", "bob")
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"POST /ws/v1/heddle/containers/" + container + "/suspend": func(w http.ResponseWriter, r *http.Request) {
			switch q := r.URL.Query(); q.Get("level") + " " + q.Get("hold") + " " + q.Get("breathe") {
			case "  ":
				say(200, jsonType, `{"container":{"suspended":true}}`)(w, r)
			case "shrunk memory-mb=512,vcores=1 never":
				say(200, jsonType, `{"container":{"level":"SHRUNK"}}`)(w, r)
			default:
				say(400, jsonType, `{"RemoteException":{"exception":"BadRequestException","message":"level \"deep\" is not one of shrunk"}}`)(w, r)
			}
		},
		"GET /ws/v1/heddle/containers": func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("suspended") != "true" || q.Get("sort") != "suspendedSince" {
				say(400, jsonType, `{}`)(w, r)
			} else if q.Get("cursor") == "" {
				say(200, jsonType, `{"containers":{"next":"c2","container":[{"containerId":"`+container+`","nodeId":"n1:8041","level":"RECLAIMED","held":{"memory":64,"vCores":0},
			"suspension":{"for":"queue root.short","since":1795284934900,"times":2,"onNode":{"swappedBytes":314572800}}}]}}`)(w, r)
			} else {
				say(200, jsonType, `{"containers":{"container":[{"containerId":"container_1_0002_01_000004","nodeId":"n1:8041","level":"FROZEN","held":{"memory":1024,"vCores":0},"suspension":{"for":"user ann","since":1795284934900,"times":1}}]}}`)(w, r)
			}
		},
		"POST /ws/v1/heddle/containers/" + container + "/resume": say(403, jsonType,
			`{"RemoteException":{"exception":"ForbiddenException","message":"User bob may not resume it"}}`),
		"GET /ws/v1/heddle/apps/application_1_0002/pending": say(200, jsonType, `{"pending":{"applicationId":"application_1_0002","state":"RUNNING","queue":"root.q","summary":"waits for 2 containers",
			"reason":[{"priority":20,"numContainers":2,"resourceName":"*","capability":{"memory":9000,"vCores":1},"limit":"size","reason":"no node has that much"}],
			"loss":[{"containerId":"container_1_0002_01_000003","until":1795284934900,"reason":"others wait"},{"containerId":"container_1_0002_01_000004","reason":"they did"}]}}`),
		"GET /ws/v1/heddle/apps/application_1_0002/timeline": say(200, jsonType, `{"timeline":{"applicationId":"application_1_0002","state":"FINISHED","finalStatus":"SUCCEEDED",
			"submitted":1795284934900,"accepted":1795284934901,"launched":1795284935400,"registered":1795284939700,"finished":1795284950001,
			"attempt":[{"appAttemptId":"appattempt_1_0002_000001","amContainerId":"container_1_0002_01_000001","asked":1795284934901,"launched":1795284935400,"registered":1795284939700,"finished":1795284950001}],
			"container":[{"containerId":"container_1_0002_01_000001","nodeId":"n1:8041","applicationMaster":true,"priority":0,"asked":1795284934901,"granted":1795284934902,"accepted":1795284935390,
			"localized":1795284935500,"started":1795284935520,"ended":1795284950000,"live":false,"exitStatus":0},
			{"containerId":"container_1_0002_01_000002","nodeId":"n2:8041","applicationMaster":false,"priority":20,"granted":1795284940700,"live":true,"exitStatus":-1000,
			"suspended":[{"from":1795284941900,"to":1795284944900,"queue":"root.short"},{"from":1795284945900,"user":"ann"}]}],"containersForgotten":3}}`),
		"GET /ws/v1/heddle/apps/application_1_0002/receipt": say(200, jsonType, `{"receipt":{"applicationId":"application_1_0002","state":"FINISHED","finalStatus":"SUCCEEDED",
			"from":1795284934900,"to":1795284944900,"totalMs":10000,"part":[{"kind":"work","ms":7500},{"kind":"suspended","detail":"root.prod","ms":2500}],"copiesWon":2,"copiesLost":1,"overtakenMs":3500,"tasksForgotten":5,"step":[
			{"kind":"suspended","from":1795284934900,"to":1795284937400,"containerId":"container_1_0002_01_000002","nodeId":"n2:8041","queue":"root.prod","detail":"root.prod"},
			{"kind":"work","from":1795284937400,"to":1795284944900,"containerId":"container_1_0002_01_000002","nodeId":"n2:8041"}],"containersForgotten":7,"containersLive":2}}`),
		"GET /ws/v1/heddle/members": say(200, jsonType, `{"members":{"leader":"rm2","epoch":3,"oneDisk":true,"warning":"rm3 is behind by 1234: acknowledged work is on one disk only","member":[
			{"id":"witness","raftAddress":"h9:8034","webAddress":"","leader":false,"self":false,"voter":true,"witness":true,"reachable":true,"behind":0,"version":"0.9"},
			{"id":"rm1","raftAddress":"h1:8034","webAddress":"h1:8088","leader":false,"self":true,"voter":true,"reachable":true,"behind":1234,"version":"0.9"},
			{"id":"rm2","raftAddress":"h2:8034","webAddress":"h2:8088","leader":true,"self":false,"voter":true,"reachable":true,"behind":0,"version":"0.9"},
			{"id":"rm3","raftAddress":"h3:8034","webAddress":"h3:8088","leader":false,"self":false,"voter":true,"reachable":false,"problem":"rm3 at h3:8034 doesn't report its status: connection refused"},
			{"id":"rm4","raftAddress":"h4:8034","webAddress":"h4:8088","leader":false,"self":false}]}}`),
	})
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"container -suspend " + container, 0, "Container " + container + " is suspended\n"},
		{"container -suspend " + container + " --json", 0, "{\n  \"container\": {\n    \"suspended\": true\n  }\n}\n"},
		{"container -suspend " + container + " -level shrunk -hold memory-mb=512,vcores=1 -breathe never", 0, "Container " + container + " is shrunk\n"},
		{"container -suspend " + container + " -level deep", 1, "is not one of shrunk"},
		{"container -suspend " + container + " -resume " + container, 1, "exclude each other"},
		{"container -resume " + container + " -level frozen", 1, "-level goes with -suspend only"},
		{"container -listSuspended", 0, "Total number of suspended containers :2\n" +
			"                            Container-Id\t     Level\t                        Held\t   Swapped\t                         For\t               Since\t   Times\t                       Node-Id\n" +
			"              " + container + "\t RECLAIMED\t       <memory:64, vCores:0>\t    300 MB\t            queue root.short\t " + when.Clock(1795284934900)[:19] + "\t       2\t                       n1:8041\n" +
			"              container_1_0002_01_000004\t    FROZEN\t     <memory:1024, vCores:0>\t         -\t                    user ann\t " + when.Clock(1795284934900)[:19] + "\t       1\t                       n1:8041\n"},
		{"container -resume " + container, 1, "User bob may not resume it"},
		{"container -resume container_1_0002_01_000004", 1, "this is YARN's ResourceManager"},
		{"app -why application_1_0002", 0, "application_1_0002 is RUNNING in queue root.q\nwaits for 2 containers\n\t2 x <memory:9000, vCores:1> at *, priority 20: no node has that much\n" +
			"\tloses container_1_0002_01_000003 at 2026-11-21 18:15:34.900 unless other containers free enough resources: others wait\n" +
			"\tloses container_1_0002_01_000004 when others need its resources: they did\n"},
		{"app -timeline application_1_0002", 0, "application_1_0002 is FINISHED, SUCCEEDED\n" +
			"                     Time  Seconds          Event\n" +
			"  " + when.Clock(1795284934900) + "    0.000      submitted\n" +
			"  " + when.Clock(1795284934901) + "    0.001       accepted\n" +
			"  " + when.Clock(1795284935400) + "    0.500    AM launched\n" +
			"  " + when.Clock(1795284939700) + "    4.800  AM registered\n" +
			"  " + when.Clock(1795284950001) + "   15.101       finished\n" +
			"\nContainers, in seconds since the application was submitted:\n" +
			"                        Container     Node  Priority  Asked  Granted  Localized  Started   Ended  Exit\n" +
			"  container_1_0002_01_000001 (AM)  n1:8041         0  0.001    0.002      0.600    0.620  15.100     0\n" +
			"       container_1_0002_01_000002  n2:8041        20      -    5.800          -        -       -     -\n" +
			"\nSuspended or shrunk, in seconds since the application was submitted:\n" +
			"  container_1_0002_01_000002  from 7.000 to 10.000  for queue root.short\n" +
			"  container_1_0002_01_000002  from 11.000 to -  by user ann\n" +
			"and 3 more, whose times are no longer known\n"},
		{"app -receipt application_1_0002", 0, "application_1_0002 is FINISHED, SUCCEEDED. Its 10.000 s went to:\n  work                   7.500 s  75 %\n  suspended (root.prod)  2.500 s  25 %\n" +
			"\nStep by step, in seconds since it was submitted:\n" +
			"  0.000  2.500   suspended for queue root.prod  container_1_0002_01_000002  n2:8041\n" +
			"  2.500  10.000  work                           container_1_0002_01_000002  n2:8041\n" +
			"\nCopies of tasks: 2 were faster, 1 were not; 3.500 s went to tries that others overtook\n" +
			"\nContainers that haven't ended: 2; whether files had to be fetched, and whether they lacked a processor, is known when they have\n5 tasks between the first and the newest are no longer known\n" +
			"7 containers between the first and the newest are no longer known\n"},
		{"app -timeline application_1_0003", 1, "this is YARN's ResourceManager"},
		{"app -timeline application_x", 1, "application_x"},
		{"rmadmin -members", 0, "        Id\t             Raft-Address\t              Web-Address\t      State\t    Behind\tVersion\n" +
			"   witness\t                  h9:8034\t                         \t    witness\t         0\t0.9\n" +
			"       rm1\t                  h1:8034\t                  h1:8088\t    standby\t      1234\t0.9\n" +
			"       rm2\t                  h2:8034\t                  h2:8088\t     active\t         0\t0.9\n" +
			"       rm3\t                  h3:8034\t                  h3:8088\tunreachable\t         -\t-\n" +
			"       rm4\t                  h4:8034\t                  h4:8088\t    standby\t         -\t-\n" +
			"rm3 at h3:8034 doesn't report its status: connection refused\nrm3 is behind by 1234: acknowledged work is on one disk only\n"},
	} {
		r := run(t, web.settings(), strings.Fields(c.line)...)
		got := r.out
		if r.code == 1 {
			got = r.failure.Error()
		}
		if r.code != c.code || r.code == 0 && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s: exit code %d, want %d\n%s\nwant\n%s", c.line, r.code, c.code, got, c.want)
		}
	}
}

func TestSchedulerConf(t *testing.T) {
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"PUT /ws/v1/cluster/scheduler-conf":        say(200, jsonType, "Configuration change successfully applied."),
		"GET /ws/v1/cluster/scheduler-conf":        say(200, jsonType, `{"property":[{"name":"a.b","value":"x<y"}]}`),
		"GET /ws/v1/cluster/scheduler-conf/format": say(400, "application/json", "only supported by MutableConfScheduler"),
	})
	t.Setenv("HADOOP_USER_NAME", "root")
	r := run(t, web.settings(), "schedulerconf", "-add", `root.c:capacity=20,acl_submit_applications=a\,b g;root.d:capacity=1`, "-remove", "root.x;root.y",
		"-update", "root.a:capacity=60,maximum-applications=", "-global", "k=v")
	if r.code != 0 || r.out != "Configuration changed successfully.\n" {
		t.Fatalf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
	want := `PUT /ws/v1/cluster/scheduler-conf as root {"add-queue":[{"queue-name":"root.c","params":{"entry":[{"key":"capacity","value":"20"},` +
		`{"key":"acl_submit_applications","value":"a,b g"}]}},{"queue-name":"root.d","params":{"entry":[{"key":"capacity","value":"1"}]}}],` +
		`"remove-queue":["root.x","root.y"],"update-queue":[{"queue-name":"root.a","params":{"entry":[{"key":"capacity","value":"60"},` +
		`{"key":"maximum-applications","value":null}]}}],"global-updates":{"entry":[{"key":"k","value":"v"}]}}`
	if web.requests[0] != want {
		t.Errorf("sent\n%s\nwant\n%s", web.requests[0], want)
	}
	if r := run(t, web.settings(), "schedulerconf", "-getconf"); !strings.Contains(r.out, "<name>a.b</name>\n    <value>x&lt;y</value>") {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
	if r := run(t, web.settings(), "schedulerconf", "-format"); r.code != 1 || !strings.Contains(r.failure.Error(), "only supported by MutableConfScheduler") {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
}

// schedulerconf -update said no more than that it had changed the settings of a misspelt queue.
func TestASettingOfAMisspeltQueueIsWarnedAbout(t *testing.T) {
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"PUT /ws/v1/cluster/scheduler-conf": say(200, jsonType, "Configuration change successfully applied."),
		"GET /ws/v1/cluster/scheduler": say(200, jsonType, `{"scheduler":{"schedulerInfo":{"queuePath":"root","queues":{"queue":[
			{"queuePath":"root.prod","queues":{"queue":[{"queuePath":"root.prod.a"}]}}]}}}}`),
	})
	t.Setenv("HADOOP_USER_NAME", "root")
	for queue, want := range map[string]string{
		"root.prod.a": "",
		"root.prodd":  "There is no queue root.prodd: its settings have no effect until it is added (-add); did you mean root.prod?\n",
		"root.other":  "There is no queue root.other: its settings have no effect until it is added (-add)\n",
	} {
		r := run(t, web.settings(), "schedulerconf", "-update", queue+":capacity=3")
		if r.code != 0 || r.out != "Configuration changed successfully.\n" || r.err != want {
			t.Errorf("%s: exit code %d (%v): %s%s", queue, r.code, r.failure, r.out, r.err)
		}
	}
}

// daemonlog -setlevel answered as if it had set the level of one class; it sets the whole daemon's.
func TestDaemonLogSaysThatTheLevelIsTheDaemons(t *testing.T) {
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"GET /logLevel": say(200, "text/html", "<!-- OUTPUT -->Log Class: <b>*logrus.Logger</b><br />\n"),
	})
	const says = "A daemon of Heddle has one logger: the level is that of all its classes.\n"
	if r := run(t, nil, "daemonlog", "-setlevel", web.host(), "org.example", "DEBUG"); r.err != says {
		t.Errorf("%q", r.err)
	}
	if r := run(t, nil, "daemonlog", "-getlevel", web.host(), "org.example"); r.err != "" {
		t.Errorf("of a question: %q", r.err)
	}
}

func TestDaemonLog(t *testing.T) {
	web := startWeb(t, map[string]func(http.ResponseWriter, *http.Request){
		"GET /logLevel": func(w http.ResponseWriter, r *http.Request) {
			say(200, "text/html", "<html>\n<!-- OUTPUT -->Effective Level: <b>"+r.URL.Query().Get("log")+" "+r.URL.Query().Get("level")+"</b><br />\n</html>\n")(w, r)
		},
	})
	r := run(t, nil, "daemonlog", "-setlevel", web.host(), "org.example", "DEBUG")
	if want := "Connecting to " + web.URL + "/logLevel?level=DEBUG&log=org.example\nEffective Level: org.example DEBUG\n"; r.out != want {
		t.Errorf("exit code %d (%v):\n%swant\n%s", r.code, r.failure, r.out, want)
	}
	r = run(t, nil, "daemonlog", "-getlevel", web.host())
	if !strings.HasSuffix(r.out, "Effective Level: heddle \n") {
		t.Errorf("exit code %d (%v): %s", r.code, r.failure, r.out)
	}
	long := strings.Repeat("x", 100_000) // a line is above the 64 KiB that a bufio.Scanner takes
	r = run(t, nil, "daemonlog", "-getlevel", web.host(), long)
	if !strings.HasSuffix(r.out, "Effective Level: "+long+" \n") || r.code != 0 {
		t.Errorf("of a line of %d bytes come %d; exit code %d (%v)", len(long), len(r.out), r.code, r.failure)
	}
}
