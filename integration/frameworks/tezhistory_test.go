package frameworks

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/integration/jvmtest"
	"heddle/internal/await"
)

//go:embed testdata/tezhistory.xml
var tezHistoryPOM []byte

// told is an entity that a timeline server of version 1.5 has.
type told struct {
	Entity string
	Events []struct{ EventType string }
	Info   map[string]any      `json:"otherinfo"`
	Filter map[string][]any    `json:"primaryfilters"`
	Near   map[string][]string `json:"relatedentities"`
}

// tells returns the entities of a type.
func tells(t *testing.T, l *hadooplab.Lab, kind string) (list []told) {
	t.Helper()
	var raw json.RawMessage
	if err := l.Get(t.Context(), "timeline-http", "/ws/v1/timeline/"+kind+"?limit=1000", &raw); err != nil {
		t.Fatal(err)
	}
	var all struct{ Entities []told }
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return all.Entities
}

// tez09 is what Tez 0.9 needs of a Java that is newer than 8.
const tez09 = "-XX:TieredStopAtLevel=1 -Djava.system.class.loader=heddle.test.Urls --add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.net=ALL-UNNAMED"

// TestTezHistory runs a DAG of Tez 0.9.1 that publishes to a stock timeline server, which has the DAG, its vertices and task attempts then, as Tez's UI asks for them, beside
// what the ResourceManager has published of its application.
func TestTezHistory(t *testing.T) {
	o := options
	o.TimelineServer, o.HistoryServer = true, false
	l := hadooplab.Start(t, o)
	jars, err := hadooplab.Maven(t.Context(), "tezhistory", tezHistoryPOM)
	if err != nil {
		t.Fatal("fetching Tez: ", err)
	}
	jar := filepath.Join(t.TempDir(), "urls.jar")
	if out, err := exec.Command("jar", "cf", jar, "-C", jvmtest.Compile(t, "testdata/Urls.java"), "heddle").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, from := range []string{jars, jar} {
		if _, err := l.Run(t.Context(), "hdfs", "dfs", "-put", from, "/tez"); err != nil {
			t.Fatal(err)
		}
	}
	in, want := text(1000, 1)
	l.Put(t, "/tez-history/in", in)
	r := succeed(t, l, l.JavaCommand(filepath.Join(jars, "*"), "org.apache.tez.examples.ExampleDriver", slices.Concat([]string{"orderedwordcount"}, tezOptions, []string{
		"-Dtez.am.launch.cmd-opts=-Xmx384m " + tez09, "-Dtez.task.launch.cmd-opts=-Xmx300m " + tez09,
		"-Dtez.history.logging.service.class=org.apache.tez.dag.history.logging.ats.ATSHistoryLoggingService", "-Dtez.allow.disabled.timeline-domains=true",
		"-Dtez.am.tez-ui.webservice.enable=false", "/tez-history/in", "/tez-history/out", "2",
	})...))
	sameCounts(t, lines(t, l, "/tez-history/out/part*"), want)
	app := tezSubmitted.FindStringSubmatch(r.Stderr)
	if app == nil {
		t.Fatal(r.Stderr)
	}
	await.Slowly(t, "the end of the DAG is published", func() bool {
		return strings.Contains(fmt.Sprint(tells(t, l, "TEZ_DAG_ID")), "DAG_FINISHED") && strings.Contains(fmt.Sprint(tells(t, l, "YARN_APPLICATION")), "YARN_APPLICATION_FINISHED")
	})
	dags := tells(t, l, "TEZ_DAG_ID")
	if len(dags) != 1 || dags[0].Info["status"] != "SUCCEEDED" || fmt.Sprint(dags[0].Filter["applicationId"]) != "["+app[1]+"]" {
		t.Errorf("%+v", dags)
	}
	tasks := 0
	vertices := tells(t, l, "TEZ_VERTEX_ID")
	for _, v := range vertices {
		n, _ := v.Info["numTasks"].(float64)
		tasks += int(n)
	}
	for kind, want := range map[string]int{"TEZ_VERTEX_ID": 3, "TEZ_TASK_ID": tasks, "TEZ_TASK_ATTEMPT_ID": tasks, "TEZ_APPLICATION": 1} {
		list := tells(t, l, kind)
		if len(list) != want || want == 0 {
			t.Errorf("%d of %s, want %d", len(list), kind, want)
		}
		for _, e := range list {
			if kind != "TEZ_APPLICATION" && e.Info["status"] != "SUCCEEDED" {
				t.Errorf("%s: %v", e.Entity, e.Info["status"])
			}
		}
	}
	if apps := tells(t, l, "YARN_APPLICATION"); len(apps) != 1 || apps[0].Entity != app[1] || apps[0].Info["YARN_APPLICATION_TYPE"] != "TEZ" {
		t.Errorf("%+v", apps)
	}
}
