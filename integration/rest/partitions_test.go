package rest

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"heddle/integration/minicluster"
	"heddle/internal/await"
	"heddle/rm"
	"heddle/rm/leader/nodelabels"
	"heddle/yarn/records"
)

// A label that is given to a host, whose node has joined, is one node; the list of nodes filters by labels; the shares of queues come in JSON and in CSV, in which names are no formulas.
func TestPartitionsAndNodesByLabel(t *testing.T) {
	const queues = "yarn.scheduler.capacity.root."
	w := startOneNode(t, map[string]string{
		"yarn.node-labels.enabled": "true", queues + "queues": "default,=bad", queues + "default.capacity": "70", queues + "=bad.capacity": "30",
		queues + "accessible-node-labels.gpu.capacity": "100", queues + "default.accessible-node-labels.gpu.capacity": "25", queues + "=bad.accessible-node-labels.gpu.capacity": "75",
	})
	other := w.c.Node(minicluster.NodeOptions{Host: "127.0.0.2", Resource: records.NewResource(2048, 2), Run: untilKilled}).ID
	labels := w.c.RM(0).Leader().Labels()
	if err := errors.Join(labels.Add([]nodelabels.Label{{Name: "gpu", Exclusive: true}}), labels.Replace([]nodelabels.Mapping{{Node: records.NodeID{Host: other.Host}, Labels: []string{"gpu"}}}, false)); err != nil {
		t.Fatal(err)
	}
	w.submit() // 1024 MB of the nodes without a label
	w.at = strings.TrimSuffix(w.at, "/nodes/")
	var got struct {
		Partitions struct {
			Labelled  bool
			Partition []struct {
				Name        string
				Exclusive   bool
				Nodes       int
				ActiveNodes int
				Used, Total struct{ MemoryMB, VCores int64 }
				UsedPercent float64
				Queue       []struct {
					Path                           string
					GuaranteedPercent, UsedPercent float64
					Guaranteed, Used               struct{ MemoryMB, VCores int64 }
				}
			}
		}
	}
	_, text := w.ask("bob", "GET", "/partitions", "")
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err, text)
	}
	p := got.Partitions.Partition
	if len(p) != 2 || !got.Partitions.Labelled || p[0].Name != "" || p[0].Nodes != 1 || p[0].Used.MemoryMB != 1024 || p[0].UsedPercent != 12.5 || p[1].Name != "gpu" || !p[1].Exclusive || p[1].Nodes != 1 || p[1].ActiveNodes != 1 || p[1].Total.MemoryMB != 2048 || p[1].Used.MemoryMB != 0 {
		t.Errorf("%s", text)
	}
	for i, want := range []string{"root", "root.=bad", "root.default"} {
		if len(p[1].Queue) != 3 || p[1].Queue[i].Path != want {
			t.Fatalf("the queues of gpu are %+v", p[1].Queue)
		}
	}
	if q := p[1].Queue[1]; q.GuaranteedPercent != 75 || q.Guaranteed.MemoryMB != 1536 {
		t.Errorf("%+v", q)
	}
	rows, err := csv.NewReader(strings.NewReader(csvOf(w, "/partitions?format=csv"))).ReadAll()
	if err != nil || len(rows) != 9 {
		t.Fatal(err, rows)
	}
	for i, want := range map[int]string{
		0: "label,exclusive,nodes,activeNodes,queue,usedPercent,guaranteedPercent,maximumPercent,usedMB,usedVCores,guaranteedMB,guaranteedVCores,maximumMB,maximumVCores,pendingMB,pendingVCores",
		1: ",true,1,1,,12.500,100.000,100.000,1024,1,8192,8,8192,8,0,0", 5: "gpu,true,1,1,,0.000,100.000,100.000,0,0,2048,2,2048,2,0,0", 7: "gpu,true,1,1,root.=bad,0.000,75.000,100.000,0,0,1536,1,2048,2,0,0",
	} {
		if got := strings.Join(rows[i], ","); got != want {
			t.Errorf("row %d is %s, want %s", i, got, want)
		}
	}
	w.expect("bob", "GET", "/partitions?format=xls", "", 400, "format is \\\"xls\\\": it may be json or csv")
	ids := regexp.MustCompile(`"id":"([^"]*)"`)
	for filter, want := range map[string]string{"gpu": other.String(), `""`: w.id, "": "", "nothing": "", "gp": ""} {
		_, text := w.ask("bob", "GET", "/nodes?label="+strings.ReplaceAll(filter, `"`, "%22"), "")
		found := ids.FindAllStringSubmatch(text, -1)
		if filter == "" { // no filter
			if len(found) != 2 {
				t.Errorf("without a label there are %s", text)
			}
			continue
		}
		if len(found) > 1 || (len(found) == 1 && found[0][1] != want) || (len(found) == 0) != (want == "") {
			t.Errorf("label %q has %s", filter, text)
		}
	}
}

func csvOf(w *oneNode, path string) string {
	w.Helper()
	code, text := w.ask("bob", "GET", path, "")
	if code != 200 {
		w.Fatalf("%s: %d %s", path, code, text)
	}
	return text
}

// What is done to nodes by REST, and what is refused, is in the audit log, in YARN's format: as the stock ResourceManager's lines on updateNodeResource in rm/audit/testdata/stock.log.
func TestActionsOnNodesAreInTheAuditLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rm-audit.log")
	w := startOneNode(t, map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "boss", "heddle.audit.file": file})
	w.submit() // so that the node is drained, and not gone at once
	node := w.id
	w.expect("alice", "POST", node+"/drain", "{}", 403, "")
	w.expect("alice", "POST", node+"/recommission", "", 403, "")
	w.expect("boss", "POST", node+"/drain", `{"timeoutSeconds":3600}`, 200, "DECOMMISSIONING")
	w.expect("boss", "POST", node+"/recommission", "", 200, "RUNNING")
	w.expect("boss", "POST", node+"/recommission", "", 400, "is not being decommissioned")
	w.at = "http://" + w.c.Conf.Text(rm.WebAddress) + "/ws/v1/cluster/nodes/"
	body := `{"resource":{"memory":4096,"vCores":4},"overCommitTimeout":-1}`
	w.expect("alice", "POST", node+"/resource", body, 403, "")
	w.expect("boss", "POST", node+"/resource", body, 200, "4096")
	want := []string{
		"WARN USER=alice\tIP=127.0.0.1\tOPERATION=drainNode\tTARGET=AdminService\tRESULT=FAILURE\tDESCRIPTION=Unauthorized user\tPERMISSIONS=",
		"WARN USER=alice\tIP=127.0.0.1\tOPERATION=recommissionNode\tTARGET=AdminService\tRESULT=FAILURE\tDESCRIPTION=Unauthorized user\tPERMISSIONS=",
		"INFO USER=boss\tIP=127.0.0.1\tOPERATION=drainNode\tTARGET=AdminService\tRESULT=SUCCESS",
		"INFO USER=boss\tIP=127.0.0.1\tOPERATION=recommissionNode\tTARGET=AdminService\tRESULT=SUCCESS",
		"WARN USER=boss\tIP=127.0.0.1\tOPERATION=recommissionNode\tTARGET=AdminService\tRESULT=FAILURE\tDESCRIPTION=Exception in recommissionNode\tPERMISSIONS=Node " + node + " is not being decommissioned: it is RUNNING",
		"WARN USER=alice\tIP=127.0.0.1\tOPERATION=updateNodeResource\tTARGET=AdminService\tRESULT=FAILURE\tDESCRIPTION=Unauthorized user\tPERMISSIONS=",
		"INFO USER=boss\tIP=127.0.0.1\tOPERATION=updateNodeResource\tTARGET=AdminService\tRESULT=SUCCESS",
	}
	line := regexp.MustCompile(`(INFO|WARN) resourcemanager\.RMAuditLogger: (USER=(?:alice|boss)\t.*TARGET=AdminService.*)`)
	var got []string
	await.Until(t, "all lines", func() bool {
		b, _ := os.ReadFile(file)
		got = nil
		for _, m := range line.FindAllStringSubmatch(string(b), -1) {
			got = append(got, m[1]+" "+m[2])
		}
		return len(got) >= len(want)
	})
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the audit log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Labels are for administrators: what other users send changes nothing, whatever characters it has. Names that YARN refuses are refused to administrators as well.
func TestLabelsAreForAdministrators(t *testing.T) {
	w := startOneNode(t, map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "boss", "yarn.node-labels.enabled": "true"})
	w.at = "http://" + w.c.Conf.Text(rm.WebAddress) + "/ws/v1/cluster/"
	label := func(name string) string {
		b, err := json.Marshal(map[string]any{"nodeLabelInfo": []map[string]any{{"name": name, "exclusivity": true}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	w.expect("boss", "POST", "add-node-labels", label("gpu"), 200, "")
	mapping := `{"nodeToLabelsInfo":[{"nodeId":"` + w.id + `","labels":["gpu"]}]}`
	for _, name := range []string{"mine", "a b", "<script>", "x\u0000y", "=cmd()", "ü", strings.Repeat("l", 256), "../..", "%2e"} {
		w.expect("alice", "POST", "add-node-labels", label(name), 401, "AuthorizationException")
		if name != "mine" {
			w.expect("boss", "POST", "add-node-labels", label(name), 400, "")
		}
	}
	w.expect("alice", "POST", "replace-node-to-labels", mapping, 401, "AuthorizationException")
	w.expect("alice", "POST", "nodes/"+w.id+"/replace-labels?labels=gpu", "", 401, "AuthorizationException")
	w.expect("alice", "POST", "remove-node-labels?labels=gpu", "", 401, "AuthorizationException")
	w.expect("alice", "GET", "get-node-labels", "", 200, `"name":"gpu"`)
	if _, text := w.ask("alice", "GET", "get-node-to-labels", ""); strings.Contains(text, "gpu") {
		t.Errorf("a node has a label: %s", text)
	}
	if _, text := w.ask("alice", "GET", "get-node-labels", ""); strings.Count(text, `"exclusivity"`) != 1 {
		t.Errorf("there are further labels: %s", text)
	}
}
