package allocation

import (
	"reflect"
	"strings"
	"testing"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

var id = records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 5, ID: 6}, Attempt: 2}, ID: 7}

// identifier fills every field that a Grant has.
func identifier(r *pb.Resource) *pb.ContainerTokenIdentifier {
	p := &pb.Priority{}
	p.SetPriority(20)
	t := &pb.ContainerTokenIdentifier{}
	t.SetContainerId(id.PB())
	t.SetAppSubmitter("joe")
	t.SetResource(r)
	t.SetPriority(p)
	t.SetCreationTime(1000)
	t.SetVersion(3)
	t.SetExecutionType(pb.ExecutionType_OPPORTUNISTIC)
	t.SetContainerType(pb.ContainerType_TASK)
	t.SetAllocationRequestId(11)
	t.SetAllocationTags([]string{"hbase"})
	t.SetNodeLabelExpression("gpu")
	t.SetRmIdentifier(1234)
	return t
}

func resource(more string, units int64) *pb.Resource {
	r := &pb.Resource{}
	r.SetMemory(2048)
	r.SetVirtualCores(2)
	if more != "" {
		x := &pb.ResourceInformation{}
		x.SetKey(more)
		x.SetValue(units)
		r.SetResourceValueMap([]*pb.ResourceInformation{x})
	}
	return r
}

func TestGrantHasAllThatATokenSays(t *testing.T) {
	types, err := records.NewResourceTypes()
	if err != nil {
		t.Fatal(err)
	}
	token := identifier(resource("", 0))
	context := &pb.LogAggregationContext{}
	context.SetIncludePattern("*.log")
	token.SetLogAggregationContext(context)
	got, err := From(token, types)
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(got)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() {
			t.Errorf("%s isn't read", name)
		}
	}
	if got.ID != id || got.User != "joe" || got.Resource.MemoryMB() != 2048 || got.Resource.VCores() != 2 || got.Priority != 20 || got.Created != 1000 ||
		got.Version != 3 || got.AllocationRequestID != 11 || got.NodeLabel != "gpu" || got.RMIdentifier != 1234 || got.LogContext.GetIncludePattern() != "*.log" {
		t.Errorf("%+v", got)
	}
	if got, err := From(identifier(resource("", 0)), types); err != nil || got.LogContext != nil {
		t.Errorf("%+v instead of the defaults, %v", got.LogContext, err)
	}
}

func TestUnknownResourceIsRefusedByName(t *testing.T) {
	types, err := records.NewResourceTypes()
	if err != nil {
		t.Fatal(err)
	}
	_, err = From(identifier(resource("yarn.io/gpu", 1)), types)
	if err == nil || !strings.Contains(err.Error(), id.String()) || !strings.Contains(err.Error(), "yarn.io/gpu") {
		t.Errorf("%v", err)
	}
}

// Containers that the node starts by itself have numbers that no ResourceManager gives out, and take no room from it.
func TestContainersOnLentRoom(t *testing.T) {
	size := records.NewResource(1024, 1)
	seen := map[int64]bool{}
	for _, n := range []int64{0, 1, 2, onLent - 1} {
		if g := (Grant{ID: records.ContainerID{Attempt: id.Attempt, ID: n}, Resource: size}); IsOnLent(g.ID) || g.Counted() != size {
			t.Errorf("%d: a ResourceManager's container counts as %v", n, g.Counted())
		}
		lent := records.ContainerID{Attempt: id.Attempt, ID: OnLent(n)}
		if seen[lent.ID] {
			t.Errorf("%d is the number of two containers", lent.ID)
		}
		seen[lent.ID] = true
		if g := (Grant{ID: lent, Resource: size}); !IsOnLent(lent) || g.Counted() != (records.Resource{}) {
			t.Errorf("%v takes %v", lent, g.Counted())
		}
		if again, err := records.ParseContainerID(lent.String()); err != nil || again != lent {
			t.Errorf("%v is read as %v, %v", lent, again, err)
		}
	}
	if later := (records.ContainerID{Attempt: id.Attempt, ID: 1<<records.EpochShift | 1}); IsOnLent(later) {
		t.Errorf("%v, of a ResourceManager's second life, counts as the node's own", later)
	}
	if OnLent(OnLent(3)) != OnLent(3) {
		t.Errorf("%x", OnLent(OnLent(3)))
	}
}
