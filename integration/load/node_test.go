package load

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
)

// slowAnswers is a ResourceManager whose n-th answer takes the n-th of these times. It notes when calls come.
type slowAnswers struct {
	take  []time.Duration
	calls []time.Time
}

// Invoke implements ipc.Invoker.
func (s *slowAnswers) Invoke(ctx context.Context, _ ipc.Method, _, _ proto.Message) error {
	s.calls = append(s.calls, time.Now())
	if n := len(s.calls); n <= len(s.take) {
		time.Sleep(s.take[n-1])
	}
	return ctx.Err()
}

// A heartbeat that is late moves none of those after it, and those that were missed are left out.
func TestHeartbeatsKeepTheirDates(t *testing.T) {
	const tenth, second = 100 * time.Millisecond, time.Second
	for name, x := range map[string]struct{ take, want []time.Duration }{
		"prompt answers":    {nil, []time.Duration{0, second, 2 * second, 3 * second}},
		"one that is late":  {[]time.Duration{15 * tenth}, []time.Duration{0, 15 * tenth, 2 * second, 3 * second}},
		"several are late":  {[]time.Duration{15 * tenth, 8 * tenth}, []time.Duration{0, 15 * tenth, 23 * tenth, 3 * second}},
		"some are left out": {[]time.Duration{35 * tenth}, []time.Duration{0, 35 * tenth, 4 * second, 5 * second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rm := &slowAnswers{take: x.take}
				n := newNode(&run{o: Options{Tracker: []string{"rm:8031"}, Heartbeat: second}, begin: time.Now()}, 0)
				n.RM = rm
				ctx, cancel := context.WithTimeout(t.Context(), 10*second)
				defer cancel()
				n.live(ctx)
				var got []time.Duration
				for _, at := range rm.calls[:len(x.want)] {
					got = append(got, at.Sub(rm.calls[0]))
				}
				if !slices.Equal(got, x.want) {
					t.Errorf("heartbeats at %v, want %v", got, x.want)
				}
			})
		})
	}
}
