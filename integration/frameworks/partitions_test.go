package frameworks

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"heddle/integration/hadooplab"
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

// TestFrameworksOnThreePartitions has ApplicationMasters and workers of Flink, Skein and YARN's services run where their labels say.
func TestFrameworksOnThreePartitions(t *testing.T) {
	p := hadooplab.StartPartitioned(t, options)

	f := newFlink(t, p.Lab)
	session := succeed(t, p.Lab, f.command("org.apache.flink.yarn.cli.FlinkYarnSessionCli", "-d", "-Dyarn.application.node-label=masters", "-Dyarn.taskmanager.node-label=gpu"))
	p.Has(t, "Flink's JobManager is on masters", 0, 1, 0)
	in, want := text(100, 12)
	p.Put(t, "/flink/in", in)
	id := flinkApp(t, session)
	f.run(t, "run", "-t", "yarn-session", "-Dyarn.application.id="+id, "-c", "Words", f.words, p.URI()+"/flink/in", p.URI()+"/flink/out")
	sameCounts(t, lines(t, p.Lab, "/flink/out/*/*"), want)
	if n := p.Containers(t); n[p.Nodes[0]] == 0 || n[p.Nodes[2]] != 0 {
		t.Errorf("Flink's TaskManagers, which wait for further jobs, are on %v of %q", n, p.Nodes)
	}
	if out, err := p.Run(t.Context(), "yarn", "app", "-kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.Has(t, "Flink has ended", 0, 0, 0)

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
	p.Has(t, "Skein's master is on masters, its workers are on gpu", 2, 1, 0)
	_ = writer.Close()
	if r, err := skein.Wait(t.Context()); err != nil || r.Code != 0 {
		t.Errorf("Skein: %v, %d\n%s", err, r.Code, r.Stderr)
	}
	p.Has(t, "Skein has ended", 0, 0, 0)

	b := newBakery(t, p.Lab)
	if err := os.WriteFile(spec, []byte(labelledService), 0o644); err != nil {
		t.Fatal(err)
	}
	b.app(t, "-launch", "bakery", spec)
	p.Has(t, "the service's oven is on gpu, its master on a node without a label", 1, 0, 1)
	b.app(t, "-stop", "bakery")
	p.Has(t, "the service has ended", 0, 0, 0)
}
