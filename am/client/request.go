package client

import (
	"fmt"
	"slices"
	"strings"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Request asks for containers.
type Request struct {
	Priority int32 // lower numbers are more urgent
	Resource records.Resource
	// Hosts and Racks are where the containers are wanted, by the names that NodeManagers have. Both may be empty.
	// Racks of hosts need not be listed.
	Hosts, Racks []string
	// RelaxLocality allows containers elsewhere, too, if need be. Without it they run on Hosts and Racks only. It has
	// no effect if both are empty. (Without it a stock CapacityScheduler never serves a request for racks alone while
	// yarn.scheduler.capacity.node-locality-delay is positive: name the racks' hosts as well.)
	RelaxLocality bool
	Count         int           // 0 stands for 1
	ExecutionType ExecutionType // 0 stands for Guaranteed
	// Tags belong to the application. They aren't sent; containers that serve the request have them.
	Tags []string
}

// ExecutionType tells whether a container's room on its node is guaranteed.
type ExecutionType = pb.ExecutionType

// Execution types.
const (
	Guaranteed    = pb.ExecutionType_GUARANTEED
	Opportunistic = pb.ExecutionType_OPPORTUNISTIC
)

// RequestID names a Request. It is valid until all containers of the request have arrived.
type RequestID int64

// TooLargeError refuses a request that no node of the cluster can serve.
type TooLargeError struct {
	Type               records.ResourceType
	Requested, Maximum int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a container of %d%s %s is more than the cluster's maximum of %d%[2]s (the smaller of the configured "+
		"maximum and the largest node)", e.Requested, unit(e.Type), e.Type.Name, e.Maximum)
}

func unit(t records.ResourceType) string {
	if t.Units == "" {
		return ""
	}
	return " " + t.Units
}

// check refuses what a ResourceManager would refuse. One bad request would fail the whole call.
func (r *Request) check(maximum records.Resource, types records.ResourceTypes) error {
	if r.Count < 0 {
		return fmt.Errorf("a request asks for %d containers: ask for at least one", r.Count)
	}
	for i := range types.Len() {
		if r.Resource[i] < 0 {
			return fmt.Errorf("a container can't have %d %s", r.Resource[i], types.At(i).Name)
		}
		if !maximum.IsZero() && r.Resource[i] > maximum[i] {
			return &TooLargeError{types.At(i), r.Resource[i], maximum[i]}
		}
	}
	for _, name := range slices.Concat(r.Hosts, r.Racks) {
		if name == "" || name == anyNode {
			return fmt.Errorf("%q isn't the name of a host or rack", name)
		}
	}
	return nil
}

// anyNode is the resource name of the row that counts all containers of a request (YARN: ResourceRequest.ANY).
const anyNode = "*"

// normalized fills zero values in, and sorts names and removes duplicates.
func (r Request) normalized() Request {
	r.Count = max(r.Count, 1)
	if r.ExecutionType == 0 {
		r.ExecutionType = Guaranteed
	}
	r.Hosts, r.Racks = set(r.Hosts), set(r.Racks)
	if len(r.Hosts)+len(r.Racks) == 0 {
		r.RelaxLocality = true
	}
	return r
}

func set(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// places returns a key for the places that a strict request allows.
func (r *Request) places() string {
	if r.RelaxLocality {
		return ""
	}
	return strings.Join(r.Hosts, ",") + "|" + strings.Join(r.Racks, ",")
}
