package auxservices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/javahost"
	"heddle/nm/shuffle"
	"heddle/yarn/records"
)

// Options configure Services. All must be set.
type Options struct {
	Conf *conf.Config
	// Configured are the Java services of yarn.nodemanager.aux-services; none counts with a manifest.
	Configured []javahost.Service
	// Shuffle returns how the shuffle is configured by c.
	Shuffle func(c *conf.Config) (shuffle.Config, error)
	// Java returns a host that has not started yet.
	Java     func(first []javahost.Service) (*javahost.Host, error)
	Files    *hdfsadapter.FS        // has the manifest
	MayOwn   func(user string) bool // the manifest
	Register prometheus.Registerer
	Log      *logrus.Entry
}

// Services are a node's auxiliary services. They are safe for concurrent use.
type Services struct {
	o        Options
	log      *logrus.Entry
	manifest *manifest // nil: services are configured, and stay

	changing sync.Mutex // held while services come and go

	mu      sync.Mutex
	own     map[string]*shuffle.Service
	java    *javahost.Host // nil: no service is a Java class
	records map[string]loaded
	here    func(records.ApplicationID) bool // nil until Recovered
	over    bool                             // Stop has been called
	totals  lineage

	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// loaded is a service that runs, or would if there were a JVM.
type loaded struct {
	Record
	java  bool
	since time.Time
}

var (
	_ container.AuxServices = (*Services)(nil)
	_ javaHost              = (*javahost.Host)(nil)
)

// javaHost has the calls of containers and applications to the JVM.
type javaHost interface {
	StartContainer(allocation.Grant)
	StopContainer(allocation.Grant)
	StopApplication(records.ApplicationID)
}

// New returns the services that the configuration or its manifest names. They don't run yet.
func New(ctx context.Context, o Options) (*Services, error) {
	s := &Services{o: o, log: o.Log, own: map[string]*shuffle.Service{}, records: map[string]loaded{}, stop: func() {}}
	first, java := s.configured(), o.Configured
	if Enabled(o.Conf) {
		var err error
		if first, java, err = s.firstOfManifest(ctx); err != nil {
			return nil, err
		}
	}
	for _, r := range first {
		if err := s.makeShuffle(r); err != nil {
			return nil, err
		}
	}
	for _, j := range java {
		if _, known := s.records[j.Name]; !known {
			s.records[j.Name] = loaded{Record: Record{Name: j.Name}, java: true}
		}
	}
	if len(java) == 0 {
		return s, nil
	}
	var err error
	s.java, err = o.Java(java)
	return s, err
}

// configured returns the services of the configuration that need no Java.
func (s *Services) configured() (list []Record) {
	for _, name := range s.o.Conf.Strings("yarn.nodemanager.aux-services") {
		switch {
		case !conf.OwnAuxService(s.o.Conf, name):
		case len(list) > 0:
			s.log.Warnf("auxiliary service %s is left out: one shuffle is enough", name)
		default:
			list = append(list, Record{Name: name})
		}
	}
	return list
}

// makeShuffle makes a shuffle that doesn't listen yet.
func (s *Services) makeShuffle(r Record) error {
	if len(s.own) > 0 {
		return fmt.Errorf("auxiliary service %s: a node has one %s only: take the other one out", r.Name, shuffleClass)
	}
	cfg, err := s.o.Shuffle(s.o.Conf.WithValues("the manifest of auxiliary services", r.Properties))
	if err != nil {
		return err
	}
	own, err := shuffle.New(cfg)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errOver
	}
	for _, m := range own.Collectors() {
		if err := s.o.Register.Register(m); err != nil {
			return err
		}
	}
	s.own[r.Name], s.records[r.Name] = own, loaded{Record: r, since: time.Now()}
	return nil
}

// Start recovers the applications that are served and listens. It returns those applications. As in Hadoop, a service that can't start keeps
// the node from starting.
func (s *Services) Start() ([]records.ApplicationID, error) {
	var apps []records.ApplicationID
	for _, own := range s.own {
		served, err := startShuffle(own)
		if err != nil {
			return nil, err
		}
		apps = append(apps, served...)
	}
	if s.java != nil {
		if err := s.java.Start(); err != nil {
			return apps, err
		}
	}
	for name, r := range s.records {
		r.since = time.Now()
		s.records[name] = r
	}
	s.watch()
	return apps, nil
}

// startShuffle has a shuffle serve the applications of its last life, which it returns, and listen.
func startShuffle(own *shuffle.Service) ([]records.ApplicationID, error) {
	served, err := own.Recover()
	if err != nil {
		return nil, err
	}
	if err := own.Start(); err != nil {
		return nil, err
	}
	for _, app := range served {
		own.ContainerEnded(app) // before this life
	}
	return served, nil
}

// Recovered ends the applications of the last life that aren't here any more.
func (s *Services) Recovered(served []records.ApplicationID, here func(records.ApplicationID) bool) {
	s.mu.Lock()
	s.here = here
	s.mu.Unlock()
	for _, app := range served {
		if !here(app) {
			s.StopApplication(app) // the last life ended before it could say so
		}
	}
	if java := s.Java(); java != nil {
		java.Recovered(here)
	}
}

// Stop ends all services.
func (s *Services) Stop(ctx context.Context) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.stop()
	for _, own := range s.shuffles() {
		own.Stop(ctx)
	}
	if java := s.Java(); java != nil {
		java.Close()
	}
	s.stopped.Wait()
}

var errOver = errors.New("the node ends")

// Java returns the host of services that are Java classes; nil: there have been none.
func (s *Services) Java() *javahost.Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.java
}

func (s *Services) shuffles() map[string]*shuffle.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.own)
}

// isJava reports whether a service is a Java class.
func (s *Services) isJava(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[name].java
}

// Metadata returns what containers and their AMs get to know of each service.
func (s *Services) Metadata() map[string][]byte {
	out := make(map[string][]byte)
	for name, own := range s.shuffles() {
		out[name] = own.Metadata()
	}
	if java := s.Java(); java != nil {
		maps.Copy(out, java.Metadata())
	}
	return out
}

// Lacks says why there isn't a service that one could expect; "" if there is nothing to say.
func (s *Services) Lacks(name string) string {
	if !s.isJava(name) {
		return s.o.Conf.LacksAuxService(name)
	}
	if is := s.Java().Status(); !is.Up {
		return "it has not started: " + is.Trouble
	}
	return "it has nothing for applications"
}

// told returns the host that is told of a container; nil: there is none.
func (s *Services) told(g allocation.Grant) javaHost {
	if java := s.Java(); java != nil && !allocation.IsOnLent(g.ID) {
		return java
	}
	return nil
}

// StartContainer tells services of a container.
func (s *Services) StartContainer(g allocation.Grant) {
	if to := s.told(g); to != nil {
		to.StartContainer(g)
	}
}

// StopContainer tells services that a container has ended.
func (s *Services) StopContainer(g allocation.Grant) {
	if to := s.told(g); to != nil {
		to.StopContainer(g)
	}
}

// startPatience is how long a container waits until a service knows its application.
const startPatience = 10 * time.Second

// StartApplication hands a service what an application has for it.
func (s *Services) StartApplication(ctx context.Context, service string, app records.ApplicationID, user string, data []byte) {
	err := errors.New("there is no such service")
	if own := s.shuffles()[service]; own != nil {
		err = own.InitApplication(user, app, data)
	} else if s.isJava(service) {
		ctx, cancel := context.WithTimeout(ctx, startPatience)
		defer cancel()
		err = s.Java().StartApplication(ctx, service, app, user, data)
	}
	if err != nil {
		// As in Hadoop the container starts nevertheless: it may not need the service.
		s.log.WithError(err).WithField("application", app.String()).Errorf("auxiliary service %s can't serve the application", service)
	}
}

// StopApplication tells all services that an application is over.
func (s *Services) StopApplication(app records.ApplicationID) {
	for name, own := range s.shuffles() {
		if err := own.StopApplication(app); err != nil {
			s.log.WithError(err).WithField("application", app.String()).Warnf("auxiliary service %s could not forget the application", name)
		}
	}
	if java := s.Java(); java != nil {
		java.StopApplication(app)
	}
}

// Trouble says that services are down, for the node's health report; "" if they aren't.
func (s *Services) Trouble() string {
	java := s.Java()
	if java == nil {
		return ""
	}
	is := java.Status()
	if is.Up {
		return ""
	}
	return fmt.Sprintf("The JVM of the auxiliary services is down and starts again: %s", is.Trouble)
}
