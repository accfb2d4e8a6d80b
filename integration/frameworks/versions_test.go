package frameworks

import (
	_ "embed"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

//go:embed testdata/hadoop.xml
var hadoopPOM string

// hadoop is a Hadoop of another version than the lab's.
type hadoop struct {
	lab  *hadooplab.Lab
	jars string
}

// newHadoop fetches it the first time; not of each version all jars are published, so that the examples may be of another.
func newHadoop(t *testing.T, l *hadooplab.Lab, version, examples string) hadoop {
	t.Helper()
	pom := strings.NewReplacer("HADOOP", version, "EXAMPLES", examples).Replace(hadoopPOM)
	jars, err := hadooplab.Maven(t.Context(), "client-"+version, []byte(pom))
	if err != nil {
		t.Fatalf("fetching Hadoop %s: %v", version, err)
	}
	return hadoop{l, jars}
}

func (h hadoop) classPath() string { return h.lab.Conf() + ":" + filepath.Join(h.jars, "*") }

// run runs one of its classes without any jar of the lab's.
func (h hadoop) run(t *testing.T, class string, args ...string) hadooplab.Result {
	t.Helper()
	cmd := h.lab.JavaCommand("", class, args...)
	cmd.Args[slices.Index(cmd.Args, "-cp")+1] = h.classPath()
	return succeed(t, h.lab, cmd)
}

var jobSubmitted = regexp.MustCompile(`Submitted application (application_\d+_\d+)`)

// TestVersions counts words with older and newer Hadoops than the lab's: client, ApplicationMaster and tasks, which fetch from the
// lab's shuffle service; and looks at what became of it with their commands.
func TestVersions(t *testing.T) {
	l := lab.Lab(t)
	in, want := text(2000, 21)
	l.Put(t, "/versions/in", in)
	for version, examples := range map[string]string{"2.10.2": "2.10.2", "3.3.6": "3.3.6", "3.4.3": "3.4.2", "3.5.0": "3.4.2"} {
		t.Run(version, func(t *testing.T) {
			h, out := newHadoop(t, l, version, examples), "/versions/"+version
			r := h.run(t, "org.apache.hadoop.util.RunJar", filepath.Join(h.jars, "hadoop-mapreduce-examples-"+examples+".jar"), "wordcount",
				"-Dmapreduce.application.classpath="+h.classPath(), "-Dyarn.application.classpath="+h.classPath(),
				"-Dmapreduce.input.fileinputformat.split.maxsize="+strconv.Itoa(len(in)/2+1), "-Dmapreduce.job.reduces=2",
				"-Dmapreduce.map.speculative=false", "-Dmapreduce.reduce.speculative=false", "/versions/in", out)
			sameCounts(t, lines(t, l, out+"/part*"), want)
			contains(t, r.Stderr, "Launched map tasks=2\n", "Launched reduce tasks=2\n", "Shuffled Maps =4\n", "Failed Shuffles=0\n")
			id := jobSubmitted.FindStringSubmatch(r.Stderr)
			if id == nil {
				t.Fatalf("no application\n%s", r.Stderr)
			}
			l.Status(t, id[1]) // when it has ended
			const cli = "org.apache.hadoop.yarn.client.cli."
			contains(t, h.run(t, cli+"ApplicationCLI", "application", "-status", id[1]).Stdout, "\tState : FINISHED\n", "\tFinal-State : SUCCEEDED\n", "\tProgress : 100%\n")
			contains(t, h.run(t, cli+"NodeCLI", "-list").Stdout, "Total Nodes:1\n", "        RUNNING\t")
		})
	}
}
