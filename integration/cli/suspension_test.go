package cli

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/am"
	"heddle/am/client"
	"heddle/conf/conftest"
	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/yarn/records"
)

// master is an ApplicationMaster that a test plays itself. It has no container.
type master struct {
	*client.Master
	t                  *testing.T
	nodes              *client.Nodes
	suspended, resumed []records.ContainerID // as it has heard
}

func (a *alone) master() *master {
	a.t.Helper()
	keys := map[string]string{}
	for _, s := range a.set {
		if k, v, ok := strings.Cut(s, "="); ok {
			keys[k] = v
		}
	}
	cluster := must2(client.NewCluster(conftest.With(a.t, keys), nil))
	a.t.Cleanup(cluster.Close)
	apps := must2(cluster.Applications("root"))
	id, _, err := apps.New(a.t.Context())
	if err == nil {
		err = apps.Submit(a.t.Context(), client.Submission{ID: id, Name: "by hand", Unmanaged: true, MaxAttempts: 1, Resource: records.NewResource(256, 1)})
	}
	if err != nil {
		a.t.Fatal(err)
	}
	attempt, token, err := apps.MasterToken(a.t.Context(), id)
	if err != nil {
		a.t.Fatal(err)
	}
	m := &master{Master: must2(cluster.Master(client.MasterOptions{Attempt: attempt, Token: token, Host: "localhost", Port: -1})), t: a.t}
	must2(m.Register(a.t.Context()))
	m.nodes = cluster.Nodes(attempt, m.NMTokens(), 0)
	return m
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// heard talks to the ResourceManager until something holds.
func (m *master) heard(what string, holds func(*client.Allocation) bool) {
	m.t.Helper()
	await.Slowly(m.t, what, func() bool {
		got, err := m.Allocate(m.t.Context())
		if err != nil {
			m.t.Fatal(err)
		}
		m.suspended, m.resumed = append(m.suspended, got.Suspended...), append(m.resumed, got.Resumed...)
		return holds(got)
	})
}

// container starts a container that sleeps.
func (m *master) container(cores int64) (id records.ContainerID) {
	m.t.Helper()
	must2(m.Request(am.Request{Resource: records.NewResource(256, cores), Count: 1}))
	m.heard("a container", func(got *client.Allocation) bool {
		for i := range got.Containers {
			c := &got.Containers[i]
			id = c.ID
			must2(m.nodes.Start(m.t.Context(), c, must2(am.Launch{Command: []string{"sleep 600"}}.PB())))
		}
		return len(got.Containers) > 0
	})
	return id
}

// What `heddle container` suspends and resumes, its ApplicationMaster hears of; and what it refuses, it gives the reason for. The groups of
// processes are this machine's.
func TestContainersAreSuspendedByHand(t *testing.T) {
	nmtest.RealGroups(t)
	a := byHand{newAlone(t, map[string]string{
		"yarn.acl.enable": "true", "yarn.admin.acl": "root", "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "100", "yarn.nodemanager.resource.memory-mb": "4096", "yarn.nodemanager.resource.cpu-vcores": "5",
		"yarn.scheduler.capacity.resource-calculator":         "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "1", "yarn.scheduler.maximum-allocation-vcores": "4",
		"yarn.scheduler.capacity.root.acl_administer_queue": "root", "yarn.scheduler.capacity.root.default.acl_administer_queue": "root",
	})}
	try, refused, does := a.try, a.refused, a.does
	await.Slowly(t, "the ledger records levels", func() bool {
		said, err := os.ReadFile(filepath.Join(a.dir, "log"))
		return err == nil && strings.Contains(string(said), "can apply a newer version of the ledger")
	})
	m := a.master()
	a.notBegun(m)
	wide := m.container(3)
	id := wide.String()
	await.Slowly(t, "the container runs", func() bool {
		out, _ := try("root", "-status", id)
		return strings.Contains(out, "State : RUNNING")
	})
	file := filepath.Join(a.dir, "app.json")
	if err := os.WriteFile(file, []byte(`{"application-name": "waits", "am-container-spec": {"commands": {"command": "sleep 600"}},
		"resource": {"memory": 256, "vCores": 1}, "max-app-attempts": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	said := a.run("app", append(slices.Clone(a.set), "-submit", file)...)
	leads := strings.Replace(regexp.MustCompile(`application_\d+_\d+`).FindString(said), "application", "container", 1) + "_01_000001"
	await.Slowly(t, "an ApplicationMaster's container runs", func() bool {
		out, _ := try("root", "-status", leads)
		return strings.Contains(out, "State : RUNNING")
	})
	refused(`runs the ApplicationMaster of application_\d+_\d+, which would count as dead`, "-suspend", leads)
	if out, ok := try("mallory", "-suspend", id); ok || !strings.Contains(out, "User mallory may not suspend container "+id+" of user root") {
		t.Errorf("another user's container: succeeded %v:\n%s", ok, out)
	}
	refused(`level "deep" is not one of shrunk, frozen, reclaimed`, "-suspend", id, "-level", "deep")
	for _, breath := range []string{"1s", "0", "-5s", "25h", "45", "often", "NEVER"} {
		refused(`breathe "`+breath+`" is neither never nor a duration from 5s to 24h, such as 45s`, "-suspend", id, "-breathe", breath)
	}
	for _, mb := range []string{"0", "1", "63"} {
		refused(`can't hold `+mb+` MB: 64 MB are the least that a container is left`, "-suspend", id, "-level", "shrunk", "-hold", "memory-mb="+mb)
	}
	for _, option := range []string{"hold", "level", "breathe"} {
		refused(option+` is empty: give it a value, or leave it out`, "-suspend", id, "-"+option, "")
	}
	a.withoutStep()
	for _, all := range []string{"memory-mb=256,vcores=3", "memory-mb=256", "vcores=3"} {
		refused(`can't be shrunk by nothing: it holds <memory:256, vCores:3> now, say how much it is to keep`, "-suspend", id, "-level", "shrunk", "-hold", all)
	}
	refused(`can't hold <memory:256, vCores:4>: it holds <memory:256, vCores:3>`, "-suspend", id, "-level", "shrunk", "-hold", "vcores=4")
	refused(`no resource type "gpus"`, "-suspend", id, "-hold", "gpus=1")
	refused(`"much"`, "-suspend", id, "-hold", "much")
	refused(`"memory-mb=lots"|"lots"`, "-suspend", id, "-hold", "memory-mb=lots")
	refused(`level "running" is not one of shrunk`, "-suspend", id, "-level", "running")
	refused(`doesn't exist`, "-suspend", strings.TrimSuffix(id, "2")+"9")
	refused(`invalid container id "container_7"`, "-suspend", "container_7")

	refused(`can't hold <memory:-1, vCores:3>|"memory-mb=-1"`, "-suspend", id, "-level", "shrunk", "-hold", "memory-mb=-1")
	does("runs already: it was not suspended", "-resume", id)
	a.unchanged(id)
	for request, says := range map[string]string{
		"/containers/" + leads + "/suspend?user.name=root":                                           "which would count as dead",
		"/containers/" + id + "/suspend?user.name=mallory":                                           "User mallory may not suspend container " + id + " of user root",
		"/containers/" + id + "/suspend":                                                             "User dr.who may not suspend",
		"/containers/" + id + "/resume?user.name=mallory":                                            "User mallory may not resume container " + id + " of user root",
		"/containers/" + id + "/suspend?level=deep&user.name=root":                                   `level \"deep\" is not one of shrunk, frozen, reclaimed`,
		"/containers/" + id + "/suspend?level=shrunk&hold=memory-mb%3D256,vcores%3D3&user.name=root": "can't be shrunk by nothing",
		"/containers/" + id + "/suspend?hold=memory-mb%3D63&user.name=root":                          "63 ",
	} {
		if status, text := a.ask(http.MethodPost, "/ws/v1/heddle"+request); status < 400 || status > 499 || !strings.Contains(text, says) {
			t.Errorf("%s: %d, want %q: %s", request, status, says, text)
		}
	}
	a.unchanged(id)
	does("is suspended", "-suspend", id, "-level", "frozen", "-breathe", "never")
	m.heard("it is suspended", func(*client.Allocation) bool { return slices.Contains(m.suspended, wide) })
	refused(`is frozen already for \d+ s, by user root: resume it first`, "-suspend", id)
	if out, _ := try("root", "-listSuspended"); !strings.Contains(out, "containers :1\n") || !strings.Contains(out, id) || !strings.Contains(out, "FROZEN") {
		t.Errorf("listed:\n%s", out)
	}
	if out, _ := try("mallory", "-listSuspended"); strings.Contains(out, id) {
		t.Errorf("another user sees:\n%s", out)
	}
	for query, want := range map[string]int{"": http.StatusUnauthorized, "&user.name=mallory": http.StatusOK} {
		if status, text := a.ask(http.MethodGet, "/ws/v1/heddle/containers?suspended=true"+query); status != want || want != http.StatusOK && !strings.Contains(text, "1 containers are hidden") {
			t.Errorf("listed for %q: %d, want %d: %s", query, status, want, text)
		}
	}
	if status, text := a.ask(http.MethodPost, "/ws/v1/heddle/containers/"+id+"/suspend?user.name=root"); status != http.StatusBadRequest || !strings.Contains(text, "is frozen already") {
		t.Errorf("suspended twice: %d: %s", status, text)
	}
	other := m.container(2)
	refused(`can't resume: it holds <memory:256, vCores:0> of <memory:256, vCores:3>, and node \S+ has <memory:\d+, vCores:2> free`, "-resume", id)
	if len(m.resumed) > 0 {
		t.Errorf("heard that %v resume", m.resumed)
	}
	m.Release(other)
	m.heard("the other one is gone", func(got *client.Allocation) bool { return len(got.Completed) > 0 })
	await.Slowly(t, "there is room", func() bool {
		_, ok := try("root", "-resume", id)
		return ok
	})
	m.heard("it resumes", func(*client.Allocation) bool { return slices.Contains(m.resumed, wide) })
	does("Total number of suspended containers :0", "-listSuspended")
	m.Release(wide)
	m.heard("it is gone", func(got *client.Allocation) bool { return len(got.Completed) > 0 })
	refused(`doesn't exist, or has ended`, "-suspend", id)
}

// byHand is a cluster whose containers people suspend.
type byHand struct{ *alone }

func (a byHand) try(user string, args ...string) (string, bool) {
	cmd := a.command("container", append(slices.Clone(a.set), args...)...)
	cmd.Env = append(cmd.Env, "HADOOP_USER_NAME="+user)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func (a byHand) refused(why string, args ...string) {
	a.t.Helper()
	if out, ok := a.try("root", args...); ok || !regexp.MustCompile(why).MatchString(out) {
		a.t.Errorf("heddle container %v: succeeded %v, want %q:\n%s", args, ok, why, out)
	}
}

func (a byHand) does(says string, args ...string) {
	a.t.Helper()
	if out, ok := a.try("root", args...); !ok || !strings.Contains(out, says) {
		a.t.Fatalf("heddle container %v: succeeded %v, want %q:\n%s", args, ok, says, out)
	}
}

// withoutStep has a daemon be refused whose preemption would take nothing of containers at a time.
func (a byHand) withoutStep() {
	a.t.Helper()
	for _, key := range []string{"step", "unit.memory-mb", "unit.vcores"} {
		key = "heddle.scheduler.preemption." + key
		ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, heddle, append([]string{"standalone", "-D", key + "=0"}, a.set...)...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), key+` = "0": must be an integer from 1 to `) {
			a.t.Errorf("%v:\n%s", err, out)
		}
	}
}

// unchanged expects that a container has never been suspended, and that nothing is under way.
func (a byHand) unchanged(id string) {
	a.t.Helper()
	status, text := a.ask(http.MethodGet, "/ws/v1/heddle/containers/"+id+"?user.name=root")
	if status != http.StatusOK || !strings.Contains(text, `"level":"RUNNING"`) || strings.Contains(text, `"suspension"`) {
		a.t.Errorf("%d: %s", status, text)
	}
}

// notBegun has containers that have not begun be suspended: one that was granted and not started, and one whose files are still localized, as the
// NameNode that has them says nothing.
func (a byHand) notBegun(m *master) {
	a.t.Helper()
	silent := must2(net.Listen("tcp", "127.0.0.1:0"))
	defer silent.Close()
	must2(m.Request(am.Request{Resource: records.NewResource(256, 1), Count: 2}))
	var list []client.Container
	m.heard("two containers", func(got *client.Allocation) bool {
		list = append(list, got.Containers...)
		return len(list) == 2
	})
	granted, localizing := list[0].ID.String(), &list[1]
	waits := am.Launch{Command: []string{"sleep 600"}, Resources: map[string]client.Resource{
		"x": {URL: "hdfs://" + silent.Addr().String() + "/x", Size: 1, ModTime: 1, Type: client.File, Visibility: client.Application},
	}}
	must2(m.nodes.Start(m.t.Context(), localizing, must2(waits.PB())))
	a.refused(`Container `+granted+` has not been started by its ApplicationMaster yet: suspend it when it runs`, "-suspend", granted)
	a.refused(`Container `+granted+` has not been started by its ApplicationMaster yet: there is nothing to resume`, "-resume", granted)
	id := localizing.ID.String()
	await.Slowly(m.t, "its node has told of it", func() bool {
		out, ok := a.try("root", "-suspend", id)
		return !ok && strings.Contains(out, "is localizing its files, or has it wait for room: suspend it when it runs")
	})
	a.refused(`Container `+id+` has not begun yet, as node .*: there is nothing to resume`, "-resume", id)
	a.unchanged(id)
	a.unchanged(granted)
	m.Release(list[0].ID, list[1].ID)
	m.heard("they are gone", func(got *client.Allocation) bool { return len(got.Completed) > 0 })
}
