package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/am/mapreduce"
	"heddle/am/mapreduce/job"
	"heddle/conf"
	"heddle/yarn/pb"
)

func TestStreamingOptions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "job.xml")
	if err := os.WriteFile(file, []byte("<configuration><property><name>mapreduce.job.reduces</name><value>5</value></property>"+
		"<property><name>a.b</name><value>file</value></property></configuration>"), 0o644); err != nil {
		t.Fatal(err)
	}
	o, s := &mrJob{}, &source{dir: dir}
	err := o.take(s, []string{
		"-conf", file, "-Da.b=c=d", "-D", "e=", "-jobconf", "mapreduce.map.memory.mb=512", "-input", "x,y/{a,b}", "-input", "z", "-output", "out",
		"-mapper", "a -D b | c", "-combiner", "d", "-reducer", "e", "-file", "f1", "-files", "f2#g,f3", "-archives", "h.zip", "-cmdenv", "K=v=w", "--name", "n",
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.load(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.decideReduces(c); err != nil {
		t.Fatal(err)
	}
	want := job.Job{
		Name: "n", Inputs: []string{"x", "y/{a,b}", "z"}, Output: "out", Mapper: "a -D b | c", Combiner: "d", Reducer: "e", Reduces: 5,
		Files: []string{"f1", "f2#g", "f3"}, Archives: []string{"h.zip"}, Env: map[string]string{"K": "v=w"},
		Settings: map[string]string{"a.b": "c=d", "e": "", "mapreduce.map.memory.mb": "512"},
	}
	if !reflect.DeepEqual(o.job, want) {
		t.Errorf("%+v", o.job)
	}
	if v, _ := c.Get("a.b"); v != "c=d" {
		t.Errorf("the command line doesn't win: %q", v)
	}
}

func TestReduceTasksByHadoopsRules(t *testing.T) {
	for _, x := range []struct {
		args    string
		reduces int
		reducer string
		err     string
	}{
		{"", 1, "", ""},
		{"-reducer cat", 1, "cat", ""},
		{"-reducer NONE", 0, "", ""},
		{"-reducer NONE -numReduceTasks 3", 0, "", ""},
		{"-reducer cat -numReduceTasks 0", 0, "cat", ""},
		{"-D mapreduce.job.reduces=4", 4, "", ""},
		{"-D mapred.reduce.tasks=4", 4, "", ""},
		{"-D mapreduce.job.reduces=4 -numReduceTasks 2", 2, "", ""},
		{"-D mapreduce.job.reduces=many", 0, "", "many"},
		{"-numReduceTasks -1", 0, "", "-1"},
		{"-numReduceTasks 1000000", 1000000, "", ""},
		{"-numReduceTasks 1000001", 0, "", "to 1000000"},
		{"-reducer aggregate", 0, "", "aggregate"},
		{"-reducer org.apache.hadoop.mapred.lib.IdentityReducer", 1, "", ""},
	} {
		o, s := &mrJob{}, &source{}
		if err := o.take(s, strings.Fields(x.args)); err != nil {
			t.Errorf("%s: %v", x.args, err)
			continue
		}
		c, err := conf.Load(conf.Options{Overrides: s.overrides})
		if err != nil {
			t.Fatal(err)
		}
		switch err := o.decideReduces(c); {
		case x.err != "":
			if err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%s: %v", x.args, err)
			}
		case err != nil || o.job.Reduces != x.reduces || o.job.Reducer != x.reducer:
			t.Errorf("%s: %d reduce tasks with %q, %v", x.args, o.job.Reduces, o.job.Reducer, err)
		}
	}
}

func TestWrongStreamingOptions(t *testing.T) {
	for _, x := range []struct{ args, want string }{
		{"-D novalue", "KEY=VALUE"},
		{"-cmdenv novalue", "NAME=VALUE"},
		{"-conf /no/such/file", "/no/such/file"},
		{"-numReduceTasks x", "numReduceTasks"},
		{"-outputformat X", "-outputformat is not supported"},
		{"-inputformat SequenceFileInputFormat", "SequenceFileInputFormat is not supported"},
		{"-no such", "-no"},
		{"stray", "stray"},
	} {
		if err := (&mrJob{}).take(&source{}, strings.Fields(x.args)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.args, err)
		}
	}
	if err := (&mrJob{}).take(&source{}, []string{"-help"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-help: %v", err)
	}
}

// A job that had failed was said to have FINISHED, and one failure was shown five times.
func TestOneFailureIsShownOnce(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, false)
	p.id = "application_1_0001"
	var list []job.Failure
	for i := range 4 {
		list = append(list, job.Failure{Task: fmt.Sprintf("map task 0, attempt %d", i), Host: "h", Error: "exit status 3", Stderr: []string{"trouble"}})
		p.tell(mapreduce.Progress{Known: true, Status: job.Status{Failures: list}})
	}
	reason := p.reason(fmt.Sprintf("map task 0 failed 4 times, at last %v", list[3]), list)
	if all := out.String() + reason; strings.Count(all, "trouble") != 1 || !strings.Contains(all, "attempt 3 on h, as before") ||
		reason != "map task 0 failed 4 times (see above)" {
		t.Errorf("%s%s", out.String(), reason)
	}
	for want, r := range map[string]client.Report{
		"has failed": {State: pb.YarnApplicationState_FINISHED, Final: pb.FinalApplicationStatus_APP_FAILED},
		"was killed": {State: pb.YarnApplicationState_KILLED, Final: pb.FinalApplicationStatus_APP_KILLED},
	} {
		if got := ending(r); got != want {
			t.Errorf("%v %v: %s", r.State, r.Final, got)
		}
	}
}

func TestAbsenceOfTheClusterIsTold(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, false)
	p.id = "application_1_0001"
	p.tell(mapreduce.Progress{Away: true})
	p.tell(mapreduce.Progress{})
	if got := out.String(); !strings.Contains(got, "application_1_0001 may still be running") || !strings.Contains(got, "is back") {
		t.Errorf("%s", got)
	}
}
