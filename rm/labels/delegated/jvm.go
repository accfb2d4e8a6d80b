package delegated

import (
	"context"
	"time"

	"heddle/hdfsadapter/jvm"
	"heddle/hdfsadapter/jvm/ondemand"
	"heddle/rm/leader/nodelabels"
	"heddle/yarn/records"
)

// IntervalKey is how often the class is asked about all nodes; -1 is never again.
const IntervalKey = "yarn.resourcemanager.node-labels.provider.fetch-interval-ms"

// Operations of jvm/java/NodeLabels.java.
const (
	opLabels byte = iota + 2 // after the program's beginning
	opQuit
)

// How long the class may take to begin, to answer, and to end. After that its JVM is killed, and the next question starts another.
const (
	startLimit = time.Minute
	askLimit   = time.Minute
	quitLimit  = 2 * time.Second
)

// Class is the class, in a JVM. Ask and Close are called by one goroutine.
type Class struct{ jvm *ondemand.JVM }

// New returns the class that a configuration names. Its JVM starts with the first question.
func New(by ondemand.Daemon) *Class {
	return &Class{ondemand.New(ondemand.Config{
		Daemon: by, Main: jvm.NodeLabelsMain, What: "the JVM of yarn.resourcemanager.node-labels.provider", Limit: startLimit,
	})}
}

// Ask implements Asker.
func (p *Class) Ask(ctx context.Context, nodes []records.NodeID) ([]nodelabels.Mapping, error) {
	ids := make([]string, len(nodes))
	for i, id := range nodes {
		ids[i] = id.String()
	}
	var m jvm.Message
	answer, err := p.jvm.Call(ctx, opLabels, m.Texts(ids).B, askLimit)
	if err != nil {
		return nil, err
	}
	return mappings(answer)
}

// PID returns the number of the JVM's process; 0: there is none. Any goroutine may call it.
func (p *Class) PID() int { return p.jvm.PID() }

// Close ends the JVM.
func (p *Class) Close() { p.jvm.Close(opQuit, quitLimit) }
