package session

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/internal/await"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// A peer whose calls and replies are lost at random receives each reply's content exactly once, in order, as long as it repeats what was
// not answered; after a resync it begins anew.
func TestRepliesAreReceivedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Dialogue[int]
		sent := 0                // replies that were made
		received, known := 0, -1 // the last one that the peer has, and the response id that it knows
		call := func() {         // the peer's call arrives
			switch v := d.Judge(int32(known)); {
			case known < 0 && v != Unregistered && d.Registered():
				t.Fatalf("a peer that has not registered is heard: %v", v)
			case v == New:
				sent++
				d.Answered(sent)
			case v == Repeated:
				if d.Last() != sent || received != sent-1 {
					t.Fatalf("reply %d again, of %d, for a peer that has %d", d.Last(), sent, received)
				}
			default:
				t.Fatalf("the peer knows %d, the leader %d: %v", known, d.ResponseID(), v)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"register": func(*rapid.T) {
				d.Register()
				known, received = 0, sent
			},
			"call": func(*rapid.T) {
				if known >= 0 {
					call()
					received, known = d.Last(), int(d.ResponseID())
				}
			},
			"reply lost": func(*rapid.T) {
				if known >= 0 && received == sent {
					call()
				}
			},
			"resync": func(*rapid.T) {
				d.Drop()
				if d.Judge(d.ResponseID()) != Unregistered {
					t.Fatal("a peer that must register is heard")
				}
				known = -1
			},
		})
	})
}

func TestCallsOutOfOrder(t *testing.T) {
	var d Dialogue[string]
	d.Register()
	for range 3 {
		d.Answered("reply")
	}
	for id, want := range map[int32]Verdict{3: New, 2: Repeated, 1: OutOfOrder, 4: OutOfOrder, -1: OutOfOrder, math.MaxInt32: OutOfOrder} {
		if got := d.Judge(id); got != want {
			t.Errorf("a call with id %d behind reply 3: %v, want %v", id, got, want)
		}
	}
	d.responseID = math.MaxInt32
	d.Answered("last")
	if d.ResponseID() != 0 || d.Judge(math.MaxInt32) != Repeated || d.Last() != "last" {
		t.Errorf("ids don't wrap to 0: %d", d.ResponseID())
	}
}

func TestSilence(t *testing.T) {
	var s Seen
	now := time.UnixMilli(1_000_000)
	s.At(now)
	for after, want := range map[time.Duration]bool{time.Minute: false, time.Minute + time.Millisecond: true} {
		if got := s.SilentFor(now.Add(after), time.Minute); got != want {
			t.Errorf("silent for %v: %v", after, got)
		}
	}
	if s.SilentFor(now.Add(time.Hour), 0) {
		t.Error("a limit of 0 is a limit")
	}
}

func id(n int64) records.ContainerID { return records.ContainerID{ID: n} }

// Random updates: each is delivered once, ends are acknowledged by the call after their delivery, and the bell rings if and only if there
// is something to deliver since it was last hushed.
func TestMasterBoxDeliversOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewMasterBox(&NodeNews{})
		bell := NewBell()
		b.Open(bell)
		var grants, ends, unacknowledged []records.ContainerID
		next := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"grant": func(t *rapid.T) {
				var list []Grant
				for range rapid.IntRange(1, 3).Draw(t, "containers") {
					next++
					list = append(list, Grant{ID: id(next)})
					grants = append(grants, id(next))
				}
				b.Grant(list)
			},
			"end": func(t *rapid.T) {
				next++
				ends = append(ends, id(next))
				b.Complete([]Completion{{ID: id(next)}})
			},
			"nothing": func(*rapid.T) { b.Complete(nil) },
			"deliver": func(t *rapid.T) {
				u := b.Deliver()
				var gotGrants, gotEnds []records.ContainerID
				for _, g := range u.Grants {
					gotGrants = append(gotGrants, g.ID)
				}
				for _, c := range u.Completed {
					gotEnds = append(gotEnds, c.ID)
				}
				if !slices.Equal(gotGrants, grants) || !slices.Equal(gotEnds, ends) {
					t.Fatalf("delivered %v and %v, want %v and %v", gotGrants, gotEnds, grants, ends)
				}
				unacknowledged = append(unacknowledged, ends...)
				grants, ends = nil, nil
			},
			"acknowledge": func(t *rapid.T) {
				if got := b.Acknowledge(); !slices.Equal(got, unacknowledged) {
					t.Fatalf("acknowledged %v, want %v", got, unacknowledged)
				}
				unacknowledged = nil
			},
			"attempt ends": func(t *rapid.T) {
				keep := rapid.Bool().Draw(t, "keep")
				b.EndAttempt(keep)
				if grants, unacknowledged = nil, nil; !keep {
					ends = nil
				}
				bell = NewBell()
				b.Open(bell)
				if len(ends) > 0 {
					bell.Ring() // what is left for the next attempt goes out with its first call, which needs no bell
				}
			},
			"": func(t *rapid.T) {
				if rung := len(bell) == 1; rung != (len(grants)+len(ends) > 0) {
					t.Fatalf("the bell has rung: %v, with %d grants and %d ends", rung, len(grants), len(ends))
				}
			},
		})
	})
}

func TestNodeBox(t *testing.T) {
	var b NodeBox
	app := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	b.EndContainers(id(1), id(2))
	b.EndApp(app)
	b.Forget(id(3))
	b.Shrink(Grant{ID: id(4)})
	b.Offer(records.NewResource(1, 1))
	b.Offer(records.NewResource(2, 2))
	b.Signal(Signal{Container: id(5), Command: pb.SignalContainerCommand_GRACEFUL_SHUTDOWN})
	o := b.Deliver()
	if !slices.Equal(o.Cleanup, []records.ContainerID{id(1), id(2)}) || !slices.Equal(o.CleanupApps, []records.ApplicationID{app}) ||
		!slices.Equal(o.Removed, []records.ContainerID{id(3)}) || len(o.Resized) != 1 || o.Resized[0].ID != id(4) ||
		o.Resource == nil || *o.Resource != records.NewResource(2, 2) || len(o.Signals) != 1 || o.Signals[0].Container != id(5) {
		t.Errorf("delivered %+v", o)
	}
	if o := b.Deliver(); len(o.Cleanup)+len(o.CleanupApps)+len(o.Removed)+len(o.Resized)+len(o.Signals) > 0 || o.Resource != nil {
		t.Errorf("delivered twice: %+v", o)
	}
}

// Registrations of one peer come one after the other, those of different ones don't wait; nothing is left of them.
func TestRegistering(t *testing.T) {
	var r Registry[string, int]
	end := r.Registering("a")
	var order []string
	over := make(chan struct{})
	go func() {
		defer close(over)
		second := r.Registering("a")
		order = append(order, "second")
		second()
	}()
	other := r.Registering("b")
	other()
	await.Until(t, "the second registration", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.underWay["a"].calls == 2
	})
	order = append(order, "first")
	end()
	<-over
	if !slices.Equal(order, []string{"first", "second"}) || r.UnderWay() != 0 {
		t.Errorf("%v, and %d are under way", order, r.UnderWay())
	}
	r.Put("a", 7)
	if r.Get("a") != 7 || r.Get("b") != 0 {
		t.Error("sessions get mixed up")
	}
	if r.Drop("a"); r.Get("a") != 0 {
		t.Error("a dropped session is found")
	}
}
