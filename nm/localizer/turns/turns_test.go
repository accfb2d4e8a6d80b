package turns

import (
	"math/rand/v2"
	"testing"
)

// Whatever comes and goes: nobody waits who has less than his share, no place is idle while somebody waits, and nobody has more than all.
func TestTurnsAreFair(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		places := 1 + rng.IntN(6)
		x := New(places)
		var tickets []*Ticket
		user := func() string { return string(rune('a' + rng.IntN(5))) }
		for range 200 {
			switch k := len(tickets); {
			case k > 0 && rng.IntN(2) == 0:
				i := rng.IntN(k)
				x.Leave(tickets[i])
				tickets = append(tickets[:i], tickets[i+1:]...)
			case k > 0 && rng.IntN(3) == 0:
				x.Join(tickets[rng.IntN(k)], user())
			default:
				tickets = append(tickets, x.Enter(user(), func() {}))
			}
			running := map[string]int{}
			all := 0
			for _, k := range tickets {
				if k.running {
					running[k.user]++
					all++
				}
			}
			if all != x.running {
				t.Fatalf("%d run, and %d are counted", all, x.running)
			}
			for name, q := range x.users {
				if q.running != running[name] || q.running > places {
					t.Fatalf("%s has %d of %d places, %d are counted", name, running[name], places, q.running)
				}
				if len(q.waiting) > 0 && (all < places || q.running < x.share()) {
					t.Fatalf("%s waits with %d places of %d, a share of %d, and %d in use", name, q.running, places, x.share(), all)
				}
			}
			if all > max(2*places, places+len(x.users)) {
				t.Fatalf("%d run at a time in %d places for %d users", all, places, len(x.users))
			}
		}
		for _, k := range tickets {
			x.Leave(k)
		}
		if !x.Idle() || x.running != 0 {
			t.Fatalf("%d users are left, and %d run", len(x.users), x.running)
		}
	}
}
