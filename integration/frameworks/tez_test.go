package frameworks

import (
	_ "embed"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

//go:embed testdata/tez.xml
var tezPOM []byte

// tezOptions keep processes small and make Tez fetch by HTTP what it could read from the local disk.
var tezOptions = []string{
	"-Dtez.lib.uris=${fs.defaultFS}/tez", "-Dtez.use.cluster.hadoop-libs=true", "-Dtez.staging-dir=/tmp/tez",
	"-Dtez.am.resource.memory.mb=512", "-Dtez.am.launch.cmd-opts=-Xmx384m -XX:TieredStopAtLevel=1 --add-opens=java.base/java.lang=ALL-UNNAMED",
	"-Dtez.task.resource.memory.mb=512", "-Dtez.task.launch.cmd-opts=-Xmx300m -XX:TieredStopAtLevel=1 --add-opens=java.base/java.lang=ALL-UNNAMED",
	"-Dtez.runtime.io.sort.mb=50", "-Dtez.runtime.unordered.output.buffer.size-mb=20", "-Dtez.grouping.split-count=3",
	"-Dtez.runtime.optimize.local.fetch=false",
}

// tezJars is the folder of Tez's jars, which are in HDFS then, too.
func tezJars(t *testing.T, l *hadooplab.Lab) string {
	t.Helper()
	jars, err := hadooplab.Maven(t.Context(), "tez", tezPOM)
	if err != nil {
		t.Fatal("fetching Tez: ", err)
	}
	if r, err := l.Try(t.Context(), "", "hdfs", "dfs", "-test", "-d", "/tez"); err != nil {
		t.Fatal(err)
	} else if r.Code != 0 {
		if _, err := l.Run(t.Context(), "hdfs", "dfs", "-put", jars, "/tez"); err != nil {
			t.Fatal(err)
		}
	}
	return jars
}

// tez returns a function that makes commands of Tez's examples.
func tez(t *testing.T, l *hadooplab.Lab) func(program string, args ...string) *exec.Cmd {
	t.Helper()
	jars := tezJars(t, l)
	return func(program string, args ...string) *exec.Cmd {
		return l.JavaCommand(filepath.Join(jars, "*"), "org.apache.tez.examples.ExampleDriver", append(append([]string{program}, tezOptions...), args...)...)
	}
}

var tezSubmitted = regexp.MustCompile(`Submitted application (application_\d+_\d+)`)

// tezCounter is a counter as Tez's client has printed it, of the whole DAG; −1 if it hasn't.
func tezCounter(log, name string) int64 {
	m := regexp.MustCompile(`(?m)^.*\b` + name + `=(\d+)$`).FindStringSubmatch(log)
	if m == nil {
		return -1
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// TestTezWords counts words in three vertices whose data go over the node's shuffle service, several outputs a
// request, or are read from its disk.
func TestTezWords(t *testing.T) {
	l := lab.Lab(t)
	example := tez(t, l)
	in, want := text(4000, 1)
	l.Put(t, "/tez-words/in", in)
	for name, options := range map[string][]string{
		"http": {"-Dtez.runtime.shuffle.keep-alive.enabled=true", "-Dtez.runtime.shuffle.fetch.max.task.output.at.once=2", "-Dtez.runtime.compress=true"},
		"disk": {"-Dtez.runtime.optimize.local.fetch=true"},
	} {
		t.Run(name, func(t *testing.T) {
			out := "/tez-words/" + name
			r := succeed(t, l, example("orderedwordcount", append(options, "-counter", "/tez-words/in", out, "2")...))
			sameCounts(t, lines(t, l, out+"/part*"), want)
			m := tezSubmitted.FindStringSubmatch(r.Stderr)
			if m == nil {
				t.Fatalf("no application\n%s", r.Stderr)
			}
			contains(t, l.Status(t, m[1]), "Application-Type : TEZ\n", "Final-State : SUCCEEDED\n", "Progress : 100%\n")
			fetched, read := tezCounter(r.Stderr, "SHUFFLE_BYTES"), tezCounter(r.Stderr, "SHUFFLE_BYTES_DISK_DIRECT")
			if fetched <= 0 || (read > 0) != (name == "disk") || tezCounter(r.Stderr, "FAILED_SHUFFLE") > 0 {
				t.Errorf("%d bytes were fetched, %d of them from disk\n%s", fetched, read, r.Stderr)
			}
		})
	}
}

// TestTezSession runs two DAGs in one application, whose client speaks to the ApplicationMaster itself with a token of the
// ResourceManager's.
func TestTezSession(t *testing.T) {
	l := lab.Lab(t)
	example := tez(t, l)
	var ins, outs, wants []string
	for i := range 2 {
		in, want := text(1000, uint64(2+i))
		dir := "/tez-session/" + strconv.Itoa(i)
		l.Put(t, dir+"/in", in)
		ins, outs, wants = append(ins, dir+"/in"), append(outs, dir+"/out"), append(wants, want)
	}
	r := succeed(t, l, example("simplesessionexample", strings.Join(ins, ","), strings.Join(outs, ","), "2"))
	for i, out := range outs {
		sameCounts(t, lines(t, l, out+"/part*"), wants[i])
	}
	apps := tezSubmitted.FindAllStringSubmatch(r.Stderr, -1)
	if len(apps) != 1 {
		t.Fatalf("%d applications\n%s", len(apps), r.Stderr)
	}
	contains(t, l.Status(t, apps[0][1]), "Final-State : SUCCEEDED\n")
}

// TestTezJoin broadcasts one side of a join to the tasks that read the other.
func TestTezJoin(t *testing.T) {
	l := lab.Lab(t)
	example := tez(t, l)
	succeed(t, l, example("joindatagen", "/tez-join/big", "200000", "/tez-join/small", "20000", "/tez-join/want", "3"))
	succeed(t, l, example("hashjoin", "/tez-join/big", "/tez-join/small", "2", "/tez-join/out"))
	want := lines(t, l, "/tez-join/want/*")
	if got := lines(t, l, "/tez-join/out/*"); got != want || strings.Count(want, "\n") < 10 {
		t.Errorf("%d lines, want %d", strings.Count(got, "\n"), strings.Count(want, "\n"))
	}
}
