package client

import (
	"slices"
	"testing"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// The ApplicationMaster hears once of each container of its that stands still, and once that it goes on; also if another ResourceManager,
// which knows nothing of what was told, has taken over meanwhile.
func TestSuspendedContainersAreToldOnce(t *testing.T) {
	m := &Master{
		o: MasterOptions{Racks: &Racks{}}, nm: &NMTokens{}, known: map[records.ContainerID]bool{}, suspended: map[records.ContainerID]bool{},
		releases: map[records.ContainerID]bool{}, asks: newAsks((&Racks{}).Of), fresh: true,
	}
	attempt := records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}
	id := func(n int64) records.ContainerID { return records.ContainerID{Attempt: attempt, ID: n} }
	for n := range int64(5) {
		m.known[id(n)] = true
	}
	nothing := []int64{-1}
	for _, step := range []struct {
		what               string
		fresh              bool
		told               []int64 // nothing: the field isn't there
		ended              int64
		suspended, resumed []int64
	}{
		{"nothing is known, and nobody stands still", false, nothing, -1, nil, nil},
		{"two, and one that isn't known", false, []int64{1, 2, 9, 1}, -1, []int64{1, 2}, nil},
		{"no news", false, nothing, -1, nil, nil},
		{"another one instead", false, []int64{2, 3}, -1, []int64{3}, []int64{1}},
		{"another ResourceManager, and the same", true, []int64{2, 3}, -1, nil, nil},
		{"one ends", false, nothing, 3, nil, nil},
		{"another ResourceManager: nobody stands still", true, nothing, -1, nil, []int64{2}},
		{"one", false, []int64{4, 0}, -1, []int64{4, 0}, nil},
		{"all go on", false, []int64{}, -1, nil, []int64{0, 4}},
	} {
		m.fresh = m.fresh || step.fresh
		resp := &pb.AllocateResponse{}
		if !slices.Equal(step.told, nothing) {
			list := &pb.SuspendedContainers{}
			for _, n := range step.told {
				list.SetContainerId(append(list.GetContainerId(), id(n).PB()))
			}
			resp.SetHeddleSuspended(list)
		}
		if step.ended >= 0 {
			end := &pb.ContainerStatus{}
			end.SetContainerId(id(step.ended).PB())
			resp.SetCompletedContainerStatuses([]*pb.ContainerStatus{end})
		}
		var out Allocation
		m.take(nil, resp, &out)
		of := func(ids []records.ContainerID) (list []int64) {
			for _, x := range ids {
				list = append(list, x.ID)
			}
			return list
		}
		if !slices.Equal(of(out.Suspended), step.suspended) || !slices.Equal(of(out.Resumed), step.resumed) {
			t.Errorf("%s: suspended %v, resumed %v", step.what, of(out.Suspended), of(out.Resumed))
		}
	}
}
