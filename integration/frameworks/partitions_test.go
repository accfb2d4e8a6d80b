package frameworks

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

const labelledSkein = `
name: labelled
queue: default
node_label: masters
services:
  worker:
    instances: 2
    node_label: gpu
    resources: {memory: 256 MiB, vcores: 1}
    script: sleep 600
`

const labelledService = `{
  "name": "bakery", "version": "1", "queue": "default",
  "components": [
    {"name": "oven", "number_of_containers": 1, "launch_command": "sleep 600", "resource": {"cpus": 1, "memory": "128"},
     "placement_policy": {"constraints": [{"name": "apart", "type": "ANTI_AFFINITY", "scope": "node", "target_tags": ["oven"], "node_partitions": ["gpu"]}]}}
  ]
}`

// partitioned is a lab of three nodes: one of the label gpu, one of masters, and one without a label.
type partitioned struct {
	*hadooplab.Lab
	nodes []string
}

func newPartitioned(t *testing.T) partitioned {
	t.Helper()
	const queue = "yarn.scheduler.capacity.root."
	o := options
	o.NodeManagers, o.HistoryServer, o.Site = 3, false, maps.Clone(options.Site)
	if o.Site == nil {
		o.Site = map[string]string{}
	}
	maps.Copy(o.Site, map[string]string{
		"yarn.node-labels.enabled": "true", "yarn.node-labels.fs-store.root-dir": "file://" + t.TempDir(),
		"yarn.resourcemanager.placement-constraints.handler":      "scheduler",
		"yarn.scheduler.capacity.maximum-am-resource-percent":     "0.9",
		queue + "accessible-node-labels.gpu.capacity":             "100",
		queue + "accessible-node-labels.masters.capacity":         "100",
		queue + "default.accessible-node-labels":                  "*",
		queue + "default.accessible-node-labels.gpu.capacity":     "100",
		queue + "default.accessible-node-labels.masters.capacity": "100",
	})
	p := partitioned{Lab: hadooplab.Start(t, o)}
	for id := range p.containers(t) {
		p.nodes = append(p.nodes, id)
	}
	if len(p.nodes) != 3 {
		t.Fatal("nodes: ", p.nodes)
	}
	for _, args := range [][]string{{"-addToClusterNodeLabels", "gpu,masters"}, {"-replaceLabelsOnNode", p.nodes[0] + "=gpu " + p.nodes[1] + "=masters"}} {
		if out, err := p.Run(t.Context(), append([]string{"yarn", "rmadmin"}, args...)...); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return p
}

// containers returns how many containers each node has.
func (p partitioned) containers(t *testing.T) map[string]int {
	t.Helper()
	var said struct {
		Nodes struct {
			Node []struct {
				ID            string
				NumContainers int
			}
		}
	}
	if err := json.Unmarshal([]byte(get(t, p.Lab, "/ws/v1/cluster/nodes")), &said); err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, node := range said.Nodes.Node {
		n[node.ID] = node.NumContainers
	}
	return n
}

// has awaits that the nodes with gpu, with masters and without a label have so many containers.
func (p partitioned) has(t *testing.T, what string, gpu, masters, none int) {
	t.Helper()
	await.Slowly(t, what, func() bool {
		n := p.containers(t)
		return n[p.nodes[0]] == gpu && n[p.nodes[1]] == masters && n[p.nodes[2]] == none
	})
}

// TestFrameworksOnThreePartitions has ApplicationMasters and workers of Flink, Skein and YARN's services run where their labels say.
func TestFrameworksOnThreePartitions(t *testing.T) {
	p := newPartitioned(t)

	f := newFlink(t, p.Lab)
	session := succeed(t, p.Lab, f.command("org.apache.flink.yarn.cli.FlinkYarnSessionCli", "-d", "-Dyarn.application.node-label=masters", "-Dyarn.taskmanager.node-label=gpu"))
	p.has(t, "Flink's JobManager is on masters", 0, 1, 0)
	in, want := text(100, 12)
	p.Put(t, "/flink/in", in)
	id := flinkApp(t, session)
	f.run(t, "run", "-t", "yarn-session", "-Dyarn.application.id="+id, "-c", "Words", f.words, p.URI()+"/flink/in", p.URI()+"/flink/out")
	sameCounts(t, lines(t, p.Lab, "/flink/out/*/*"), want)
	if n := p.containers(t); n[p.nodes[0]] == 0 || n[p.nodes[2]] != 0 {
		t.Errorf("Flink's TaskManagers, which wait for further jobs, are on %v of %q", n, p.nodes)
	}
	if out, err := p.Run(t.Context(), "yarn", "app", "-kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.has(t, "Flink has ended", 0, 0, 0)

	site, err := hadooplab.PyPI(t.Context(), "skein-0.8.2", "skein==0.8.2", "protobuf<3.21", "setuptools<80")
	if err != nil {
		t.Fatal("fetching Skein: ", err)
	}
	env, dir := skeinEnv(t, p.Lab, site)
	spec := filepath.Join(dir, "spec.yaml")
	if err := os.WriteFile(spec, []byte(labelledSkein), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "testdata/label_skein.py", spec)
	cmd.Env = env
	reader, writer := io.Pipe()
	cmd.Stdin = reader
	skein := begin(t, p.Lab, cmd)
	p.has(t, "Skein's master is on masters, its workers are on gpu", 2, 1, 0)
	_ = writer.Close()
	if r, err := skein.Wait(t.Context()); err != nil || r.Code != 0 {
		t.Errorf("Skein: %v, %d\n%s", err, r.Code, r.Stderr)
	}
	p.has(t, "Skein has ended", 0, 0, 0)

	b := newBakery(t, p.Lab)
	if err := os.WriteFile(spec, []byte(labelledService), 0o644); err != nil {
		t.Fatal(err)
	}
	b.app(t, "-launch", "bakery", spec)
	p.has(t, "the service's oven is on gpu, its master on a node without a label", 1, 0, 1)
	b.app(t, "-stop", "bakery")
	p.has(t, "the service has ended", 0, 0, 0)
}
