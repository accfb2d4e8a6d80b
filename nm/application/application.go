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

// Info describes an application on this node.
type Info struct {
	ID         records.ApplicationID
	User       string
	ACLs       map[pb.ApplicationAccessType]string
	Tokens     []byte // credentials of its first container here, for acting in its name
	LogContext *pb.LogAggregationContext
	State      State
	Containers []records.ContainerID // containers that have not ended
}

// First describes an application, as its first container does.
type First struct {
	ID         records.ApplicationID
	User       string
	Launch     *pb.ContainerLaunchContext
	LogContext *pb.LogAggregationContext // nil: the defaults
}

// Container is a container of an application.
type Container interface {
	ID() records.ContainerID
	Kill(exitCode int, why string)
}

// Folders makes and removes the folders in which an application's files are localized (nm/localizer).
type Folders interface {
	InitApplication(user string, app records.ApplicationID) ([]string, error)
	EndApplication(user string, app records.ApplicationID) error
}

// Logs handles the logs that applications leave.
type Logs interface {
	StartApplication(app Info) error
	// FinishApplication returns when the logs of an application need no more work, or when ctx ends. Call it when all
	// of its containers have ended.
	FinishApplication(ctx context.Context, app records.ApplicationID) error
}

// Services run beside containers, for instance the shuffle.
type Services interface {
	StopApplication(app records.ApplicationID)
}

// Records stores applications by their ids (nm/store).
type Records interface {
	Begin(key string, value []byte) <-chan error
	Delete(key string) error
	ForEach(prefix string, f func(key string, value []byte) error) error
}

// Options configure a Set. All fields must be set.
type Options struct {
	Folders     Folders
	Logs        Logs
	Services    Services
	Records     Records
	DeleteDelay time.Duration // yarn.nodemanager.delete.debug-delay-sec; negative: never delete

	// Private removes the files of an application that only the NodeManager may see.
	Private func(app records.ApplicationID) error
	// Gone is called, without a lock, when an application has left this node.
	Gone func(app records.ApplicationID)
	// Go runs a function in the background, unless the node is closing.
	Go func(f func())

	Log *logrus.Entry
}

// Set holds a node's applications. It is safe for concurrent use.
type Set struct {
	Options
	ctx context.Context

	mu   sync.Mutex
	apps map[records.ApplicationID]*application
}

// NewSet returns an empty set. It works until ctx ends.
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

// application is an application in a Set.
type application struct {
	set *Set
	id  records.ApplicationID

	mu         sync.Mutex
	initiated  *attempt // the attempt under way, or the successful one
	logged     bool     // Logs handles its logs
	state      State
	finishing  bool
	saved      saved
	containers map[records.ContainerID]Container // containers that have not ended
	empty      chan struct{}                     // closed when finishing and without containers
}

// Open adds a container's application to the set. fresh says that it was new; then call Save.
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
		kept.LogContext, _ = proto.Marshal(f.LogContext) // encoding can't fail for a decoded message
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

// all returns the applications sorted by id.
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

// save stores the application. It doesn't wait for the disk; the channel gets the outcome.
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
	a.set.Log.WithField("application", a.id.String()).Infof("Application %s transitioned from %s to %s", a.id, from, to)
}

// info returns a copy of the application's description.
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

// attempt is an attempt to initialize an application.
type attempt struct {
	done chan struct{} // closed when it has ended
	err  error         // valid once done is closed
}

// Ready returns when an application's folders exist and its services know it. After a failure the next container tries
// again, because a disk that was full or absent must not exclude an application from the node for good.
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

// follow changes the state from one to another, unless it has changed already: the application may have been ended.
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
			// As in Hadoop, an application without logs is better than none.
			a.set.Log.WithField("application", a.id.String()).WithError(err).Error("the application will have no logs, unless this succeeds for its next container")
		}
		a.mu.Lock()
		a.logged = err == nil
		a.mu.Unlock()
	}
	_, err := a.set.Folders.InitApplication(a.saved.User, a.id)
	return err
}

// Add adds a container to its application. It returns false if the application is over.
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

// Remove records that a container has ended.
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

// checkEmpty wakes finish. The caller has the lock.
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

// All returns the applications on this node, sorted by id.
func (s *Set) All() []Info {
	var out []Info
	for _, a := range s.all() {
		out = append(out, a.info())
	}
	return out
}

// Get returns an application. found is false if it isn't, or is no longer, on this node.
func (s *Set) Get(id records.ApplicationID) (app Info, found bool) {
	a := s.app(id)
	if a == nil {
		return Info{}, false
	}
	return a.info(), true
}

// Len returns the number of applications.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.apps)
}

// Finish ends an application on this node: it kills remaining containers, has the logs handled, and deletes the
// folders. That continues in the background. Finish does nothing for an unknown application.
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
	saved := a.save() // the application ends anyway, and Finish must not wait for a disk
	go func() {
		if err := <-saved; err != nil {
			s.Log.WithField("application", id.String()).WithError(err).Error("could not record that the application is over")
		}
	}()
	for _, c := range left {
		c.Kill(records.ExitKilledAfterAppCompletion, "Container killed on application-finish event: "+why+"\n")
	}
	s.Go(func() { a.finish(s.ctx) }) // if the node is closing, its next process continues
}

// finish cleans up after an application.
func (a *application) finish(ctx context.Context) {
	log := a.set.Log.WithField("application", a.id.String())
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
		log.WithError(err).Warn("could not delete the application's files")
	}
	a.become(Finished)
	if err := a.set.Logs.FinishApplication(ctx, a.id); err != nil {
		if errors.Is(err, ctx.Err()) {
			return
		}
		log.WithError(err).Warn("could not handle the application's logs")
	}
	if err := a.set.Records.Delete(a.id.String()); err != nil {
		log.WithError(err).Warn("could not remove the application's record")
	}
	a.set.mu.Lock()
	delete(a.set.apps, a.id)
	a.set.mu.Unlock()
	a.set.Gone(a.id)
}

// removeFolders deletes the application's folders after the delay of deletions.
func (a *application) removeFolders(ctx context.Context) {
	remove := func() {
		if err := a.set.Folders.EndApplication(a.saved.User, a.id); err != nil {
			a.set.Log.WithField("application", a.id.String()).WithError(err).Warn("could not remove all of the application's files")
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
			case <-ctx.Done(): // Recover finds what remains
			}
		})
	}
}
