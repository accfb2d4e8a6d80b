package load

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/integration/hadooplab"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// What a leader does for receipts takes less than a hundredth of its time, while 200 applications wait, containers are granted and end, and 30 ApplicationMasters tell of
// as many tasks as they may; and what it does for its record less than a twentieth. Both are shares of the samples of a profile: however slow the machine, they are the same.
func TestReceiptsAndRecordsTakeLittleOfTheLeader(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	const queue = "yarn.scheduler.capacity.root."
	o := configured(t, map[string]string{
		"heddle.record.dir": t.TempDir(), queue + "queues": "default,full", queue + "default.capacity": "90", queue + "full.capacity": "10", queue + "full.maximum-capacity": "10",
		"yarn.scheduler.capacity.maximum-applications": "10000", queue + "full.maximum-am-resource-percent": "1",
	})
	o.Nodes, o.Heartbeat, o.Rate, o.Masters, o.Hold, o.EndByNode = 200, time.Second, 4000, 8, 300*time.Millisecond, true
	o.Warmup, o.Duration = 5*time.Second, 60*time.Second
	waits := o
	waits.Nodes, waits.Rate, waits.Masters, waits.Queue, waits.Outstanding, waits.Interval, waits.Hold, waits.EndByNode = 0, 0, 200, "full", 5, time.Second, 10*time.Second, false

	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if r, err := Run(t.Context(), o); err != nil {
			t.Error(err)
		} else {
			t.Logf("%.0f grants a second", r.PerSecond)
		}
		cancel()
	})
	all.Go(func() { _, _ = Run(ctx, waits) }) // it is ended
	for range 30 {
		all.Go(func() { tells(t, ctx, o) })
	}
	sleep(ctx, o.Warmup)
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	pprof.StopCPUProfile()

	samples := stacks(t, profile.Bytes())
	const rpc = "heddle/yarn/ipc."
	leader := samples.with("heddle/rm.", "heddle/rm/", rpc+"(*Server)", rpc+"(*serverConn)", rpc+"(*job)")
	receipts := samples.with("heddle/rm/leader/waits.", "heddle/rm/leader/tries.", "heddle/rm/ledger/course.", "heddle/rm/receipt.")
	log := "heddle/rm/scheduler/eventlog."
	record := samples.with(log+"(*Writer)", log+"(*encoder)", log+"(*behind)", log+"(*state)", log+"put", log+"goOn", log+"noteFree")
	share := func(part time.Duration) float64 { return 100 * part.Seconds() / leader.Seconds() }
	t.Logf("of %.1f s that the leader worked in %.0f s, receipts took %.2f %%, the record %.2f %%", leader.Seconds(), o.Duration.Seconds(), share(receipts), share(record))
	if leader < time.Second || receipts == 0 || record == 0 || share(receipts) > 1 || share(record) > 5 {
		t.Errorf("of %v receipts took %.2f %%, the record %.2f %%", leader, share(receipts), share(record))
	}
}

// tells is an ApplicationMaster that tells of as many tries of tasks as the leader takes, and asks for nothing.
func tells(t *testing.T, ctx context.Context, o Options) {
	m, err := newMaster(ctx, &run{o: o, begin: time.Now()}, 0)
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return
	}
	defer m.client.Close()
	for i := int32(0); ctx.Err() == nil; sleep(ctx, time.Second) {
		req := &pb.AllocateRequest{}
		req.SetResponseId(m.response)
		var tries []*pb.TaskTry
		for range 64 {
			x := &pb.TaskTry{}
			x.SetContainer(int64(2 + i%100))
			x.SetIndex(i)
			x.SetFrom(900)
			x.SetTo(100)
			tries, i = append(tries, x), i+1
		}
		req.SetHeddleTries(tries)
		resp, err := protocol.Allocate.Call(ctx, m.rm, req)
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		m.response = resp.GetResponseId()
	}
}

// sampled are the samples of a profile of processors.
type sampled struct {
	time []time.Duration
	in   [][]string // functions on the stack
}

// with sums up the samples that have a function on their stack whose name begins so.
func (s *sampled) with(prefixes ...string) (sum time.Duration) {
	for i, stack := range s.in {
		if slices.ContainsFunc(stack, func(name string) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		}) {
			sum += s.time[i]
		}
	}
	return sum
}

// fields calls a function for each field of a message (profile.proto): v is its number, or b its bytes.
func fields(t *testing.T, message []byte, each func(n protowire.Number, v uint64, b []byte)) {
	t.Helper()
	for len(message) > 0 {
		num, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(num, kind, message)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		switch kind {
		case protowire.VarintType:
			v, _ := protowire.ConsumeVarint(message)
			each(num, v, nil)
		case protowire.BytesType:
			b, _ := protowire.ConsumeBytes(message)
			each(num, 0, b)
		}
		message = message[size:]
	}
}

// numbers are those of a repeated field, of which short ones aren't packed.
func numbers(one uint64, b []byte) (all []uint64) {
	if b == nil {
		return []uint64{one}
	}
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return all
		}
		all, b = append(all, v), b[n:]
	}
	return all
}

// stacks decodes a profile.
func stacks(t *testing.T, packed []byte) (s sampled) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	functions, locations := map[uint64]uint64{}, map[uint64][]uint64{} // the index of a name; functions
	var at [][]uint64
	fields(t, text, func(n protowire.Number, _ uint64, b []byte) {
		switch n {
		case 2: // a sample: its locations, and its count and nanoseconds
			var in, values []uint64
			fields(t, b, func(n protowire.Number, v uint64, packed []byte) {
				switch n {
				case 1:
					in = append(in, numbers(v, packed)...)
				case 2:
					values = append(values, numbers(v, packed)...)
				}
			})
			at, s.time = append(at, in), append(s.time, time.Duration(values[1]))
		case 4: // a location: its id, and its lines
			var id uint64
			var in []uint64
			fields(t, b, func(n protowire.Number, v uint64, line []byte) {
				switch n {
				case 1:
					id = v
				case 4:
					fields(t, line, func(n protowire.Number, v uint64, _ []byte) {
						if n == 1 {
							in = append(in, v)
						}
					})
				}
			})
			locations[id] = in
		case 5: // a function: its id and its name
			var id uint64
			fields(t, b, func(n protowire.Number, v uint64, _ []byte) {
				switch n {
				case 1:
					id = v
				case 2:
					functions[id] = v
				}
			})
		case 6:
			names = append(names, string(b))
		}
	})
	for _, stack := range at {
		var in []string
		for _, l := range stack {
			for _, f := range locations[l] {
				in = append(in, names[functions[f]])
			}
		}
		s.in = append(s.in, in)
	}
	return s
}
