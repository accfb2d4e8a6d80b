package nm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/internal/hostile"
	"heddle/nm/proc"
	"heddle/nm/runas"
	"heddle/yarn/account"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// mostMemory is what a NodeManager may have used at most, in bytes, whatever its users do. An idle one uses less than 100 MB.
const mostMemory = 400 << 20

// begins starts a container of a user's.
func (p *nodeProcess) begins(user string, id records.ContainerID, command string) {
	p.t.Helper()
	r := &pb.StartContainerRequest{}
	r.SetContainerLaunchContext(launchContext(command))
	r.SetContainerToken(p.grant(id, func(m *pb.ContainerTokenIdentifier) { m.SetAppSubmitter(user) }))
	who := p.as(id.Attempt, func(n *token.NM) { n.Submitter = user })
	resp, err := protocol.StartContainers.Call(p.t.Context(), who, startRequest(r))
	if err != nil || len(resp.GetSucceededRequests()) != 1 {
		p.t.Fatalf("%v, %v", resp, err)
	}
}

// small fails the test if the NodeManager has used much memory.
func (p *nodeProcess) small(when string) {
	p.t.Helper()
	peak, err := proc.PeakMemory(p.cmd.Process.Pid)
	if err != nil || peak > mostMemory {
		p.t.Errorf("%s the NodeManager has used %d MB, %v", when, peak>>20, err)
	}
	p.t.Logf("%s the NodeManager has used %d MB", when, peak>>20)
}

// A user's processes have gigabytes of environment and command line, and claim to belong to another user's container; that user's container takes the
// descriptors of its keeper, and makes the files 4 TB long. The NodeManager of real users stays small, is killed and comes back, and the other user's
// container goes on. This is for a machine that nobody else needs: integration/vm runs it, with the folder of the programs in a variable.
func TestOnAMachineOfItsOwn(t *testing.T) {
	dir := os.Getenv(attackers)
	if dir == "" {
		return
	}
	for _, kind := range []string{"auto", "none"} {
		t.Run(kind, func(t *testing.T) { attack(t, dir, kind) })
	}
}

func attack(t *testing.T, programs, kind string) {
	p := newProcess(t)
	p.set = append(p.set,
		"yarn.nodemanager.container-executor.class="+linuxExecutor, "heddle.cgroup.kind="+kind,
		"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users=false", runas.AllowedKey+"="+mallory+","+victim,
		"yarn.nodemanager.vmem-check-enabled=true", "yarn.nodemanager.container-monitor.interval-ms=500")
	for _, dir := range []string{p.dir, filepath.Dir(p.dir)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	shared := filepath.Join(p.dir, "shared")
	if err := os.Mkdir(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	p.launch()
	bystander, thief, giant, late := containerID(1, 1), containerID(2, 1), containerID(2, 2), containerID(3, 1)
	p.begins(victim, bystander, "echo $$ > "+shared+"/pid; while :; do echo >> "+shared+"/count; sleep 0.1; done")
	living := p.pid("shared/pid")
	goesOn := func(what string) {
		t.Helper()
		before := size(t, shared+"/count")
		await.Until(t, "the other user's container goes on "+what, func() bool { return size(t, shared+"/count") > before+2 })
	}
	goesOn("at first")
	for _, claim := range []records.ContainerID{bystander, late} {
		cmd := exec.Command(programs+"/endless", "64")
		cmd.Env = []string{"CONTAINER_ID=" + claim.String()}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credentialOf(t, mallory)}
		hostile.Start(t, cmd)
	}
	p.begins(mallory, thief, programs+"/thief $PPID > "+shared+"/taken 2>&1; sleep 1000")
	await.Until(t, "the theft", func() bool { return strings.Contains(text(shared+"/taken"), "taken\n") })
	if got := text(shared + "/taken"); got != "0 taken\n" {
		t.Errorf("of the keeper: %s", got)
	}
	// More address space than it may use: its processes are listed with their command lines.
	p.begins(mallory, giant, programs+"/endless 64 & "+programs+"/endless 64")
	if code, why := p.exit(giant); code != records.ExitKilledExceededVMem || len(why) > 64<<10 {
		t.Errorf("exit code %d, %d bytes of diagnostics", code, len(why))
	}
	p.small("when processes were listed,")
	goesOn("when another container was killed")
	// What the keeper's protection kept it from doing.
	for _, name := range []string{"status", "output"} {
		found, err := filepath.Glob(p.dir + "/nm-local-dir/nmPrivate/*/" + thief.String() + "/" + name)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %q, %v", name, found, err)
		}
		if err := os.Truncate(found[0], 4<<40); err != nil {
			t.Fatal(err)
		}
	}
	p.kill()
	p.launch()
	p.small("after its restart")
	goesOn("after the restart")
	if !alive(living) {
		t.Error("it was started anew")
	}
	p.begins(victim, late, "exit 4")
	if code, why := p.exit(late); code != 4 {
		t.Errorf("exit code %d, %s", code, why)
	}
	end := func(id records.ContainerID, user string) {
		t.Helper()
		m := &pb.StopContainersRequest{}
		m.SetContainerId(ids(id))
		if _, err := protocol.StopContainers.Call(t.Context(), p.as(id.Attempt, func(n *token.NM) { n.Submitter = user }), m); err != nil {
			t.Fatal(err)
		}
		p.exit(id)
	}
	end(thief, mallory)
	end(bystander, victim)
	p.small("at last")
}

func credentialOf(t *testing.T, user string) *syscall.Credential {
	t.Helper()
	a, err := account.System.Lookup(user)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}
}

func text(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

// An ended container's id was forgotten when the NodeManager was restarted: a start that was sent once more ran it again.
func TestAReplayedStartAfterARestartIsRefused(t *testing.T) {
	p := newProcess(t)
	p.launch()
	id := containerID(1, 1)
	r := p.request(id, "echo >> "+p.dir+"/runs; exit 0")
	start := func() *pb.StartContainersResponse {
		t.Helper()
		resp, err := protocol.StartContainers.Call(t.Context(), p.as(id.Attempt), startRequest(r))
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if resp := start(); len(resp.GetSucceededRequests()) != 1 {
		t.Fatal(resp)
	}
	p.exit(id)
	for range 2 {
		// said again after the restart, as by a ResourceManager: a node that is killed may not have written down that it has forgotten
		p.rm.reply(func(m *pb.NodeHeartbeatResponse) { m.SetContainersToBeRemovedFromNm(ids(id)) })
		await.Until(t, "the node forgets the container", func() bool {
			resp, err := protocol.GetContainerStatuses.Call(t.Context(), p.as(id.Attempt), statusesOf(id))
			return err == nil && len(resp.GetFailedRequests()) == 1 && strings.Contains(fmt.Sprint(resp), "was recently stopped on node manager.")
		})
		resp := start()
		failed := resp.GetFailedRequests()
		want := "Unauthorized request to start container.\n Attempt to relaunch the same container with id " + id.String() + "."
		if len(failed) != 1 || failed[0].GetException().GetMessage() != want {
			t.Errorf("%v, want %q", resp, want)
		}
		p.kill()
		p.launch()
	}
	if n := size(t, p.dir+"/runs"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

func statusesOf(id records.ContainerID) *pb.GetContainerStatusesRequest {
	m := &pb.GetContainerStatusesRequest{}
	m.SetContainerId(ids(id))
	return m
}
