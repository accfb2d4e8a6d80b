package ledger

import (
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// AppRef returns an id as commands hold it.
func AppRef(id records.ApplicationID) *ledgerpb.AppRef {
	return &ledgerpb.AppRef{Timestamp: id.ClusterTimestamp, Id: id.ID}
}

// AttemptRef returns an id as commands hold it.
func AttemptRef(id records.AttemptID) *ledgerpb.AttemptRef {
	return &ledgerpb.AttemptRef{App: AppRef(id.App), Attempt: id.Attempt}
}

// ContainerRef returns an id as commands hold it.
func ContainerRef(id records.ContainerID) *ledgerpb.ContainerRef {
	return &ledgerpb.ContainerRef{Attempt: AttemptRef(id.Attempt), Id: id.ID}
}

// ContainerRefs returns ids as commands hold them. Consecutive ids of one attempt share its reference.
func ContainerRefs(ids ...records.ContainerID) []*ledgerpb.ContainerRef {
	var r Refs
	refs := make([]*ledgerpb.ContainerRef, len(ids))
	for i, id := range ids {
		refs[i] = r.Container(id)
	}
	return refs
}

// Refs converts ids and resources to the form that commands hold, and converts consecutive equal ones only once: thousands of them mostly
// have one application and size. Commands may share them, because commands never change. The zero value is ready for use.
type Refs struct {
	id      records.AttemptID
	attempt *ledgerpb.AttemptRef
	size    records.Resource
	amount  *ledgerpb.Amounts
}

// Container is like ContainerRef.
func (r *Refs) Container(id records.ContainerID) *ledgerpb.ContainerRef {
	if r.attempt == nil || r.id != id.Attempt {
		r.id, r.attempt = id.Attempt, AttemptRef(id.Attempt)
	}
	return &ledgerpb.ContainerRef{Attempt: r.attempt, Id: id.ID}
}

// Amounts is like the function Amounts.
func (r *Refs) Amounts(size records.Resource) *ledgerpb.Amounts {
	if r.amount == nil || r.size != size {
		r.size, r.amount = size, Amounts(size)
	}
	return r.amount
}

// NodeRef returns an id as commands hold it.
func NodeRef(id records.NodeID) *ledgerpb.NodeRef {
	return &ledgerpb.NodeRef{Host: id.Host, Port: id.Port}
}

// Amounts returns a resource as commands hold it.
func Amounts(r records.Resource) *ledgerpb.Amounts {
	n := len(r)
	for n > 0 && r[n-1] == 0 {
		n--
	}
	return &ledgerpb.Amounts{Amount: append([]int64(nil), r[:n]...)}
}

func appID(r *ledgerpb.AppRef) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: r.GetTimestamp(), ID: r.GetId()}
}

func attemptID(r *ledgerpb.AttemptRef) records.AttemptID {
	return records.AttemptID{App: appID(r.GetApp()), Attempt: r.GetAttempt()}
}

func containerID(r *ledgerpb.ContainerRef) records.ContainerID {
	return records.ContainerID{Attempt: attemptID(r.GetAttempt()), ID: r.GetId()}
}

func nodeID(r *ledgerpb.NodeRef) records.NodeID {
	return records.NodeID{Host: r.GetHost(), Port: r.GetPort()}
}

// amounts converts back to a resource. It drops amounts beyond the types that this version knows, because no version writes them.
func amounts(a *ledgerpb.Amounts) records.Resource {
	var r records.Resource
	copy(r[:], a.GetAmount())
	return r
}
