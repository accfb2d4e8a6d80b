package hadoop

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/publicdir"
)

// TestDaemonsDie runs by itself: jobs of other tests are not to be bothered.
func TestDaemonsDie(t *testing.T) {
	l := lab.Lab(t)
	if !onHeddle {
		t.Skip("Hadoop's daemons forget what runs unless they are told not to")
	}
	// The maps go on until they are let go, and the reduce starts only after all of them: it fetches what they have left with the
	// second life of the NodeManager.
	free := filepath.Join(t.TempDir(), "free")
	l.Put(t, "/restart/in/1", "one\n")
	l.Put(t, "/restart/in/2", "two\n")
	c, app := begin(t, l, streaming(t, l), "-Dmapreduce.job.reduce.slowstart.completedmaps=1.0", "-Dmapreduce.job.reduces=1",
		"-files", script(t, "wait.sh", "#!/bin/sh\ntouch "+free+".$$\nuntil [ -e "+free+" ]; do sleep 0.2; done\ncat\n"),
		"-input", "/restart/in", "-output", "/restart/out", "-mapper", "wait.sh", "-reducer", "cat")
	await.Slowly(t, "both maps run", func() bool {
		begun, err := filepath.Glob(free + ".*")
		return err == nil && len(begun) == 2
	})
	before := jvms(t, l, app)
	await.Slowly(t, "a master and two maps have a JVM each", func() bool {
		before = jvms(t, l, app)
		return len(before) == 3
	})
	node, rm := l.Daemon("nodemanager1"), l.Daemon("resourcemanager")
	node.Kill()
	rm.Kill()
	if err := rm.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := l.WaitYARN(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	after := programs(processes(t, l))
	for id, pid := range before {
		if !slices.Contains(after[id], pid) {
			t.Errorf("process %d of %s is gone after the restart, which has %v", pid, id, after[id])
		}
	}
	if err := os.WriteFile(free, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	j := end(t, c, app)
	if j.Code != 0 {
		t.Fatalf("exit code %d\n%s", j.Code, j.Stderr)
	}
	j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": 1, "Failed Shuffles": 0, "Killed map tasks": -1, "Failed map tasks": -1})
	out, err := l.Run(t.Context(), "yarn", "applicationattempt", "-list", app)
	if err != nil || !strings.Contains(out, "Total number of application attempts :1") {
		t.Errorf("%s, %v", out, err)
	}
}

func TestLeaderDies(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("Hadoop's ResourceManagers need ZooKeeper for this")
	}
	o := options
	o.ResourceManagers, o.HistoryServer = 3, false
	// clients sleep between failovers as long as they do where nobody has told them otherwise
	o.Site = maps.Clone(o.Site)
	delete(o.Site, "yarn.resourcemanager.connect.retry-interval.ms")
	delete(o.Site, "yarn.client.failover-sleep-base-ms")
	l := hadooplab.Start(t, o)
	c, app := begin(t, l, sleeper, "-Dmapreduce.job.reduce.slowstart.completedmaps=1.0", "-m", "2", "-r", "1", "-mt", "8000", "-rt", "10")
	await.Slowly(t, "both maps run", func() bool { return len(of(processes(t, l), app)) == 3 })
	leader := ""
	for _, id := range []string{"rm1", "rm2", "rm3"} {
		out, err := l.Run(t.Context(), "yarn", "rmadmin", "-getServiceState", id)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(out) == "active" {
			leader = id
		}
	}
	if leader == "" {
		t.Fatal("no ResourceManager is active")
	}
	l.Daemon("resourcemanager" + strings.TrimPrefix(leader, "rm")).Kill()
	j := end(t, c, app)
	if j.Code != 0 {
		t.Fatalf("exit code %d\n%s", j.Code, j.Stderr)
	}
	j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": 1, "Killed map tasks": -1, "Failed map tasks": -1})
	if got := status(t, l, app); !strings.Contains(got, "Final-State : SUCCEEDED") {
		t.Error(got)
	}
	out, err := l.Run(t.Context(), "yarn", "applicationattempt", "-list", app)
	if err != nil || !strings.Contains(out, "Total number of application attempts :1") {
		t.Errorf("%s, %v", out, err)
	}
}

// Hadoop's client, ApplicationMaster and NodeManager, with a folder that names two ResourceManagers as folders for YARN do, outlive the loss of
// either one beside a witness. With two alone, or with a third one that they don't know, they loop until they are lost.
func TestStockDaemonsOutliveTheLossOfEitherOfTwoResourceManagers(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("Hadoop's ResourceManagers need ZooKeeper for this")
	}
	o := options
	o.ResourceManagers, o.Witness, o.HistoryServer, o.Stock = 2, true, false, "nm"
	o.Site = maps.Clone(o.Site)
	delete(o.Site, "yarn.resourcemanager.connect.retry-interval.ms")
	delete(o.Site, "yarn.client.failover-sleep-base-ms")
	l := hadooplab.Start(t, o)
	active := func() string {
		t.Helper()
		leader := ""
		await.Slowly(t, "a ResourceManager is active, and the other one answers", func() bool {
			out, err := l.Run(t.Context(), "yarn", "rmadmin", "-getAllServiceState")
			if err != nil || strings.Count(out, "standby") != 1 {
				return false
			}
			first, _, _ := strings.Cut(out, "\n")
			leader = "rm2"
			if strings.Contains(first, "active") {
				leader = "rm1"
			}
			return strings.Contains(out, "active")
		})
		return leader
	}
	for range 2 {
		c, app := begin(t, l, sleeper, "-Dmapreduce.job.reduce.slowstart.completedmaps=1.0", "-m", "1", "-r", "1", "-mt", "8000", "-rt", "10")
		await.Slowly(t, "the map runs", func() bool { return len(of(processes(t, l), app)) == 2 })
		lost := l.Daemon("resourcemanager" + strings.TrimPrefix(active(), "rm"))
		lost.Kill()
		j := end(t, c, app)
		if j.Code != 0 {
			t.Fatalf("exit code %d\n%s", j.Code, j.Stderr)
		}
		if got := status(t, l, app); !strings.Contains(got, "Final-State : SUCCEEDED") {
			t.Error(got)
		}
		out, err := l.Run(t.Context(), "yarn", "node", "-list")
		if err != nil || !strings.Contains(out, "Total Nodes:1") {
			t.Errorf("%s, %v", out, err)
		}
		if err := lost.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	active()
}

// TestContainersOfTheirUsers runs a job as another user than the NodeManager's, with the keys that
// LinuxContainerExecutor has. Its logs are aggregated in the other of Hadoop's formats.
func TestContainersOfTheirUsers(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle || os.Geteuid() != 0 {
		t.Skip("Hadoop needs a program of root's for this, and Heddle to be root")
	}
	const who = "daemon" // a user that every Linux has
	o := options
	o.HistoryServer = false
	o.Dir = publicdir.New(t, "")
	// The jars are somewhere in this user's home.
	some, err := lab.Lab(t).Jar("hadoop-streaming")
	if err != nil {
		t.Fatal(err)
	}
	lib := publicdir.New(t, "")
	if err := os.CopyFS(lib, os.DirFS(filepath.Dir(some))); err != nil {
		t.Fatal(err)
	}
	o.Site = maps.Clone(options.Site)
	maps.Copy(o.Site, map[string]string{
		"yarn.nodemanager.container-executor.class":                            "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor",
		"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users": "false",
		"yarn.nodemanager.linux-container-executor.group":                      "root",
		"heddle.container.allowed-system-users":                                who,
		"yarn.log-aggregation.file-formats":                                    "IFile,TFile",
		"yarn.log-aggregation.file-controller.IFile.class":                     "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController",
		"mapreduce.application.classpath":                                      lib + "/*",
		"yarn.application.classpath":                                           lib + "/*",
		"dfs.permissions.enabled":                                              "false",
	})
	l := hadooplab.Start(t, o)
	in := text(1000)
	l.Put(t, "/users/in", in)
	path, err := l.Jar("hadoop-streaming")
	if err != nil {
		t.Fatal(err)
	}
	const mapper = `#!/bin/sh
echo "I am $(id -un)" >&2
tr ' ' '\n' | sed 's/$/\t1/'
`
	dir := publicdir.New(t, "")
	for name, text := range map[string]string{"map.sh": mapper, "reduce.py": sumUp} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r, err := l.Try(t.Context(), who, "hadoop", "jar", path, "-files", dir+"/map.sh,"+dir+"/reduce.py",
		"-input", "/users/in", "-output", "/users/out", "-mapper", "map.sh", "-reducer", "reduce.py")
	if err != nil || r.Code != 0 {
		t.Fatalf("exit code %d, %v\n%s", r.Code, err, r.Stderr)
	}
	if got, want := cat(t, l, "/users/out/part-*"), wordCount(in); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	j := job{Result: r, app: submitted.FindStringSubmatch(r.Stderr)[1]}
	j.counts(t, map[string]int64{"Failed Shuffles": 0, "Failed map tasks": -1, "Shuffled Maps ": 1})
	await.Slowly(t, "the logs are aggregated", func() bool {
		r, err := l.Try(t.Context(), who, "yarn", "logs", "-applicationId", j.app, "-log_files", "stderr")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(r.Stdout, "I am "+who)
	})
	if out, err := l.Run(t.Context(), "hdfs", "dfs", "-ls", "-R", "/app-logs"); err != nil || !strings.Contains(out, "/app-logs/"+who+"/bucket-logs-ifile/") {
		t.Errorf("%s, %v", out, err)
	}
}
