package client

import (
	"errors"
	"fmt"
	"strings"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// ErrDismissed says that the ResourceManager doesn't know the attempt of this ApplicationMaster, or that the attempt is
// over. The ApplicationMaster should stop: another attempt may have begun.
var ErrDismissed = errors.New("the ResourceManager doesn't know this application attempt (any more)")

// ContainerError is a NodeManager's refusal to start, stop or describe a container.
type ContainerError struct {
	Container records.ContainerID
	Node      records.NodeID
	Class     string // the Java exception's name, as in yarn/ipc
	Text      string
}

func (e *ContainerError) Error() string {
	return fmt.Sprintf("container %v on node %v: %s", e.Container, e.Node, e.Text)
}

// IsClass reports whether err is a NodeManager's refusal or a remote exception of the class, or wraps one.
func IsClass(err error, class string) bool {
	var c *ContainerError
	return errors.As(err, &c) && c.Class == class || ipc.IsClass(err, class)
}

// refusal returns the error for one container in a node's answer.
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

// relaunch reports whether the node refuses because it has the container already.
func (e *ContainerError) relaunch() bool {
	return e.Class == ipc.YarnException && strings.Contains(e.Text, "Attempt to relaunch the same container")
}
