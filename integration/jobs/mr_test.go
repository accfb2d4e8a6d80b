package jobs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// texts writes files with everything that lines can be, and returns their folder and all of them as cat would print them if
// all lines were ended.
func texts(t *testing.T) (dir string, all string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "in")
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"the", "loom", "heddle", "weft", "a\x00b", "\xff\xfe", "é", "x\ty", "", " ", "'\"$`\\", "\r"}
	for i, name := range []string{"a", "b.txt", "sub/c", "sub/deeper/d", "empty", "long", "unended"} {
		var b strings.Builder
		switch name {
		case "empty":
		case "long":
			b.WriteString(strings.Repeat("long line ", 200_000) + "\nshort\n")
		default:
			for range 3000 * (i + 1) {
				for range r.IntN(6) {
					b.WriteString(words[r.IntN(len(words))] + " ")
				}
				b.WriteString("\n")
			}
		}
		if name == "unended" {
			b.WriteString("the end")
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		if name == "unended" {
			b.WriteString("\n")
		}
		all += b.String()
	}
	for _, hidden := range []string{"_logs", ".crc"} {
		if err := os.WriteFile(filepath.Join(dir, hidden), []byte("hidden\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, all
}

// pipe runs commands as a pipe.
func pipe(t *testing.T, in, commands string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", commands)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", commands, err)
	}
	return string(out)
}

// lines sorts the lines of a text.
func lines(s string) []string {
	out := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	slices.Sort(out)
	return out
}

func TestOutputIsThatOfAPipe(t *testing.T) {
	c := startCluster(t, 1, 2, nil)
	in, all := texts(t)
	for i, x := range []struct {
		mapper, combiner, reducer string
		reduces                   int
		args                      []string
		want                      string // command that does the same; one that sorts is compared to the byte
		sorted                    bool
	}{
		{"cat", "", "", 1, nil, "sort", true},
		{"cat", "", "cat", 1, []string{"-D", "mapreduce.input.fileinputformat.split.maxsize=100003"}, "sort", true},
		{"cat", "", "uniq -c", 1, []string{"-D", "mapreduce.task.io.sort.mb=1"}, "sort | uniq -c", true},
		{"cat", "uniq", "uniq", 1, []string{"-D", "mapreduce.task.io.sort.mb=1", "-D", "mapreduce.task.io.sort.factor=2"}, "sort -u", true},
		{
			"tr ' ' '\\n' | sed 's/$/\\t1/'", `awk -F'\t' '{n[$1]+=$NF} END {for (k in n) print k "\t" n[k]}'`,
			`awk -F'\t' '{n[$1]+=$NF} END {for (k in n) print k "\t" n[k]}'`, 3, nil,
			`tr ' ' '\n' | sed 's/$/\t1/' | awk -F'\t' '{n[$1]+=$NF} END {for (k in n) print k "\t" n[k]}'`, false,
		},
		{"cat", "", "NONE", 0, []string{"-D", "mapreduce.input.fileinputformat.split.maxsize=50001"}, "cat", false},
		{"grep -a loom || true", "", "", 0, []string{"-numReduceTasks", "0"}, "grep -a loom", false},
		{"cat", "", "cat", 5, nil, "cat", false},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c.t = t
			out := filepath.Join(t.TempDir(), "out")
			args := []string{"-input", in, "-output", out, "-mapper", x.mapper}
			if x.combiner != "" {
				args = append(args, "-combiner", x.combiner)
			}
			if x.reducer != "" {
				args = append(args, "-reducer", x.reducer)
			}
			if x.reduces > 1 {
				args = append(args, "-numReduceTasks", fmt.Sprint(x.reduces))
			}
			r := c.mr(append(args, append(x.args, "-cmdenv", "LC_ALL=C")...)...).end()
			got, want := c.output(out), pipe(t, all, x.want)
			if x.sorted && got != want || !x.sorted && !slices.Equal(lines(got), lines(want)) {
				t.Errorf("%d bytes, not %d, or others; counters %v", len(got), len(want), r.Counters)
			}
			if n := r.Counters[taskCounters]["MAP_INPUT_RECORDS"]; n != int64(strings.Count(all, "\n")) {
				t.Errorf("%d input records", n)
			}
		})
	}
	c.t = t
	if left := must(filepath.Glob(filepath.Join(c.dir, "staging", "*", ".staging", "*"))); len(left) > 0 {
		t.Errorf("staged files are left: %v", left)
	}
}

func TestFilesEnvironmentAndCounters(t *testing.T) {
	c := startCluster(t, 1, 1, nil)
	in := filepath.Join(c.dir, "in.txt")
	script := filepath.Join(c.dir, "count.sh")
	for name, text := range map[string]string{
		in: "a\nb\nc\n", filepath.Join(c.dir, "data"): "from a file\n",
		script: "#!/bin/sh\necho reporter:counter:mine,lines,$(wc -l) >&2\ncat words\n" +
			`echo "$GREETING/$my_key/$mapreduce_task_ismap/$mapreduce_map_input_file"` + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(c.dir, "out")
	r := c.mr("-input", in, "-output", out, "-mapper", "./count.sh", "-reducer", "NONE", "-file", "count.sh",
		"-files", "data#words", "-cmdenv", `GREETING=a "b" $c`, "-D", "my.key=value").end()
	if want := "from a file\na \"b\" $c/value/true/file://" + in + "\n"; c.output(out) != want {
		t.Errorf("%q, want %q", c.output(out), want)
	}
	if r.Counters["mine"]["lines"] != 3 || r.FinalStatus != "SUCCEEDED" || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
}

func TestFailedTasksAreRepeated(t *testing.T) {
	c := startCluster(t, 1, 1, nil)
	in, all := texts(t)
	out := filepath.Join(c.dir, "out")
	fail := `case $mapreduce_task_attempt_id in *_0) head -n 1 >/dev/null; echo "trouble of $mapreduce_task_id" >&2; exit 7;; esac; cat`
	r := c.mr("-input", in, "-output", out, "-mapper", fail, "-reducer", fail).end()
	if got, want := c.output(out), pipe(t, all, "sort"); got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
	maps := r.Counters[jobCounters]["NUM_FAILED_MAPS"]
	if maps == 0 || r.Counters[jobCounters]["NUM_FAILED_REDUCES"] != 1 || len(r.Failures) != int(maps)+1 ||
		!strings.Contains(r.Failures[0].Error, "exit status 7") || !strings.HasPrefix(r.Failures[0].Stderr[0], "trouble of task_") {
		t.Errorf("%v %+v", r.Counters, r.Failures)
	}

	j := c.mr("-input", in, "-output", filepath.Join(c.dir, "none"), "-mapper", "./nothing-of-that-name")
	r, err := j.wait()
	if text := j.stderr.String(); err == nil || j.cmd.ProcessState.ExitCode() != 1 || r.FinalStatus != "FAILED" ||
		!strings.Contains(text, "failed 4 times") || !strings.Contains(text, "nothing-of-that-name: not found") {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "none")); err == nil {
		t.Error("the job that failed has left an output")
	}
}

// gate makes a command wait until the test lets it go on.
func gate(t *testing.T) (command string, open func()) {
	file := filepath.Join(t.TempDir(), "gate")
	return "while [ ! -e " + file + " ]; do sleep 0.05; done; ", func() {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (j *job) application() string {
	j.c.t.Helper()
	j.until("is RUNNING")
	id, _, _ := strings.Cut(j.stderr.String(), ":")
	return id
}

// The ApplicationMaster is killed while map tasks run: another one does the job, and nothing of the first attempt is left.
func TestKilledMaster(t *testing.T) {
	c := startCluster(t, 1, 2, nil)
	in, all := texts(t)
	out := filepath.Join(c.dir, "out")
	wait, open := gate(t)
	j := c.mr("-input", in, "-output", out, "-mapper", wait+"cat", "-reducer", "cat",
		"-D", "mapreduce.input.fileinputformat.split.maxsize=400000")
	app := j.application()
	attempt := "container_" + strings.TrimPrefix(app, "application_")
	var master []int
	await.Slowly(c.t, "mappers run", func() bool {
		master = processes("mr-master", attempt+"_01_")
		return len(master) == 1 && len(processes("while [ ! -e", attempt+"_01_")) >= 2
	})
	if err := syscall.Kill(master[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Slowly(c.t, "nothing of the first attempt is left", func() bool { return len(processes(attempt+"_01_")) == 0 })
	await.Slowly(c.t, "mappers of the second attempt run", func() bool { return len(processes("while [ ! -e", attempt+"_02_")) >= 2 })
	open()
	if r := j.end(); r.Attempts != 2 {
		t.Errorf("%d attempts", r.Attempts)
	}
	if got, want := c.output(out), pipe(t, all, "sort"); got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
	await.Slowly(c.t, "nothing of the job is left", func() bool { return len(processes(attempt)) == 0 })
}

// A container that has outputs of map tasks is killed while the reduce task runs: they are made again.
func TestKilledWorker(t *testing.T) {
	c := startCluster(t, 1, 1, nil)
	in, all := texts(t)
	out := filepath.Join(c.dir, "out")
	wait, open := gate(t)
	// The first mapper waits, so that the reduce task has to wait for it while outputs of the others get lost.
	j := c.mr("-input", in, "-output", out, "-mapper", `case $mapreduce_task_partition in 0) `+wait+`;; esac; cat`, "-reducer", "cat",
		"-D", "mapreduce.input.fileinputformat.split.maxsize=400000", "-D", "mapreduce.job.reduce.slowstart.completedmaps=0.1")
	app := j.application()
	id := "container_" + strings.TrimPrefix(app, "application_")
	idle := func() (out []int) {
		for _, pid := range processes("mr-worker", id) {
			cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
			if len(processes("while [ ! -e", filepath.Base(cwd))) == 0 {
				out = append(out, pid)
			}
		}
		return out
	}
	await.Slowly(c.t, "all mappers but one are done", func() bool {
		return len(idle()) > 0 && len(processes("while [ ! -e", id)) == 1 && strings.Contains(j.stderr.String(), "map 80%")
	})
	for _, pid := range idle() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	open()
	r := j.end()
	if got, want := c.output(out), pipe(t, all, "sort"); got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
	if r.Counters[jobCounters]["NUM_LOST_MAP_OUTPUTS"] == 0 || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
}

// The NodeManager is killed while a job runs, and started again: its containers go on, and so does the job.
func TestKilledNodeManager(t *testing.T) {
	c := startCluster(t, 1, 1, nil)
	in, all := texts(t)
	out := filepath.Join(c.dir, "out")
	wait, open := gate(t)
	j := c.mr("-input", in, "-output", out, "-mapper", wait+"cat", "-reducer", "cat")
	app := j.application()
	id := "container_" + strings.TrimPrefix(app, "application_")
	var before []int
	await.Slowly(c.t, "mappers run", func() bool {
		before = processes("mr-", id)
		return len(processes("while [ ! -e", id)) >= 2
	})
	c.Kill("nm1")
	c.start("nm1")
	c.ready(1)
	open()
	r := j.end()
	if got, want := c.output(out), pipe(t, all, "sort"); got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
	if r.Attempts != 1 || r.Counters[jobCounters]["NUM_FAILED_MAPS"] > 0 || len(before) < 2 {
		t.Errorf("%+v; processes before: %v", r, before)
	}
	await.Slowly(c.t, "nothing of the job is left", func() bool { return len(processes(id)) == 0 })
}

// The leading ResourceManager is killed while a job runs.
func TestKilledLeader(t *testing.T) {
	c := startCluster(t, 3, 2, nil)
	in, all := texts(t)
	out := filepath.Join(c.dir, "out")
	wait, open := gate(t)
	j := c.mr("-input", in, "-output", out, "-mapper", wait+"cat", "-reducer", "cat", "-numReduceTasks", "1",
		"-D", "mapreduce.input.fileinputformat.split.maxsize=200000")
	app := j.application()
	id := "container_" + strings.TrimPrefix(app, "application_")
	await.Slowly(c.t, "mappers run", func() bool { return len(processes("while [ ! -e", id)) >= 2 })
	lead := c.leader()
	c.Kill(lead)
	open()
	r := j.end()
	if got, want := c.output(out), pipe(t, all, "sort"); got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
	if r.Attempts != 1 || r.Counters[jobCounters]["NUM_FAILED_MAPS"] > 0 {
		t.Errorf("%+v", r)
	}
	appID := must(records.ParseApplicationID(app))
	if rep, err := c.applications().Report(t.Context(), appID); err != nil || rep.State != pb.YarnApplicationState_FINISHED {
		t.Errorf("%v, %v", rep.State, err)
	}
}

func TestBadJobsAreRefused(t *testing.T) {
	c := startCluster(t, 1, 1, nil)
	in := filepath.Join(c.dir, "in")
	if err := os.WriteFile(in, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(c.dir, "out")
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"-input", in, "-output", out}, "no mapper"},
		{[]string{"-mapper", " ", "-input", in, "-output", out}, "no mapper"},
		{[]string{"-mapper", "cat", "-output", out}, "no input"},
		{[]string{"-mapper", "cat", "-input", in}, "no output"},
		{[]string{"-mapper", "cat", "-input", in + "x", "-output", out}, in + "x: the path does not exist"},
		{[]string{"-mapper", "cat", "-input", in + "y*", "-output", out}, in + "y*: the pattern matches no files"},
		{[]string{"-mapper", "cat", "-input", in, "-output", c.dir}, c.dir + " exists already"},
		{[]string{"-mapper", "cat", "-input", in, "-output", in}, in + " exists already"},
		{[]string{"-mapper", "cat", "-input", "s3://x/y", "-output", out}, "s3"},
		{[]string{"-mapper", "cat", "-input", in, "-output", out, "-file", "nothing"}, "nothing: no such file"},
		{[]string{"-mapper", "cat", "-input", in, "-output", out, "-numReduceTasks", "-3"}, "-numReduceTasks is -3"},
		{[]string{"-mapper", "cat", "-input", in, "-output", out, "-D", "mapreduce.map.memory.mb=lots"}, "mapreduce.map.memory.mb"},
		{[]string{"-mapper", "cat", "-input", in, "-output", out, "-D", "mapreduce.map.memory.mb=1000000"}, "1000000"},
		{[]string{"-mapper", "cat", "-input", in, "-output", out, "-inputformat", "X"}, "-inputformat X is not supported"},
		{[]string{"-mapper", "cat", "-input", in, "-output", out, "-mappr", "X"}, "-mappr"},
		{[]string{"-mapper", "tr", "a", "b", "-input", in, "-output", out}, "put quotes around commands"},
		{[]string{"-mapper", "cat", "-input", in, "-output", out, "-D", "mapreduce.job.queuename=nosuch"}, "nosuch"},
	} {
		j := c.mr(x.args...)
		if _, err := j.wait(); err == nil || j.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(j.stderr.String(), x.want) {
			t.Errorf("%q: %v: %s", x.args, err, j.stderr)
		}
	}
}

func TestKindsOfInput(t *testing.T) {
	c := startCluster(t, 1, 1, nil)
	in := filepath.Join(c.dir, "in")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	if _, err := io.WriteString(z, strings.Repeat("zipped\n", 1000)+"end"); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	az := gzip.NewWriter(&archive)
	a := tar.NewWriter(az)
	if err := a.WriteHeader(&tar.Header{Name: "dir/word", Mode: 0o644, Size: 9}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(a, "unpacked\n"); err != nil || a.Close() != nil || az.Close() != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"in/a.gz": gz.Bytes(), "in/b": []byte("plain\n"), "in/empty": nil, "empty": nil, "keys": []byte("b:2:x\na:1:y\nb:1:z\na:2\n"), "x.tar.gz": archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) (report, string) {
		t.Helper()
		out := filepath.Join(c.dir, "out-"+name)
		r := c.mr(append([]string{"-output", out}, args...)...).end()
		return r, c.output(out)
	}
	if _, got := run("gz", "-input", in, "-mapper", "cat", "-reducer", "uniq -c | sed 's/^ *//'"); got != "1 end\n1 plain\n1000 zipped\n" {
		t.Errorf("compressed input: %q", got)
	}
	// Nothing to read: there is no map task, and the reducer sees the end at once.
	if r, got := run("empty", "-input", filepath.Join(c.dir, "empty"), "-mapper", "cat", "-reducer", "wc -l"); strings.TrimSpace(got) != "0" || r.Counters[jobCounters]["TOTAL_LAUNCHED_MAPS"] != 0 {
		t.Errorf("empty input: %q, %v", got, r.Counters)
	}
	if _, got := run("archive", "-input", filepath.Join(in, "b"), "-mapper", "cat; cat x.tar.gz/dir/word y/dir/word", "-reducer", "NONE", "-archives", "x.tar.gz,x.tar.gz#y"); got != "plain\nunpacked\nunpacked\n" {
		t.Errorf("archive: %q", got)
	}
	// Lines with equal keys of two fields reach one reducer.
	_, got := run("keys", "-input", filepath.Join(c.dir, "keys"), "-mapper", "cat", "-numReduceTasks", "7", "-reducer", "cut -d: -f1 | uniq -c | sed 's/^ *//'",
		"-jobconf", "stream.map.output.field.separator=:")
	if want := []string{"2 a", "2 b"}; !slices.Equal(lines(got), want) {
		t.Errorf("keys: %q", got)
	}
}

// A task that does nothing any more is ended; so is what the commands have started.
func TestStuckTask(t *testing.T) {
	c := startCluster(t, 1, 1, nil)
	in := filepath.Join(c.dir, "in")
	if err := os.WriteFile(in, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	mark := fmt.Sprintf("10%d", os.Getpid())
	j := c.mr("-input", in, "-output", filepath.Join(c.dir, "out"), "-mapper", "sleep "+mark+" & sleep "+mark, "-D", "mapreduce.task.timeout=1500", "-D", "mapreduce.map.maxattempts=2")
	r, err := j.wait()
	if err == nil || len(r.Failures) != 2 || !strings.Contains(j.stderr.String(), "mapreduce.task.timeout") {
		t.Errorf("%v %+v: %s", err, r, j.stderr)
	}
	await.Slowly(c.t, "nothing of it is left", func() bool { return len(processes("sleep "+mark)) == 0 })
}

// A task that never gets on is copied to the other node, whose attempt counts. The stuck one ends while the job goes on.
func TestStuckTaskIsCopied(t *testing.T) {
	t.Parallel() // most of it waits
	// Neither node has room for all maps: both do some of them, so that they can be compared.
	c := startCluster(t, 1, 2, map[string]string{"yarn.nodemanager.resource.memory-mb": "5120"}, "127.0.0.1", "127.0.0.2")
	const maps = 12
	in, want := c.numbered(maps)
	for i, how := range []string{"esplash", "late"} {
		t.Run(how, func(t *testing.T) {
			c.t = t
			out := filepath.Join(t.TempDir(), "out")
			mark := fmt.Sprintf("2%d%d", i, os.Getpid())
			wait, open := gate(t)
			j := c.mr("-speculation", how, "-input", in, "-output", out, "-reducer", wait+"cat",
				"-mapper", "case $mapreduce_task_attempt_id in *_m_000000_0) sleep "+mark+";; esac; sleep 1; cat",
				"-D", "mapreduce.input.fileinputformat.split.maxsize=3") // a task for each file
			id := "container_" + strings.TrimPrefix(j.application(), "application_")
			await.Slowly(t, "the task is stuck", func() bool { return len(processes("sleep "+mark, id)) > 0 })
			await.Slowly(t, "the reducer runs, as the copy is done, and the stuck command has gone", func() bool {
				return len(processes("while [ ! -e", id)) == 1 && len(processes("sleep "+mark, id)) == 0
			})
			open()
			r := j.end()
			if got := c.output(out); got != want {
				t.Errorf("%q instead of %q", got, want)
			}
			n := r.Counters[jobCounters]
			if killed := n["NUM_KILLED_MAPS"]; killed < 1 || n["TOTAL_LAUNCHED_MAPS"] != maps+killed || len(r.Failures) > 0 || r.Attempts != 1 {
				t.Errorf("%+v", r)
			}
			await.Slowly(t, "neither processes nor cgroups of the job are left", func() bool { return len(processes(id)) == 0 && len(hadooplab.Groups(t, id)) == 0 })
		})
	}
	c.t = t
}

// A map that gets on slowly stops early, and others do the rest of its input. Each line comes once.
func TestSlowTaskLeavesTheRestToOthers(t *testing.T) {
	c := startCluster(t, 1, 2, map[string]string{"yarn.nodemanager.resource.memory-mb": "5120"}, "127.0.0.1", "127.0.0.2")
	const maps, each = 8, 80
	in := filepath.Join(c.dir, "in")
	want := ""
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	for m := range maps {
		var text strings.Builder
		for i := range each {
			fmt.Fprintf(&text, "%d.%02d %01000d\n", m, i, 0)
		}
		if err := os.WriteFile(filepath.Join(in, fmt.Sprint(m)), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		want += text.String()
	}
	out := filepath.Join(t.TempDir(), "out")
	r := c.mr("-speculation", "split", "-input", in, "-output", out, "-reducer", "cat",
		"-mapper", `case $mapreduce_task_attempt_id in *_m_000000_0) while read -r l; do echo "$l"; sleep 0.2; done;; *) sleep 2; cat;; esac`,
		"-D", "mapreduce.job.reduce.slowstart.completedmaps=1.0", "-D", "mapreduce.input.fileinputformat.split.maxsize="+fmt.Sprint(each*1005)).end()
	if got := c.output(out); got != want {
		t.Errorf("%d lines instead of %d, or others", strings.Count(got, "\n"), maps*each)
	}
	n := r.Counters[jobCounters]
	if n["NUM_DIVIDED_MAPS"] < 1 || n["TOTAL_LAUNCHED_MAPS"] <= maps || r.Counters[taskCounters]["MAP_INPUT_RECORDS"] != maps*each || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
}

func TestBackground(t *testing.T) {
	c := startCluster(t, 1, 1, nil)
	in, out := filepath.Join(c.dir, "in"), filepath.Join(c.dir, "out")
	if err := os.WriteFile(in, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(c.binary, "mr", "-conf", c.conf, "-background", "-input", in, "-output", out, "-mapper", "cat")
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	id, err := records.ParseApplicationID(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.applications().Wait(t.Context(), id, nil); err != nil || !r.Succeeded() {
		t.Errorf("%+v, %v", r, err)
	}
	if got := c.output(out); got != "x\n" {
		t.Errorf("%q", got)
	}
	await.Slowly(c.t, "the staged files are gone", func() bool {
		left, err := filepath.Glob(filepath.Join(c.dir, "staging", "*", ".staging", "*"))
		return err == nil && len(left) == 0
	})
}
