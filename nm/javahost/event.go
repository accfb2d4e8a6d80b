package javahost

import (
	"heddle/hdfsadapter/jvm"
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
	done chan error // has room for the outcome; nil: no caller waits

	took func(reply []byte) error // is called with what the services answer; nil: that is nothing
}

// of says which application a call is about, for messages; "": it is about a service.
func (e *event) of() string {
	if e.app == (records.ApplicationID{}) {
		return ""
	}
	return " of " + e.app.String()
}

// over tells a caller that waits how the call went.
func (e *event) over(err error) {
	if e.done != nil {
		e.done <- err
	}
}

func applicationInit(service string, app records.ApplicationID, user string, data []byte) *event {
	var m jvm.Message
	m.Text(service).Text(user).Number(app.ClusterTimestamp).Integer(app.ID).Bytes(data)
	return &event{op: opApplicationInit, args: m.B, app: app, what: "initializeApplication of " + service}
}

func applicationStop(app records.ApplicationID) *event {
	var m jvm.Message
	m.Number(app.ClusterTimestamp).Integer(app.ID)
	return &event{op: opApplicationStop, args: m.B, app: app, what: "stopApplication"}
}

// containerEvent is the begin or the end of a container.
func containerEvent(op byte, g allocation.Grant, types records.ResourceTypes) *event {
	kind := byte(2)
	if g.Type == pb.ContainerType_APPLICATION_MASTER {
		kind = 1
	}
	var m jvm.Message
	m.Text(g.User).Text(g.ID.String()).Number(g.Resource.MemoryMB()).Integer(int32(g.Resource.VCores())).Octet(kind)
	m.Integer(int32(types.Len() - 2))
	for i := 2; i < types.Len(); i++ { // after memory and vcores
		m.Text(types.At(i).Name).Number(g.Resource[i])
	}
	what := "initializeContainer"
	if op == opContainerStop {
		what = "stopContainer"
	}
	return &event{op: op, args: m.B, app: g.ID.Attempt.App, what: what}
}
