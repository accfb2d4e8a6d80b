package hadooplab

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"

	"heddle/internal/await"
)

// Partitioned is a lab of three nodes: one with the label gpu, one with masters, and one without a label. All queues may use both labels.
type Partitioned struct {
	*Lab
	Nodes [3]string // ids, in that order
}

// StartPartitioned starts one with options besides these.
func StartPartitioned(t *testing.T, o Options) *Partitioned {
	t.Helper()
	const queue = "yarn.scheduler.capacity.root."
	o.NodeManagers, o.HistoryServer, o.Site = 3, false, maps.Clone(o.Site)
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
	p := &Partitioned{Lab: Start(t, o)}
	n := 0
	for id := range p.Containers(t) {
		p.Nodes[n] = id
		n++
	}
	for _, args := range [][]string{{"-addToClusterNodeLabels", "gpu,masters"}, {"-replaceLabelsOnNode", p.Nodes[0] + "=gpu " + p.Nodes[1] + "=masters"}} {
		if out, err := p.Run(t.Context(), append([]string{"yarn", "rmadmin"}, args...)...); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return p
}

// Containers returns how many containers each node has, by its id.
func (p *Partitioned) Containers(t *testing.T) map[string]int {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(fmt.Sprintf("http://localhost:%d/ws/v1/cluster/nodes", p.Port("rm-http")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var said struct {
		Nodes struct {
			Node []struct {
				ID            string
				NumContainers int
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	if len(said.Nodes.Node) != len(p.Nodes) {
		t.Fatalf("the nodes are %+v", said.Nodes.Node)
	}
	n := map[string]int{}
	for _, node := range said.Nodes.Node {
		n[node.ID] = node.NumContainers
	}
	return n
}

// Has awaits that the nodes with gpu, with masters and without a label have so many containers.
func (p *Partitioned) Has(t *testing.T, what string, gpu, masters, none int) {
	t.Helper()
	await.Slowly(t, what, func() bool {
		n := p.Containers(t)
		return n[p.Nodes[0]] == gpu && n[p.Nodes[1]] == masters && n[p.Nodes[2]] == none
	})
}
