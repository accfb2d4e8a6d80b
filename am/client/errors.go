package client

import (
	"errors"
	"fmt"
	"strings"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// ErrDismissed is the error of calls of an ApplicationMaster that the ResourceManager doesn't want any more: its attempt is
// over, or unknown. It should stop; another attempt may be on its way.
var ErrDismissed = errors.New("the ResourceManager doesn't know this application attempt (any more)")

// ContainerError is a NodeManager's refusal to start, stop or tell about a container.
type ContainerError struct {
	Container records.ContainerID
	Node      records.NodeID
	Class     string // of Java, as in yarn/ipc
	Text      string
}

func (e *ContainerError) Error() string {
	return fmt.Sprintf("container %v on node %v: %s", e.Container, e.Node, e.Text)
}

// IsClass reports whether err is, or wraps, a NodeManager's refusal of that class, or an exception of it.
func IsClass(err error, class string) bool {
	var c *ContainerError
	return errors.As(err, &c) && c.Class == class || ipc.IsClass(err, class)
}

// refusal makes an error of what a node says about one of several containers.
func refusal(node records.NodeID, m *pb.ContainerExceptionMap) *ContainerError {
	e := m.GetException()
	text := e.GetMessage()
	for c := e.GetCause(); c != nil; c = c.GetCause() {
		if more := c.GetMessage(); more != "" && !strings.Contains(text, more) {
			text += ": " + more
		}
	}
	if text == "" {
		text = e.GetClassName()
	}
	return &ContainerError{records.ContainerIDFrom(m.GetContainerId()), node, e.GetClassName(), text}
}

// relaunch reports whether a node refuses because it has the container already.
func (e *ContainerError) relaunch() bool {
	return e.Class == ipc.YarnException && strings.Contains(e.Text, "Attempt to relaunch the same container")
}
