package nm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/disks"
	"heddle/nm/heartbeat"
	"heddle/nm/javahost"
	"heddle/nm/shuffle"
	"heddle/nm/store"
	"heddle/yarn/records"
)

// auxServices are the services of yarn.nodemanager.aux-services, by name.
type auxServices struct {
	log      *logrus.Entry
	lacks    func(name string) string // conf.Config.LacksAuxService
	services map[string]*shuffle.Service
	java     *javahost.Host // nil: no service is a Java class
	javas    map[string]bool
}

var _ container.AuxServices = (*auxServices)(nil)

// newAux makes the configured services that need no Java.
func newAux(c *conf.Config, d *disks.Disks, s *settings, state *store.Store, log *logrus.Entry) (*auxServices, error) {
	a := &auxServices{log: log, lacks: c.LacksAuxService, services: make(map[string]*shuffle.Service), javas: make(map[string]bool)}
	for _, left := range s.java.Left {
		log.Warnf("auxiliary service left out: %s", left)
	}
	for _, name := range c.Strings("yarn.nodemanager.aux-services") {
		if !conf.OwnAuxService(c, name) {
			continue
		}
		if len(a.services) > 0 {
			log.Warnf("auxiliary service %s is left out: one shuffle is enough", name)
			continue
		}
		cfg := shuffle.Config{
			Addr: net.JoinHostPort(s.listen.Host, strconv.Itoa(c.Int("mapreduce.shuffle.port"))),
			Dirs: d.Local, Store: state.Bucket("shuffle"), Log: log, UID: uids(s.container.Owner),
			MaxConnections: c.Int("mapreduce.shuffle.max.connections"),
			MaxOpenFiles:   c.Int("mapreduce.shuffle.max.session-open-files"),
			KeepAlive:      c.Bool("mapreduce.shuffle.connection-keep-alive.enable"),
			KeepAliveFor:   c.Duration("mapreduce.shuffle.connection-keep-alive.timeout"),
		}
		var err error
		if cfg.TLS, err = ssl.Shuffle(c, log); err != nil {
			return nil, err
		}
		service, err := shuffle.New(cfg)
		if err != nil {
			return nil, err
		}
		a.services[name] = service
	}
	return a, nil
}

// start recovers the applications that are served and listens. It returns those applications. As in Hadoop, a service that can't start keeps
// the node from starting.
func (a *auxServices) start() ([]records.ApplicationID, error) {
	var apps []records.ApplicationID
	for _, s := range a.services {
		served, err := s.Recover()
		if err != nil {
			return nil, err
		}
		apps = append(apps, served...)
		if err := s.Start(); err != nil {
			return nil, err
		}
		for _, app := range served {
			s.ContainerEnded(app) // before this life
		}
	}
	if a.java != nil {
		return apps, a.java.Start()
	}
	return apps, nil
}

// recovered ends the applications of the last life that aren't here any more.
func (a *auxServices) recovered(served []records.ApplicationID, here func(records.ApplicationID) bool) {
	for _, app := range served {
		if !here(app) {
			a.StopApplication(app) // the last life ended before it could say so
		}
	}
	if a.java != nil {
		a.java.Recovered(here)
	}
}

// outputs returns those of maps that the node serves; nil if it has no shuffle.
func (a *auxServices) outputs() heartbeat.Outputs {
	for _, s := range a.services {
		return s
	}
	return nil
}

func (a *auxServices) stop(ctx context.Context) {
	for _, s := range a.services {
		s.Stop(ctx)
	}
	if a.java != nil {
		a.java.Close()
	}
}

// Metadata returns what containers and their AMs get to know of each service.
func (a *auxServices) Metadata() map[string][]byte {
	out := make(map[string][]byte)
	for name, s := range a.services {
		out[name] = s.Metadata()
	}
	if a.java != nil {
		maps.Copy(out, a.java.Metadata())
	}
	return out
}

// Lacks says why there isn't a service that one could expect; "" if there is nothing to say.
func (a *auxServices) Lacks(name string) string {
	if a.javas[name] {
		if s := a.java.Status(); !s.Up {
			return "it has not started: " + s.Trouble
		}
		return "it has nothing for applications"
	}
	return a.lacks(name)
}

// StartContainer tells services of a container.
func (a *auxServices) StartContainer(g allocation.Grant) {
	if a.java != nil && !allocation.IsOnLent(g.ID) {
		a.java.StartContainer(g)
	}
}

// StopContainer tells services that a container has ended.
func (a *auxServices) StopContainer(g allocation.Grant) {
	if a.java != nil && !allocation.IsOnLent(g.ID) {
		a.java.StopContainer(g)
	}
}

// startPatience is how long a container waits until a service knows its application.
const startPatience = 10 * time.Second

// StartApplication hands a service what an application has for it.
func (a *auxServices) StartApplication(ctx context.Context, service string, app records.ApplicationID, user string, data []byte) {
	err := errors.New("there is no such service")
	if s := a.services[service]; s != nil {
		err = s.InitApplication(user, app, data)
	} else if a.javas[service] {
		ctx, cancel := context.WithTimeout(ctx, startPatience)
		defer cancel()
		err = a.java.StartApplication(ctx, service, app, user, data)
	}
	if err != nil {
		// As in Hadoop the container starts nevertheless: it may not need the service.
		a.log.WithError(err).WithField("application", app.String()).Errorf("auxiliary service %s can't serve the application", service)
	}
}

// StopApplication tells all services that an application is over.
func (a *auxServices) StopApplication(app records.ApplicationID) {
	for name, s := range a.services {
		if err := s.StopApplication(app); err != nil {
			a.log.WithError(err).WithField("application", app.String()).Warnf("auxiliary service %s could not forget the application", name)
		}
	}
	if a.java != nil {
		a.java.StopApplication(app)
	}
}

// trouble says that services are down, for the node's health report; "" if they aren't.
func (a *auxServices) trouble() string {
	if a.java == nil {
		return ""
	}
	s := a.java.Status()
	if s.Up {
		return ""
	}
	return fmt.Sprintf("The JVM of the auxiliary services is down and starts again: %s", s.Trouble)
}
