package service

import (
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// parts are messages that the containers of one answer have in common, so that each is made once: mostly they are of one
// application and size. They are only for one goroutine, and what they are in must not be changed.
type parts struct {
	types    records.ResourceTypes
	amount   records.Resource
	resource *pb.Resource
	attempt  *pb.ApplicationAttemptId
	of       records.AttemptID
}

func (p *parts) size(r records.Resource) *pb.Resource {
	if p.resource == nil || p.amount != r {
		p.amount, p.resource = r, p.types.PB(r)
	}
	return p.resource
}

func (p *parts) container(id records.ContainerID) *pb.ContainerId {
	if p.attempt == nil || p.of != id.Attempt {
		p.of, p.attempt = id.Attempt, id.Attempt.PB()
	}
	m := &pb.ContainerId{}
	m.SetAppAttemptId(p.attempt)
	m.SetId(id.ID)
	return m
}
