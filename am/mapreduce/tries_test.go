package mapreduce

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/am/mapreduce/job"
)

// The ResourceManager is told once of each try that is over: what it was, where, when, how it ended, and whether its input was elsewhere.
func TestTriesAreTold(t *testing.T) {
	p := newPlay(2, 1, "near")
	near, far := p.grant("near"), p.grant("far")
	first := p.take(t, near)
	p.later(2 * time.Second)
	p.fail(near, first)
	second := p.take(t, far)
	p.later(3 * time.Second)
	if _, err := p.c.finished(t.Context(), &job.DoneReport{Worker: far, ID: second, OutBytes: 1}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range p.cluster.tries {
		got = append(got, fmt.Sprint(x.Container.String() == near, x.Container.String() == far, x.Index, x.Reduce, x.To.Sub(x.From), x.Outcome, x.Copy, x.Remote))
	}
	want := []string{
		fmt.Sprint(true, false, first.Index, false, 2*time.Second, client.TryFailed, false, false),
		fmt.Sprint(false, true, second.Index, false, 3*time.Second, client.TrySucceeded, false, true),
	}
	if !slices.Equal(got, want) {
		t.Errorf("told of\n%v, and not of\n%v", got, want)
	}
}

// A copy that is faster is told of as one, and the try that it overtook as ended.
func TestCopiesAreTold(t *testing.T) {
	p := newPlayOf(job.Job{Speculation: job.SpeculateLate}, 3, 2)
	p.cluster.nodes = 2
	quick, slow := p.grant("a"), p.grant("b")
	first := p.take(t, quick)
	p.take(t, slow)
	p.pass(10*time.Second, quick, slow)
	p.done(quick, first)
	p.pass(30*time.Second, slow)
	helper := p.grant("a")
	twin := p.take(t, helper)
	p.pass(5*time.Second, slow, helper)
	p.done(helper, twin)
	var got []string
	for _, x := range p.cluster.tries[1:] {
		got = append(got, fmt.Sprint(x.Container.String() == helper, x.Index == twin.Index, x.Outcome, x.Copy))
	}
	slices.Sort(got)
	want := []string{fmt.Sprint(false, true, client.TryEnded, false), fmt.Sprint(true, true, client.TrySucceeded, true)}
	if !slices.Equal(got, want) {
		t.Errorf("told of %v, and not of %v", got, want)
	}
}
