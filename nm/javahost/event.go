package javahost

import (
	"heddle/nm/allocation"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// event is a call that services get.
type event struct {
	op   byte
	args []byte
	app  records.ApplicationID
	what string     // for messages
	done chan error // has room for the outcome; nil: nobody waits
}

// over tells whoever waits how the call went.
func (e *event) over(err error) {
	if e.done != nil {
		e.done <- err
	}
}

func applicationInit(service string, app records.ApplicationID, user string, data []byte) *event {
	var m message
	m.text(service).text(user).number(app.ClusterTimestamp).integer(app.ID).bytes(data)
	return &event{op: opApplicationInit, args: m.b, app: app, what: "initializeApplication of " + service}
}

func applicationStop(app records.ApplicationID) *event {
	var m message
	m.number(app.ClusterTimestamp).integer(app.ID)
	return &event{op: opApplicationStop, args: m.b, app: app, what: "stopApplication"}
}

// containerEvent is the begin or the end of a container.
func containerEvent(op byte, g allocation.Grant, types records.ResourceTypes) *event {
	kind := byte(2)
	if g.Type == pb.ContainerType_APPLICATION_MASTER {
		kind = 1
	}
	var m message
	m.text(g.User).text(g.ID.String()).number(g.Resource.MemoryMB()).integer(int32(g.Resource.VCores())).octet(kind)
	m.integer(int32(types.Len() - 2))
	for i := 2; i < types.Len(); i++ { // after memory and vcores
		m.text(types.At(i).Name).number(g.Resource[i])
	}
	what := "initializeContainer"
	if op == opContainerStop {
		what = "stopContainer"
	}
	return &event{op: op, args: m.b, app: g.ID.Attempt.App, what: what}
}
