package browser

import (
	"encoding/json"
	"fmt"
	"strings"
)

// configuration reads the page of the configuration: it has the keys and values of REST's JSON.
func (s *still) configuration(tab *Tab) {
	s.Helper()
	var conf struct {
		Properties []struct{ Key, Value string }
	}
	s.rest("/conf", &conf)
	tab.Go(s.at + "/conf")
	tab.Until(`document.querySelectorAll("property").length > 100`)
	var page [][2]string
	tab.Eval(`[...document.querySelectorAll("property")].map((p) => [p.querySelector("name").textContent, p.querySelector("value").textContent])`, &page)
	shown := map[string]string{}
	for _, p := range page {
		shown[p[0]] = p[1]
	}
	for _, p := range conf.Properties {
		if v := shown[p.Key]; strings.Contains(v, "${") || v == "******" {
			continue // in XML variables aren't replaced, and what is secret is written otherwise, as by Hadoop
		}
		if v, ok := shown[p.Key]; !ok || strings.TrimSpace(v) != strings.TrimSpace(p.Value) {
			s.Errorf("/conf shows %s as %q, and REST has %q", p.Key, v, p.Value)
		}
	}
	if len(shown) != len(conf.Properties) {
		s.Errorf("/conf shows %d keys, and REST has %d", len(shown), len(conf.Properties))
	}
}

// commands compares what heddle's commands print with REST.
func (s *still) commands(node string) {
	s.Helper()
	var metrics, scheduler, nodes, apps any
	s.rest("/ws/v1/cluster/metrics", &metrics)
	m := at(metrics, "clusterMetrics")
	n := func(field string) string { return fmt.Sprintf("%.0f", num(m, field)) }
	gb := func(field string) string { return fmt.Sprintf("%.1f", num(m, field)/1024) }
	top := s.heddle("", "top", "-n", "1")
	wants := func(out string, lines ...string) {
		s.Helper()
		for _, l := range lines {
			if !strings.Contains(squeeze(out), l) {
				s.Errorf("%q is not in\n%s", l, out)
			}
		}
	}
	wants(top, fmt.Sprintf("NodeManager(s): %s total, %s active, %s unhealthy, %s decommissioned, %s lost, %s rebooted", n("totalNodes"), n("activeNodes"), n("unhealthyNodes"), n("decommissionedNodes"), n("lostNodes"), n("rebootedNodes")),
		fmt.Sprintf("Applications: %s running, %s submitted, %s pending, %s completed, %s killed, %s failed", n("appsRunning"), n("appsSubmitted"), n("appsPending"), n("appsCompleted"), n("appsKilled"), n("appsFailed")),
		fmt.Sprintf("Mem(GB): %s available, %s allocated, %s pending, %s reserved", gb("availableMB"), gb("allocatedMB"), gb("pendingMB"), gb("reservedMB")),
		fmt.Sprintf("VCores: %s available, %s allocated, %s pending, %s reserved", n("availableVirtualCores"), n("allocatedVirtualCores"), n("pendingVirtualCores"), n("reservedVirtualCores")),
		fmt.Sprintf("Containers: %s allocated, %s pending, %s reserved", n("containersAllocated"), n("containersPending"), n("containersReserved")))
	s.rest("/ws/v1/cluster/apps?states=RUNNING", &apps)
	for _, a := range all(apps, "apps", "app") {
		wants(top, fmt.Sprintf("%s %s %s %s %s %.0f %.0f %.0f %.1f", str(a, "id"), str(a, "user"), strings.ToLower(str(a, "applicationType")), str(a, "queue"), str(a, "state"), num(a, "priority"), num(a, "runningContainers"), num(a, "allocatedVCores"), num(a, "allocatedMB")/1024))
	}

	s.rest("/ws/v1/cluster/scheduler", &scheduler)
	list := s.heddle("", "queue", "-list", "all")
	for _, q := range below(at(scheduler, "scheduler", "schedulerInfo")) {
		row := fmt.Sprintf("| %s | %s | %s | %.2f%% | ", str(q, "queueName"), str(q, "queuePath"), str(q, "state"), num(q, "capacity"))
		wants(list, row)
		_, after, _ := strings.Cut(squeeze(list), row)
		var current float64
		if _, err := fmt.Sscanf(after, "%f%%", &current); err != nil || current < num(q, "usedCapacity")-0.1 || current > num(q, "usedCapacity")+0.1 { // a float of 32 bits, of rounded guarantees
			s.Errorf("heddle queue says that %s uses %s, and REST %f", str(q, "queuePath"), after, num(q, "usedCapacity"))
		}
		wants(s.heddle("", "queue", "-status", str(q, "queuePath")), fmt.Sprintf("Capacity : %.2f%%", num(q, "capacity")), fmt.Sprintf("Maximum Capacity : %.2f%%", num(q, "maxCapacity")))
	}

	s.rest("/ws/v1/cluster/nodes", &nodes)
	details := s.heddle("", "node", "-list", "-showDetails")
	for _, x := range all(nodes, "nodes", "node") {
		wants(details, fmt.Sprintf("%s %s %s %.0f Detailed Node Information : Configured Resources : <memory:%.0f, vCores:%.0f> Allocated Resources : <memory:%.0f, vCores:%.0f>", str(x, "id"), str(x, "state"), str(x, "nodeHTTPAddress"), num(x, "numContainers"),
			num(x, "usedMemoryMB")+num(x, "availMemoryMB"), num(x, "usedVirtualCores")+num(x, "availableVirtualCores"), num(x, "usedMemoryMB"), num(x, "usedVirtualCores")))
	}
	x := at(nodes, "nodes", "node", "id="+node)
	wants(s.heddle("", "node", "-status", node), fmt.Sprintf("Memory-Used : %.0fMB", num(x, "usedMemoryMB")), fmt.Sprintf("Containers : %.0f", num(x, "numContainers")), "Node-Labels : gpu")
	s.usage()
}

// usage compares heddle usage with what the pages of users ask.
func (s *still) usage() {
	s.Helper()
	for range 8 { // a sample may come between the two
		var rest, cli any
		s.rest("/ws/v1/heddle/usage?from=7d", &rest)
		if err := json.Unmarshal([]byte(s.heddle("", "usage", "--since", "7d", "--json")), &cli); err != nil {
			s.Fatal(err)
		}
		lines, same := squeeze(s.heddle("", "usage", "--since", "7d")), true
		for _, a := range all(rest, "usage", "account") {
			row := fmt.Sprintf(" %s %s %s %s %s %s", hours(num(a, "memoryMBSeconds"), 1024), hours(num(a, "vcoreSeconds"), 1), hours(num(a, "gpuSeconds"), 1), hours(num(a, "containerSeconds"), 1), hours(num(a, "suspendedMBSeconds"), 1024), str(a, "name"))
			same = same && strings.Contains(lines, row)
		}
		if same && fmt.Sprint(at(rest, "usage", "account")) == fmt.Sprint(at(cli, "usage", "account")) {
			return
		}
	}
	s.Error("heddle usage and REST differ")
}

// squeeze turns runs of white space into single spaces.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
