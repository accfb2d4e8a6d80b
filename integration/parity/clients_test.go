package parity

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/output"
)

// queues are those of the tests of single programs, on a node of 8 GB and 8 vcores.
var queues = map[string]string{
	"hadoop.prometheus.endpoint.enabled":                  "true",
	"yarn.scheduler.capacity.root.queues":                 "default,prod,batch",
	"yarn.scheduler.capacity.root.default.capacity":       "30",
	"yarn.scheduler.capacity.root.prod.capacity":          "45",
	"yarn.scheduler.capacity.root.batch.capacity":         "25",
	"yarn.scheduler.capacity.root.batch.maximum-capacity": "60",
}

var shared = hadooplab.NewShared(hadooplab.Options{ResourceManager: true, NodeManagers: 1, Site: queues})

func TestMain(m *testing.M) {
	o := hadooplab.Options{ResourceManager: true, NodeManagers: 1, Site: queues}
	os.Exit(hadooplab.Main(m, &o, &shared))
}

// top runs YARN's own yarn top until it has shown the queues, and returns its summary.
func top(t *testing.T, l *hadooplab.Lab) string {
	t.Helper()
	cmd := l.JavaCommand("", "org.apache.hadoop.yarn.client.cli.TopCLI", "-cols", "200", "-rows", "40", "-delay", "1")
	cmd.Env = append(cmd.Env, "TERM=dumb")
	var out output.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = keys.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var summary string
	await.Slowly(t, "yarn top shows the queues", func() bool {
		summary = strings.Join(regexp.MustCompile(`(?m)^(NodeManager\(s\)|Queue\(s\) \w+).*$`).FindAllString(out.String(), 5), "\n")
		return strings.Contains(summary, "Containers:")
	})
	return summary
}

// yarn top adds up what the queues have available: it saw three times the cluster.
func TestYARNTopSeesNoMoreThanTheCluster(t *testing.T) {
	l := shared.Lab(t)
	summary := top(t, l)
	for _, want := range []string{"NodeManager(s): 1 total, 1 active", "Mem(GB): 7 available, 0 allocated, 0 pending", "VCores: 7 available, 0 allocated"} {
		if !strings.Contains(summary, want) {
			t.Errorf("no %q in\n%s", want, summary)
		}
	}
}

//go:embed Jmx.java
var jmxReader []byte

// Monitoring in Java reads /jmx over HTTP.
func TestAJavaProgramReadsBeans(t *testing.T) {
	l := shared.Lab(t)
	source := filepath.Join(t.TempDir(), "Jmx.java")
	if err := os.WriteFile(source, jmxReader, 0o600); err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string]map[string]string{
		"rm-http": {
			"Hadoop:service=ResourceManager,name=QueueMetrics,q0=root": "AvailableMB 8192",
			"Hadoop:service=ResourceManager,name=ClusterMetrics":       "NumActiveNMs 1",
			"Hadoop:service=ResourceManager,name=RMInfo":               `State "active"`,
		},
		"nodemanager1-http": {"Hadoop:service=NodeManager,name=NodeManagerMetrics": "AvailableGB 8"},
	} {
		args := []string{fmt.Sprintf("localhost:%d", l.Port(service))}
		var values []string
		for bean, attribute := range want {
			name, value, _ := strings.Cut(attribute, " ")
			args, values = append(args, bean, name), append(values, value)
		}
		cmd := l.JavaCommand("", source, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != strings.Join(values, "\n") {
			t.Errorf("%v: %s, want %q; %v\n%s", args, got, values, err, &stderr)
		}
	}
}

// carbon is a listener for Graphite's plain text: a path, a value and a time in seconds in each line.
type carbon struct {
	net.Listener
	mu     sync.Mutex
	values map[string]float64
	faults []string
}

func listen(t *testing.T) *carbon {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &carbon{Listener: l, values: map[string]float64{}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.read(conn)
		}
	}()
	return c
}

func (c *carbon) read(conn io.ReadCloser) {
	defer conn.Close()
	for s := bufio.NewScanner(conn); s.Scan(); {
		fields := strings.Fields(s.Text())
		c.mu.Lock()
		if len(fields) != 3 {
			c.faults = append(c.faults, s.Text())
		} else if v, err := strconv.ParseFloat(fields[1], 64); err != nil {
			c.faults = append(c.faults, s.Text())
		} else if when, err := strconv.ParseInt(fields[2], 10, 64); err != nil || when < 1_500_000_000 || when > 10_000_000_000 {
			c.faults = append(c.faults, s.Text())
		} else {
			c.values[fields[0]] = v
		}
		c.mu.Unlock()
	}
}

// find returns the value of a path.
func (c *carbon) find(path *regexp.Regexp) (float64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, v := range c.values {
		if path.MatchString(name) {
			return v, true
		}
	}
	return 0, false
}

// Graphite gets the figures of both daemons from YARN's settings of the sink.
func TestGraphiteGetsFigures(t *testing.T) {
	l := shared.Lab(t)
	c := listen(t)
	_, port, err := net.SplitHostPort(c.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("*.sink.graphite.class=org.apache.hadoop.metrics2.sink.GraphiteSink\n*.period=1\n")
	for _, role := range []string{"resourcemanager", "nodemanager"} {
		fmt.Fprintf(&b, "%[1]s.sink.graphite.server_host=localhost\n%[1]s.sink.graphite.server_port=%[2]s\n%[1]s.sink.graphite.metrics_prefix=site.%[1]s\n", role, port)
	}
	file := filepath.Join(l.Conf(), "hadoop-metrics2.properties")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	daemons := []string{"resourcemanager", "nodemanager1"}
	again := func() {
		for _, name := range daemons {
			l.Daemon(name).Kill()
			if err := l.Daemon(name).Restart(); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.WaitYARN(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	again()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%q", slices.Sorted(maps.Keys(c.values))[:min(len(c.values), 40)])
		}
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	})
	for path, want := range map[string]float64{
		`^site\.resourcemanager\.yarn\.QueueMetrics\.Queue=root\.Context=yarn\.Hostname=[^ ]+\.AvailableMB$`:                        8192,
		`^site\.resourcemanager\.yarn\.ClusterMetrics\.ClusterMetrics=ResourceManager\.Context=yarn\.Hostname=[^ ]+\.NumActiveNMs$`: 1,
		`^site\.nodemanager\.yarn\.NodeManagerMetrics\.Context=yarn\.Hostname=[^ ]+\.AvailableGB$`:                                  8,
	} {
		await.Slowly(t, path+" is in Graphite", func() bool {
			v, ok := c.find(regexp.MustCompile(path))
			return ok && v == want
		})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) > 0 {
		t.Errorf("lines that carbon would drop: %q", c.faults)
	}
	for path := range c.values {
		if !strings.HasPrefix(path, "site.resourcemanager.") && !strings.HasPrefix(path, "site.nodemanager.") {
			t.Errorf("a path without its prefix: %s", path)
			break
		}
	}
}
