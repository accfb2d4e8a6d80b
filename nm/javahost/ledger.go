package javahost

import (
	"encoding/json"
	"maps"
	"slices"

	"heddle/nm/allocation"
	"heddle/yarn/records"
)

// Bucket keeps records (nm/store).
type Bucket interface {
	Begin(key string, value []byte) <-chan error
	BeginDelete(key string) <-chan error
	ForEach(prefix string, f func(key string, value []byte) error) error
}

// application is an application that services know, in the form of the store.
type application struct {
	User     string            `json:"user,omitempty"`
	Data     map[string][]byte `json:"data,omitempty"`     // by service: what it was given last
	Stopping bool              `json:"stopping,omitempty"` // it is over, and services haven't heard of it yet
}

// begins returns the events that give services that run what the application has for them.
func (a *application) begins(id records.ApplicationID, runs func(service string) bool) (all []*event) {
	for _, service := range slices.Sorted(maps.Keys(a.Data)) {
		if !runs(service) {
			continue // it has gone
		}
		all = append(all, applicationInit(service, id, a.User, a.Data[service]))
	}
	return all
}

// ledger keeps the state that a new JVM must learn. Its owner serialises calls.
type ledger struct {
	bucket Bucket
	lost   func(error) // a record could not be written
	types  records.ResourceTypes

	apps       map[records.ApplicationID]*application
	containers map[records.ContainerID]allocation.Grant
	begun      []records.ContainerID // of containers, in which they began
}

// maxStopping bounds the applications that are over while there is no JVM. Services don't hear of the end of more.
const maxStopping = 10000

// load reads the applications of the last life. Those that can't be read are removed.
func load(b Bucket, types records.ResourceTypes, lost func(error)) (*ledger, error) {
	l := &ledger{
		bucket: b, lost: lost, types: types, apps: map[records.ApplicationID]*application{},
		containers: map[records.ContainerID]allocation.Grant{},
	}
	var damaged []string
	err := b.ForEach("", func(key string, value []byte) error {
		id, app, err := decodeRecord(key, value)
		if err != nil {
			damaged = append(damaged, key)
			lost(err)
			return nil
		}
		l.apps[id] = app
		return nil
	})
	for _, key := range damaged {
		l.written(b.BeginDelete(key))
	}
	return l, err
}

// decodeRecord reads a record of the store.
func decodeRecord(key string, value []byte) (records.ApplicationID, *application, error) {
	id, err := records.ParseApplicationID(key)
	app := &application{}
	if err == nil {
		err = json.Unmarshal(value, app)
	}
	return id, app, err
}

// written reports a failure to write when it is known.
func (l *ledger) written(done <-chan error) {
	go func() {
		if err := <-done; err != nil {
			l.lost(err)
		}
	}()
}

func (l *ledger) save(id records.ApplicationID, app *application) {
	text, err := json.Marshal(app)
	if err != nil {
		return // it is made of texts
	}
	l.written(l.bucket.Begin(id.String(), text))
}

// beginContainer notes a container, and with its application's first one the application.
func (l *ledger) beginContainer(g allocation.Grant) {
	if _, known := l.containers[g.ID]; !known {
		l.begun = append(l.begun, g.ID)
	}
	l.containers[g.ID] = g
	if app := g.ID.Attempt.App; l.apps[app] == nil {
		l.apps[app] = &application{User: g.User}
		l.save(app, l.apps[app])
	}
}

func (l *ledger) endContainer(id records.ContainerID) {
	delete(l.containers, id)
	if i := slices.Index(l.begun, id); i >= 0 {
		l.begun = slices.Delete(l.begun, i, i+1)
	}
}

// beginApplication notes what an application has for a service.
func (l *ledger) beginApplication(service string, id records.ApplicationID, user string, data []byte) {
	app := l.apps[id]
	if app == nil {
		app = &application{}
		l.apps[id] = app
	}
	if old, known := app.Data[service]; known && app.User == user && slices.Equal(old, data) {
		return
	}
	app.User = user
	if app.Data == nil {
		app.Data = map[string][]byte{}
	}
	app.Data[service] = append([]byte{}, data...)
	l.save(id, app)
}

// endApplication notes that an application is over.
func (l *ledger) endApplication(id records.ApplicationID) {
	app := l.apps[id]
	if app == nil || app.Stopping {
		return
	}
	waiting := 0
	for _, a := range l.apps {
		if a.Stopping {
			waiting++
		}
	}
	if waiting >= maxStopping {
		l.forget(id)
		return
	}
	*app = application{Stopping: true}
	l.save(id, app)
}

// forget removes an application, of whose end services have heard.
func (l *ledger) forget(id records.ApplicationID) {
	if _, known := l.apps[id]; known {
		delete(l.apps, id)
		l.written(l.bucket.BeginDelete(id.String()))
	}
}

// retell returns the events that tell a new JVM what lives: containers in the order in which they began, each with what its application has for
// services, then the applications without containers, and the ends of applications that no service has heard of.
func (l *ledger) retell(runs func(service string) bool) (all []*event) {
	told := map[records.ApplicationID]bool{}
	tell := func(id records.ApplicationID) {
		if app := l.apps[id]; app != nil && !told[id] && !app.Stopping {
			told[id] = true
			all = append(all, app.begins(id, runs)...)
		}
	}
	for _, id := range l.begun {
		all = append(all, containerEvent(opContainerInit, l.containers[id], l.types))
		tell(id.Attempt.App)
	}
	ids := slices.SortedFunc(maps.Keys(l.apps), records.ApplicationID.Compare)
	for _, id := range ids {
		tell(id)
	}
	for _, id := range ids {
		if l.apps[id].Stopping {
			all = append(all, applicationStop(id))
		}
	}
	return all
}

// recovered returns the applications of the last life that are over, and the events that tell the first JVM of this life of the others, unless a
// container has brought them already.
func (l *ledger) recovered(lives func(records.ApplicationID) bool, runs func(service string) bool) (over []records.ApplicationID, left []*event) {
	brought := map[records.ApplicationID]bool{}
	for id := range l.containers {
		brought[id.Attempt.App] = true
	}
	for _, id := range slices.SortedFunc(maps.Keys(l.apps), records.ApplicationID.Compare) {
		app := l.apps[id]
		switch {
		case app.Stopping:
			left = append(left, applicationStop(id))
		case !lives(id):
			over = append(over, id)
		case !brought[id]:
			left = append(left, app.begins(id, runs)...)
		}
	}
	return over, left
}
