package nm

import (
	"context"
	"errors"
	"net"
	"strconv"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/nm/container"
	"heddle/nm/disks"
	"heddle/nm/heartbeat"
	"heddle/nm/shuffle"
	"heddle/nm/store"
	"heddle/yarn/records"
)

// auxServices are the services of yarn.nodemanager.aux-services, by name.
type auxServices struct {
	log      *logrus.Entry
	lacks    func(name string) string // conf.Config.LacksAuxService
	services map[string]*shuffle.Service
}

var _ container.AuxServices = (*auxServices)(nil)

// newAux makes the configured services. Those that Heddle doesn't have are left out with a warning, so that all else of a
// Hadoop's configuration works; a container that needs one is refused, and its application told why.
func newAux(c *conf.Config, d *disks.Disks, s *settings, state *store.Store, log *logrus.Entry) (*auxServices, error) {
	a := &auxServices{log: log, lacks: c.LacksAuxService, services: make(map[string]*shuffle.Service)}
	for _, name := range c.Strings("yarn.nodemanager.aux-services") {
		if why := c.LacksAuxService(name); why != "" {
			log.Warnf("auxiliary service %s is left out: %s", name, why)
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
		service, err := shuffle.New(cfg)
		if err != nil {
			return nil, err
		}
		a.services[name] = service
	}
	return a, nil
}

// start recovers the applications that are served and listens. It returns those applications.
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
	return apps, nil
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
}

// Metadata returns what containers and their AMs get to know of each service.
func (a *auxServices) Metadata() map[string][]byte {
	out := make(map[string][]byte)
	for name, s := range a.services {
		out[name] = s.Metadata()
	}
	return out
}

// Lacks says why there isn't a service that one could expect; "" if there is nothing to say.
func (a *auxServices) Lacks(name string) string { return a.lacks(name) }

// StartApplication hands a service what an application has for it.
func (a *auxServices) StartApplication(service string, app records.ApplicationID, user string, data []byte) {
	s := a.services[service]
	err := errors.New("there is no such service")
	if s != nil {
		err = s.InitApplication(user, app, data)
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
}
