package archives

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

var (
	lab     *hadooplab.Shared
	options = hadooplab.Options{
		DataNodes: 1, ResourceManager: true, NodeManagers: 1,
		Site: map[string]string{"heddle.nodemanager.jvm-archive.enabled": "true"},
	}
)

func TestMain(m *testing.M) {
	if !hadooplab.Full() || !hadooplab.OnHeddle() {
		fmt.Println("Archives are not tried on a cluster: make integration-full does, with HEDDLE_TEST_FULL=1")
		return
	}
	os.Exit(hadooplab.Main(m, &options, &lab))
}

// spy is part of a program in Python: it writes down which Java programs of an application are running, with the archive that each of
// them has mapped, if it is one of the node's.
const spy = `
import glob, os, re
def spy(app, path):
    found = set()
    for proc in glob.glob("/proc/[0-9]*"):
        try:
            if app not in os.readlink(proc + "/cwd"): continue
            words = open(proc + "/cmdline").read().split("\0")
            if os.path.basename(words[0]) != "java": continue
            main = next(w for w in words[1:] if re.fullmatch(r"org\.apache\.[\w.]+", w))
            maps = re.findall(r"\S*/jvm-archive/\S*", open(proc + "/maps").read())
        except OSError:
            continue
        found.add(main.split(".")[-1] + " " + (maps[0] if maps else "-"))
    with open(path, "w") as f: f.write("\n".join(sorted(found)))
`

// mapper spies on the job that it is part of.
const mapper = "#!/usr/bin/env python3" + spy + `
import sys
lines = sys.stdin.read()
spy(os.environ["mapreduce_job_id"].replace("job", "application"), sys.argv[1])
print(lines, end="")
`

// archived are Java programs, by the last part of their class's name, with the archive that they have mapped; "-" is none.
type archived map[string]string

func readSpy(t *testing.T, path string) archived {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := archived{}
	for line := range strings.Lines(string(text)) {
		program, archive, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[program] = archive
	}
	return found
}

// job runs a streaming job with a folder of configuration of its own, checks what it makes, and returns how its programs were started.
func job(t *testing.T, l *hadooplab.Lab, number int, more ...string) archived {
	t.Helper()
	jar, err := l.Jar("hadoop-streaming")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, saw, out := filepath.Join(dir, "mapper.py"), filepath.Join(dir, "saw"), fmt.Sprintf("/out-%s-%d", t.Name(), number)
	if err := os.WriteFile(program, []byte(mapper), 0o755); err != nil {
		t.Fatal(err)
	}
	command := append([]string{"hadoop", "jar", jar, "-D", "mapreduce.job.maps=1"}, more...)
	command = append(command, "-files", program, "-input", "/in/words", "-output", out, "-mapper", "mapper.py "+saw, "-reducer", "cat")
	if _, err := l.Run(t.Context(), command...); err != nil {
		t.Fatal(err)
	}
	got, err := l.Run(t.Context(), "hdfs", "dfs", "-cat", out+"/part-*")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(strings.Fields(got), " ") != "one three two" {
		t.Errorf("the job made %q", got)
	}
	return readSpy(t, saw)
}

func putWords(t *testing.T, l *hadooplab.Lab) {
	t.Helper()
	words := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(words, []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"-mkdir", "-p", "/in"}, {"-put", "-f", words, "/in/words"}} {
		if _, err := l.Run(t.Context(), append([]string{"hdfs", "dfs"}, command...)...); err != nil {
			t.Fatal(err)
		}
	}
}

// archives are the files that a lab's node has.
func archives(t *testing.T, l *hadooplab.Lab) []string {
	t.Helper()
	return glob(t, l, "*.jsa")
}

func glob(t *testing.T, l *hadooplab.Lab, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(l.Dir(), "*", "*", "jvm-archive", "*", pattern))
	if err == nil && len(found) == 0 {
		found, err = filepath.Glob(filepath.Join(l.Dir(), "*", "jvm-archive", "*", pattern))
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// made waits until a node has n archives and is making none, for long enough that the next would have been begun.
func made(t *testing.T, l *hadooplab.Lab, n int) {
	t.Helper()
	quiet := 0
	await.Slowly(t, fmt.Sprintf("there are %d archives", n), func() bool {
		if quiet++; len(archives(t, l)) < n || len(glob(t, l, ".build-*")) > 0 {
			quiet = 0
		}
		return quiet == 10
	})
}

// want checks that programs were started with an archive of the node's, or without.
func (a archived) want(t *testing.T, with bool, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if archive, seen := a[p]; !seen || (archive != "-") != with {
			t.Errorf("%s started with archive: want %v; the programs were %v", p, with, a)
		}
	}
}

// The second MapReduce job starts with the archives that the first one's containers have led to. Archives that are broken, and
// jars that are others, make no job fail.
func TestMapReduce(t *testing.T) {
	l := lab.Lab(t)
	putWords(t, l)
	both := []string{"MRAppMaster", "YarnChild"}
	job(t, l, 1).want(t, false, both...)
	made(t, l, 2)
	job(t, l, 2).want(t, true, both...)
	made(t, l, 2)

	for _, a := range archives(t, l) {
		if err := os.Remove(a); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(a, bytes.Repeat([]byte("noise"), 1<<20), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	job(t, l, 3)

	// A class path with a jar more is another one, and with a jar that was changed in its place another one again.
	extra := filepath.Join(t.TempDir(), "extra.jar")
	copyJar(t, l, extra)
	path := "mapreduce.application.classpath=" + extra + "," + strings.ReplaceAll(classPath(t, l), ":", ",")
	before := archives(t, l)
	job(t, l, 4, "-D", path).want(t, false, both...)
	made(t, l, len(before)+2)
	changed := time.Now().Add(-time.Hour)
	if err := os.Chtimes(extra, changed, changed); err != nil {
		t.Fatal(err)
	}
	job(t, l, 5, "-D", path).want(t, false, both...)
}

func classPath(t *testing.T, l *hadooplab.Lab) string {
	t.Helper()
	jar, err := l.Jar("hadoop-streaming")
	if err != nil {
		t.Fatal(err)
	}
	return l.Conf() + ":" + filepath.Dir(jar) + "/*"
}

func copyJar(t *testing.T, l *hadooplab.Lab, to string) {
	t.Helper()
	jar, err := l.Jar("hadoop-streaming")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(jar)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Where the archives' disk is full, jobs run without.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m,mode=0755", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	})
	o := options
	o.Site = map[string]string{"heddle.nodemanager.jvm-archive.enabled": "true", "heddle.nodemanager.jvm-archive.dir": filepath.Join(disk, "archives")}
	l := hadooplab.Start(t, o)
	putWords(t, l)
	if err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 16<<20), 0o644); err == nil {
		t.Fatal("the disk isn't full")
	}
	for i := range 2 {
		job(t, l, i).want(t, false, "MRAppMaster", "YarnChild")
	}
}

const pi = spy + `
import random, sys
from operator import add
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("pi").getOrCreate()
count = spark.sparkContext.parallelize(range(100000), 4).map(lambda _: random.random() ** 2 + random.random() ** 2 <= 1).map(int).reduce(add)
assert 75000 < count < 82000
spy(spark.sparkContext.applicationId, sys.argv[1])
spark.stop()
`

// Spark's programs have their jars from a folder of the node's, or from HDFS, one by one or as an archive.
func TestSpark(t *testing.T) {
	spark, err := hadooplab.Spark(t.Context(), hadooplab.SparkVersion)
	if err != nil {
		t.Fatal(err)
	}
	l := lab.Lab(t)
	jars, err := filepath.Glob(spark + "/jars/*.jar")
	if err != nil || len(jars) == 0 {
		t.Fatalf("%v, %v", jars, err)
	}
	zip := filepath.Join(t.TempDir(), "spark.zip")
	if out, err := exec.Command("python3", slices.Concat([]string{"-c", "import sys, zipfile, os\nz = zipfile.ZipFile(sys.argv[1], 'w')\n[z.write(j, os.path.basename(j)) for j in sys.argv[2:]]\nz.close()", zip}, jars)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, command := range [][]string{{"-mkdir", "-p", "/spark/jars"}, append(append([]string{"-put"}, jars...), "/spark/jars"), {"-put", zip, "/spark"}} {
		if _, err := l.Run(t.Context(), append([]string{"hdfs", "dfs"}, command...)...); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "pi.py")
	if err := os.WriteFile(program, []byte(pi), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, mode, where, master string }{
		{"folder", "client", "spark.yarn.jars=local:" + spark + "/jars/*", "ExecutorLauncher"},
		{"jars", "cluster", "spark.yarn.jars=" + l.URI() + "/spark/jars/*.jar", "ApplicationMaster"},
		{"archive", "cluster", "spark.yarn.archive=" + l.URI() + "/spark/spark.zip", "ApplicationMaster"},
	} {
		t.Run(c.name, func(t *testing.T) {
			submit := func() archived {
				saw := filepath.Join(t.TempDir(), "saw")
				cmd := exec.Command(
					filepath.Join(spark, "bin", "spark-submit"), "--master", "yarn", "--deploy-mode", c.mode, "--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1",
					"--conf", "spark.yarn.am.memory=512m", "--conf", "spark.ui.enabled=false", "--conf", c.where, program, saw)
				cmd.Dir = t.TempDir()
				cmd.Env = append(os.Environ(), "SPARK_HOME="+spark, "PYTHONPATH="+filepath.Dir(spark), "PYSPARK_PYTHON=python3", "HADOOP_CONF_DIR="+l.Conf(), "SPARK_LOCAL_IP=127.0.0.1")
				command, err := l.BeginCommand(cmd)
				if err != nil {
					t.Fatal(err)
				}
				if r, err := command.Wait(t.Context()); err != nil || r.Code != 0 {
					t.Fatalf("%v, exit code %d\n%s\n%s", err, r.Code, r.Stdout, r.Stderr)
				}
				return readSpy(t, saw)
			}
			n := len(archives(t, l))
			first := submit()
			for _, archive := range first {
				if archive == "-" {
					n++
				}
			}
			made(t, l, n)
			submit().want(t, true, c.master, "YarnCoarseGrainedExecutorBackend")
		})
	}
}
