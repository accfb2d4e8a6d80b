package frameworks

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// flinkConf lets jobs go on when a TaskManager is lost.
const flinkConf = `
taskmanager.numberOfTaskSlots: 2
parallelism.default: 2
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 100
restart-strategy.fixed-delay.delay: 1 s
`

// flink is a client of Flink's.
type flink struct {
	lab       *hadooplab.Lab
	lib, conf string
	words     string // the jar of testdata/Words.java
}

// newFlink prepares a client; the first time Flink is fetched from PyPI (300 MB).
func newFlink(t *testing.T, l *hadooplab.Lab) flink {
	t.Helper()
	conf := t.TempDir()
	lib, err := hadooplab.Flink(t.Context(), conf, flinkConf)
	if err != nil {
		t.Fatal(err)
	}
	f := flink{lab: l, lib: lib, conf: conf, words: filepath.Join(t.TempDir(), "words.jar")}
	compile(t, "testdata/Words.java", filepath.Join(f.lib, "*"), f.words)
	return f
}

// compile makes a jar of a source.
func compile(t *testing.T, source, classpath, to string) {
	t.Helper()
	classes := t.TempDir()
	javac := exec.Command("javac", "--release", "11", "-cp", classpath, "-d", classes, source)
	if out, err := javac.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", javac, err, out)
	}
	jar, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer jar.Close()
	w := zip.NewWriter(jar)
	if err := w.AddFS(os.DirFS(classes)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// command is a command of Flink's, such as run, or the one that starts a session.
func (f flink) command(class string, args ...string) *exec.Cmd {
	cmd := f.lab.JavaCommand(filepath.Join(f.lib, "*"), class, args...)
	log := "-Dlog4j.configurationFile=file:" + filepath.Join(f.conf, "log4j.properties")
	cmd.Args = append([]string{cmd.Args[0], log}, cmd.Args[1:]...)
	cmd.Env = append(cmd.Env, "YARN_CONF_DIR="+f.lab.Conf(), "FLINK_CONF_DIR="+f.conf, "FLINK_LIB_DIR="+f.lib,
		"FLINK_PLUGINS_DIR="+filepath.Join(f.conf, "none"), "FLINK_OPT_DIR="+filepath.Join(f.conf, "none"))
	return cmd
}

func (f flink) run(t *testing.T, args ...string) hadooplab.Result {
	t.Helper()
	return succeed(t, f.lab, f.command("org.apache.flink.client.cli.CliFrontend", args...))
}

var flinkSubmitted = regexp.MustCompile(`Submitting application master (application_\d+_\d+)`)

func flinkApp(t *testing.T, r hadooplab.Result) string {
	t.Helper()
	m := flinkSubmitted.FindStringSubmatch(r.Stderr)
	if m == nil {
		t.Fatalf("no application\n%s", r.Stderr)
	}
	return m[1]
}

// TestFlinkApplication runs a program in the ApplicationMaster, which ends with it.
func TestFlinkApplication(t *testing.T) {
	l := lab.Lab(t)
	f := newFlink(t, l)
	in, want := text(4000, 11)
	l.Put(t, "/flink/in", in)
	r := f.run(t, "run", "-t", "yarn-application", "-c", "Words", f.words, l.URI()+"/flink/in", l.URI()+"/flink/out")
	contains(t, l.Status(t, flinkApp(t, r)), "Application-Type : Apache Flink\n", "Final-State : SUCCEEDED\n", "Progress : 100%\n")
	sameCounts(t, lines(t, l, "/flink/out/*/*"), want)
}

// TestFlinkSession keeps an application for several jobs. One of them goes on in another container when the one that it runs in is
// killed, and is cancelled; another ends.
func TestFlinkSession(t *testing.T) {
	l := lab.Lab(t)
	f := newFlink(t, l)
	in, want := text(4000, 12)
	l.Put(t, "/flink-session/in", in)
	id := flinkApp(t, succeed(t, l, f.command("org.apache.flink.yarn.cli.FlinkYarnSessionCli", "-d", "-nm", "session", "-D", "yarn.properties-file.location="+t.TempDir())))
	t.Cleanup(func() { _, _ = l.Run(t.Context(), "yarn", "application", "-kill", id) })
	in1 := func(verb string, args ...string) hadooplab.Result {
		t.Helper()
		return f.run(t, append([]string{verb, "-t", "yarn-session", "-Dyarn.application.id=" + id}, args...)...)
	}
	m := regexp.MustCompile(`JobID ([0-9a-f]+)`).FindStringSubmatch(in1("run", "-d", "-c", "Words", f.words, "forever").Stdout)
	if m == nil {
		t.Fatal("no job is known")
	}
	job, pages := m[1], "/proxy/"+id
	await.Slowly(t, "the job runs", func() bool { return jobState(t, l, pages, job) == "RUNNING" })
	if overview := get(t, l, pages+"/overview"); !strings.Contains(overview, `"flink-version":"`+hadooplab.FlinkVersion+`"`) {
		t.Errorf("its overview, through the proxy: %s", overview)
	}
	var first, next string
	await.Slowly(t, "a TaskManager has registered", func() bool {
		first = taskManager(t, l, pages, "")
		return first != ""
	})
	if err := syscall.Kill(processOf(t, first), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Slowly(t, "another TaskManager has come", func() bool {
		next = taskManager(t, l, pages, first)
		return next != ""
	})
	if !strings.HasPrefix(next, "container_") {
		t.Errorf("the TaskManager that has come is called %q", next)
	}
	await.Slowly(t, "the job runs again", func() bool { return jobState(t, l, pages, job) == "RUNNING" })
	in1("run", "-c", "Words", f.words, l.URI()+"/flink-session/in", l.URI()+"/flink-session/out")
	sameCounts(t, lines(t, l, "/flink-session/out/*/*"), want)
	in1("cancel", job)
	await.Slowly(t, "the job is cancelled", func() bool { return jobState(t, l, pages, job) == "CANCELED" })
	contains(t, in1("list", "-a").Stdout, "forever (CANCELED)", "words (FINISHED)")
	if _, err := l.Run(t.Context(), "yarn", "application", "-kill", id); err != nil {
		t.Fatal(err)
	}
	contains(t, l.Status(t, id), "Final-State : KILLED\n")
}

// jobState is what the JobManager says of a job, through the ResourceManager's proxy.
func jobState(t *testing.T, l *hadooplab.Lab, pages, job string) string {
	t.Helper()
	var answer struct{ State string }
	if text := get(t, l, pages+"/jobs/"+job); text != "" {
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return answer.State
}

// taskManager is the container of a registered TaskManager other than one, "" if there is none.
func taskManager(t *testing.T, l *hadooplab.Lab, pages, other string) string {
	t.Helper()
	var answer struct{ TaskManagers []struct{ ID string } }
	if text := get(t, l, pages+"/taskmanagers"); text != "" {
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	for _, m := range answer.TaskManagers {
		if m.ID != other {
			return m.ID
		}
	}
	return ""
}

// processOf is the Java process of a container, which has the container's id among its arguments.
func processOf(t *testing.T, container string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := fs.ReadFile(os.DirFS("/proc/"+e.Name()), "cmdline")
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(string(line), "\x00")
		if strings.HasSuffix(args[0], "/java") && strings.Contains(string(line), container) {
			return pid
		}
	}
	t.Fatalf("%s has no process", container)
	return 0
}
