package whatif_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/cmd/heddle/internal/whatif"
	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/sim/recordtest"
	"heddle/yarn/records"
)

// exit is the error with which the command ends by a code.
type exit int

func (e exit) Error() string { return fmt.Sprint("exit ", int(e)) }

// heddle runs the command.
func heddle(args ...string) (out string, err error) {
	c := whatif.Command("", func(code int) error { return exit(code) }, func(dir string, define []string) (*conf.Config, error) {
		return conf.Load(conf.Options{Dir: dir, Overrides: define})
	})
	var b bytes.Buffer
	c.SetOut(&b)
	c.SetErr(&b)
	c.SetArgs(args)
	c.SilenceUsage, c.SilenceErrors = true, true
	err = c.Execute()
	return b.String(), err
}

// recorded is a record of jobs of a user in two queues.
func recorded(t *testing.T) string {
	t.Helper()
	slot := records.NewResource(1024, 1)
	source := &eventlog.Source{Keys: map[string]string{
		queue.SchedulerClass: "capacity", queue.Prefix + "root.queues": "zebra,yak", queue.Prefix + "root.zebra.capacity": "50", queue.Prefix + "root.yak.capacity": "50",
	}}
	d, file := recordtest.Recorder(t, source, 0)
	jobs := sim.Generate(sim.Workload{Tasks: 400, PerJob: 10, Mean: 20e9, Load: 1, Slots: 16, Resource: slot, Queues: []string{"root.zebra", "root.yak"}, Users: 2}, 7)
	recordtest.Play(t, d, sim.Nodes{Count: 4, Capacity: slot.Times(4), PerRack: 2}, jobs)
	return file
}

// A signal ends the command while it reads or computes.
func TestInterrupted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := whatif.Command("", func(code int) error { return exit(code) }, nil)
	c.SetArgs([]string{"-record", pipe}) // nobody writes to it
	c.SilenceUsage, c.SilenceErrors = true, true
	if err := c.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // it reads no more
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

// The command answers, applies rules, and refuses what it can't understand.
func TestCommand(t *testing.T) {
	file := recorded(t)
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules")
	if err := os.WriteFile(rules, []byte("p90 wait of root.yak must not grow by more than 10 %\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	html, many, deep := filepath.Join(dir, "a.html"), filepath.Join(dir, "many.json"), filepath.Join(dir, "deep.json")
	for name, text := range map[string]string{many: `{"job.start.ms":0,"job.tasks":[{"count":1000000000,"duration.ms":1000}]}`, deep: strings.Repeat("[", 1<<20)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	odd := filepath.Join(dir, "odd.xml")
	text := "<configuration>\n"
	for _, s := range []string{"queues=zebra,yak", "zebra.capacity=50", "yak.capacity=50", "yak.maximum-capactiy=20"} {
		name, value, _ := strings.Cut(s, "=")
		text += "<property><name>" + queue.Prefix + "root." + name + "</name><value>" + value + "</value></property>\n"
	}
	if err := os.WriteFile(odd, []byte(text+"</configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"-record " + file + " -nodes -1 -html " + html, "loses", 0},
		{"--record " + file + " --nodes=+2 -gate " + rules, "line 1 passes", 0},
		{"-record " + file + " -nodes -1 -gate " + rules, "line 1 fails", 3},
		{"-record " + file + " -json -speed 2x", `"backtest"`, 0},
		{"-record " + file + " -grade 5 -submit queue=root.yak,user=ann,containers=2,seconds=30", "starts  after", 0},
		{"-record " + file + " -json -submit queue=root.yak", `"preempted": []`, 0},
		{"-record " + file + " -submit queue=root.none", `queue "root.none", of job job, is no leaf`, 1},
		{"-record " + file + " -submit containers=-1", `"containers=-1": give queue=NAME`, 1},
		{"-record " + file + " -submit containers=1.5", `"containers=1.5"`, 1},
		{"-record " + file + " -submit nonsense=1", `"nonsense=1"`, 1},
		{"-record " + file + " -submit " + dir, "-submit", 1},
		{"-conf " + dir + " -D yarn.resourcemanager.webapp.address=127.0.0.1:1 -submit queue=root.yak", "read the leader's record", 1},
		{"", "name the record", 1},
		{"-record " + file + ".none", "no such file", 1},
		{"-record " + file + " -nodes 3", "+N or -N", 1},
		{"-record " + file + " -nodes -4", "one must stay", 1},
		{"-record " + file + " -speed fast", "factor", 1},
		{"-record " + file + " -policy order=best", "order", 1},
		{"-record " + file + " -set yarn.nodemanager.x=1", "schedulers heed", 1},
		{"-record " + file + " -set yarn.scheduler.minimum-allocation-mb=-5", "must be an integer from 0", 1},
		{"-record " + file + " -set heddle.scheduler.preemption=x", "one of kill, suspend", 1},
		{"-record " + file + " -set yarn.scheduler.nonsense=1", "no such key", 1},
		{"-record " + file + " -set " + queue.Prefix + "root.yok.capacity=1", "there is no queue root.yok", 1},
		{"-record " + file + " -set " + queue.Prefix + "root.yak.capactiy=1", "is unknown", 1},
		{"-record " + file + " -map root.none=root.yak", "the record has no application in root.none", 1},
		{"-record " + file + " -scheduler " + odd, "odd.xml:5: yarn.scheduler.capacity.root.yak.maximum-capactiy", 0},
		{"-record " + file + " -nodes -1 -html " + dir + "/absent/a.html", "write " + dir + "/absent/a.html: no such file", 1},
		{"-record " + file + " -gate " + file, "line 1", 1},
		{"-record " + file + " -schedular x", "did you mean", 1},
		{"-record " + file + " -scheduler " + dir, "isn't a file", 1},
		{"-record " + file + " -nodes +200000000", "at most 100000", 1},
		{"-record " + file + " -add " + dir, "is a folder", 1},
		{"-record " + file + " -add " + file + ".none", "no such file", 1},
		{"-record " + file + " -add /dev/zero", "-add: /dev/zero", 1},
		{"-record " + file + " -add " + many, "line 1: has 1000000000 tasks", 1},
		{"-record " + file + " -add " + deep, "line 1: invalid character", 1},
	} {
		out, err := heddle(strings.Fields(c.args)...)
		code := 0
		if e, ok := err.(exit); ok {
			code = int(e)
		} else if err != nil {
			code = 1
			out += err.Error()
		}
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("what-if %s: code %d, want %d and %q:\n%s", c.args, code, c.code, c.want, out)
		}
	}
	if text, err := os.ReadFile(html); err != nil || !bytes.Contains(text, []byte("</html>")) {
		t.Errorf("%v", err)
	}
}

// A record without names has the same answer, under other names.
func TestAnonymizedRecordsAnswerTheSame(t *testing.T) {
	file := recorded(t)
	to := filepath.Join(t.TempDir(), "out.log")
	if out, err := heddle("-record", file, "-anonymize", to); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"zebra", "yak", `"user2"x`, `"job1"`, `"node1.`} {
		if bytes.Contains(text, []byte(name)) {
			t.Errorf("%q is left", name)
		}
	}
	cluster := func(file string) string {
		out, err := heddle("-record", file, "-nodes", "-1")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			if strings.Contains(line, "cluster after") {
				return strings.Join(strings.Fields(line), " ")
			}
		}
		return ""
	}
	if a, b := cluster(file), cluster(to); a == "" || a != b {
		t.Errorf("with names %q, without %q", a, b)
	}
	if _, err := heddle("-record", file, "-anonymize", to); err == nil {
		t.Error("a file that is there is replaced")
	}
}
