package sinks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const example = `# as Hadoop's own file has it
*.sink.file.class=org.apache.hadoop.metrics2.sink.FileSink
*.period = 5
! another comment
*.sink.graphite.class: org.apache.hadoop.metrics2.sink.GraphiteSink
*.sink.graphite.server_host=collector
*.sink.graphite.period=30
resourcemanager.sink.file.filename=/var/log/rm\
-metrics.out
resourcemanager.sink.graphite.server_host=other
resourcemanager.sink.graphite.context=yarn
resourcemanager.sink.graphite.record.filter.include=Queue*
resourcemanager.sink.ambari.class=org.apache.hadoop.metrics2.sink.timeline.HadoopTimelineMetricsSink
resourcemanager.sink.lacksaclass.x=1
nodemanager.sink.file.filename=/var/log/nm.out
`

// Sinks of hadoop-metrics2.properties went dark without a word.
func TestSinksOfADaemon(t *testing.T) {
	dir := t.TempDir()
	if s, problems, err := Of(dir, "resourcemanager"); err != nil || s != nil || problems != nil {
		t.Errorf("without a file: %v, %v, %v", s, problems, err)
	}
	write(t, dir, "hadoop-metrics2.properties", example)
	got, problems, err := Of(dir, "resourcemanager")
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if s := got[1]; s.Name != "file" || s.Kind != File || s.Options["filename"] != "/var/log/rm-metrics.out" || s.Period != 5*time.Second {
		t.Errorf("%+v", s)
	}
	if s := got[2]; s.Kind != Graphite || s.Options["server_host"] != "other" || s.Context != "yarn" || s.Period != 30*time.Second {
		t.Errorf("%+v", s)
	}
	text := strings.Join(problems, "\n")
	for _, want := range []string{
		`hadoop-metrics2.properties: the sink "ambari" gets no metrics: Heddle has no org.apache.hadoop.metrics2.sink.timeline.HadoopTimelineMetricsSink, only `,
		"resourcemanager.sink.graphite.record.filter.include has no effect",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if len(problems) != 2 {
		t.Errorf("%d problems: %s", len(problems), text)
	}
	write(t, dir, "hadoop-metrics2-nodemanager.properties", "nodemanager.sink.a.class=org.apache.hadoop.metrics2.sink.StatsDSink\nnodemanager.period=x\n")
	if got, problems, err = Of(dir, "nodemanager"); err != nil || len(got) != 1 || got[0].Kind != StatsD || got[0].Period != 10*time.Second || len(problems) != 1 {
		t.Errorf("a file of its own: %+v, %v, %v", got, problems, err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzProperties(f *testing.F) {
	f.Add(example)
	f.Add("a\\\n\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := chosen(Properties(text), "resourcemanager")
		for _, s := range got {
			if s.Period < time.Millisecond || s.Class == "" || s.Name == "" {
				t.Errorf("%+v", s)
			}
		}
	})
}
