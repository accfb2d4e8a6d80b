package faults

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/integration/peer"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

func TestBadInput(t *testing.T) {
	c := start(t, hadooplab.Options{NodeManagers: 1, Site: map[string]string{"yarn.scheduler.maximum-allocation-mb": "4096"}})
	rm, nm := c.Daemon("resourcemanager").PID(), c.Daemon("nodemanager1").PID()
	t.Run("Submissions", func(t *testing.T) { c.with(t).submissions() })
	t.Run("REST", func(t *testing.T) { c.with(t).restSubmissions() })
	t.Run("Garbage", func(t *testing.T) { c.with(t).garbage() })
	t.Run("Environment", func(t *testing.T) { c.with(t).environment() })
	t.Run("Daemons", func(t *testing.T) { c.with(t).daemons() })
	if c.Daemon("resourcemanager").PID() != rm || c.Daemon("nodemanager1").PID() != nm {
		t.Error("a daemon is not what it was")
	}
	for _, pid := range []int{rm, nm} {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
			t.Errorf("process %d: %v", pid, err)
		}
	}
}

// submissions that make no sense are refused, with the reason; those that stock YARN takes are taken.
func (c *cluster) submissions() {
	type change = func(*pb.ApplicationSubmissionContext)
	alice := c.as("alice")
	for what, w := range map[string]struct {
		change      change
		class, text string
	}{
		"too much memory":     {func(x *pb.ApplicationSubmissionContext) { x.SetResource(resource(1<<20, 1)) }, ipc.InvalidResourceRequest, "greater than maximum allowed allocation. Requested resource type=[memory-mb]"},
		"too many vcores":     {func(x *pb.ApplicationSubmissionContext) { x.SetResource(resource(128, 100000)) }, ipc.InvalidResourceRequest, "greater than maximum allowed allocation. Requested resource type=[vcores]"},
		"less than no memory": {func(x *pb.ApplicationSubmissionContext) { x.SetResource(resource(-1, 1)) }, ipc.InvalidResourceRequest, "requested resource is less than 0! Requested resource type=[memory-mb]"},
		"the least there is":  {func(x *pb.ApplicationSubmissionContext) { x.SetResource(resource(-1<<63, -1<<31)) }, ipc.InvalidResourceRequest, "less than 0!"},
		"the most there is":   {func(x *pb.ApplicationSubmissionContext) { x.SetResource(resource(1<<63-1, 1<<31-1)) }, ipc.InvalidResourceRequest, "greater than maximum allowed allocation"},
		"a resource that there isn't": {func(x *pb.ApplicationSubmissionContext) {
			i := &pb.ResourceInformation{}
			i.SetKey("yarn.io/unicorn")
			i.SetValue(1)
			r := resource(128, 1)
			r.SetResourceValueMap([]*pb.ResourceInformation{i})
			x.SetResource(r)
		}, "", "unicorn"},
		"a long tag":          {func(x *pb.ApplicationSubmissionContext) { x.SetApplicationTags([]string{strings.Repeat("x", 101)}) }, ipc.YarnException, "is too long, maximum allowed length of a tag is 100"},
		"a tag for terminals": {func(x *pb.ApplicationSubmissionContext) { x.SetApplicationTags([]string{"a\x1b[2J"}) }, ipc.YarnException, "java.lang.IllegalArgumentException: A tag can only have ASCII characters! Invalid tag - a\x1b[2J"},
		"an odd tag":          {func(x *pb.ApplicationSubmissionContext) { x.SetApplicationTags([]string{"größe"}) }, ipc.YarnException, "java.lang.IllegalArgumentException: A tag can only have ASCII characters! Invalid tag - größe"},
		"tags galore": {func(x *pb.ApplicationSubmissionContext) {
			x.SetApplicationTags(strings.Split("abcdefghijk", ""))
		}, ipc.YarnException, "java.lang.IllegalArgumentException: Too many applicationTags, a maximum of only 10 are allowed!"},
		"no id":       {func(x *pb.ApplicationSubmissionContext) { x.ClearApplicationId() }, ipc.ApplicationIDNotProvided, ""},
		"an empty id": {func(x *pb.ApplicationSubmissionContext) { x.SetApplicationId(&pb.ApplicationId{}) }, ipc.ApplicationIDNotProvided, ""},
	} {
		if !onHeddle && (strings.HasSuffix(what, " id") || strings.HasPrefix(what, "a resource") || strings.HasSuffix(what, "there is")) {
			continue // Hadoop has a NullPointerException for them, other words, or its client looks first
		}
		ctx := c.submission("alice", "true")
		w.change(ctx)
		ctx.SetUnmanagedAm(false)
		req := peer.Submission(ctx)
		if w.class == "" {
			if _, err := protocol.SubmitApplication.Call(c.t.Context(), alice, req); err == nil || !strings.Contains(err.Error(), w.text) {
				c.t.Errorf("%s: %v", what, err)
			}
			continue
		}
		refused(c, what, protocol.SubmitApplication, alice, req, w.class, w.text)
		if ctx.HasApplicationId() && ctx.GetApplicationId().GetId() > 0 {
			refused(c, what+", afterwards", protocol.GetApplicationReport, alice, reportRequest(records.ApplicationIDFrom(ctx.GetApplicationId())), ipc.ApplicationNotFound, "doesn't exist in RM")
		}
	}

	// taken, whatever they are called
	odd := c.unmanaged("alice", func(x *pb.ApplicationSubmissionContext) {
		x.SetApplicationName("<script>alert(1)</script>\u202e\n" + strings.Repeat("n", 100000))
		x.SetApplicationType(strings.Repeat("T", 1000))
		p := &pb.Priority{}
		p.SetPriority(1<<31 - 1)
		x.SetPriority(p)
		x.SetMaxAppAttempts(-5)
	})
	if p := c.report("alice", odd.id).GetPriority().GetPriority(); p != 0 { // yarn.cluster.max-application-priority
		c.t.Errorf("priority %d", p)
	}
	if status, _ := c.rest(http.MethodGet, "/ws/v1/cluster/apps/"+odd.id.String(), ""); status != http.StatusOK {
		c.t.Errorf("over REST: %d", status)
	}
	if _, page := c.rest(http.MethodGet, "/cluster/app/"+odd.id.String(), ""); strings.Contains(page, "<script>alert") {
		c.t.Error("its name is a script in the page")
	}

	// The same again is no mistake, as clients do so when they didn't hear the answer. Another user's is one; Hadoop answers it with success.
	again := c.submission("alice")
	again.SetApplicationId(odd.id.PB())
	repeat := func() {
		call(c, protocol.SubmitApplication, alice, peer.Submission(again))
		if onHeddle {
			refused(c, "another user's id", protocol.SubmitApplication, c.as("mallory"), peer.Submission(again), ipc.YarnException, "another user has submitted an application with that id")
		}
	}
	repeat()
	if r := c.report("alice", odd.id); r.GetUser() != "alice" {
		c.t.Errorf("now it is %s's", r.GetUser())
	}
	c.kill("alice", odd.id)
	repeat()
	if r := c.report("alice", odd.id); r.GetUser() != "alice" || r.GetYarnApplicationState() != pb.YarnApplicationState_KILLED {
		c.t.Errorf("after its end it is taken up again: %v", r)
	}

	unknown := c.submission("alice")
	unknown.SetQueue("nowhere")
	id := c.submit("alice", unknown)
	if r := c.ended("alice", id); r.GetYarnApplicationState() != pb.YarnApplicationState_FAILED || !strings.Contains(r.GetDiagnostics(), "submitted by user alice to unknown queue: nowhere") {
		c.t.Errorf("an unknown queue: %v: %s", r.GetYarnApplicationState(), r.GetDiagnostics())
	}
}

func (c *cluster) restSubmissions() {
	const apps = "/ws/v1/cluster/apps?user.name=alice"
	post := func(kind, body string) (int, string) {
		req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, fmt.Sprintf("http://localhost:%d%s", c.Port("rm-http"), apps), strings.NewReader(body))
		if err != nil {
			c.t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		return c.send(req)
	}
	const js, xm = "application/json", "application/xml"
	deep := strings.Repeat(`{"am-container-spec":`, 100000)
	for what, w := range map[string]struct{ kind, body string }{
		"nothing":              {js, ""},
		"half a JSON":          {js, `{"application-id":"application_1_1","am-con`},
		"not JSON":             {js, "\x00\xff\xfe"},
		"depths":               {js, deep},
		"a list":               {js, `[1,2,3]`},
		"an id that isn't one": {js, `{"application-id":"job_17","am-container-spec":{}}`},
		"an id like a path":    {js, `{"application-id":"../../etc/passwd","am-container-spec":{}}`},
		"half an XML":          {xm, `<application-submission-context><application-id>application_1_1</app`},
		"an XML entity":        {xm, `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><application-submission-context><application-id>&f;</application-id></application-submission-context>`},
		"an XML bomb":          {xm, `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><application-submission-context><application-name>&b;</application-name></application-submission-context>`},
		"no kind of text":      {"text/plain", "hello"},
	} {
		if !onHeddle && what == "depths" {
			continue
		}
		status, text := post(w.kind, w.body)
		if status < 400 || onHeddle && status >= 500 || strings.Contains(text, "root:x:0") {
			c.t.Errorf("%s: %d %.300s", what, status, text)
		}
	}
}

// garbage on every port hurts nobody but who sends it.
func (c *cluster) garbage() {
	ports := map[string]int{}
	for _, name := range []string{"rm", "rm-scheduler", "rm-tracker", "rm-admin", "rm-http", "nodemanager1-http"} {
		ports[name] = c.Port(name)
	}
	nodes := call(c, protocol.GetClusterNodes, c.as("alice"), &pb.GetClusterNodesRequest{}).GetNodeReports()
	ports["node"] = int(nodes[0].GetNodeId().GetPort())
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 64<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	hello := []byte("hrpc\x09\x00\x00")
	frame := func(n uint32, b []byte) []byte {
		return append(append(append([]byte{}, hello...), binary.BigEndian.AppendUint32(nil, n)...), b...)
	}
	for name, port := range ports {
		for what, b := range map[string][]byte{
			"noise":               noise,
			"a greeting":          hello,
			"noise after it":      append(append([]byte{}, hello...), noise...),
			"a huge frame":        frame(1<<31-1, noise),
			"a frame below zero":  frame(1<<32-1, noise),
			"an empty frame":      frame(0, nil),
			"a frame of noise":    frame(1000, noise[:1000]),
			"half a frame":        frame(1<<20, noise[:100]),
			"lengths that run on": frame(12, bytes.Repeat([]byte{0xff}, 12)),
			"a request of HTTP":   []byte("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"),
		} {
			conn, err := net.Dial("tcp", fmt.Sprintf("localhost:%d", port))
			if err != nil {
				c.t.Fatalf("%s before %s: %v", name, what, err)
			}
			conn.SetDeadline(time.Now().Add(200 * time.Millisecond)) // half a frame is waited for; that is not this test's
			conn.Write(b)
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}
	call(c, protocol.GetNewApplication, c.fresh().as("alice"), &pb.GetNewApplicationRequest{})
	m := c.unmanaged("alice", nil)
	box := m.containers(1)[0]
	id := records.ContainerIDFrom(box.GetId())
	call(c, protocol.StartContainers, m.Node(box), launch(tokenOf(box), "exit 5"))
	if st := m.Ended(id); st.GetExitStatus() != 5 {
		c.t.Errorf("a container, afterwards: %v", st)
	}
	m.Finish()
}

// ApplicationMasters that never register are ended, one after the other, and what they are is gone. Nothing else shares
// their cluster: on a busy machine it may be more than three seconds until one that means to register does.
func TestSilentMasters(t *testing.T) {
	t.Parallel() // it mostly waits
	c := start(t, hadooplab.Options{NodeManagers: 1, Site: map[string]string{
		"yarn.am.liveness-monitor.expiry-interval-ms": "3000",
		"yarn.resourcemanager.am.max-attempts":        "2",
	}})
	const mark = "86421"
	ctx := c.submission("alice", "sleep "+mark)
	ctx.SetMaxAppAttempts(2)
	id := c.submit("alice", ctx)
	r := c.ended("alice", id)
	want := fmt.Sprintf("Application %v failed 2 times due to ApplicationMaster for attempt %v timed out. Failing the application.",
		id, records.AttemptID{App: id, Attempt: 2})
	if r.GetYarnApplicationState() != pb.YarnApplicationState_FAILED || r.GetFinalApplicationStatus() != pb.FinalApplicationStatus_APP_FAILED || !strings.Contains(r.GetDiagnostics(), want) {
		c.t.Errorf("%v, %v:\n got %s\nwant %s", r.GetYarnApplicationState(), r.GetFinalApplicationStatus(), r.GetDiagnostics(), want)
	}
	await.Slowly(c.t, "its processes are gone", func() bool { return len(c.processes(mark)) == 0 })
	list := &pb.GetApplicationAttemptsRequest{}
	list.SetApplicationId(id.PB())
	if n := len(call(c, protocol.GetApplicationAttempts, c.as("alice"), list).GetApplicationAttempts()); n != 2 {
		c.t.Errorf("%d attempts", n)
	}
}

// environment: more of it than the kernel takes is the application's failure, and nobody else's.
func (c *cluster) environment() {
	with := func(bytes int) *pb.ApplicationSubmissionContext {
		ctx := c.submission("alice", "echo reached")
		e := &pb.StringStringMap{}
		e.SetKey("BIG")
		e.SetValue(strings.Repeat("0123456789", bytes/10))
		ctx.GetAmContainerSpec().SetEnvironment([]*pb.StringStringMap{e})
		return ctx
	}
	if onHeddle { // Hadoop takes what its RPC takes
		refused(c, "more than the log takes", protocol.SubmitApplication, c.as("alice"), peer.Submission(with(10<<20)), ipc.YarnException,
			"and may have 983040. Put large content into files (local resources)")
	}
	big := with(512 << 10) // the kernel takes 128 KiB
	id := c.submit("alice", big)
	r := c.ended("alice", id)
	if r.GetYarnApplicationState() != pb.YarnApplicationState_FAILED || !strings.Contains(r.GetDiagnostics(), "Argument list too long") {
		c.t.Errorf("%v: %.2000s", r.GetYarnApplicationState(), r.GetDiagnostics())
	}
	if n := len(r.GetDiagnostics()); n > 100<<10 {
		c.t.Errorf("diagnostics of %d bytes", n)
	}

	// a name that the shell takes for none
	odd := c.submission("alice", "true")
	e := &pb.StringStringMap{}
	e.SetValue("empty")
	odd.GetAmContainerSpec().SetEnvironment([]*pb.StringStringMap{e})
	id = c.submit("alice", odd)
	if d := c.ended("alice", id).GetDiagnostics(); !strings.Contains(d, "exitCode: 1\n") || !strings.Contains(d, "export: `=empty': not a valid identifier") {
		c.t.Errorf("a name that is none: %s", d)
	}
}

// Tokens that nobody used, or renewed, in time. They have a cluster of their own, as others mean to use theirs.
func TestExpiry(t *testing.T) {
	t.Parallel() // it mostly waits
	c := start(t, hadooplab.Options{NodeManagers: 1, Site: map[string]string{
		"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "10000",
		"yarn.resourcemanager.delegation.token.renew-interval":            "10000",
	}})
	get := &pb.GetDelegationTokenRequest{}
	get.SetRenewer("oozie")
	delegation := token.FromPB(call(c, protocol.GetDelegationToken, c.as("alice"), get).GetToken())
	m := c.unmanaged("alice", nil)
	box := m.containers(1)[0]
	id := records.ContainerIDFrom(box.GetId())
	if st := m.Ended(id); st.GetExitStatus() != records.ExitAborted || !strings.Contains(st.GetDiagnostics(), "Container expired since it was unused") {
		c.t.Errorf("a container that was never started: %v", st)
	}
	await.Slowly(c.t, "its token has expired", func() bool {
		failed := call(c, protocol.StartContainers, m.Node(box), launch(tokenOf(box), "sleep 86424")).GetFailedRequests()
		return len(failed) == 1 && strings.Contains(failed[0].GetException().GetMessage(), "This token is expired. current time is")
	})
	await.Slowly(c.t, "nothing runs of it", func() bool { return len(c.processes("86424")) == 0 })
	await.Slowly(c.t, "the delegation token has expired", func() bool {
		_, err := protocol.GetNewApplication.Call(c.t.Context(), c.fresh().bearing(delegation), &pb.GetNewApplicationRequest{})
		return ipc.IsClass(err, ipc.InvalidToken)
	})
	m.Finish()
}

// daemons that a container has left behind end with it, whatever they have done to get away.
func (c *cluster) daemons() {
	m := c.unmanaged("alice", nil)
	box := m.containers(1)[0]
	id := records.ContainerIDFrom(box.GetId())
	const mark = "86422"
	script := "setsid sleep " + mark + " </dev/null >/dev/null 2>&1 & (nohup setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep " + mark + "; done' >/dev/null 2>&1 &) ; sleep 0.3; exit 9"
	if f := call(c, protocol.StartContainers, m.Node(box), launch(tokenOf(box), script)).GetFailedRequests(); len(f) > 0 {
		c.t.Fatal(f)
	}
	if st := m.Ended(id); st.GetExitStatus() != 9 {
		c.t.Errorf("exit status: %v", st)
	}
	if onHeddle { // Hadoop's DefaultContainerExecutor leaves them
		await.Slowly(c.t, "what it has left behind is gone", func() bool { return len(c.processes(mark)) == 0 })
	}
	m.Finish()
}

// processes are those of this lab whose command line has a mark.
func (c *cluster) processes(mark string) (pids []string) {
	c.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range lines {
		b, err := os.ReadFile(name)
		if err == nil && bytes.Contains(b, []byte(mark)) {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}
