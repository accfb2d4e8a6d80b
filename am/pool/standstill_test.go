package pool

import (
	"slices"
	"testing"

	"heddle/internal/await"
	"heddle/yarn/wire"
)

// An executor whose container is suspended keeps its tasks and gets no others, whether it has come before or after. It goes on where it was, and
// gets others then.
func TestExecutorsThatStandStill(t *testing.T) {
	b := start(t, Options{})
	restart := func() { t.Error("a task runs again") }
	first := b.run(&Task{Task: wire.Task{Dir: "first"}, Restart: restart})
	b.Standstill("d", true)
	c := b.dial(&wire.Hello{Container: "c", Slots: 2})
	had := next[*wire.Task](b, c)
	b.Standstill("c", true)
	second := b.run(&Task{Task: wire.Task{Dir: "second"}})
	d := b.dial(&wire.Hello{Container: "d", Slots: 1})
	await.Until(t, "both executors", func() bool { return b.State().Executors == 2 })
	if s := b.State(); s != (State{Waiting: 1, Running: 1, Executors: 2}) {
		t.Errorf("%+v", s)
	}
	if want, useless := b.demand(2); want != 2 || useless != 1 {
		t.Errorf("%d executors are wanted, %d are useless", want, useless)
	}
	b.Standstill("d", false)
	m := next[*wire.Task](b, d)
	if m.Dir != "second" {
		t.Errorf("%+v", m)
	}
	if err := d.Send(&wire.Ended{ID: m.ID}); err != nil {
		t.Fatal(err)
	}
	if r := <-second; r.err != nil {
		t.Error(r.err)
	}
	if want, useless := b.demand(2); want != 1 || useless != 0 {
		t.Errorf("%d executors are wanted, %d are useless", want, useless)
	}
	b.Standstill("c", false)
	third := b.run(&Task{Task: wire.Task{Dir: "third"}})
	fourth := b.run(&Task{Task: wire.Task{Dir: "fourth"}})
	others := []string{next[*wire.Task](b, c).Dir, next[*wire.Task](b, d).Dir}
	slices.Sort(others)
	if !slices.Equal(others, []string{"fourth", "third"}) {
		t.Errorf("%q", others)
	}
	if err := c.Send(&wire.Ended{ID: had.ID, Exit: 3}); err != nil {
		t.Fatal(err)
	}
	if r := <-first; r.err != nil || r.Exit != 3 {
		t.Errorf("%+v", r)
	}
	c.Close()
	d.Close()
	b.executor("e", 2)
	for _, done := range []<-chan result{third, fourth} {
		if r := <-done; r.err != nil {
			t.Error(r.err)
		}
	}
}

// Executors without tasks that stand still are given back first, and one that is lost while it stands still is lost.
func TestExecutorsThatStandStillLeave(t *testing.T) {
	b := start(t, Options{})
	b.executor("a", 1)
	await.Until(t, "one", func() bool { return b.State().Executors == 1 })
	kill := b.executor("b", 1)
	await.Until(t, "two", func() bool { return b.State().Executors == 2 })
	b.Standstill("b", true)
	if got := b.Leave(1); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q leave", got)
	}
	b.Explain("b", "its container has ended")
	kill()
	await.Until(t, "its loss", func() bool { return b.State().Executors == 1 })
}
