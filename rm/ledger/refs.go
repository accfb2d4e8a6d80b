package ledger

import (
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// AppRef returns the form of an id in commands.
func AppRef(id records.ApplicationID) *ledgerpb.AppRef {
	return &ledgerpb.AppRef{Timestamp: id.ClusterTimestamp, Id: id.ID}
}

// AttemptRef returns the form of an id in commands.
func AttemptRef(id records.AttemptID) *ledgerpb.AttemptRef {
	return &ledgerpb.AttemptRef{App: AppRef(id.App), Attempt: id.Attempt}
}

// ContainerRef returns the form of an id in commands.
func ContainerRef(id records.ContainerID) *ledgerpb.ContainerRef {
	return &ledgerpb.ContainerRef{Attempt: AttemptRef(id.Attempt), Id: id.ID}
}

// ContainerRefs returns the form of ids in commands. Those in a row that are of one attempt share its form.
func ContainerRefs(ids ...records.ContainerID) []*ledgerpb.ContainerRef {
	var r Refs
	refs := make([]*ledgerpb.ContainerRef, len(ids))
	for i, id := range ids {
		refs[i] = r.Container(id)
	}
	return refs
}

// Refs makes the forms that ids and resources have in commands, and for equal ones in a row once: what comes by the thousand is mostly
// of one application and size. Commands share them, as nobody changes a command. The zero value is ready for use.
type Refs struct {
	id      records.AttemptID
	attempt *ledgerpb.AttemptRef
	size    records.Resource
	amount  *ledgerpb.Amounts
}

// Container is ContainerRef.
func (r *Refs) Container(id records.ContainerID) *ledgerpb.ContainerRef {
	if r.attempt == nil || r.id != id.Attempt {
		r.id, r.attempt = id.Attempt, AttemptRef(id.Attempt)
	}
	return &ledgerpb.ContainerRef{Attempt: r.attempt, Id: id.ID}
}

// Amounts is the function of that name.
func (r *Refs) Amounts(size records.Resource) *ledgerpb.Amounts {
	if r.amount == nil || r.size != size {
		r.size, r.amount = size, Amounts(size)
	}
	return r.amount
}

// NodeRef returns the form of an id in commands.
func NodeRef(id records.NodeID) *ledgerpb.NodeRef {
	return &ledgerpb.NodeRef{Host: id.Host, Port: id.Port}
}

// Amounts returns the form of a resource in commands.
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

// amounts reads a resource; amounts beyond what this version knows are dropped, as no version writes them.
func amounts(a *ledgerpb.Amounts) records.Resource {
	var r records.Resource
	copy(r[:], a.GetAmount())
	return r
}
