package service

import (
	"heddle/rm/leader"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// parts are messages that containers have in common, so that each is made once: mostly those of an answer, and of the next answer, are of
// one application and size. They are only for one goroutine at a time, and what they are in must not be changed.
type parts struct {
	types    records.ResourceTypes
	amount   records.Resource
	resource *pb.Resource
	attempts [8]attemptForm // by the application's number: containers of several alternate in an answer to a node
	order    int32
	priority *pb.Priority
	// What begins the identifier of a container's token, and what ends those of containers of a kind in one answer.
	head pb.ContainerTokenIdentifier
	like likeness
	tail []byte
}

// parts returns some for one answer. Give them to done then.
func (s *Service) parts() *parts {
	if p, ok := s.spare.Get().(*parts); ok {
		return p
	}
	return &parts{types: s.Types}
}

// done keeps parts for another answer. The ends of tokens' identifiers have an owner and a time, which are another answer's no more.
func (s *Service) done(p *parts) {
	p.tail = nil
	s.spare.Put(p)
}

func (p *parts) size(r records.Resource) *pb.Resource {
	if p.resource == nil || p.amount != r {
		p.amount, p.resource = r, p.types.PB(r)
	}
	return p.resource
}

// attemptForm is an attempt's id with its message.
type attemptForm struct {
	of   records.AttemptID
	made *pb.ApplicationAttemptId
}

func (p *parts) attempt(id records.AttemptID) *pb.ApplicationAttemptId {
	f := &p.attempts[uint32(id.App.ID)%uint32(len(p.attempts))]
	if f.made == nil || f.of != id {
		*f = attemptForm{id, id.PB()}
	}
	return f.made
}

func (p *parts) container(id records.ContainerID) *pb.ContainerId {
	m := &pb.ContainerId{} // a builder would have the id on the heap
	m.SetAppAttemptId(p.attempt(id.Attempt))
	m.SetId(id.ID)
	return m
}

func (p *parts) containers(ids []records.ContainerID) []*pb.ContainerId {
	out := make([]*pb.ContainerId, len(ids))
	for i, id := range ids {
		out[i] = p.container(id)
	}
	return out
}

func (p *parts) prio(order int32) *pb.Priority {
	if p.priority == nil || p.order != order {
		p.order, p.priority = order, priority(order)
	}
	return p.priority
}

// likeness is what the tokens of containers have in common that differ only in container and node.
type likeness struct {
	key       int32
	resource  records.Resource
	priority  int32
	request   int64
	execution pb.ExecutionType
	allocated int64
	am        bool
	version   int32
}

// tailOf returns the part of a container token's identifier that follows its head, where the token is signed with a key; make makes it.
func (p *parts) tailOf(key int32, g *leader.Grant, make func() ([]byte, error)) ([]byte, error) {
	if len(g.Tags) > 0 {
		return make()
	}
	like := likeness{key, g.Resource, g.Priority, g.AllocationRequestID, g.ExecutionType, g.Allocated, g.AM, g.Version}
	if p.tail != nil && p.like == like {
		return p.tail, nil
	}
	b, err := make()
	p.tail, p.like = b, like
	return b, err
}
