package attacks

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/cluster"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/ipc"
)

// Only who knows the cluster's secret becomes a node, finds the leader's successor as well, and others are told why not.
func TestOnlyWhoKnowsTheSecretIsANode(t *testing.T) {
	binary, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	dir := t.TempDir()
	shared, other := filepath.Join(dir, "secret"), filepath.Join(dir, "other")
	write(t, shared, "a secret that all daemons of this cluster share", 0o600)
	write(t, other, "a secret that all daemons of another cluster share", 0o600)
	c := cluster.New(t, daemons.Options{
		Binary: binary, Dir: dir, ResourceManagers: 3, NodeManagers: 3, Memory: 4096, Direct: true,
		Set: map[string]string{
			"heddle.cluster.secret-file":                              shared,
			"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
			"yarn.scheduler.minimum-allocation-mb":                    "256",
		},
	})
	x := &target{Cluster: c, t: t, binary: binary, client: ipc.NewClient(ipc.ClientConfig{CallTimeout: time.Minute})}
	t.Cleanup(x.client.Close)
	for _, name := range append(c.ResourceManagers, "nm1") {
		if err := c.Start(name); err != nil {
			t.Fatal(err)
		}
	}
	await.Slowly(t, "the node is active", func() bool { return x.nodes() == 1 })
	x.simpleJob("first")

	for name, node := range map[string]struct{ secret, said, logged string }{
		"nm2": {other, "the ResourceManager knows another secret", ipc.SaslException},
		"nm3": {"", "the ResourceManager wants proof that this node belongs to the cluster", ipc.AccessControlException},
	} {
		x.stranger(name, node.secret, node.said)
		await.Slowly(t, "the leader says why "+name+" is no node", func() bool {
			said, err := os.ReadFile(c.LogFile(x.leader()))
			return err == nil && strings.Contains(string(said), "a NodeManager doesn't prove that it belongs to the cluster") && strings.Contains(string(said), node.logged)
		})
	}
	if n := x.nodes(); n != 1 {
		t.Errorf("%d nodes", n)
	}

	before := x.leader()
	c.Kill(before)
	if _, err := c.Leader(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	await.Slowly(t, "the node is active at the next leader", func() bool { return x.nodes() == 1 })
	x.simpleJob("second")
}

// stranger starts a NodeManager with another secret, or none, and waits until it says why it isn't let in.
func (x *target) stranger(name, secret, want string) {
	x.t.Helper()
	line := x.Command(name)
	if secret != "" {
		line = append(line, "-D", "heddle.cluster.secret-file="+secret)
	} else {
		line[slices.Index(line, "--conf")+1] = x.withoutSecret()
	}
	log, err := os.Create(x.LogFile(name))
	if err != nil {
		x.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	await.Slowly(x.t, name+" is told why it is no node", func() bool {
		said, err := os.ReadFile(log.Name())
		return err == nil && strings.Contains(string(said), want)
	})
}

// withoutSecret is the folder of a configuration that doesn't name the secret.
func (x *target) withoutSecret() string {
	x.t.Helper()
	site, err := os.ReadFile(filepath.Join(x.Conf(), "yarn-site.xml"))
	if err != nil {
		x.t.Fatal(err)
	}
	dir := filepath.Join(x.Dir(), "conf-without")
	write(x.t, filepath.Join(dir, "yarn-site.xml"), regexp.MustCompile(`<property><name>heddle\.cluster\.secret-file</name>.*\n`).ReplaceAllString(string(site), ""), 0o644)
	return dir
}

// simpleJob runs one as whoever runs this test.
func (x *target) simpleJob(name string) {
	x.t.Helper()
	in, out := filepath.Join(x.Dir(), name), filepath.Join(x.Dir(), name+"-out")
	write(x.t, in, "a\nb\na\n", 0o644)
	cmd := exec.Command(x.binary, "mr", "-input", in, "-output", out, "-mapper", "cat", "-reducer", "uniq -c")
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+x.Conf())
	if said, err := cmd.CombinedOutput(); err != nil {
		x.t.Fatalf("the %s job: %v\n%s", name, err, said)
	}
	if got, err := os.ReadFile(filepath.Join(out, "part-00000")); strings.Join(strings.Fields(string(got)), " ") != "2 a 1 b" {
		x.t.Errorf("the %s job: %q, %v", name, got, err)
	}
}
