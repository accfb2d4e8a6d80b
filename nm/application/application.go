package application

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Info is what is known of an application on this node.
type Info struct {
	ID         records.ApplicationID
	User       string
	ACLs       map[pb.ApplicationAccessType]string
	Tokens     []byte // credentials of its first container here, for whoever acts in its name
	LogContext *pb.LogAggregationContext
	State      State
	Containers []records.ContainerID // that have not ended
}

// First is what the first container of an application brings of it.
type First struct {
	ID         records.ApplicationID
	User       string
	Launch     *pb.ContainerLaunchContext
	LogContext *pb.LogAggregationContext // nil: the defaults
}

// Container is one of an application's.
type Container interface {
	ID() records.ContainerID
	Kill(exitCode int, why string)
}

// Folders are those of applications, which files are localized in (nm/localizer).
type Folders interface {
	InitApplication(user string, app records.ApplicationID) ([]string, error)
	EndApplication(user string, app records.ApplicationID) error
}

// Logs deals with the logs that applications leave.
type Logs interface {
	StartApplication(app Info) error
	// FinishApplication returns when there is nothing more to do for the logs of an application, or ctx ends. All of its
	// containers have finished.
	FinishApplication(ctx context.Context, app records.ApplicationID) error
}

// Services run beside containers, for instance the shuffle.
type Services interface {
	StopApplication(app records.ApplicationID)
}

// Records keep applications (nm/store), by their ids.
type Records interface {
	Begin(key string, value []byte) <-chan error
	Delete(key string) error
	ForEach(prefix string, f func(key string, value []byte) error) error
}

// Options are what a Set works with. All must be set.
type Options struct {
	Folders     Folders
	Logs        Logs
	Services    Services
	Records     Records
	DeleteDelay time.Duration // yarn.nodemanager.delete.debug-delay-sec; negative: nothing is deleted

	// Private removes what only the NodeManager may see of an application.
	Private func(app records.ApplicationID) error
	// Gone is called, with no lock held, when an application is not on this node any more.
	Gone func(app records.ApplicationID)
	// Go runs a function in the background, unless the node is being closed.
	Go func(f func())

	Log *logrus.Entry
}

// Set holds a node's applications. Its methods may be called from several goroutines.
type Set struct {
	Options
	ctx context.Context

	mu   sync.Mutex
	apps map[records.ApplicationID]*application
}

// NewSet returns a set without applications, which works until ctx ends.
func NewSet(ctx context.Context, o Options) *Set {
	return &Set{Options: o, ctx: ctx, apps: make(map[records.ApplicationID]*application)}
}

// saved is the form in the store.
type saved struct {
	User       string           `json:"user"`
	ACLs       map[int32]string `json:"acls,omitempty"`
	Tokens     []byte           `json:"tokens,omitempty"`
	LogContext []byte           `json:"logContext,omitempty"`
	Finishing  bool             `json:"finishing,omitempty"`
}

// application is one of a set.
type application struct {
	set *Set
	id  records.ApplicationID

	mu         sync.Mutex
	initiated  *attempt // the one under way, or that has succeeded
	logged     bool     // somebody looks after its logs
	state      State
	finishing  bool
	saved      saved
	containers map[records.ContainerID]Container // that have not ended
	empty      chan struct{}                     // closed when finishing and without containers
}

// Open makes a container's application one of the set if it isn't yet. If it is a fresh one, Save has to follow.
func (s *Set) Open(f First) (fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.apps[f.ID] != nil {
		return false
	}
	kept := saved{User: f.User, ACLs: make(map[int32]string), Tokens: f.Launch.GetTokens()}
	for _, acl := range f.Launch.GetApplication_ACLs() {
		kept.ACLs[int32(acl.GetAccessType())] = acl.GetAcl()
	}
	if f.LogContext != nil {
		kept.LogContext, _ = proto.Marshal(f.LogContext) // it was just read, so it can be written
	}
	s.apps[f.ID] = s.newApplication(f.ID, kept)
	return true
}

func (s *Set) newApplication(id records.ApplicationID, kept saved) *application {
	return &application{
		set: s, id: id, saved: kept, finishing: kept.Finishing, empty: make(chan struct{}),
		containers: make(map[records.ContainerID]Container),
	}
}

func (s *Set) app(id records.ApplicationID) *application {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apps[id]
}

// all returns the applications by id.
func (s *Set) all() []*application {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*application, 0, len(s.apps))
	for _, a := range s.apps {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *application) int { return a.id.Compare(b.id) })
	return out
}

// Save returns when an application is on disk.
func (s *Set) Save(id records.ApplicationID) error {
	a := s.app(id)
	if a == nil {
		return unknown(id)
	}
	return <-a.save()
}

func unknown(id records.ApplicationID) error {
	return fmt.Errorf("application %s is not on this node", id)
}

// save keeps what is known of the application. It doesn't wait for the disk; what it returns gets the outcome.
func (a *application) save() <-chan error {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := a.saved
	kept.Finishing = a.finishing
	b, err := json.Marshal(kept)
	if err != nil {
		done := make(chan error, 1)
		done <- fmt.Errorf("application %s: %w", a.id, err)
		return done
	}
	return a.set.Records.Begin(a.id.String(), b)
}

func (a *application) become(s State) {
	a.mu.Lock()
	was := a.state
	a.state = s
	a.mu.Unlock()
	if was != s {
		a.transitioned(was, s)
	}
}

func (a *application) transitioned(from, to State) {
	a.set.Log.WithField("app", a.id.String()).Infof("Application %s transitioned from %s to %s", a.id, from, to)
}

// info returns a copy of what is known.
func (a *application) info() Info {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := Info{
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

// Ready returns when an application's folders are there and its services know of it. What has failed once is tried
// again for the next container: a disk that was full or away must not keep the node from an application for good.
func (s *Set) Ready(ctx context.Context, id records.ApplicationID) error {
	a := s.app(id)
	if a == nil {
		return unknown(id)
	}
	return a.ready(ctx)
}

func (a *application) ready(ctx context.Context) error {
	a.mu.Lock()
	now := a.initiated
	if now == nil {
		now = &attempt{done: make(chan struct{})}
		a.initiated = now
		a.set.Go(func() { a.initiate(now) })
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
	a.follow(Initing, New)
	now.err = a.init()
	a.mu.Lock()
	if now.err != nil || !a.logged {
		a.initiated = nil
	}
	a.mu.Unlock()
	if now.err == nil {
		a.follow(Running, Initing)
	}
}

// follow makes the state to if it is from: the application may have been ended meanwhile.
func (a *application) follow(to, from State) {
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
		err := a.set.Logs.StartApplication(a.info())
		if err != nil {
			// As in Hadoop: an application without its logs is better than none.
			a.set.Log.WithField("app", a.id.String()).WithError(err).Error("There will be no logs for the application, unless that works for its next container")
		}
		a.mu.Lock()
		a.logged = err == nil
		a.mu.Unlock()
	}
	_, err := a.set.Folders.InitApplication(a.saved.User, a.id)
	return err
}

// Add makes a container one of its application's. It returns false when that is over.
func (s *Set) Add(c Container) bool {
	a := s.app(c.ID().Attempt.App)
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.containers[c.ID()] = c
	return !a.finishing
}

// Remove takes note that a container has ended.
func (s *Set) Remove(id records.ContainerID) {
	a := s.app(id.Attempt.App)
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.containers, id)
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

// All returns the applications that are on this node, by id.
func (s *Set) All() []Info {
	var out []Info
	for _, a := range s.all() {
		out = append(out, a.info())
	}
	return out
}

// Get returns an application that is on this node; found is false when it is not, or not any more.
func (s *Set) Get(id records.ApplicationID) (app Info, found bool) {
	a := s.app(id)
	if a == nil {
		return Info{}, false
	}
	return a.info(), true
}

// Len returns how many applications there are.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.apps)
}

// Finish ends an application on this node: containers that are left are killed, its logs are dealt with, its
// folders deleted. That goes on in the background. An application that is not here is no error.
func (s *Set) Finish(id records.ApplicationID, why string) {
	a := s.app(id)
	if a == nil {
		return
	}
	a.mu.Lock()
	already := a.finishing
	a.finishing = true
	var left []Container
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
			s.Log.WithField("app", id.String()).WithError(err).Error("Could not note down that the application is over")
		}
	}()
	for _, c := range left {
		c.Kill(records.ExitKilledAfterAppCompletion, "Container killed on application-finish event: "+why+"\n")
	}
	s.Go(func() { a.finish(s.ctx) }) // if the node is being closed, the next life goes on with it
}

// finish cleans up after an application.
func (a *application) finish(ctx context.Context) {
	log := a.set.Log.WithField("app", a.id.String())
	a.become(FinishingContainersWait)
	select {
	case <-a.empty:
	case <-ctx.Done():
		return
	}
	a.become(ResourcesCleaningUp)
	a.set.Services.StopApplication(a.id)
	a.removeFolders(ctx)
	if err := a.set.Private(a.id); err != nil {
		log.WithError(err).Warn("Could not have the application's files deleted")
	}
	a.become(Finished)
	if err := a.set.Logs.FinishApplication(ctx, a.id); err != nil {
		if errors.Is(err, ctx.Err()) {
			return
		}
		log.WithError(err).Warn("The application's logs could not be dealt with")
	}
	if err := a.set.Records.Delete(a.id.String()); err != nil {
		log.WithError(err).Warn("Could not forget the application")
	}
	a.set.mu.Lock()
	delete(a.set.apps, a.id)
	a.set.mu.Unlock()
	a.set.Gone(a.id)
}

// removeFolders deletes the application's folders, after the delay that deletions have.
func (a *application) removeFolders(ctx context.Context) {
	remove := func() {
		if err := a.set.Folders.EndApplication(a.saved.User, a.id); err != nil {
			a.set.Log.WithField("app", a.id.String()).WithError(err).Warn("Could not remove all of the application's files")
		}
	}
	delay := a.set.DeleteDelay
	switch {
	case delay < 0:
	case delay == 0:
		remove()
	default:
		a.set.Go(func() {
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
