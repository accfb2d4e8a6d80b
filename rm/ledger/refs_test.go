package ledger

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/records"
)

// What is made once for several in a row is what would be made for each of them.
func TestFormsInARowAreShared(t *testing.T) {
	var r Refs
	ids := []records.ContainerID{{}, {ID: 1}, container(1, 1, 1), container(1, 1, 2), container(1, 2, 3), container(2, 2, 3)}
	refs := ContainerRefs(ids...)
	for i, id := range ids {
		if own := r.Container(id); !proto.Equal(own, ContainerRef(id)) || !proto.Equal(refs[i], own) || own.GetAttempt() == nil || containerID(own) != id {
			t.Errorf("%v: %v", id, own)
		}
	}
	if refs[0].GetAttempt() != refs[1].GetAttempt() || refs[2].GetAttempt() != refs[3].GetAttempt() {
		t.Error("those of one attempt have forms of their own")
	}
	first := r.Amounts(records.Resource{})
	if first == nil || r.Amounts(records.Resource{}) != first {
		t.Errorf("that of nothing is %v", first)
	}
	for _, size := range []records.Resource{small, small.Times(2), {}} {
		if a := r.Amounts(size); !proto.Equal(a, Amounts(size)) || amounts(a) != size || r.Amounts(size) != a {
			t.Errorf("%v: %v", size, a)
		}
	}
}

func TestAmountsLeaveOutZerosAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		r    records.Resource
		want []int64
	}{
		{records.Resource{}, nil},
		{records.Resource{5}, []int64{5}},
		{records.Resource{0, 1}, []int64{0, 1}},
		{records.Resource{1, 0, 2}, []int64{1, 0, 2}},
		{records.Resource{1, 2, 3, 4, 5, 6, 7, 8}, []int64{1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		if got := Amounts(c.r).GetAmount(); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v", c.r, got)
		}
	}
}
