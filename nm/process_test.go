package nm

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/needs"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// binary is the path of heddle, which is built for the first test that asks.
var binary = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(attackers); dir != "" {
		return filepath.Join(dir, "heddle"), nil
	}
	dir, err := os.MkdirTemp("", "heddle-nm-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "heddle")
	return path, build(path)
})

func build(path string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "heddle/cmd/heddle")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// nodeProcess is a NodeManager as a process of its own, with the surroundings of a lab.
type nodeProcess struct {
	*lab
	program string // "": what binary returns
	cmd     *exec.Cmd
	log     bytes.Buffer
	done    chan error
}

// newProcess describes a node; launch starts it. Its cgroups have a parent of their own, which is to vanish with them.
func newProcess(t *testing.T, set ...string) *nodeProcess {
	t.Helper()
	l := newLab(t, set...)
	root := "/heddle-test-" + strconv.Itoa(os.Getpid()) + "-" + strings.ReplaceAll(t.Name(), "/", "-")
	// Without a configuration folder a node of root's would run containers as nobody, who can't reach the test's folders.
	l.set = append(l.set, "heddle.cgroup.root="+root,
		"yarn.nodemanager.container-executor.class=org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor")
	t.Cleanup(func() {
		if found, err := filepath.Glob("/sys/fs/cgroup/*" + root); err != nil || len(found) > 0 {
			t.Errorf("cgroups are left: %q, %v", found, err)
		}
		if found, err := filepath.Glob("/sys/fs/cgroup" + root); err != nil || len(found) > 0 {
			t.Errorf("cgroups are left: %q, %v", found, err)
		}
	})
	p := &nodeProcess{lab: l}
	t.Cleanup(func() {
		if p.cmd != nil {
			p.stop()
		}
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	return p
}

func (p *nodeProcess) args() []string {
	args := []string{"nm"}
	for _, s := range p.settings() {
		args = append(args, "-D", s)
	}
	return args
}

// launch starts the process and returns when it is registered.
func (p *nodeProcess) launch() {
	p.t.Helper()
	path := p.program
	if path == "" {
		var err error
		if path, err = binary(); err != nil {
			p.t.Fatal(err)
		}
	}
	before := len(p.rm.registrations())
	p.cmd = exec.Command(path, p.args()...)
	p.cmd.Dir = "/"
	p.cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR=")
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.WaitDelay = time.Minute // none but what outlives it in error holds its output open
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.done = make(chan error, 1)
	go func(cmd *exec.Cmd) { p.done <- cmd.Wait() }(p.cmd)
	await.Until(p.t, "registration", func() bool {
		select {
		case err := <-p.done:
			p.t.Fatalf("it ended: %v\n%s", err, &p.log)
		default:
		}
		return len(p.rm.registrations()) > before
	})
	p.rm.mu.Lock()
	beats := len(p.rm.beats)
	p.rm.mu.Unlock()
	p.rm.seen("a heartbeat", func(b []*pb.NodeHeartbeatRequest) bool { return len(b) > beats })
	all := p.rm.registrations()
	p.id = records.NodeIDFrom(all[len(all)-1].GetNodeId())
}

// end sends a signal and returns what the process ends with.
func (p *nodeProcess) end(s os.Signal) error {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	p.cmd = nil
	select {
	case err := <-p.done:
		return err
	case <-time.After(time.Minute):
		p.t.Fatal("the process doesn't end")
		return nil
	}
}

// kill ends the process as a crash would.
func (p *nodeProcess) kill() {
	p.t.Helper()
	var exit *exec.ExitError
	if err := p.end(syscall.SIGKILL); !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
}

// stop ends the process as an administrator would.
func (p *nodeProcess) stop() {
	p.t.Helper()
	if err := p.end(syscall.SIGTERM); err != nil {
		p.t.Errorf("the process ended with %v", err)
	}
}

// begin starts a container.
func (p *nodeProcess) begin(id records.ContainerID, command string) {
	p.t.Helper()
	resp, err := protocol.StartContainers.Call(p.t.Context(), p.as(id.Attempt), startRequest(p.request(id, command)))
	if err != nil || len(resp.GetSucceededRequests()) != 1 {
		p.t.Fatalf("%v, %v", resp, err)
	}
}

func (p *nodeProcess) touch(name string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// pid reads a number that a container has written.
func (p *nodeProcess) pid(name string) int {
	p.t.Helper()
	var n int
	await.Until(p.t, name, func() bool {
		b, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			return false
		}
		n, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	return n
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// exit waits until the ResourceManager has been told of a container's end, by a heartbeat or a registration.
func (p *nodeProcess) exit(id records.ContainerID) (code int32, diagnostics string) {
	p.t.Helper()
	p.rm.seen("the end of "+id.String(), func(beats []*pb.NodeHeartbeatRequest) bool {
		for _, b := range beats {
			if s := status(b, id); s.GetState() == pb.ContainerState_C_COMPLETE {
				code, diagnostics = s.GetExitStatus(), s.GetDiagnostics()
				return true
			}
		}
		for _, r := range p.rm.registered { // the lock is held
			for _, s := range r.GetContainerStatuses() {
				if records.ContainerIDFrom(s.GetContainerId()) == id && s.GetContainerState() == pb.ContainerState_C_COMPLETE {
					code, diagnostics = s.GetContainerExitStatus(), s.GetDiagnostics()
					return true
				}
			}
		}
		return false
	})
	return code, diagnostics
}

// daemonize is a program that starts a process which leaves session, group and parent, shares nothing with whom it was
// started by, and writes its pid to a file.
const daemonize = `import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        os.closerange(0, 64)
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
os.wait()
`

func TestAKilledProcess(t *testing.T) {
	p := newProcess(t)
	p.launch()
	node := p.id
	lives, ends, leaves, dies := containerID(1, 1), containerID(1, 2), containerID(1, 3), containerID(1, 4)
	wait := func(name string) string { return "while ! [ -e " + p.dir + "/" + name + " ]; do sleep 0.02; done" }
	p.begin(lives, "echo $$ > "+p.dir+"/lives; sleep 1000; :")
	p.begin(ends, "echo $$ > "+p.dir+"/ends; "+wait("end")+"; exit 3")
	if err := os.WriteFile(p.dir+"/daemonize.py", []byte(daemonize), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := needs.Program(t, "python3") + " " + p.dir + "/daemonize.py " + p.dir
	p.begin(leaves, daemon+"/daemon1; echo $$ > "+p.dir+"/leaves; "+wait("leave"))
	p.begin(dies, daemon+"/daemon2; echo $$ > "+p.dir+"/dies; sleep 1000; :")
	living, ending := p.pid("lives"), p.pid("ends")
	p.pid("leaves")
	p.pid("dies")
	daemon1, daemon2 := p.pid("daemon1"), p.pid("daemon2")

	p.kill()
	p.touch("end")
	p.touch("leave")
	await.Until(t, "an end without the NodeManager", func() bool { return !alive(ending) })
	for _, pid := range []int{living, daemon2} {
		if !alive(pid) {
			t.Errorf("process %d did not outlive the NodeManager", pid)
		}
	}
	p.launch()
	if p.id != node {
		t.Errorf("it came back as %s, was %s", p.id, node)
	}
	for _, s := range p.rm.registrations()[1].GetContainerStatuses() {
		if id := records.ContainerIDFrom(s.GetContainerId()); (id == lives || id == dies) && s.GetContainerState() != pb.ContainerState_C_RUNNING {
			t.Errorf("%s is %v", id, s)
		}
	}
	if code, _ := p.exit(ends); code != 3 {
		t.Errorf("exit code %d of one that ended meanwhile", code)
	}
	if code, _ := p.exit(leaves); code != 0 {
		t.Errorf("exit code %d of one that left a process behind", code)
	}
	await.Until(t, "the end of what was left behind", func() bool { return !alive(daemon1) })
	if !alive(living) || !alive(daemon2) {
		t.Error("a living container was not kept")
	}
	if _, err := protocol.StopContainers.Call(t.Context(), p.as(dies.Attempt), stopRequest(dies)); err != nil {
		t.Fatal(err)
	}
	if code, _ := p.exit(dies); code != records.ExitKilledByAppMaster {
		t.Errorf("exit code %d of one that was stopped", code)
	}
	await.Until(t, "the end of a process that had left its session", func() bool { return !alive(daemon2) })

	p.stop()
	if alive(living) {
		t.Error("a container has outlived a stop")
	}
	left, err := filepath.Glob(p.dir + "/nm-local-dir/usercache/ann/appcache/*")
	if err != nil || len(left) > 0 {
		t.Errorf("files are left: %q, %v", left, err)
	}
}

func TestStopWithoutAResourceManager(t *testing.T) {
	p := newProcess(t)
	p.launch()
	id := containerID(1, 1)
	p.begin(id, "echo $$ > "+p.dir+"/pid; sleep 1000; :")
	pid := p.pid("pid")
	p.rm.close()
	began := time.Now()
	p.stop() // complains about another exit code than 0
	if alive(pid) {
		t.Error("the container has outlived the stop")
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestTwoProcessesOfOneNode(t *testing.T) {
	p := newProcess(t, "heddle.node.id=twin")
	p.launch()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	second := exec.Command(path, p.args()...)
	second.Env = append(os.Environ(), "HADOOP_CONF_DIR=")
	out, err := second.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "nm-twin") ||
		!strings.Contains(string(out), fmt.Sprintf("in use by process %d", p.cmd.Process.Pid)) {
		t.Errorf("the second one: %v\n%s", err, out)
	}
	// with a folder of its own, but a port that is taken
	third := exec.Command(path, append(p.args(), "-D", "heddle.node.id=other", "-D", "yarn.nodemanager.address=localhost:"+strconv.Itoa(int(p.id.Port)))...)
	third.Env = append(os.Environ(), "HADOOP_CONF_DIR=")
	out, err = third.CombinedOutput()
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "yarn.nodemanager.address: listen tcp") {
		t.Errorf("the third one: %v\n%s", err, out)
	}
	c, err := net.Dial("tcp", p.id.String())
	if err != nil {
		t.Fatalf("the first one is harmed: %v", err)
	}
	c.Close()
}

func TestKillsOfAProcess(t *testing.T) {
	python := needs.Program(t, "python3")
	p := newProcess(t, "yarn.nodemanager.sleep-delay-before-sigkill.ms=300")
	p.launch()
	greedy, stubborn := containerID(1, 1), containerID(1, 2)
	p.begin(greedy, "exec "+python+" -c 'x = [bytearray(1 << 20) for i in range(1024)]'")
	code, text := p.exit(greedy)
	if code != records.ExitKilledExceededPMem || !strings.Contains(text, "beyond the 'PHYSICAL' memory limit") || !strings.Contains(text, "256.0 MB physical memory used; ") ||
		!strings.Contains(text, "Exit code is 137") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	p.begin(stubborn, "trap '' TERM; echo $$ > "+p.dir+"/pid; while :; do sleep 0.05; done")
	p.pid("pid")
	began := time.Now()
	if _, err := protocol.StopContainers.Call(t.Context(), p.as(stubborn.Attempt), stopRequest(stubborn)); err != nil {
		t.Fatal(err)
	}
	if code, _ := p.exit(stubborn); code != records.ExitKilledByAppMaster {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
