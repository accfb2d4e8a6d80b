package hadoop

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// recorded are the calls that an auxiliary service gets of a job with one map and one reduce, on stock (HEDDLE_TEST_STOCK=1) and on Heddle. The job has data for
// the service: the secret of its shuffle, which is left out here.
const recorded = `init
start
getMetaData
initializeContainer root 0001/1 <memory:512, vCores:1> APPLICATION_MASTER
initializeContainer root 0001/2 <memory:512, vCores:1> TASK
initializeApplication root 0001
stopContainer 0001/2 <memory:512, vCores:1> TASK
initializeContainer root 0001/3 <memory:512, vCores:1> TASK
initializeApplication root 0001
stopContainer 0001/3 <memory:512, vCores:1> TASK
stopContainer 0001/1 <memory:512, vCores:1> APPLICATION_MASTER
stopApplication 0001
stop
`

// ofCall matches a record of a call.
var ofCall = regexp.MustCompile(`^(init recovery=\w+ .*|initializeApplication root \d+( .*)?|start|stop|getMetaData|(initializeContainer|stopContainer) .*|stopApplication \d+)$`)

// recorderClasses compiles the service that records its calls.
func recorderClasses(t *testing.T) string {
	t.Helper()
	lib, err := hadooplab.Jars(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	classes := t.TempDir()
	javac := exec.Command("javac", "--release", "8", "-nowarn", "-proc:none", "-d", classes, "-cp", filepath.Join(lib, "*"), "../../nm/javahost/testdata/Recorder.java")
	if out, err := javac.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return classes
}

// recordingSite has the settings of a job with data for the service.
func recordingSite(more map[string]string) map[string]string {
	site := maps.Clone(options.Site)
	maps.Copy(site, map[string]string{"mapreduce.job.shuffle.provider.services": "recorder", "mapreduce.job.reduce.slowstart.completedmaps": "1"})
	maps.Copy(site, more)
	return site
}

// isRecorded runs a job, stops the node and compares the calls in a file.
func isRecorded(t *testing.T, l *hadooplab.Lab, file string) {
	t.Helper()
	succeed(t, l, example(t, l, "pi"), "1", "10")
	calls := func() string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	await.Slowly(t, "the end of the application", func() bool { return strings.Contains(calls(), "stopApplication") })
	if err := l.Daemon("nodemanager1").Stop(); err != nil && onHeddle { // Hadoop's ends with 143
		t.Fatal(err)
	}
	if got := relevant(calls()); got != recorded {
		t.Errorf("calls:\n%s\nwant\n%s", got, recorded)
	}
}

// TestAuxiliaryServiceIsCalledAsByStock runs a job with a service that records its calls.
func TestAuxiliaryServiceIsCalledAsByStock(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	classes := recorderClasses(t)
	file := filepath.Join(classes, "calls")
	o := options
	o.HistoryServer = false
	o.Site = recordingSite(map[string]string{
		"yarn.nodemanager.aux-services": "mapreduce_shuffle,recorder", "yarn.nodemanager.aux-services.recorder.class": "heddle.test.Recorder",
		"yarn.nodemanager.aux-services.recorder.classpath": classes, "recorder.file": file,
	})
	isRecorded(t, hadooplab.Start(t, o), file)
}

// TestServiceOfAManifestIsCalledAsByStock does so with a service of a manifest that comes to HDFS while the node runs, with its jar.
func TestServiceOfAManifestIsCalledAsByStock(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	classes := recorderClasses(t)
	jar, file := filepath.Join(t.TempDir(), "recorder.jar"), filepath.Join(classes, "calls")
	if out, err := exec.Command("jar", "cf", jar, "-C", classes, "heddle").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const services = "yarn.nodemanager.aux-services"
	o := options
	o.HistoryServer = false
	o.Site = recordingSite(map[string]string{
		services:                       "mapreduce_shuffle,recorder", // for MapReduce's ApplicationMaster, which hands data to services of this list alone
		services + ".manifest.enabled": "true", services + ".manifest": "/services/manifest.json", services + ".manifest.reload-ms": "500", "yarn.admin.acl": "root",
	})
	l := hadooplab.Start(t, o)
	for _, args := range [][]string{{"-mkdir", "/services"}, {"-put", jar, "/services/"}} {
		if _, err := l.Run(t.Context(), append([]string{"hdfs", "dfs"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	l.Put(t, "/services/manifest.json", fmt.Sprintf(`{"services":[
		{"name":"mapreduce_shuffle","configuration":{"properties":{"class.name":"org.apache.hadoop.mapred.ShuffleHandler","mapreduce.shuffle.port":0}}},
		{"name":"recorder","version":"1","configuration":{"properties":{"class.name":"heddle.test.Recorder","recorder.file":%q},
			"files":[{"type":"STATIC","src_file":"/services/recorder.jar"}]}}]}`, file))
	await.Slowly(t, "the service has started", func() bool {
		b, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(b), "getMetaData")
	})
	isRecorded(t, l, file)
}

// relevant returns the calls without what differs between two jobs. Heddle gives services more: a path for their state, a handler of local paths from the beginning, and the
// user of a container that ends.
func relevant(calls string) string {
	var b strings.Builder
	for line := range strings.Lines(calls) {
		line = strings.TrimSpace(line)
		if !ofCall.MatchString(line) {
			continue // the secret may have ends of lines
		}
		switch f := strings.Fields(line); f[0] {
		case "init":
			line = f[0]
		case "initializeApplication":
			line = strings.Join(f[:3], " ")
		case "stopContainer":
			line = f[0] + " " + strings.Join(f[2:], " ")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
