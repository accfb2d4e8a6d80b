package mapreduce

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/stage"
)

// divided is a play in which the second of two maps is slow, and is told to stop, with the answer that its worker gets.
func divided(t *testing.T, reduces int) (p *play, quick, slow string, id job.TaskID, told *job.Stop) {
	p = newPlayOf(job.Job{Speculation: job.SpeculateSplit, Reduces: reduces, SlowStart: "1.0"}, 3, 2)
	p.c.spec.Maps = 2
	for i := range p.c.splits {
		p.c.splits[i] = input.Split{Pieces: []input.Piece{{Path: fmt.Sprint("in", i), Offset: 100, Length: 1000}}, Length: 1000, Hosts: []string{"a", "b"}}
	}
	p.cluster.nodes = 2
	quick, slow = p.grant("a"), p.grant("b")
	first, original := p.take(t, quick), p.take(t, slow)
	for i := range 8 {
		p.pass(time.Second, quick)
		p.report(&job.ProgressReport{Worker: slow, ID: original, Progress: float64(i) / 50})
	}
	p.done(quick, first)
	p.next(quick)
	for i := 8; told == nil; i++ {
		if i > 20 {
			t.Fatal("it isn't told to stop")
		}
		p.pass(time.Second)
		p.next(quick)
		r, err := p.report(&job.ProgressReport{Worker: slow, ID: original, Progress: float64(i) / 50})
		if err == nil {
			told = r.Stop
		}
	}
	return p, quick, slow, original, told
}

// A slow map is told to stop, until it has answered. What it leaves becomes tasks, whose outputs are the job's as well; and reduces hear
// how many maps there are.
func TestSlowMapLeavesTheRestToOthers(t *testing.T) {
	p, quick, slow, id, told := divided(t, 1)
	if told.Order != 1 || told.Parts < 1 || !(told.At > 0.1 && told.At < 1) {
		t.Fatalf("%+v", told)
	}
	report := &job.ProgressReport{Worker: slow, ID: id, Progress: 0.3}
	if r, _ := p.report(report); r.Stop == nil || *r.Stop != *told {
		t.Errorf("the next time %+v", r.Stop)
	}
	report.Stopped = &job.Stopped{Order: 1, Piece: 0, Offset: 600}
	for range 2 { // an answer is lost
		if r, _ := p.report(report); r.Stop != nil || r.Abandon {
			t.Fatalf("%+v", r)
		}
	}
	if n := len(p.c.splits); n != 2+told.Parts {
		t.Fatalf("%d maps for %d parts", n, told.Parts)
	}
	if s := p.c.splits[id.Index]; s.Length != 500 || s.Pieces[0].Offset != 100 {
		t.Errorf("%+v is left to it", s)
	}
	at := int64(600)
	for _, s := range p.c.splits[2:] {
		if s.Pieces[0].Offset != at || !slices.Equal(s.Hosts, []string{"a"}) {
			t.Errorf("%+v instead of a part from %d, on a", s, at)
		}
		at += s.Length
	}
	if at != 1100 {
		t.Errorf("the parts end at %d", at)
	}
	p.done(slow, id)
	workers := []string{quick}
	for p.c.planner.Facts().Maps.Done < 2+told.Parts {
		for _, w := range workers {
			r, err := p.next(w)
			if err == nil && r.Task != nil && r.Task.ID.Kind == job.Map {
				if r.Task.Split.Pieces[0].Path != "in1" {
					t.Errorf("%+v", r.Task)
				}
				p.done(w, r.Task.ID)
			}
		}
		if w := p.grant("a"); w != "" {
			workers = append(workers, w)
		}
	}
	r, err := p.next(slow)
	if err != nil || r.Task == nil || r.Task.ID.Kind != job.Reduce {
		t.Fatalf("%+v, %v", r, err)
	}
	o, err := p.c.whereabouts(t.Context(), &job.OutputsRequest{Worker: slow})
	if err != nil || o.Maps != 2+told.Parts || len(o.Events) != o.Maps || o.Check(0, p.c.spec) != nil {
		t.Errorf("%+v, %v, %v", o, err, o.Check(0, p.c.spec))
	}
	p.done(slow, r.Task.ID)
	if err := p.c.await(t.Context()); err != nil || p.c.counters.Get(job.JobGroup, job.DividedMaps) != 1 {
		t.Errorf("%v, %v", err, p.c.counters)
	}
	p.check(t)
}

// A map may end before the ApplicationMaster has heard where it stops: its last report says that as well.
func TestMapEndsWhereItStopped(t *testing.T) {
	p, _, slow, id, told := divided(t, 0)
	r := &job.DoneReport{Worker: slow, ID: id, Stopped: &job.Stopped{Order: 1, Offset: 900}, Output: fmt.Sprintf("out/%s/part-%05d", id.Name(testApp), id.Index)}
	if _, err := p.c.finished(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	f := p.c.planner.Facts()
	if f.Maps.Done != 2 || f.Maps.Tasks != 2+told.Parts || p.c.splits[id.Index].Length != 800 {
		t.Errorf("%+v, %+v", f.Maps, p.c.splits)
	}
	p.check(t)
}

// Where a worker says that it can't stop, it isn't told again. One that says that it stops somewhere else than in its input has failed.
func TestMapsThatDoNotStop(t *testing.T) {
	p, _, slow, id, _ := divided(t, 0)
	if r, _ := p.report(&job.ProgressReport{Worker: slow, ID: id, Progress: 0.3, Stopped: &job.Stopped{Order: 1, Not: true}}); r.Stop != nil || r.Abandon {
		t.Errorf("%+v", r)
	}
	if len(p.c.splits) != 2 {
		t.Errorf("%+v", p.c.splits)
	}
	for range 20 {
		p.pass(time.Second)
		if r, _ := p.report(&job.ProgressReport{Worker: slow, ID: id, Progress: 0.3, Stopped: &job.Stopped{Order: 1, Not: true}}); r.Stop != nil {
			t.Fatalf("%+v", r.Stop)
		}
	}
	for _, at := range []job.Stopped{{Order: 1, Piece: 1}, {Order: 1, Offset: 5}, {Order: 1, Offset: 1100}, {Order: 7, Piece: -1, Offset: 1 << 40}} {
		p, _, slow, id, _ := divided(t, 0)
		r, err := p.report(&job.ProgressReport{Worker: slow, ID: id, Progress: 0.3, Stopped: &at})
		if err != nil || !r.Abandon || len(p.c.splits) != 2 {
			t.Errorf("%+v: %+v, %v", at, r, err)
		}
		list := p.c.planner.Attempts(stage.TaskID{Stage: stage.Map, Index: id.Index})
		if list[0].State != stage.Unsuccessful || !strings.Contains(p.c.failures[0].Error, "stops where it can't") {
			t.Errorf("%+v: %+v, %+v", at, list, p.c.failures)
		}
	}
}
