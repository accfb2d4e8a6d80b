package rest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/await"
)

// Prometheus found no /prom, and the sinks of hadoop-metrics2.properties got nothing, without a word.
func TestMonitoringOfAYARNClusterGetsItsFigures(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "metrics.out")
	properties := "*.sink.file.class=org.apache.hadoop.metrics2.sink.FileSink\n*.periodMillis=50\nresourcemanager.sink.file.filename=" + out + "\n" +
		"resourcemanager.sink.broken.class=org.apache.hadoop.metrics2.sink.GraphiteSink\n"
	if err := os.WriteFile(filepath.Join(dir, "hadoop-metrics2.properties"), []byte(properties), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte("<configuration/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startIn(t, 1, dir, "hadoop.prometheus.endpoint.enabled=true")
	me := c.leader()
	a := c.ask(me, "GET", "/prom", "")
	for _, want := range []string{
		"# TYPE queue_metrics_apps_submitted counter\nqueue_metrics_apps_submitted{queue=\"root\",context=\"yarn\",hostname=\"",
		"\ncluster_metrics_num_active_n_ms{clustermetrics=\"ResourceManager\",context=\"yarn\",hostname=\"",
		"\nrpc_call_queue_length{port=\"",
	} {
		if a.status != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%d, no %q in %.2000s", a.status, want, a.body)
		}
	}
	await.Until(t, "the file has metrics", func() bool {
		b, err := os.ReadFile(out)
		return err == nil && strings.Contains(string(b), " yarn.QueueMetrics: Queue=root.default, Context=yarn, Hostname=")
	})
	off := start(t, 1)
	if a := off.ask(off.leader(), "GET", "/prom", ""); a.status != 404 {
		t.Errorf("where it isn't switched on: %d", a.status)
	}
}
