// Package writer hands entities of timeline version 2 to Hadoop's own collector and TimelineWriter, in a JVM beside the ResourceManager (Hadoop:
// RMTimelineCollectorManager, TimelineCollectorManager). The JVM starts with the first entity, so only the ResourceManager that leads has one.
package writer

import (
	"context"
	"encoding/json"
	"time"

	"heddle/hdfsadapter/jvm"
	"heddle/hdfsadapter/jvm/ondemand"
	"heddle/yarn/flow"
	"heddle/yarn/records"
)

// Operations of jvm/java/Collectors.java.
const (
	opPut byte = iota + 2 // after the program's beginning
	opQuit
)

// How long the JVM may take to open the storage, for an entity, and to end. A collector itself waits for a storage that is away, half a minute by default.
const (
	startLimit = time.Minute
	putLimit   = 2 * time.Minute
	quitLimit  = 2 * time.Second
)

// Writer writes entities, one after the other. Put and Close are called by one goroutine.
type Writer struct{ jvm *ondemand.JVM }

// New returns a writer without a JVM.
func New(by ondemand.Daemon) *Writer {
	return &Writer{ondemand.New(ondemand.Config{
		Daemon: by, Main: jvm.CollectorsMain, What: "the JVM that writes entities of timeline version 2", Limit: startLimit,
	})}
}

// Entity says of which application an entity is.
type Entity struct {
	App  records.ApplicationID
	User string // who runs the application
	flow.Flow
	Last bool // of the application: its collector isn't needed any more
}

// Encode composes a message for Put.
func (e *Entity) Encode(content any) ([]byte, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	var m jvm.Message
	m.Number(e.App.ClusterTimestamp).Integer(e.App.ID).Text(e.User).Text(e.Name).Text(e.Version).Number(e.Run).Flag(e.Last).Bytes(text)
	return m.B, nil
}

// Put writes an entity. A *jvm.Refused says that the storage has failed; after any other error, there is no JVM, and the next call starts another.
func (w *Writer) Put(ctx context.Context, message []byte) error {
	_, err := w.jvm.Call(ctx, opPut, message, putLimit)
	return err
}

// PID returns the number of the JVM's process; 0: there is none. Any goroutine may call it.
func (w *Writer) PID() int { return w.jvm.PID() }

// Close has the storage closed, for two seconds at most, and ends the JVM.
func (w *Writer) Close() { w.jvm.Close(opQuit, quitLimit) }
