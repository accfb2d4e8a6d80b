package stage

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// patient is a Starter that says what it waits for, and a Speculator that knows classes.
type patient struct {
	reckless
	due bool
}

func (p *patient) Due(*Facts) bool            { return p.due }
func (p *patient) Why(f *Facts) string        { return strings.Repeat("x", f.Maps.Waiting) }
func (p *patient) Class(node int) (int, bool) { return node + 1, node == 1 }

func TestDescriptionOfAJob(t *testing.T) {
	p := &patient{}
	s := tell(t, Job{Maps: 4, Reduces: 2, Starter: p, Speculator: p, Hosts: func(int) []string { return []string{"never"} }})
	s.grant(Map, "a")
	s.grant(Map, "b")
	want := Description{Reduces: "xx", Nodes: []NodeState{{Name: "a", Slots: 1, Class: 2, Straggles: true}, {Name: "b", Slots: 1, Class: 3}}}
	if got := Describe(s.m); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	p.due = true
	s.step(Tick{})
	if got := Describe(s.m).Reduces; got != "2 wait for containers" {
		t.Errorf("%q", got)
	}
	s.step(Refused{nil})
	if got := Describe(s.m).Reduces; got != "" {
		t.Errorf("at the end %q", got)
	}
	s = tell(t, Job{Maps: 1, Starter: &patient{}, Speculator: p})
	if got := Describe(s.m).Reduces; got != "" {
		t.Errorf("of a job without reduces %q", got)
	}
}

// A suspended attempt's time doesn't count, and failures say what was behind them.
func TestTimesAndErrorsOfAttempts(t *testing.T) {
	r := Running{Begun: 10 * time.Second, Paused: 4 * time.Second}
	for now, want := range map[time.Duration]time.Duration{30: 16, 14: 0, 12: 0, 15: 1} {
		if got := r.Elapsed(now * time.Second); got != want*time.Second {
			t.Errorf("%v at %v s", got, int(now))
		}
	}
	cause := errors.New("no")
	for _, err := range []error{&AttemptError{ID: attempt(Map, 3, 1), Host: "h", Err: cause}, &FetchError{Hosts: 2, Last: "h", Err: cause}} {
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), "no") || !strings.Contains(err.Error(), "h") {
			t.Errorf("%v", err)
		}
	}
}
