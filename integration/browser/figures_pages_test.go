package browser

import (
	"fmt"
	"strings"
	"time"
)

// What each page shows, by REST's answers.

// totals are the tiles of the cluster's memory, vcores and containers, on nodes with and without a label.
func (x *seen) totals(heading string) (m any) {
	m = x.of("cluster/metrics", "clusterMetrics")
	used, total := at(m, "totalUsedResourcesAcrossPartition"), at(m, "totalClusterResourcesAcrossPartition")
	x.is(heading+"/tile memory used", mb(num(used, "memory"))+" of "+mb(num(total, "memory")))
	x.is(heading+"/tile vcores used", whole(num(used, "vCores"))+" of "+whole(num(total, "vCores")))
	return m
}

// tiles are figures of an answer, by the tile's name and the field.
func (x *seen) tiles(heading string, answer any, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		x.is(heading+"/tile "+pairs[i], whole(num(answer, pairs[i+1])))
	}
}

func overviewFigures(x *seen) {
	m := x.totals("Overview")
	x.tiles("Overview", m, "containers", "totalAllocatedContainersAcrossPartition", "containers wanted", "containersPending", "applications running", "appsRunning", "applications waiting", "appsPending", "nodes active", "activeNodes")
	x.is("Overview/tile nodes lost or unhealthy", whole(num(m, "lostNodes")+num(m, "unhealthyNodes")))
	s := at(x.of("heddle/history?from", "history"), "series", "name=")
	x.is("Memory by queue/chart", fmt.Sprintf("Memory by queue over the last 6 hours. Now %s of %s. The arrow keys go from point to point.", mb(lastOf(s, "usedMB")), mb(lastOf(s, "guaranteedMB"))), "Memory by queue over the last 6 hours. Now nothing. The arrow keys go from point to point.")
	for i, a := range all(x.of("heddle/waiting", "waiting"), "app") {
		x.is(nth("What waits, and why/li", i), fmt.Sprintf("%s of %s in %s %s", str(a, "name"), str(a, "user"), str(a, "queue"), inWords(str(a, "summary"))))
	}
	happened := func(heading, query string) {
		list := all(x.of(query, "events"), "event")
		for i := range list {
			x.is(nth(heading+"/li", i), eventLine(list[len(list)-1-i]))
		}
	}
	happened("Last suspensions", "heddle/events?kind=container")
	happened("What happened last", "heddle/events?kind=application")
}

// lastOf is the last point of a series.
func lastOf(series any, field string) float64 {
	points := all(series, field)
	if len(points) == 0 {
		return 0
	}
	return num(points[len(points)-1])
}

// nth is a place that occurs several times.
func nth(where string, i int) string {
	if i == 0 {
		return where
	}
	return fmt.Sprintf("%s #%d", where, i+1)
}

func eventLine(e any) string {
	line := clock(num(e, "time")) + " "
	state := strings.Replace(str(e, "state"), "FROZEN", "SUSPENDED", 1)
	switch str(e, "kind") {
	case "queues":
		line += "Queues were configured"
	case "leadership":
		line += str(e, "subject") + " leads"
	case "application":
		line += str(e, "name") + " " + str(e, "what") + " " + state
	default:
		line += str(e, "subject") + " " + str(e, "what") + " " + state
	}
	return strings.TrimSpace(line + " " + str(e, "detail"))
}

// inWords writes the amounts of a sentence of the server.
func inWords(text string) string {
	out := ""
	for {
		before, rest, found := strings.Cut(text, "<memory:")
		out += before
		if !found {
			return out
		}
		var m, c float64
		if _, err := fmt.Sscanf(rest, "%f, vCores:%f>", &m, &c); err != nil {
			return out + rest
		}
		out += mb(m) + " and " + counted(c, "vcore")
		_, text, _ = strings.Cut(rest, ">")
	}
}

func waitingFigures(x *seen) {
	list := x.of("heddle/waiting", "waiting")
	for _, a := range all(list, "app") {
		held := ""
		for _, h := range all(a, "hold") {
			held += fmt.Sprintf("%s %s %s of %s", str(h, "limit"), inWords(str(h, "reason")), counted(num(h, "numContainers"), "container"), amount(at(h, "capability")))
			x.is("Waiting/"+str(a, "id")+"/What would free it", str(h, "remedy"))
		}
		x.row("Waiting/"+str(a, "id"), "Application", str(a, "name")+" "+str(a, "id"), "User", str(a, "user"), "Queue", fmt.Sprintf("%s priority %.0f", str(a, "queue"), num(a, "priority")), "Place", whole(num(a, "place"))+" of "+whole(num(a, "placeOf")), "Submitted", clock(num(a, "started")),
			"Asks for", counted(num(a, "waiting"), "container")+" "+amount(at(a, "pending")), "Has", counted(num(a, "containers"), "container"), "What holds it", held)
	}
	x.pager("Waiting", list)
}

// pager is which part of a list is seen.
func (x *seen) pager(heading string, list any) {
	x.is(heading+"/span", fmt.Sprintf("1–%s of %s", whole(num(list, "matched")), whole(num(list, "total"))))
}

// states are the links that choose a state.
func (x *seen) states(heading string, list any, first int) {
	sum := 0.0
	for i, c := range all(list, "count") {
		sum += num(c, "number")
		x.is(nth(heading+"/a", first+1+i), fmt.Sprintf("%s (%s)", str(c, "state"), whole(num(c, "number"))))
	}
	x.is(nth(heading+"/a", first), fmt.Sprintf("All (%s)", whole(sum)))
}

func appsFigures(x *seen) {
	m := x.totals("Applications")
	x.tiles("Applications", m, "containers", "totalAllocatedContainersAcrossPartition", "containers wanted", "containersPending", "running", "appsRunning", "waiting", "appsPending", "nodes active", "activeNodes")
	x.is("Applications/tile ended", whole(num(m, "appsCompleted")+num(m, "appsFailed")+num(m, "appsKilled")))
	list := x.of("heddle/apps", "apps")
	for _, a := range all(list, "app") {
		holds, progress := "—", strings.TrimSpace(bars(num(a, "progress"))+" "+inWords(str(a, "why")))
		if num(a, "containers") > 0 {
			holds = mb(num(a, "used", "memoryMB")) + " in " + counted(num(a, "containers"), "container")
		}
		where := "Applications/" + str(a, "id")
		x.row(where, "Application", str(a, "name")+" "+str(a, "id"), "User", str(a, "user"), "Queue", str(a, "queue"), "Started", clock(num(a, "started")), "Holds", holds, "Progress and what it waits for", progress)
		x.lasted(where+"/Lasted", num(a, "started"), num(a, "finished"))
	}
	x.pager("Applications", list)
	x.states("Applications", list, 0)
}

// lasted is for how long an application has lived: the page's clock runs on.
func (x *seen) lasted(where string, from, to float64) {
	if to > 0 {
		x.is(where, lasting(to-from))
		return
	}
	ms := float64(time.Now().UnixMilli()) - from
	x.is(where, lasting(ms), lasting(ms-1000), lasting(ms-2000), lasting(ms+1000))
}

func appFigures(x *seen) {
	a := x.of("cluster/apps/", "app")
	id := str(a, "id")
	where := str(a, "name") + " " + id
	x.is(where+"/Priority", whole(num(a, "priority")))
	x.is(where+"/Progress", bars(num(a, "progress")))
	x.is(where+"/Started", clock(num(a, "startedTime")))
	if f := num(a, "finishedTime"); f > 0 {
		x.is(where+"/Finished", clock(f))
		x.is(where+"/Logs", "of all containers")
	}
	x.is(where+"/Lasted", lasting(num(a, "elapsedTime")))
	x.is(where+"/Running", counted(max(0, num(a, "runningContainers")), "container")+", "+mb(max(0, num(a, "allocatedMB")))+", "+counted(max(0, num(a, "allocatedVCores")), "vcore"))
	x.is(where+"/Used in all", fmt.Sprintf("%.0f MB·s, %.0f vcore·s", num(a, "memorySeconds"), num(a, "vcoreSeconds")))
	pending := x.of("heddle/apps/"+id+"/pending", "pending")
	if said := str(a, "diagnostics"); str(pending, "summary") != "" && str(pending, "summary") != "waits for nothing" && num(a, "finishedTime") == 0 {
		x.is(where+"/Diagnostics", str(pending, "summary"))
	} else if said != "" {
		x.is(where+"/Diagnostics", said)
	}
	for _, w := range all(pending, "reason") {
		x.row(fmt.Sprintf("What it waits for/%.0f", num(w, "priority")), "Priority", whole(num(w, "priority")), "Containers", whole(num(w, "numContainers")), "Size", amount(at(w, "capability")), "Where", str(w, "resourceName"),
			"Held by", str(w, "limit"), "Why not yet", inWords(str(w, "reason")), "What would free it", str(w, "remedy"))
	}
	if containers := all(x.of("heddle/apps/"+id+"/timeline", "timeline"), "container"); len(containers) > 0 {
		x.is("Containers over time/chart", counted(float64(len(containers)), "container")+" over time. The arrow keys go from one to the next.")
	}
	receipt := x.of("heddle/apps/"+id+"/receipt", "receipt")
	for _, p := range all(receipt, "part") {
		step := str(p, "kind")
		if d := str(p, "detail"); d != "" {
			step += " (" + inWords(d) + ")"
		}
		x.row("Where its time went/"+step, "Step", step, "Time", tenths(num(p, "ms")/1000)+" s", "Share", bars(100*num(p, "ms")/max(1, num(receipt, "totalMs"))))
	}
	x.steps(receipt)
	for _, t := range all(x.of("cluster/apps/"+id+"/appattempts", "appAttempts"), "appAttempt") {
		x.row("Attempts/"+str(t, "appAttemptId"), "Attempt", str(t, "appAttemptId"), "Started", clock(num(t, "startTime")))
	}
}

// steps are the steps of a receipt.
func (x *seen) steps(receipt any) {
	times := map[string]int{}
	for _, s := range all(receipt, "step") {
		since := func(field string) string { return tenths((num(s, field)-num(receipt, "from"))/1000) + " s" }
		from := since("from")
		cell := func(head, text string) { x.is(nth("Where its time went/"+from+"/"+head, times[from]), text) }
		cell("From", from)
		cell("To", since("to"))
		cell("Container", str(s, "containerId"))
		cell("Node", str(s, "nodeId"))
		times[from]++
	}
}

// limits writes how many there may be.
func limits(n float64) string {
	if n < 0 || n >= 1<<31-1 {
		return "no limit"
	}
	return whole(n)
}

// below are the queues below one.
func below(q any) []any { return append(all(q, "queues", "queue"), all(q, "childQueues", "queue")...) }

// capacityFigures are the figures of a queue of the CapacityScheduler.
func (x *seen) capacityFigures(where string, q any, root bool) {
	name := str(q, "queuePath")
	percent := func(field string) string { return short(num(q, field)) + " %" }
	if root {
		x.is(where+"/Guaranteed", "100 % of the cluster")
		x.is(where+"/At most", percent("maxCapacity")+" of the cluster")
		x.is(where+"/Used", percent("usedCapacity")+" of its guarantee, "+percent("usedCapacity")+" of the cluster")
		return
	}
	x.is(where+"/Guaranteed", percent("capacity")+" of its parent, "+percent("absoluteCapacity")+" of the cluster: "+amount(at(q, "minEffectiveCapacity")))
	x.is(where+"/At most", percent("absoluteMaxCapacity")+" of the cluster: "+amount(at(q, "maxEffectiveCapacity")))
	x.is(where+"/Used", percent("usedCapacity")+" of its guarantee, "+percent("absoluteUsedCapacity")+" of the cluster: "+amount(at(q, "resourcesUsed")))
	pending := counted(num(q, "pendingContainers"), "container")
	for _, p := range all(q, "resources", "resourceUsagesByPartition") {
		if str(p, "partitionName") == "" && num(p, "pending", "memory") > 0 {
			pending += ": " + amount(at(p, "pending"))
		}
	}
	x.is(where+"/Pending", pending)
	x.is(where+"/Applications", fmt.Sprintf("%.0f active, %.0f waiting; at most %s, %s of a user", num(q, "numActiveApplications"), num(q, "numPendingApplications"), limits(num(q, "maxApplications")), limits(num(q, "maxApplicationsPerUser"))))
	x.is(where+"/ApplicationMasters", amount(at(q, "usedAMResource"))+" of "+amount(at(q, "AMResourceLimit")))
	x.is(where+"/User limit", fmt.Sprintf("at least %s of the queue, at most %v × its guarantee", percent("userLimit"), num(q, "userLimitFactor")))
	of := where
	if where != "queue-"+name {
		of = "Users"
	}
	for _, u := range all(q, "users", "user") {
		x.row(of+"/"+str(u, "username"), "User", str(u, "username"), "Uses", amount(at(u, "resourcesUsed")), "Limit now", amount(at(u, "userResourceLimit")), "Active", whole(num(u, "numActiveApplications")), "Waiting", whole(num(u, "numPendingApplications")),
			"ApplicationMasters", amount(at(u, "AMResourceUsed")), "Weight", fmt.Sprint(num(u, "userWeight")))
	}
}

func queuesFigures(x *seen) {
	root := x.of("cluster/scheduler", "scheduler", "schedulerInfo")
	pending, apps := 0.0, 0.0
	for _, q := range below(root) {
		name := str(q, "queuePath")
		x.capacityFigures("queue-"+name, q, false)
		x.is("queue-"+name+"/summary", queueLine(name, num(q, "absoluteUsedCapacity"), num(q, "absoluteCapacity"), num(q, "pendingContainers"), num(q, "numApplications")))
		pending, apps = pending+num(q, "pendingContainers"), apps+num(q, "numApplications")
	}
	x.capacityFigures("queue-root", root, true)
	x.is("queue-root/summary", queueLine("root", num(root, "usedCapacity"), 100, pending, apps))
}

func queueLine(name string, used, guaranteed, pending, apps float64) string {
	waits := ""
	if pending > 0 {
		waits = counted(pending, "container") + " pending"
	}
	return fmt.Sprintf("%s %s of the cluster, %s %% guaranteed%s%s", name, bars(used), short(guaranteed), waits, counted(apps, "application"))
}

func queueFigures(x *seen) {
	root := x.of("cluster/scheduler", "scheduler", "schedulerInfo")
	name := x.path[strings.LastIndex(x.path, "/")+1:]
	q := root
	for _, c := range below(root) {
		if str(c, "queuePath") == name {
			q = c
		}
	}
	s := at(x.of("heddle/history", "history"), "series", "name="+name)
	x.is("Memory over time/chart", fmt.Sprintf("Memory over the last 6 hours. Now %s is used. The arrow keys go from point to point.", mb(lastOf(s, "usedMB"))), "Memory over the last 6 hours. Now nothing is used. The arrow keys go from point to point.")
	x.capacityFigures("Memory over time", q, name == "root")
	if name != "root" {
		x.is(name+"/tile used", mb(num(q, "resourcesUsed", "memory")))
		x.is(name+"/tile of the cluster", short(num(q, "absoluteUsedCapacity"))+" %")
		x.is(name+"/tile guaranteed", short(num(q, "absoluteCapacity"))+" %")
		x.tiles(name, q, "containers pending", "pendingContainers", "applications", "numApplications")
		return
	}
	pending, apps := 0.0, 0.0
	for _, c := range below(root) {
		pending, apps = pending+num(c, "pendingContainers"), apps+num(c, "numApplications")
		waits := "—"
		if n := num(c, "pendingContainers"); n > 0 {
			waits = counted(n, "container")
		}
		x.row("Queues below/"+str(c, "queuePath"), "Queue", str(c, "queuePath"), "Use of the cluster", bars(num(c, "absoluteUsedCapacity")), "Guaranteed", short(num(c, "absoluteCapacity"))+" %", "Pending", waits, "State", str(c, "state"))
	}
	x.is("root/tile of the cluster", short(num(root, "usedCapacity"))+" %")
	x.is("root/tile guaranteed", "100 %")
	x.is("root/tile containers pending", whole(pending))
	x.is("root/tile applications", whole(apps))
}

// nodesTiles are the tiles of the list and of the map.
func (x *seen) nodesTiles() {
	m := x.totals("Nodes")
	x.tiles("Nodes", m, "active", "activeNodes", "unhealthy", "unhealthyNodes", "lost", "lostNodes", "decommissioning", "decommissioningNodes", "decommissioned", "decommissionedNodes")
	x.is("Nodes/tile shut down or rebooted", whole(num(m, "shutdownNodes")+num(m, "rebootedNodes")))
}

func nodesFigures(x *seen) {
	x.nodesTiles()
	list := x.of("heddle/nodes", "nodes")
	for _, n := range all(list, "node") {
		containers := whole(num(n, "containers"))
		if k := num(n, "suspendedContainers"); k > 0 {
			containers += fmt.Sprintf(" %.0f suspended", k)
		}
		x.row("Nodes/"+str(n, "id"), "Node", str(n, "id")+" "+str(n, "rack")+" · its own pages", "State", str(n, "state"), "Use", bars(num(n, "usePercent")), "Memory", mb(num(n, "used", "memoryMB"))+" of "+mb(num(n, "total", "memoryMB")),
			"VCores", whole(num(n, "used", "vCores"))+" of "+whole(num(n, "total", "vCores")), "Containers", containers, "Label", str(n, "label"), "Heddle", str(n, "release")+" "+str(n, "version"))
	}
	x.pager("Nodes", list)
	x.states("Nodes", list, 3)
}

func mapFigures(x *seen) {
	x.nodesTiles()
	nodes := 0
	racks := all(x.of("heddle/node-map", "nodeMap"), "rack")
	for _, r := range racks {
		nodes += len(all(r, "id"))
		containers, suspended, use := 0.0, 0.0, 0.0
		for i := range all(r, "id") {
			containers, suspended, use = containers+num(all(r, "containers")[i]), suspended+num(all(r, "suspended")[i]), use+num(all(r, "usePercent")[i])
		}
		n := float64(len(all(r, "id")))
		x.row("racks/"+str(r, "name"), "Rack", str(r, "name"), "Nodes", whole(n), "Lost or unhealthy", "0", "Containers", whole(containers), "Suspended", whole(suspended), "Mean use", bars(use/n))
	}
	x.is("Nodes/chart", fmt.Sprintf("%s in %s, 0 lost or unhealthy. The arrow keys go from node to node, Enter opens one.", counted(float64(nodes), "node"), counted(float64(len(racks)), "rack")))
}

func nodeFigures(x *seen) {
	list := all(x.of("heddle/nodes?", "nodes"), "node")
	if len(list) != 1 {
		return
	}
	n := list[0]
	id := str(n, "id")
	x.tiles(id, n, "containers", "containers", "suspended", "suspendedContainers")
	x.is(id+"/tile memory used", mb(num(n, "used", "memoryMB"))+" of "+mb(num(n, "total", "memoryMB")))
	x.is(id+"/tile vcores used", whole(num(n, "used", "vCores"))+" of "+whole(num(n, "total", "vCores")))
	x.is(id+"/Use", bars(num(n, "usePercent")))
	x.is(id+"/Used", amount(at(n, "used"))+" of "+amount(at(n, "total")))
	x.is(id+"/Label", str(n, "label"))
	x.is(id+"/Registered", clock(num(n, "registered")))
	x.is(id+"/Version", "Heddle "+str(n, "release")+", "+str(n, "version"))
	x.is(id+"/Its own pages", str(n, "httpAddress"))
	var ran []any
	for path, answer := range x.Answers {
		if strings.HasSuffix(path, "/timeline") {
			ran = all(answer, "timeline", "container")
		}
	}
	x.is("Containers over time/chart", counted(float64(len(ran)), "container")+" of the last hour, by application. The arrow keys go from one to the next.")
	for _, c := range all(x.of("heddle/containers", "containers"), "container") {
		x.row("Containers now/"+str(c, "containerId"), "Container", str(c, "containerId"), "State", str(c, "state"), "User", str(c, "user"), "Memory", mb(num(c, "resource", "memory")), "VCores", whole(num(c, "resource", "vCores")),
			"Granted", clock(num(c, "allocatedTime")), "Started", clock(num(c, "startedTime")))
	}
	for path, answer := range x.Answers {
		if strings.HasSuffix(path, "/machine") {
			x.machine(at(answer, "machine"))
		}
	}
}

// machine are the figures of a node's machine.
func (x *seen) machine(m any) {
	for resource, name := range map[string]string{"cpu": "CPU", "memory": "Memory", "io": "Disks"} {
		p := at(m, "pressure", "resource="+resource)
		if p == nil {
			continue
		}
		x.row("Pressure/"+name, "Waiting for", name, "Some, 10 s", bars(num(p, "some10")), "1 min", bars(num(p, "some60")), "5 min", bars(num(p, "some300")), "All, 10 s", bars(num(p, "full10")), "1 min #2", bars(num(p, "full60")))
	}
	part := func(a, b string) string {
		return bars(100*num(m, a)/num(m, b)) + " " + mb(num(m, a)/(1<<20)) + " of " + mb(num(m, b)/(1<<20))
	}
	if c := num(m, "cpuCores"); c < 0 {
		x.is("In use on the machine/CPU", "not measured yet")
	} else {
		x.is("In use on the machine/CPU", fmt.Sprintf("%s %s of %s", bars(100*c/num(m, "processors")), tenths(c), counted(num(m, "processors"), "processor")))
	}
	x.is("In use on the machine/Load", fmt.Sprintf("%.2f", num(m, "load")))
	x.is("In use on the machine/Memory", part("memoryBytes", "totalMemoryBytes"))
	if num(m, "totalSwapBytes") > 0 {
		x.is("In use on the machine/Swap", part("swapBytes", "totalSwapBytes"))
	}
	for _, d := range all(m, "disk") {
		total, free := num(d, "totalBytes"), num(d, "freeBytes")
		x.row("Disks/"+str(d, "path"), "Folder", str(d, "path"), "State", str(d, "state"), "Used", bars(100*(total-free)/total), "Free", mb(free/(1<<20))+" of "+mb(total/(1<<20)))
	}
}

func preemptionFigures(x *seen) {
	for _, c := range all(x.of("heddle/containers", "containers"), "container") {
		s := at(c, "suspension")
		x.row("Suspended now/"+str(c, "containerId"), "Container", str(c, "containerId"), "State", str(c, "state"), "Of", str(c, "user"), "For", str(s, "for"), "Since", clock(num(s, "since")),
			"So far", lasting(num(s, "totalMs"))+" "+counted(num(s, "times"), "time"), "Claim", amount(at(c, "resource")), "Keeps", amount(at(c, "held")), "How", str(s, "text"))
	}
}

// hours writes an amount × seconds in hours.
func hours(n, per float64) string { return tenths(n / per / 3600) }

// spent are the rows of accounts by day.
func (x *seen) spent(heading string, user bool) {
	rows := map[string]int{}
	for _, a := range all(x.of("heddle/usage", "usage"), "account") {
		day := time.UnixMilli(int64(num(a, "from"))).Format("Mon 2 Jan")
		i := rows[day]
		rows[day]++
		cell := func(head, text string) { x.is(nth(heading+"/"+day+"/"+head, i), text) }
		cell("Day", day)
		cell("GB-hours", hours(num(a, "memoryMBSeconds"), 1024))
		cell("Vcore-hours", hours(num(a, "vcoreSeconds"), 1))
		cell("GPU-hours", hours(num(a, "gpuSeconds"), 1))
		cell("Container-hours", hours(num(a, "containerSeconds"), 1))
		cell("Suspended GB-hours", hours(num(a, "suspendedMBSeconds"), 1024))
		if user {
			cell("User", str(a, "name"))
		}
	}
}

func usersFigures(x *seen) {
	list := x.of("heddle/users", "users")
	for _, u := range all(list, "user") {
		ended, asks := whole(num(u, "ended")), "—"
		if n := num(u, "failed"); n > 0 {
			ended += fmt.Sprintf(" %.0f failed or killed", n)
		}
		if n := num(u, "pendingContainers"); n > 0 {
			asks = counted(n, "container") + " " + amount(at(u, "pending"))
		}
		x.row("Users/"+str(u, "name"), "User", str(u, "name"), "Running", whole(num(u, "running")), "Waiting", whole(num(u, "waiting")), "Ended", ended, "Containers", whole(num(u, "containers")), "Memory", mb(num(u, "used", "memoryMB")),
			"VCores", whole(num(u, "used", "vCores")), "Asks for", asks)
	}
	x.pager("Users", list)
	x.spent("Used in the last seven days", true)
}

func userFigures(x *seen) {
	u := at(x.of("heddle/users", "users"), "user", "name=ann")
	x.tiles("ann", u, "applications running", "running", "waiting", "waiting", "ended", "ended", "containers", "containers", "containers wanted", "pendingContainers")
	x.is("ann/tile memory used", mb(num(u, "used", "memoryMB")))
	x.is("ann/tile vcores used", whole(num(u, "used", "vCores")))
	s := at(x.of("heddle/history", "history"), "series", "name=ann")
	x.is("Memory over time/chart", fmt.Sprintf("Memory over the last 6 hours. Now %s is used. The arrow keys go from point to point.", mb(lastOf(s, "usedMB"))), "Memory over the last 6 hours. Now nothing is used. The arrow keys go from point to point.")
	x.spent("Used by day", false)
	sum, days := 0.0, all(x.of("heddle/usage", "usage"), "account")
	for _, a := range days {
		sum += num(a, "memoryMBSeconds")
	}
	if len(days) > 0 {
		x.is("Used by day/p", fmt.Sprintf("%s of the last thirty, %s GB-hours in all. Download as CSV", counted(float64(len(days)), "day"), hours(sum, 1024)))
	}
}

func labelsFigures(x *seen) {
	partitions := all(x.of("heddle/partitions", "partitions"), "partition")
	var labelled, active, labels, used, total, usedCores, totalCores float64
	for _, p := range partitions {
		name, scope := str(p, "name"), str(p, "name")
		active, used, total, usedCores, totalCores = active+num(p, "activeNodes"), used+num(p, "used", "memoryMB"), total+num(p, "total", "memoryMB"), usedCores+num(p, "used", "vCores"), totalCores+num(p, "total", "vCores")
		work := whole(num(p, "activeNodes"))
		if name == "" {
			name, scope = "without a label", "none"
		} else {
			labels, labelled = labels+1, labelled+num(p, "activeNodes")
			if num(p, "nodes") != num(p, "activeNodes") {
				work += " " + whole(num(p, "nodes")) + " on record"
			}
		}
		x.row("Labels and partitions/"+name, "Label", name, "Nodes that work", work, "Use", bars(num(p, "usedPercent")), "Used", amount(at(p, "used")), "Has", amount(at(p, "total")))
		x.is("shares-"+scope+"/summary", name+counted(float64(len(all(p, "queue"))), "queue"))
		for _, q := range all(p, "queue") {
			short_ := str(q, "path")[strings.LastIndex(str(q, "path"), ".")+1:]
			some := func(field string) string {
				if num(q, field, "memoryMB") == 0 && num(q, field, "vCores") == 0 {
					return "—"
				}
				return amount(at(q, field))
			}
			x.row("shares-"+scope+"/"+short_, "Queue", short_, "Used of the partition", bars(num(q, "usedPercent")), "Used", some("used"), "Guaranteed", short(num(q, "guaranteedPercent"))+" % "+some("guaranteed"),
				"At most", short(num(q, "maximumPercent"))+" % "+some("maximum"), "Pending", some("pending"))
		}
	}
	x.is("Labels and partitions/tile labels", whole(labels))
	x.is("Labels and partitions/tile nodes with a label", whole(labelled)+" of "+whole(active))
	x.is("Labels and partitions/tile memory used", mb(used)+" of "+mb(total))
	x.is("Labels and partitions/tile vcores used", whole(usedCores)+" of "+whole(totalCores))
}

func clusterFigures(x *seen) {
	i := x.of("cluster/info", "clusterInfo")
	x.is("Cluster/Cluster", fmt.Sprintf("%.0f", num(i, "id")))
	x.is("Cluster/Up since", clock(num(i, "startedOn")))
	_, version, _ := strings.Cut(str(i, "resourceManagerBuildVersion"), " from heddle ")
	x.is("Cluster/Heddle", version)
	x.is("Cluster/Speaks as Hadoop", str(i, "hadoopVersion"))
	members := x.of("heddle/members", "members")
	x.is("Cluster/Changes of leader", whole(num(members, "epoch")))
	for _, m := range all(members, "member") {
		role := "Follower"
		if yes, _ := at(m, "leader").(bool); yes {
			role = "Leader"
		}
		x.row("ResourceManagers/"+str(m, "id"), "Id", str(m, "id"), "Role", role, "Entries behind", whole(num(m, "behind")), "Version", str(m, "version"), "Raft", str(m, "raftAddress"), "Web", str(m, "webAddress"))
	}
}
