package client

import (
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// What was sent is sent again until it was answered, what has changed meanwhile too, and all of it to another ResourceManager.
func TestStagesAreSentOnce(t *testing.T) {
	m := &Master{}
	send := func(during func()) *pb.AllocateRequest {
		n, req := m.stages.news(), &pb.AllocateRequest{}
		n.write(req, m.stages.wants)
		if during != nil {
			during()
			m.stages.markSent(n)
		}
		return req
	}
	nothing := func() {}
	if req := send(nothing); proto.Size(req) != 0 {
		t.Errorf("without news: %v", req)
	}
	m.WantHints()
	m.SetStages(StageReport{
		Maps: 3, OutputBytes: 400, Released: 5, Available: 6, Left: 7, Copies: true, Young: 8, Detection: 3 * time.Second, ToRead: 9, ToMake: 10,
	})
	for i := range maxReports + 1 {
		m.SetPerformance(Performance{fmt.Sprint("n", i), i == 0, 1, 2.5})
	}
	first, again := send(nil), send(func() { m.SetPerformance(Performance{"n0", true, 2, 3}) })
	if !proto.Equal(first, again) {
		t.Error("what wasn't answered isn't sent again")
	}
	r, p := first.GetHeddleStages(), first.GetHeddlePerformance()
	if !first.GetHeddleWantsHints() || !first.GetHeddleWantsLevels() || r.GetMaps() != 3 || r.GetOutputBytes() != 400 || r.GetReleased() != 5 ||
		r.GetAvailable() != 6 || r.GetLeft() != 7 || !r.GetCopies() || r.GetYoung() != 8 || r.GetDetection() != 3000 || r.GetToRead() != 9 || r.GetToMake() != 10 || len(p) != maxReports || p[0].GetHost() != "n0" || p[0].GetType() != pb.TaskType_TASK_REDUCE || p[1].GetType() != pb.TaskType_TASK_MAP ||
		p[0].GetTasks() != 1 || p[0].GetMean() != 2.5 {
		t.Errorf("sent: %v, %d reports, %v", r, len(p), p[:2])
	}
	rest := send(nothing)
	if p := rest.GetHeddlePerformance(); rest.HasHeddleStages() || len(p) != 2 || p[0].GetMean() != 3 || p[1].GetHost() != fmt.Sprint("n", maxReports) {
		t.Errorf("sent then: %v", rest)
	}
	if req := send(nothing); len(req.GetHeddlePerformance()) > 0 {
		t.Errorf("sent twice: %v", req)
	}
	m.stages.forget()
	if req := send(nothing); req.GetHeddleStages().GetMaps() != 3 || len(req.GetHeddlePerformance()) != maxReports {
		t.Errorf("sent to another: %v", req.GetHeddleStages())
	}
}

// Tries of tasks are sent once they are over, in ms before the call, until a call that has them was answered. Of very many the newest are.
func TestTriesAreSentOnce(t *testing.T) {
	m := &Master{}
	began := time.Now().Add(-time.Minute)
	add := func(i int) {
		m.AddTry(TaskTry{Container: records.ContainerID{ID: 9}, Index: i, Reduce: i%2 == 0, From: began, To: began.Add(10 * time.Second), Fetched: began.Add(4 * time.Second), Outcome: TryEnded, Copy: true, Remote: true})
	}
	send := func() (stageNews, []*pb.TaskTry) {
		n, req := m.stages.news(), &pb.AllocateRequest{}
		n.writeTries(req, began.Add(time.Minute))
		return n, req.GetHeddleTries()
	}
	add(0)
	n, sent := send()
	if x := sent[0]; len(sent) != 1 || x.GetContainer() != 9 || x.GetType() != pb.TaskType_TASK_REDUCE || x.GetFrom() != 60_000 || x.GetTo() != 50_000 || x.GetFetched() != 56_000 ||
		x.GetOutcome() != TryEnded || !x.GetCopy() || !x.GetRemote() {
		t.Errorf("sent: %v", sent)
	}
	for i := range maxTries + 3 {
		add(i + 1)
	}
	if _, again := send(); len(again) != maxTries || again[0].GetIndex() != 4 {
		t.Errorf("%d are sent, from %v on", len(again), again[0])
	}
	m.stages.markSent(n) // of which nothing waits any more
	n, sent = send()
	if len(sent) != maxTries {
		t.Errorf("%d are left", len(sent))
	}
	add(1000)
	m.stages.markSent(n)
	if _, sent = send(); len(sent) != 1 || sent[0].GetIndex() != 1000 {
		t.Errorf("what came meanwhile: %v", sent)
	}
}

// What a queue has for copies is known only where the ResourceManager says so; 0 is an amount.
func TestHintsOnCopies(t *testing.T) {
	for _, c := range []struct {
		copies  int64
		said    bool
		divides bool
		want    int
	}{{3, true, true, 3}, {0, true, true, 0}, {0, false, false, 0}, {-4, true, true, 0}, {math.MaxInt64, true, true, math.MaxInt32}} {
		h, resp, out := &pb.StageHints{}, &pb.AllocateResponse{}, &Allocation{}
		if c.said {
			h.SetCopies(c.copies)
		}
		resp.SetHeddleHints(h)
		if hinted(resp, out); out.Hints.Divides != c.divides || out.Hints.Copies != c.want {
			t.Errorf("%+v: %+v", c, out.Hints)
		}
	}
}

// Whatever a ResourceManager says, hints are finite and not negative, and so are classes.
func FuzzHints(f *testing.F) {
	h, l := &pb.StageHints{}, &pb.NodeLevel{}
	h.SetFrequency(math.NaN())
	h.SetAvailable(math.Inf(1))
	h.SetJobs(-3)
	h.SetBandwidth(-1)
	l.SetHost("n1")
	l.SetLevel(math.MinInt32)
	resp := &pb.AllocateResponse{}
	resp.SetHeddleHints(h)
	resp.SetHeddleLevels([]*pb.NodeLevel{l})
	b, err := proto.Marshal(resp)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		resp, out := &pb.AllocateResponse{}, &Allocation{}
		if proto.Unmarshal(b, resp) != nil {
			return
		}
		hinted(resp, out)
		if h := out.Hints; h != nil {
			for _, x := range []float64{h.Frequency, h.Available, float64(h.Jobs), h.Bandwidth} {
				if !(x >= 0) || math.IsInf(x, 0) {
					t.Errorf("hints %+v", h)
				}
			}
		}
		for _, l := range out.Classes {
			if l.Class < 0 || l.Class > maxClass {
				t.Errorf("level %d", l.Class)
			}
		}
	})
}
