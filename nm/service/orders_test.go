package service

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/nm/suspend"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func orderPB(level pb.ContainerLevel, every int64, held *records.Resource) *pb.ContainerOrder {
	m := &pb.ContainerOrder{}
	m.SetLevel(level)
	m.SetVersion(7)
	m.SetBreathEveryMs(every)
	m.SetBeneficiary("short")
	if held != nil {
		m.SetHeld(records.ResourceTypes{}.PB(*held))
	}
	return m
}

func TestOrderFromTheWire(t *testing.T) {
	size, held := records.NewResource(1024, 2), records.NewResource(512, 1)
	o, err := orderFrom(orderPB(pb.ContainerLevel_LEVEL_SHRUNK, 45_000, &held), records.ResourceTypes{}, size)
	if want := (suspend.Order{Level: suspend.Shrunk, Held: held, BreathEvery: 45 * time.Second, Version: 7, For: "short"}); err != nil || o != want {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = orderFrom(orderPB(pb.ContainerLevel_LEVEL_RECLAIMED, 0, nil), records.ResourceTypes{}, size)
	if err != nil || o.Held != records.NewResource(64, 0) || o.BreathEvery != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	// Another size is on its way, or was refused: it has all of the one that it has.
	other := records.NewResource(2048, 1)
	if o, err = orderFrom(orderPB(pb.ContainerLevel_LEVEL_RUNNING, 0, &other), records.ResourceTypes{}, size); err != nil || o.Held != size {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = orderFrom(orderPB(pb.ContainerLevel_LEVEL_FROZEN, 0, &other), records.ResourceTypes{}, size); err != nil || o.Held != records.NewResource(1024, 1) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, every := range []int64{-1, 1 << 60} {
		if o, err := orderFrom(orderPB(pb.ContainerLevel_LEVEL_FROZEN, every, nil), records.ResourceTypes{}, size); err == nil || !strings.Contains(err.Error(), "breathe") {
			t.Errorf("every %d ms: %+v, %v", every, o, err)
		}
	}
}

func FuzzOrder(f *testing.F) {
	held := records.NewResource(512, 1)
	b, err := proto.Marshal(orderPB(pb.ContainerLevel_LEVEL_SHRUNK, 45_000, &held))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	size := records.NewResource(1024, 2)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m pb.ContainerOrder
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		o, err := orderFrom(&m, records.ResourceTypes{}, size)
		if err != nil || o.Check(size, true) != nil {
			return
		}
		if o.Level < suspend.Running || o.Level > suspend.Reclaimed || !o.Held.FitsIn(size) || o.Held.MemoryMB() < suspend.FootprintMB || o.BreathEvery < 0 {
			t.Errorf("%v was taken as %+v", &m, o)
		}
	})
}

func TestSuspensionOnTheWire(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	s := suspend.State{
		Order: suspend.Order{Level: suspend.Reclaimed, Held: records.NewResource(64, 0), Version: 3}, Have: suspend.Frozen,
		Holds: records.NewResource(1024, 0), Since: now.Add(-time.Minute), Swapped: 5, Took: 20 * time.Millisecond, Reason: "swap is full",
	}
	id := records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 2}, Attempt: 1}, ID: 9}
	m := SuspensionPB(id, s, records.ResourceTypes{})
	if records.ContainerIDFrom(m.GetContainerId()) != id || m.GetVersion() != 3 || m.GetWanted() != pb.ContainerLevel_LEVEL_RECLAIMED ||
		m.GetLevel() != pb.ContainerLevel_LEVEL_FROZEN || m.GetHeld().GetMemory() != 1024 || m.GetSwapped() != 5 || m.GetTookMs() != 20 || m.GetReason() != "swap is full" || m.HasFailed() {
		t.Errorf("%v", m)
	}
	s.Failed = true
	if m = SuspensionPB(id, s, records.ResourceTypes{}); !m.GetFailed() {
		t.Errorf("%v", m)
	}
}
