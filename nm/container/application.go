package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Application is what is known of an application on this node.
type Application struct {
	ID         records.ApplicationID
	User       string
	ACLs       map[pb.ApplicationAccessType]string
	Tokens     []byte // credentials of its first container here, for whoever acts in its name
	LogContext *pb.LogAggregationContext
	State      AppState
	Containers []records.ContainerID // that have not ended
}

// savedApp is the form in the store.
type savedApp struct {
	User       string           `json:"user"`
	ACLs       map[int32]string `json:"acls,omitempty"`
	Tokens     []byte           `json:"tokens,omitempty"`
	LogContext []byte           `json:"logContext,omitempty"`
	Finishing  bool             `json:"finishing,omitempty"`
}

// application is an application that has, or had, containers on this node.
type application struct {
	m  *Manager
	id records.ApplicationID

	mu         sync.Mutex
	initiated  *attempt // the one under way, or that has succeeded
	logged     bool     // somebody looks after its logs
	state      AppState
	finishing  bool
	saved      savedApp
	containers map[records.ContainerID]*Container // that have not ended
	empty      chan struct{}                      // closed when finishing and without containers
}

// application returns the application of a container, which is made if this is the first. The manager's lock is held.
func (m *Manager) application(g Grant, lc *pb.ContainerLaunchContext) (app *application, fresh bool) {
	id := g.ID.Attempt.App
	if app := m.apps[id]; app != nil {
		return app, false
	}
	s := savedApp{User: g.User, ACLs: make(map[int32]string), Tokens: lc.GetTokens()}
	for _, acl := range lc.GetApplication_ACLs() {
		s.ACLs[int32(acl.GetAccessType())] = acl.GetAcl()
	}
	if g.LogContext != nil {
		s.LogContext, _ = proto.Marshal(g.LogContext) // it was just read, so it can be written
	}
	app = m.newApplication(id, s)
	m.apps[id] = app
	return app, true
}

func (m *Manager) newApplication(id records.ApplicationID, s savedApp) *application {
	return &application{
		m: m, id: id, saved: s, finishing: s.Finishing, empty: make(chan struct{}),
		containers: make(map[records.ContainerID]*Container),
	}
}

func (m *Manager) app(id records.ApplicationID) *application {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.apps[id]
}

// save keeps what is known of the application. It doesn't wait for the disk; what it returns gets the outcome.
func (a *application) save() <-chan error {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.saved
	s.Finishing = a.finishing
	b, err := json.Marshal(s)
	if err != nil {
		return outcome(fmt.Errorf("application %s: %w", a.id, err))
	}
	return a.m.AppRecords.Begin(a.id.String(), b)
}

func (a *application) set(s AppState) {
	a.mu.Lock()
	was := a.state
	a.state = s
	a.mu.Unlock()
	if was != s {
		a.transitioned(was, s)
	}
}

func (a *application) transitioned(from, to AppState) {
	a.m.Log.WithField("app", a.id.String()).Infof("Application %s transitioned from %s to %s", a.id, from, to)
}

// info returns a copy of what is known.
func (a *application) info() Application {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := Application{
		ID: a.id, User: a.saved.User, State: a.state, Tokens: a.saved.Tokens, ACLs: make(map[pb.ApplicationAccessType]string),
	}
	for k, v := range a.saved.ACLs {
		out.ACLs[pb.ApplicationAccessType(k)] = v
	}
	if a.saved.LogContext != nil {
		out.LogContext = &pb.LogAggregationContext{}
		if proto.Unmarshal(a.saved.LogContext, out.LogContext) != nil {
			out.LogContext = nil
		}
	}
	for id := range a.containers {
		out.Containers = append(out.Containers, id)
	}
	slices.SortFunc(out.Containers, records.ContainerID.Compare)
	return out
}

// attempt is one to initialize an application.
type attempt struct {
	done chan struct{} // closed when it has ended
	err  error         // valid then
}

// ready returns when the application's folders are there and its services know of it. What has failed once is tried
// again for the next container: a disk that was full or away must not keep the node from an application for good.
func (a *application) ready(ctx context.Context) error {
	a.mu.Lock()
	now := a.initiated
	if now == nil {
		now = &attempt{done: make(chan struct{})}
		a.initiated = now
		a.m.lives.Go(func() { a.initiate(now) })
	}
	a.mu.Unlock()
	select {
	case <-now.done:
		return now.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *application) initiate(now *attempt) {
	defer close(now.done)
	a.follow(AppIniting, AppNew)
	now.err = a.init()
	a.mu.Lock()
	if now.err != nil || !a.logged {
		a.initiated = nil
	}
	a.mu.Unlock()
	if now.err == nil {
		a.follow(AppRunning, AppIniting)
	}
}

// follow makes the state to if it is from: the application may have been ended meanwhile.
func (a *application) follow(to, from AppState) {
	a.mu.Lock()
	is := a.state == from
	if is {
		a.state = to
	}
	a.mu.Unlock()
	if is {
		a.transitioned(from, to)
	}
}

func (a *application) init() error {
	a.mu.Lock()
	logged := a.logged
	a.mu.Unlock()
	if !logged {
		err := a.m.Logs.StartApplication(a.info())
		if err != nil {
			// As in Hadoop: an application without its logs is better than none.
			a.m.Log.WithField("app", a.id.String()).WithError(err).Error("There will be no logs for the application, unless that works for its next container")
		}
		a.mu.Lock()
		a.logged = err == nil
		a.mu.Unlock()
	}
	_, err := a.m.Localizer.InitApplication(a.saved.User, a.id)
	return err
}

// add makes a container one of the application's. It returns false when the application is over.
func (a *application) add(c *Container) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.containers[c.ID()] = c
	return !a.finishing
}

func (a *application) remove(c *Container) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.containers, c.ID())
	a.checkEmpty()
}

// checkEmpty lets finish go on. The lock is held.
func (a *application) checkEmpty() {
	if !a.finishing || len(a.containers) > 0 {
		return
	}
	select {
	case <-a.empty:
	default:
		close(a.empty)
	}
}

// Applications returns the applications that are on this node, by id.
func (m *Manager) Applications() []Application {
	m.mu.Lock()
	apps := make([]*application, 0, len(m.apps))
	for _, a := range m.apps {
		apps = append(apps, a)
	}
	m.mu.Unlock()
	out := make([]Application, 0, len(apps))
	for _, a := range apps {
		out = append(out, a.info())
	}
	slices.SortFunc(out, func(a, b Application) int { return a.ID.Compare(b.ID) })
	return out
}

// Application returns an application that is on this node; found is false when it is not, or not any more.
func (m *Manager) Application(id records.ApplicationID) (app Application, found bool) {
	a := m.app(id)
	if a == nil {
		return Application{}, false
	}
	return a.info(), true
}

// FinishApplication ends an application on this node: containers that are left are killed, its logs are dealt with, its
// folders deleted. That goes on in the background. An application that is not here is no error.
func (m *Manager) FinishApplication(id records.ApplicationID, why string) {
	a := m.app(id)
	if a == nil {
		return
	}
	a.mu.Lock()
	already := a.finishing
	a.finishing = true
	var left []*Container
	for _, c := range a.containers {
		left = append(left, c)
	}
	a.checkEmpty()
	a.mu.Unlock()
	if already {
		return
	}
	saved := a.save() // it is ended all the same, and this may not wait for a disk
	go func() {
		if err := <-saved; err != nil {
			m.Log.WithField("app", id.String()).WithError(err).Error("Could not note down that the application is over")
		}
	}()
	for _, c := range left {
		c.Kill(records.ExitKilledAfterAppCompletion, "Container killed on application-finish event: "+why+"\n")
	}
	m.startFinish(a)
}

func (m *Manager) startFinish(a *application) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return // the next life goes on with it
	}
	m.lives.Go(func() { a.finish(m.ctx) })
}

// finish cleans up after an application.
func (a *application) finish(ctx context.Context) {
	log := a.m.Log.WithField("app", a.id.String())
	a.set(AppFinishingContainersWait)
	select {
	case <-a.empty:
	case <-ctx.Done():
		return
	}
	a.set(AppResourcesCleaningUp)
	a.m.Aux.StopApplication(a.id)
	a.removeFolders(ctx)
	var private []string
	for _, local := range a.m.Disks.Local.Readable() {
		private = append(private, privateApp(local, a.id))
	}
	if err := a.m.Deleter.DeleteNow(private...); err != nil {
		log.WithError(err).Warn("Could not have the application's files deleted")
	}
	a.set(AppFinished)
	if err := a.m.Logs.FinishApplication(ctx, a.id); err != nil {
		if errors.Is(err, ctx.Err()) {
			return
		}
		log.WithError(err).Warn("The application's logs could not be dealt with")
	}
	if err := a.m.AppRecords.Delete(a.id.String()); err != nil {
		log.WithError(err).Warn("Could not forget the application")
	}
	a.m.mu.Lock()
	delete(a.m.apps, a.id)
	a.m.mu.Unlock()
	a.m.forgetOf(a.id)
	a.m.changed()
}

// removeFolders deletes the application's folders, after the delay that deletions have.
func (a *application) removeFolders(ctx context.Context) {
	remove := func() {
		if err := a.m.Localizer.EndApplication(a.saved.User, a.id); err != nil {
			a.m.Log.WithField("app", a.id.String()).WithError(err).Warn("Could not remove all of the application's files")
		}
	}
	delay := a.m.cfg.DeleteDelay
	switch {
	case delay < 0:
	case delay == 0:
		remove()
	default:
		a.m.lives.Go(func() { // called from a goroutine of lives, so that there is one to wait for
			timer := time.NewTimer(delay)
			defer timer.Stop()
			select {
			case <-timer.C:
				remove()
			case <-ctx.Done(): // Recover finds what is left
			}
		})
	}
}

// forgetOf lets go of an application's containers: nobody will ask for them any more.
func (m *Manager) forgetOf(app records.ApplicationID) {
	var ids []records.ContainerID
	for _, c := range m.Containers() {
		if c.ID().Attempt.App == app {
			ids = append(ids, c.ID())
		}
	}
	m.Forget(ids...)
}

// loadApps reads all applications.
func (m *Manager) loadApps() (map[records.ApplicationID]savedApp, error) {
	out := make(map[records.ApplicationID]savedApp)
	err := m.AppRecords.ForEach("", func(key string, value []byte) error {
		id, err := records.ParseApplicationID(key)
		if err != nil {
			return err
		}
		var s savedApp
		if err := json.Unmarshal(value, &s); err != nil {
			return err
		}
		out[id] = s
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recover applications: %w", err)
	}
	return out, nil
}
