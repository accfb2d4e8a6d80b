package leader

import (
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// refs makes the forms that ids and resources have in commands, and for equal ones in a row once: what comes by the thousand is mostly
// of one application and size. Commands share them, as nobody changes a command.
type refs struct {
	id      records.AttemptID
	attempt *ledgerpb.AttemptRef
	size    records.Resource
	amount  *ledgerpb.Amounts
}

func (r *refs) container(id records.ContainerID) *ledgerpb.ContainerRef {
	if r.attempt == nil || r.id != id.Attempt {
		r.id, r.attempt = id.Attempt, ledger.AttemptRef(id.Attempt)
	}
	return &ledgerpb.ContainerRef{Attempt: r.attempt, Id: id.ID}
}

func (r *refs) amounts(size records.Resource) *ledgerpb.Amounts {
	if r.amount == nil || r.size != size {
		r.size, r.amount = size, ledger.Amounts(size)
	}
	return r.amount
}
