package ledger

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// An application keeps the times of the first containers that ended, and of the newest, through snapshots and beyond its end.
func TestPastContainers(t *testing.T) {
	s := New()
	s.Version = Version
	mustApply(t, s, commands{cluster(), register(node1, records.NewResource(1<<20, 1<<10)), submit(1), start(attempt(1, 1))}.at(1000))
	for i := range int64(maxPast + 10) {
		id := container(1, 1, i+1)
		mustApply(t, s, commands{allocate(id, false)}.at(2000))
		mustApply(t, s, commands{complete(id, int32(i)), {ContainersReported: &ledgerpb.ContainersReported{Containers: ContainerRefs(id)}}}.at(4000))
	}
	a := s.Apps[app(1)]
	kept := slices.Collect(a.Past.All())
	if len(kept) != maxPast || a.Past.Len() != maxPast || a.PastMore != 10 || a.Containers.Len() != 0 {
		t.Fatalf("%d kept, %d not, %d are there", len(kept), a.PastMore, a.Containers.Len())
	}
	if first, last, gap := kept[0].ID.ID, kept[maxPast-1].ID.ID, kept[maxPast/2].ID.ID; first != 1 || last != maxPast+10 || gap != maxPast/2+11 {
		t.Errorf("it keeps containers from %d to %d, and %d after the gap", first, last, gap)
	}
	c := kept[7]
	if want := (Times{Accepted: created + 3100, Localized: created + 3200, Ended: created + 4000}); c.Times != want || c.Asked != created+1997 || c.Allocated != created+2000 || c.Finished != created+4000 || c.ExitStatus != 7 {
		t.Errorf("%+v", c)
	}
	mustApply(t, s, commands{endAttempt(attempt(1, 1), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, false)}.at(5000))
	restored, err := ReadSnapshot(bytes.NewReader(snapshot(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	b := restored.Apps[app(1)]
	again := slices.Collect(b.Past.All())
	if len(again) != maxPast || b.PastMore != 10 || again[7].Times != c.Times || again[7].Asked != c.Asked {
		t.Errorf("after a snapshot: %+v", again[7])
	}
	newest := slices.Collect(b.Past.Newest())
	if slices.Reverse(newest); !slices.Equal(newest, again) {
		t.Error("the newest aren't all in the order of their ends")
	}
}

// What a node says of the past can't lie before the grant.
func TestTimesWithinTheLifeOfAContainer(t *testing.T) {
	c := Container{Allocated: 1000}
	c.times(2000, ledgerpb.NewContainerTimes(1<<62, 1001, -5, 999))
	if want := (Times{Accepted: 1000, Localized: 1000, Ended: 1001}); c.Times != want {
		t.Errorf("%+v", c.Times)
	}
}

// For how long a container had no processor, and that it was given back, is kept through snapshots; a node may tell anything. A ledger of an earlier version never gets either.
func TestContainersThatHadNoProcessor(t *testing.T) {
	s := New()
	s.Version = Version
	mustApply(t, s, commands{cluster(), register(node1, records.NewResource(1<<20, 1<<10)), submit(1), start(attempt(1, 1))}.at(1000))
	for i, told := range []int64{2500, -1, 1 << 60} {
		id := container(1, 1, int64(i+1))
		done := complete(id, 0)
		done.ContainersCompleted.Completions[0].Times = &ledgerpb.ContainerTimes{Starved: told, GivenBack: i == 1}
		mustApply(t, s, commands{allocate(id, false)}.at(2000))
		mustApply(t, s, commands{done, {ContainersReported: &ledgerpb.ContainersReported{Containers: ContainerRefs(id)}}}.at(4000))
	}
	restored, err := ReadSnapshot(bytes.NewReader(snapshot(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*State{s, restored} {
		for i, want := range []int32{2500, 0, math.MaxInt32} {
			if c := slices.Collect(s.Apps[app(1)].Past.All())[i]; c.NoProcessor != want || c.GivenBack != (i == 1) {
				t.Errorf("container %d had no processor for %d ms, want %d; given back: %v", i+1, c.NoProcessor, want, c.GivenBack)
			}
		}
	}
	all := &ledgerpb.ContainerTimes{Accepted: 4, Cold: true, Starved: 5, GivenBack: true}
	for version, want := range map[int32]*ledgerpb.ContainerTimes{
		CourseVersion - 1: {Accepted: 4}, StarvedVersion - 1: {Accepted: 4, Cold: true}, StarvedVersion: all,
	} {
		if got := all.For(version); !proto.Equal(got, want) {
			t.Errorf("version %d gets %v, want %v", version, got, want)
		}
	}
}

// last returns the container that ended last.
func last(p Past) *Container {
	for c := range p.Newest() {
		return c
	}
	return nil
}
