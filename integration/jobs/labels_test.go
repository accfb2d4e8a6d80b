package jobs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/internal/await"
)

// Jobs run on nodes with the labels of their queues. A node is relabelled under a running job, and the leader is killed: the job goes on where it is, and
// the next ones find the nodes that have the label by then.
func TestJobsOnLabelledNodes(t *testing.T) {
	const queue = "yarn.scheduler.capacity.root."
	hosts := []string{"127.0.0.11", "127.0.0.12", "127.0.0.13"}
	c := startCluster(t, 3, 3, map[string]string{
		"yarn.node-labels.enabled": "true", "yarn.scheduler.capacity.maximum-am-resource-percent": "0.9",
		queue + "queues": "plain,gpu,spot", queue + "plain.capacity": "60", queue + "gpu.capacity": "20", queue + "spot.capacity": "20", queue + "plain.accessible-node-labels": " ",
		queue + "gpu.accessible-node-labels": "gpu", queue + "gpu.accessible-node-labels.gpu.capacity": "100", queue + "gpu.default-node-label-expression": "gpu",
		queue + "spot.accessible-node-labels": "spot", queue + "spot.accessible-node-labels.spot.capacity": "100", queue + "spot.default-node-label-expression": "spot",
	}, hosts...)
	admin := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(c.binary, append([]string{"rmadmin", "-conf", c.conf}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	admin("-addToClusterNodeLabels", "gpu,spot(exclusive=false)")
	admin("-replaceLabelsOnNode", hosts[1]+"=gpu "+hosts[2]+"=spot")

	in, all := c.input(4, 50, 3)
	job := func(queue, mapper string) (*job, string) { return c.mapsIn(queue, in, mapper) }
	on := func(r report) (hosts []string) {
		for _, task := range r.Tasks {
			host, _, _ := strings.Cut(task.Host, ":")
			hosts = append(hosts, host)
		}
		slices.Sort(hosts)
		return slices.Compact(hosts)
	}
	begun, end := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "end")
	if err := os.Mkdir(begun, 0o777); err != nil {
		t.Fatal(err)
	}
	running, out := job("gpu", fmt.Sprintf("touch %s/$$; while ! test -e %s; do sleep 0.05; done; cat", begun, end))
	await.Slowly(t, "a map runs", func() bool { return len(must(filepath.Glob(begun+"/*"))) > 0 })
	c.showsPartition("gpu", 1)

	admin("-replaceLabelsOnNode", hosts[1]+" "+hosts[2]+"=gpu") // no node is left for spot
	c.Kill(c.leader())
	c.leader()
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := running.end(); !slices.Equal(on(r), hosts[1:2]) || r.Attempts != 1 || !slices.Equal(lines(c.output(out)), lines(all)) {
		t.Errorf("on %q, %d attempts of the application", on(r), r.Attempts)
	}
	next, _ := job("gpu", "cat")
	if r := next.end(); !slices.Equal(on(r), hosts[2:]) {
		t.Errorf("after the change of leaders gpu is on %q", on(r))
	}
	plain, _ := job("plain", "cat")
	for _, host := range on(plain.end()) {
		if host == hosts[2] {
			t.Error("a job without a label was on a node with one")
		}
	}
	waits, _ := job("spot", "cat")
	admin("-replaceLabelsOnNode", hosts[0]+"=spot")
	if r := waits.end(); !slices.Equal(on(r), hosts[:1]) {
		t.Errorf("spot is on %q", on(r))
	}
}

// mapsIn begins a job without reduces in a queue, and returns the folder of its output.
func (c *cluster) mapsIn(queue, in, mapper string) (j *job, out string) {
	out = filepath.Join(c.t.TempDir(), "out")
	return c.mr("-D", "mapreduce.job.queuename="+queue, "-input", in, "-output", out, "-mapper", mapper, "-numReduceTasks", "0"), out
}

// showsPartition awaits that the leader's /metrics have the nodes of a label, and of their memory what REST says.
func (c *cluster) showsPartition(label string, nodes int) {
	c.t.Helper()
	web := "http://" + must(conf.Load(conf.Options{Dir: c.conf})).Text("yarn.resourcemanager.webapp.address."+c.leader())
	type amount struct{ MemoryMB int64 }
	var rest struct {
		Partitions struct {
			Partition []struct {
				Name        string
				ActiveNodes int
				Total, Used amount
			}
		}
	}
	var page string
	defer func() {
		if c.t.Failed() {
			c.t.Logf("%+v\n%s", rest, page)
		}
	}()
	await.Slowly(c.t, "figures of the partition "+label, func() bool {
		if err := json.Unmarshal([]byte(must(fetch(web+"/ws/v1/heddle/partitions"))), &rest); err != nil {
			c.t.Fatal(err)
		}
		page = must(fetch(web + "/metrics"))
		for _, p := range rest.Partitions.Partition {
			if p.Name == label && p.ActiveNodes == nodes && p.Used.MemoryMB > 0 {
				of := fmt.Sprintf(`{partition=%q,resource="memory-mb"} `, label)
				return strings.Contains(page, fmt.Sprintf("heddle_rm_partition_nodes{partition=%q} %d\n", label, nodes)) &&
					strings.Contains(page, fmt.Sprintf("heddle_rm_partition_resource_capacity%s%d\n", of, p.Total.MemoryMB)) &&
					strings.Contains(page, fmt.Sprintf("heddle_rm_partition_resource_used%s%d\n", of, p.Used.MemoryMB))
			}
		}
		return false
	})
}
