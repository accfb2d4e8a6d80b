package stage

import (
	"reflect"
	"strings"
	"testing"
)

// patient is a Starter that says what it waits for, and a Speculator that knows levels.
type patient struct {
	reckless
	due bool
}

func (p *patient) Due(*Facts) bool            { return p.due }
func (p *patient) Why(f *Facts) string        { return strings.Repeat("x", f.Maps.Waiting) }
func (p *patient) Level(node int) (int, bool) { return node + 1, node == 1 }

func TestDescriptionOfAJob(t *testing.T) {
	p := &patient{}
	s := tell(t, Job{Maps: 4, Reduces: 2, Starter: p, Speculator: p, Hosts: func(int) []string { return []string{"never"} }})
	s.grant(Map, "a")
	s.grant(Map, "b")
	want := Description{Reduces: "xx", Nodes: []NodeState{{Name: "a", Slots: 1, Level: 2, Straggles: true}, {Name: "b", Slots: 1, Level: 3}}}
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
}
