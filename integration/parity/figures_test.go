package parity

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// figures are what a cluster says of itself: values by "jmx rm BEAN ATTRIBUTE", "prom nm SAMPLE", "conf rm KEY", "top LINE" or "rest rm PATH FIELD".
type figures map[string]any

// Monitoring, autoscalers and scripts read figures of YARN. What a stock cluster has after some jobs, Heddle has after the same jobs, and with
// the same value where the jobs determine it. docs/compatibility.md lists what Heddle lacks, each with its reason.
func TestStockAndHeddleTellTheSameOfTheSameJobs(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	heddle, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	lacks := readLacks(t)
	stock := measure(t, "")
	keep(t, "stock", stock)
	ours := measure(t, heddle)
	keep(t, "heddle", ours)
	used := map[string]bool{}
	for _, name := range sorted(stock) {
		if _, ok := ours[name]; ok {
			continue
		}
		if pattern, ok := admitted(lacks, name); ok {
			used[pattern] = true
			continue
		}
		t.Errorf("Heddle lacks %s, which is %v on YARN", name, stock[name])
	}
	for _, pattern := range lacks {
		if !used[pattern] {
			t.Errorf("docs/compatibility.md says that Heddle lacks %q: it doesn't, or YARN lacks it too", pattern)
		}
	}
	for _, name := range sorted(stock) {
		if got, ok := ours[name]; ok && determined(name) && fmt.Sprint(got) != fmt.Sprint(stock[name]) {
			t.Errorf("%s is %v, on YARN %v", name, got, stock[name])
		}
	}
}

// keep writes all figures to the folder that HEDDLE_TEST_FIGURES names, to look at them.
func keep(t *testing.T, of string, f figures) {
	dir := os.Getenv("HEDDLE_TEST_FIGURES")
	if dir == "" {
		return
	}
	var b strings.Builder
	for _, name := range sorted(f) {
		fmt.Fprintf(&b, "%s\t%s\n", name, strings.ReplaceAll(fmt.Sprint(f[name]), "\n", " "))
	}
	if err := os.WriteFile(path.Join(dir, of+".tsv"), []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}

func sorted(f figures) []string {
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// lacking is a cell of the table of figures that Heddle lacks, and lack is one of its patterns.
var (
	lacking = regexp.MustCompile("^\\| (`(?:jmx|prom|conf|rest|top) [^|]+) \\|")
	lack    = regexp.MustCompile("`([^`]+)`")
)

// readLacks returns the patterns of docs/compatibility.md.
func readLacks(t *testing.T) (patterns []string) {
	t.Helper()
	f, err := os.Open("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if m := lacking.FindStringSubmatch(s.Text()); m != nil {
			for _, one := range lack.FindAllStringSubmatch(m[1], -1) {
				patterns = append(patterns, one[1])
			}
		}
	}
	return patterns
}

// admitted returns the pattern that a name matches; * stands for any characters.
func admitted(patterns []string, name string) (string, bool) {
	for _, p := range patterns {
		if glob(p).MatchString(name) {
			return p, true
		}
	}
	return "", false
}

func glob(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
}

// byLoad are the figures whose values the jobs and the configuration determine.
var byLoad = []*regexp.Regexp{
	regexp.MustCompile(`^jmx rm Hadoop:service=ResourceManager,name=(Partition)?QueueMetrics,.* (Apps\w+|UnmanagedApps\w+|Allocated\w+|Available\w+|Pending\w+|Reserved\w+|` +
		`Guaranteed\w+|MaxCapacity\w+|MaxAppMasters\w*|.*Resource\.licenses|Aggregate(Node|Rack|Off|Containers)\w*|running_\d+|tag\.(Queue|Context|User|Partition))$`),
	regexp.MustCompile(`^jmx rm Hadoop:service=ResourceManager,name=ClusterMetrics (Num\w+|Capability\w+|tag\.(Context|ClusterMetrics))$`),
	regexp.MustCompile(`^jmx nm Hadoop:service=NodeManager,name=NodeManagerMetrics (Containers\w+|Allocated\w+|Available\w+|tag\.Context)$`),
	regexp.MustCompile(`^prom rm (partition_)?queue_metrics_(apps|allocated|available|pending|reserved|guaranteed|max_capacity)_[a-z_]+\{`),
	regexp.MustCompile(`^conf `),
	regexp.MustCompile(`^top `),
	regexp.MustCompile(`^rest rm /ws/v1/cluster/metrics clusterMetrics\.(apps|available|allocated|total|reserved|pending|containers|active|lost|unhealthy|decomm|rebooted|shutdown)`),
	regexp.MustCompile(`^rest rm /ws/v1/cluster/scheduler .*(capacity|Capacity|queueName|state|type|numApplications|maxApplications|maxApplicationsPerUser|numContainers|AMResourceLimit|amUsed\w+|userLimit\w*|orderingPolicy\w*|preemption\w*|defaultPriority|\.(memory|vCores))$`),
	regexp.MustCompile(`^rest rm /ws/v1/cluster/apps .*(state|finalStatus|queue|name|applicationType|progress|numAMContainerPreempted|unmanagedApplication|priority|logAggregationStatus)$`),
}

// undetermined are exceptions from byLoad.
var undetermined = regexp.MustCompile(`Time|Millis|^conf .*(\.dir|\.dirs|-dir|-dirs|address|\.port|path|logFilter|bind|hadooplab|heddle|\.secret|classpath|uri$|fs\.defaultFS|hdfs-servers|filter\.initializers|command-opts|\.conf\.)`)

func determined(name string) bool {
	return !undetermined.MatchString(name) && slices.ContainsFunc(byLoad, func(r *regexp.Regexp) bool { return r.MatchString(name) })
}

// site is the configuration of both clusters.
var site = map[string]string{
	"hadoop.prometheus.endpoint.enabled":                  "true",
	"yarn.resource-types":                                 "licenses",
	"yarn.nodemanager.resource-type.licenses":             "4",
	"yarn.scheduler.capacity.root.queues":                 "default,prod,batch",
	"yarn.scheduler.capacity.root.default.capacity":       "30",
	"yarn.scheduler.capacity.root.prod.capacity":          "45",
	"yarn.scheduler.capacity.root.batch.capacity":         "25",
	"yarn.scheduler.capacity.root.batch.maximum-capacity": "60",
	"mapreduce.map.speculative":                           "false",
	"mapreduce.reduce.speculative":                        "false",
	"mapreduce.map.maxattempts":                           "1",
	"mapreduce.job.reduce.slowstart.completedmaps":        "1.0",
}

// measure runs the jobs on a cluster, and returns its figures.
func measure(t *testing.T, heddle string) figures {
	t.Helper()
	l := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: site})
	run(t, l)
	await.Slowly(t, "all of the cluster is free, and its logs are written", func() bool {
		var m struct {
			ClusterMetrics struct{ AppsRunning, AppsPending, ContainersAllocated, AllocatedMB int }
		}
		if err := l.Get(t.Context(), "rm-http", "/ws/v1/cluster/metrics", &m); err != nil {
			t.Fatal(err)
		}
		var apps struct {
			Apps struct {
				App []struct{ LogAggregationStatus string }
			}
		}
		if err := l.Get(t.Context(), "rm-http", "/ws/v1/cluster/apps", &apps); err != nil {
			t.Fatal(err)
		}
		for _, app := range apps.Apps.App {
			if app.LogAggregationStatus != "SUCCEEDED" {
				return false
			}
		}
		return m.ClusterMetrics.ContainersAllocated+m.ClusterMetrics.AppsRunning+m.ClusterMetrics.AppsPending == 0
	})
	await.Slowly(t, "the node has no container either, nor beans of one", func() bool {
		// The ResourceManager counts a killed application's containers as free before the node has ended them. YARN keeps a container's bean
		// for ten seconds more.
		return running(t, l) == 0 && !strings.Contains(get(t, l, "nodemanager1-http", "/jmx"), "name=ContainerResource_")
	})
	f := figures{}
	for role, port := range map[string]string{"rm": "rm-http", "nm": "nodemanager1-http"} {
		f.jmx(t, l, role, port)
		f.prom(t, l, role, port)
		f.conf(t, l, role, port)
	}
	for line := range strings.Lines(top(t, l)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		f["top "+name] = value
	}
	for role, paths := range map[string][]string{
		"rm": {"/ws/v1/cluster/info", "/ws/v1/cluster/metrics", "/ws/v1/cluster/scheduler", "/ws/v1/cluster/apps", "/ws/v1/cluster/nodes", "/ws/v1/cluster/appstatistics"},
		"nm": {"/ws/v1/node/info", "/ws/v1/node/apps", "/ws/v1/node/containers"},
	} {
		for _, p := range paths {
			var doc any
			if err := json.Unmarshal([]byte(get(t, l, map[string]string{"rm": "rm-http", "nm": "nodemanager1-http"}[role], p)), &doc); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			f.flatten("rest "+role+" "+p+" ", doc)
		}
	}
	return f
}

// run runs jobs in two queues: two that succeed, one that fails, and one that is killed.
func run(t *testing.T, l *hadooplab.Lab) {
	t.Helper()
	examples, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, queue := range []string{"default", "prod"} {
		if _, err := l.Run(t.Context(), "hadoop", "jar", examples, "pi", "-Dmapreduce.job.queuename="+queue, "2", "10"); err != nil {
			t.Fatal(err)
		}
	}
	streaming, err := l.Jar("hadoop-streaming")
	if err != nil {
		t.Fatal(err)
	}
	l.Put(t, "/parity/in", "one\n")
	failing, err := l.Try(t.Context(), "", "hadoop", "jar", streaming, "-Dmapreduce.job.name=fails", "-Dmapreduce.job.maps=1", "-Dmapreduce.job.queuename=prod",
		"-input", "/parity/in", "-output", "/parity/out", "-mapper", "false", "-numReduceTasks", "0")
	if err != nil || failing.Code == 0 {
		t.Fatalf("%+v, %v", failing, err)
	}
	c, err := l.Begin("", "class", "org.apache.hadoop.mapreduce.SleepJob", "-Dmapreduce.job.queuename=batch", "-m", "1", "-r", "0", "-mt", "600000")
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	var id string
	await.Slowly(t, "the map of the job that will be killed runs", func() bool {
		if m := regexp.MustCompile(`Submitted application (application_\d+_\d+)`).FindStringSubmatch(c.Stderr()); m != nil {
			id = m[1]
		}
		return strings.Contains(c.Stderr(), " map 0% reduce 0%") && running(t, l) == 2
	})
	if _, err := l.Run(t.Context(), "yarn", "application", "-kill", id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// running is how many containers run on the node.
func running(t *testing.T, l *hadooplab.Lab) int {
	t.Helper()
	var page struct {
		Beans []struct{ ContainersRunning int }
	}
	if err := l.Get(t.Context(), "nodemanager1-http", "/jmx?qry=Hadoop:service=NodeManager,name=NodeManagerMetrics", &page); err != nil || len(page.Beans) != 1 {
		t.Fatal(page, err)
	}
	return page.Beans[0].ContainersRunning
}

func get(t *testing.T, l *hadooplab.Lab, service, path string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://localhost:%d%s", l.Port(service), path), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v: %.200s", req.URL, resp.Status, err, b)
		return "{}"
	}
	return string(b)
}

// services are the names of ports in figures.
func named(l *hadooplab.Lab, text string) string {
	for _, service := range []string{"rm", "rm-scheduler", "rm-tracker", "rm-admin", "rm-http", "nodemanager1-http", "namenode"} {
		text = regexp.MustCompile(fmt.Sprintf(`\b%d\b|ForPort%d\b|port%d\b`, l.Port(service), l.Port(service), l.Port(service))).ReplaceAllString(text, "PORT-"+service)
	}
	text = regexp.MustCompile(`ForPort\d+`).ReplaceAllString(text, "ForPort-of-node")
	text = regexp.MustCompile(`port="\d+"`).ReplaceAllString(text, `port="of-node"`)
	return regexp.MustCompile(`application_\d+_`).ReplaceAllString(text, "application_T_")
}

func (f figures) jmx(t *testing.T, l *hadooplab.Lab, role, service string) {
	var page struct{ Beans []map[string]any }
	if err := json.Unmarshal([]byte(get(t, l, service, "/jmx")), &page); err != nil {
		t.Fatal(err)
	}
	for _, bean := range page.Beans {
		for attribute, value := range bean {
			if attribute != "name" {
				f[named(l, fmt.Sprintf("jmx %s %v %s", role, bean["name"], attribute))] = value
			}
		}
	}
}

func (f figures) prom(t *testing.T, l *hadooplab.Lab, role, service string) {
	label := regexp.MustCompile(`[a-z_]+="[^"]*"`)
	for line := range strings.Lines(get(t, l, service, "/prom")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		name, _, _ := strings.Cut(line[:i], "{")
		labels := slices.DeleteFunc(label.FindAllString(line[:i], -1), func(l string) bool { return strings.HasPrefix(l, "hostname=") })
		slices.Sort(labels)
		f[named(l, fmt.Sprintf("prom %s %s{%s}", role, name, strings.Join(labels, ",")))] = line[i+1:]
	}
}

func (f figures) conf(t *testing.T, l *hadooplab.Lab, role, service string) {
	var page struct {
		Properties []struct{ Key, Value string }
	}
	if err := json.Unmarshal([]byte(get(t, l, service, "/conf")), &page); err != nil {
		t.Fatal(err)
	}
	for _, p := range page.Properties {
		f["conf "+role+" "+p.Key] = p.Value
	}
}

// flatten adds a document's fields. Entries of lists are told apart by their names, if they have some, else by their places.
func (f figures) flatten(prefix string, doc any) {
	switch doc := doc.(type) {
	case map[string]any:
		for key, value := range doc {
			f.flatten(strings.TrimSuffix(prefix+"."+key, "."), value)
		}
	case []any:
		for i, value := range doc {
			f.flatten(fmt.Sprintf("%s[%s]", prefix, entry(i, value)), value)
		}
	default:
		f[nodeID.ReplaceAllString(strings.Replace(prefix, " .", " ", 1), "[localhost:of-node]")] = doc
	}
}

// nodeID is a node's place in a list.
var nodeID = regexp.MustCompile(`\[localhost:\d+\]`)

func entry(i int, value any) string {
	if m, ok := value.(map[string]any); ok {
		for _, key := range []string{"queueName", "partitionName", "id"} {
			if name, ok := m[key].(string); ok {
				if key == "id" && !strings.Contains(name, ":") {
					return name[strings.LastIndexByte(name, '_')+1:]
				}
				return name
			}
		}
	}
	return fmt.Sprint(i)
}
