package stages

import (
	"testing"

	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// Reduces may begin early where no map is pending, the last ones end soon, and room for a reduce has been free for two seconds, in each of
// which the leaf was looked at.
func TestReducesBeginEarlyInRoomThatNobodyTakes(t *testing.T) {
	slot := records.NewResource(1024, 1)
	a := leaf.App{Handle: 0, Type: Type}
	type look struct {
		at   int64
		free int64 // slots
	}
	for name, c := range map[string]struct {
		pending, known bool
		looks          []look
		want           bool
	}{
		"two seconds":             {looks: []look{{21_000, 1}, {22_000, 1}, {23_000, 1}}, known: true, want: true},
		"no two seconds":          {looks: []look{{21_500, 0}, {22_000, 1}, {23_000, 1}}, known: true},
		"not now":                 {looks: []look{{21_000, 1}, {22_000, 1}, {23_000, 0}}, known: true},
		"taken in between":        {looks: []look{{21_000, 1}, {22_000, 1}, {22_400, 0}, {22_500, 1}, {23_000, 1}}, known: true},
		"looked at too seldom":    {looks: []look{{20_000, 1}, {23_000, 1}}, known: true},
		"a second without a look": {looks: []look{{21_000, 1}, {23_000, 1}}, known: true, want: true},
		"a map is pending":        {looks: []look{{21_000, 1}, {22_000, 1}, {23_000, 1}}, known: true, pending: true},
		"nobody knows how long":   {looks: []look{{21_000, 1}, {22_000, 1}, {23_000, 1}}},
		"maps have long to go":    {looks: []look{{1_000, 1}, {2_000, 1}, {3_000, 1}}, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			var b Book
			b.Now = 0
			ask := func(priority, count int32) leaf.Ask {
				return leaf.Ask{App: a, Priority: priority, Count: count, Capability: slot}
			}
			b.Asked(ask(20, 3))
			for i := range int32(2) {
				b.Granted(a, leaf.Grant{Container: 0, Resource: slot, Ask: ask(20, 2-i)})
				if i == 0 && c.known { // it took 20 s
					b.Ended(leaf.Outcome{Container: 0, Resource: slot})
				}
			}
			b.containers[0].since = 0
			for k := range b.ended {
				b.ended[k].since = c.looks[0].at - 20_000
			}
			pending := int32(0)
			if c.pending {
				pending = 1
			}
			b.Asked(ask(20, pending))
			b.Asked(ask(10, 1))
			changed := false
			j := b.Job(0)
			for _, x := range c.looks {
				b.Tick(x.at, &leaf.Queue{Free: slot.Times(x.free), Types: 2})
				changed = b.Early(j, 0)
			}
			if j.Spare != c.want || changed != c.want {
				t.Errorf("reduces may begin: %v; that has changed: %v", j.Spare, changed)
			}
		})
	}
}

// Intervals are whole seconds: room that was taken at the end of one counts for that one, and is forgotten two seconds later.
func TestSpareRoomIsKnownBySeconds(t *testing.T) {
	slot := records.NewResource(1024, 1)
	var s spare
	for _, x := range []struct {
		at     int64
		free   records.Resource
		stands bool
	}{
		{0, slot, false}, {999, records.Resource{}, false}, {1000, slot, false}, {2000, slot, false}, {3000, slot, true}, {3999, slot, true},
	} {
		s.note(x.at, x.free)
		if got := s.stands(&slot); got != x.stands {
			t.Errorf("at %d ms room for two seconds: %t", x.at, got)
		}
	}
}
