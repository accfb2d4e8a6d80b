package migration

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// names are the machines, whose addresses are 10.77.0.1, 10.77.0.2, …
var names = []string{"rm1", "rm2", "zk3", "w1", "w2", "nn4", "rm3", "w9"}

//go:embed testdata/machine.sh
var machineScript string

// machine is a first process with its own network, files, name and processes.
type machine struct {
	name string
	dir  string // what is in /etc, /var, /opt, /usr/local/bin and /tmp there
	cmd  *exec.Cmd
}

// machines share a network. They end with the thread of the test that starts them, which must be locked.
type machines struct {
	dir string
	all map[string]*machine
}

// isolated starts a process in namespaces of its own, which waits for commands and for the ends of orphans.
func isolated(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "trap '' HUP; while :; do sleep 3600 & wait; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// inside is a command in the namespaces of a process.
func inside(ctx context.Context, of *exec.Cmd, args ...string) *exec.Cmd {
	pid := fmt.Sprint(of.Process.Pid)
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"-t", pid, "-n", "-m", "-u", "-p", "--"}, args...)...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/tmp", "HADOOP_CONF_DIR=/etc/hadoop/conf"}
	cmd.Dir = "/"
	return cmd
}

func do(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// start makes the machines. lib is the folder of Hadoop's jars.
func start(t *testing.T, dir, lib string) *machines {
	t.Helper()
	m := &machines{dir, map[string]*machine{}}
	net := isolated(t)
	do(t, inside(t.Context(), net, "sh", "-c", "ip link add br0 type bridge && ip link set br0 up"))
	for i, name := range names {
		x := &machine{name, filepath.Join(dir, name), isolated(t)}
		m.all[name] = x
		port := fmt.Sprintf("p%d", i)
		do(t, exec.Command("ip", "link", "add", "name", "eth0", "netns", fmt.Sprint(x.cmd.Process.Pid), "type", "veth", "peer", "name", port, "netns", fmt.Sprint(net.Process.Pid)))
		do(t, inside(t.Context(), net, "sh", "-c", "ip link set "+port+" master br0 up"))
		if err := os.MkdirAll(x.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		do(t, inside(t.Context(), x.cmd, "sh", "-euc", machineScript, "sh", x.dir, name, fmt.Sprintf("10.77.0.%d", i+1), lib, strings.Join(names, " ")))
	}
	return m
}

// run runs a shell command on a machine, as root or as the user alice, and returns what it prints.
func (m *machines) run(ctx context.Context, machine, user, command string) (string, error) {
	x := m.all[machine]
	args := []string{"sh", "-c", command}
	if user != "root" {
		args = append([]string{"setpriv", "--reuid", user, "--regid", user, "--init-groups"}, args...)
	}
	cmd := inside(ctx, x.cmd, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (m *machines) must(t *testing.T, machine, user, command string) string {
	t.Helper()
	out, err := m.run(t.Context(), machine, user, command)
	if err != nil {
		t.Fatalf("%s: %s: %v\n%s", machine, command, err, out)
	}
	return out
}

// write writes a file on a machine: below /etc, /var, /opt, /usr/local/bin or /tmp.
func (m *machines) write(t *testing.T, machine, path, text string, mode os.FileMode) {
	t.Helper()
	file := filepath.Join(m.all[machine].dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
}

// logs prints the ends of a failed test's logs.
func (m *machines) logs(t *testing.T) {
	if !t.Failed() {
		return
	}
	for _, name := range names {
		files, _ := filepath.Glob(filepath.Join(m.all[name].dir, "var/log/*.log"))
		for _, f := range files {
			b, _ := os.ReadFile(f)
			lines := strings.Split(strings.TrimSpace(string(b)), "\n")
			t.Logf("end of %s of %s:\n%s", filepath.Base(f), name, strings.Join(lines[max(0, len(lines)-12):], "\n"))
		}
	}
}
