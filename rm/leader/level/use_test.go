package level

import (
	"slices"
	"testing"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// running are the containers from one to another but for 2.
func running(from, to int64) map[records.ContainerID]pb.ContainerSubState {
	out := map[records.ContainerID]pb.ContainerSubState{}
	for n := from; n <= to; n++ {
		if n != 2 {
			out[records.ContainerID{ID: n}] = pb.ContainerSubState_CSS_RUNNING
		}
	}
	return out
}

// What nodes say of their containers' memory while nothing is suspended is known when suspension is switched on, of those that still run.
func TestMemoryIsKnownWhenSuspensionIsSwitchedOn(t *testing.T) {
	id := func(n int64) records.ContainerID { return records.ContainerID{ID: n} }
	var u Unasked
	for _, x := range []struct {
		asked bool
		used  []Used
		want  []Used
	}{
		{false, []Used{{id(2), 5}, {id(1), 6}}, nil},
		{false, []Used{{id(3), 7}, {id(1), 8}}, nil},
		{true, []Used{{id(3), 9}}, []Used{{id(1), 8}, {id(3), 9}}},
		{true, nil, nil},
		{true, []Used{{id(3), 1}}, []Used{{id(3), 1}}},
	} {
		if got := u.Ask(x.asked, x.used, running(1, 3)); !slices.Equal(got, x.want) {
			t.Errorf("%+v: %v", x, got)
		}
	}
}

// What is told comes in the order of ids, whatever order it came in.
func TestMemoryIsToldInTheOrderOfIds(t *testing.T) {
	var u Unasked
	for n := int64(40); n > 2; n-- {
		u.Ask(false, []Used{{records.ContainerID{ID: n}, n}}, running(1, 40))
	}
	got := u.Ask(true, nil, running(1, 40))
	if len(got) != 38 || !slices.IsSortedFunc(got, func(a, b Used) int { return a.ID.Compare(b.ID) }) {
		t.Errorf("%v", got)
	}
}

// However many containers come and go, only so many are remembered.
func TestContainersThatHaveEndedAreForgotten(t *testing.T) {
	var u Unasked
	for n := range int64(1000) {
		u.Ask(false, []Used{{records.ContainerID{ID: n}, n}}, running(n-9, n))
	}
	if len(u.bytes) > leastPruned {
		t.Errorf("%d are remembered", len(u.bytes))
	}
	if all := u.Ask(true, nil, running(990, 999)); len(all) != 10 {
		t.Errorf("%v", all)
	}
}

// Containers are looked through when there are more than 64, and after that when there are twice as many as ran then.
func TestHowManyEndedContainersAreRemembered(t *testing.T) {
	var u Unasked
	enter := func(from, to int64) {
		for n := from; n <= to; n++ {
			u.Ask(false, []Used{{records.ContainerID{ID: n}, n}}, running(1, 51))
		}
	}
	for _, x := range []struct{ from, to, remembered int64 }{{1, 64, 64}, {65, 65, 50}, {66, 115, 100}, {116, 116, 50}} {
		if enter(x.from, x.to); int64(len(u.bytes)) != x.remembered {
			t.Errorf("after %d: %d are remembered, not %d", x.to, len(u.bytes), x.remembered)
		}
	}
}
