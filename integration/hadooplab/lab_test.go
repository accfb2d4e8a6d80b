package hadooplab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/internal/needs"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("HADOOPLAB_TO_BE_KILLED"); dir != "" {
		os.Exit(toBeKilled(dir))
	}
	os.Exit(await.NoGoroutines(m.Run()))
}

func TestHDFS(t *testing.T) {
	t.Parallel()
	lab := Start(t, Options{DataNodes: 2})
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(file, []byte("hello hdfs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Run(ctx, "hdfs", "dfs", "-put", file, "/in.txt"); err != nil {
		t.Fatal(err)
	}
	if out, err := lab.Run(ctx, "hdfs", "dfs", "-cat", "/in.txt"); err != nil || out != "hello hdfs\n" {
		t.Errorf("got %q, %v", out, err)
	}
	out, err := lab.Run(ctx, "hdfs", "fsck", "/in.txt", "-files", "-blocks", "-locations")
	if err != nil || !strings.Contains(out, "Live_repl=2") {
		t.Errorf("not two replicas: %v\n%s", err, out)
	}
	if _, err := lab.RunAs(ctx, "somebody", "hdfs", "dfs", "-rm", "/in.txt"); err == nil || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("another user removed the file: %v", err)
	}

	lab.Daemon("datanode2").Kill()
	if err := lab.Daemon("datanode2").Restart(); err != nil {
		t.Fatal(err)
	}
	if err := lab.Daemon("datanode2").WaitLog(ctx, Registered); err != nil {
		t.Fatal(err)
	}
}

func TestConfigurationIsFineForHeddle(t *testing.T) {
	t.Parallel()
	l := &Lab{dir: t.TempDir(), lib: "/lib", options: Options{DataNodes: 2, NameNodes: 2, ResourceManager: true, NodeManagers: 1, HistoryServer: true}}
	var err error
	if l.ports, l.release, err = freePorts(portNames(l.options)); err != nil {
		t.Fatal(err)
	}
	defer l.release()
	l.site = l.settings()
	if err := l.writeConf(); err != nil {
		t.Fatal(err)
	}
	r := conf.Check(l.Conf())
	for _, p := range r.Problems {
		if p.Severity != conf.Info {
			t.Error(p)
		}
	}
}

func TestYARN(t *testing.T) {
	SkipUnlessFull(t)
	t.Parallel()
	lab := Start(t, Options{ResourceManager: true, NodeManagers: 1})
	examples, err := lab.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(t.TempDir(), "in")
	out := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(in, []byte("warp weft warp\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Run(t.Context(), "hadoop", "jar", examples, "wordcount", in, out); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(out, "part-r-00000")); err != nil || string(got) != "warp\t2\nweft\t1\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestHighlyAvailableHDFS(t *testing.T) {
	SkipUnlessFull(t)
	t.Parallel()
	lab := Start(t, Options{DataNodes: 1, NameNodes: 2})
	ctx := t.Context()
	if _, err := lab.Run(ctx, "hdfs", "dfs", "-mkdir", "/a"); err != nil {
		t.Fatal(err)
	}
	lab.Daemon("namenode1").Kill()
	if _, err := lab.Run(ctx, "hdfs", "haadmin", "-failover", "nn1", "nn2"); err != nil {
		t.Fatal(err)
	}
	if err := lab.WaitHDFS(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if out, err := lab.Run(ctx, "hdfs", "dfs", "-ls", "/"); err != nil || !strings.Contains(out, " /a\n") {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestUnknownCommandsAreRefused(t *testing.T) {
	t.Parallel()
	l := &Lab{}
	for _, command := range [][]string{nil, {"hdfs"}, {"hdfs", "nonsense"}} {
		if _, err := l.Run(t.Context(), command...); err == nil {
			t.Errorf("%q was run", command)
		}
	}
}

func TestDaemonsThatCannotStartAreReported(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), Options{DataNodes: 1, Dir: t.TempDir(), Site: map[string]string{"dfs.datanode.max.locked.memory": "lots"}})
	if err == nil || !strings.Contains(err.Error(), "datanode1") || !strings.Contains(err.Error(), "lots") {
		t.Errorf("got %v", err)
	}
}

// A lab whose test process is killed leaves neither daemons nor containers nor files.
func TestNothingOutlivesTheTestProcess(t *testing.T) {
	t.Parallel()
	needs.Program(t, "java")
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HADOOPLAB_TO_BE_KILLED="+dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	if n := len(workingBelow(t, dir)); readErr == nil && n < 4 { // three daemons and a container at least
		t.Errorf("%d processes are at work, which is too few for this test", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if readErr != nil || line != "ready\n" {
		t.Fatalf("the process to be killed said %q, %v", line, readErr)
	}
	await.Slowly(t, "nothing is left of the lab, neither folders nor processes", func() bool {
		left, _ := filepath.Glob(filepath.Join(dir, "lab-*"))
		return len(left) == 0 && len(workingBelow(t, dir)) == 0
	})
}

// toBeKilled runs a lab with a container in it, says so, and waits for its end.
func toBeKilled(dir string) int {
	ctx := context.Background()
	lab, err := New(ctx, Options{ResourceManager: true, NodeManagers: 1, HistoryServer: true, Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shell, err := lab.Jar("hadoop-yarn-applications-distributedshell")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, err := lab.Run(ctx, "class", "org.apache.hadoop.yarn.applications.distributedshell.Client", "-jar", shell,
			"-shell_command", "sleep", "-shell_args", "3600", "-num_containers", "1", "-container_memory", "128", "-master_memory", "256")
		fmt.Fprintln(os.Stderr, "the application ended:", err)
	}()
	err = lab.poll(ctx, "a container", func(ctx context.Context) error {
		var page struct {
			Apps struct {
				App []struct{ RunningContainers int }
			}
		}
		if err := lab.Get(ctx, "rm-http", "/ws/v1/cluster/apps", &page); err != nil {
			return err
		}
		for _, app := range page.Apps.App {
			if app.RunningContainers >= 2 {
				return nil
			}
		}
		return errors.New("no application has two containers")
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	select {}
}

// workingBelow lists the processes whose working directory is below dir.
func workingBelow(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		if cwd, err := os.Readlink(p + "/cwd"); err == nil && strings.HasPrefix(cwd, dir+"/") {
			comm, _ := os.ReadFile(p + "/comm")
			out = append(out, filepath.Base(p)+" "+strings.TrimSpace(string(comm)))
		}
	}
	return out
}

// Processes that need the jars at the same time: one fetches, the others wait for it.
func TestJarsAreFetchedOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HEDDLE_TEST_CACHE", filepath.Join(dir, "cache"))
	mvn := `#!/bin/sh
echo fetch >> ` + dir + `/fetches
for a; do case $a in -DoutputDirectory=*) out=${a#*=};; esac; done
mkdir -p "$out" && echo jar > "$out/x.jar"
`
	if err := os.WriteFile(filepath.Join(dir, "mvn"), []byte(mvn), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			lib, err := Jars(t.Context())
			if err != nil {
				t.Error(err)
			} else if _, err := os.Stat(filepath.Join(lib, "x.jar")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, err := os.ReadFile(filepath.Join(dir, "fetches")); err != nil || string(got) != "fetch\n" {
		t.Errorf("fetched %q, %v", got, err)
	}

	// an unfinished download is not taken for a whole one
	t.Setenv("HEDDLE_TEST_CACHE", filepath.Join(dir, "cache2"))
	if err := os.WriteFile(filepath.Join(dir, "mvn"), []byte(strings.Replace(mvn, "echo jar", "false; exit 3; echo jar", 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	if lib, err := Jars(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %s, %v", lib, err)
	}
}

// What conf claims of Hadoop, asked of Hadoop itself.
func TestConfAgreesWithHadoop(t *testing.T) {
	t.Parallel()
	lab := Start(t, Options{Site: map[string]string{"yarn.nodemanager.local-dirs": "${hadoop.tmp.dir}/a", "my.key": " x ${my.other} ", "my.other": "1"}, ResourceManager: true})
	var theirs struct {
		Properties []struct {
			Key, Value, Resource string
			IsFinal              bool
		}
	}
	if err := lab.Get(t.Context(), "rm-http", "/conf?format=json", &theirs); err != nil {
		t.Fatal(err)
	}
	c, err := conf.Load(conf.Options{Dir: lab.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]conf.Setting{}
	for s := range c.Settings() {
		ours[s.Key] = s
	}
	compared := 0
	for _, p := range theirs.Properties {
		s, ok := ours[p.Key]
		switch {
		case !ok && strings.HasPrefix(p.Key, "yarn.") && !strings.HasPrefix(p.Key, "yarn.app.mapreduce.") && p.Value != "" && !strings.Contains(p.Key, "%s"):
			t.Errorf("%s = %q is missing", p.Key, p.Value)
		case ok && strings.Join(strings.Fields(s.Value), " ") != strings.Join(strings.Fields(p.Value), " ") &&
			!strings.Contains(s.Raw, "${yarn.log.dir}") && p.Key != "hadoop.security.sensitive-config-keys" && p.Resource != "programmatically":
			t.Errorf("%s is %q, in Hadoop %q", p.Key, s.Value, p.Value)
		case ok:
			compared++
			if p.IsFinal != s.Final {
				t.Errorf("%s: final is %v, in Hadoop %v", p.Key, s.Final, p.IsFinal)
			}
			if last := s.Sources[len(s.Sources)-1]; last != p.Resource && p.Resource != "programmatically" {
				t.Errorf("%s comes from %s, in Hadoop from %s", p.Key, last, p.Resource)
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d settings were compared", compared)
	}
	for _, format := range []string{"json", "xml"} {
		want, err := lab.fetch(t.Context(), "rm-http", "/conf?name=my.key", "application/"+format)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		page := c.WriteJSON
		if format == "xml" {
			page = c.WriteXML
		}
		if err := page(&got, "my.key"); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(got.String()) != strings.TrimSpace(string(want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", format, &got, want)
		}
	}
}

// Of a log a failed test shows a few short lines, and none of the audit log.
func TestTailOfALogIsShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	begin := "of an earlier test\n"
	text := begin
	for i := range 40 {
		text += fmt.Sprintf("line %d\n2026-01-01 INFO FSNamesystem.audit: allowed=true\nUSER=alice OPERATION=Kill RESULT=SUCCESS\n", i)
	}
	text += strings.Repeat("ü", 1000) + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(tail(path, int64(len(begin)), logLines), "\n")
	if len(got) != logLines || got[0] != "line 26" || got[13] != "line 39" || len(got[14]) > lineBytes+5 || !strings.HasSuffix(got[14], "ü …") {
		t.Errorf("%d lines: %.60q", len(got), got)
	}
	if got := tail(path, int64(len(text)), logLines); got != "" {
		t.Errorf("of nothing new: %q", got)
	}
}
