package timelineservice

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/conf/ssl"
	"heddle/conf/timeline"
	"heddle/yarn/kerberos/negotiate"
)

const (
	prefix     = timeline.Prefix
	enabledKey = timeline.EnabledKey
)

// Settings say to which server a ResourceManager publishes, and what.
type Settings struct {
	v1, v2   bool
	endpoint string // of the server of version 1, which takes entities
	pages    string // the server's pages of applications, without the id; "": it has none
	all      bool   // publish the containers of tasks, too, and not only those of ApplicationMasters
	granted  bool   // publish containers to version 2, too, to which nodes publish them
	secure   bool   // the server asks for tickets
	trust    *ssl.Trust
}

// Of reads the settings; nil if nothing is published.
func Of(c *conf.Config) (*Settings, error) {
	v1, v2 := timeline.Versions(c)
	v1 = v1 && !ownPages(c)
	if !c.Bool("yarn.system-metrics-publisher.enabled") || !v1 && !v2 {
		return nil, nil
	}
	s := &Settings{v1: v1, v2: v2, granted: c.Bool("yarn.rm.system-metrics-publisher.emit-container-events")}
	if !v1 {
		return s, nil
	}
	return s, s.server(c)
}

// server reads where the server of version 1 is.
func (s *Settings) server(c *conf.Config) (err error) {
	key := conf.WebKey(c, prefix)
	a := c.Address(key)
	if a.Host == "" {
		return conf.ErrorAt(c, key, fmt.Errorf("it names no timeline server: set it to its host and port, or %s to false", enabledKey))
	}
	const tasksKey = prefix + "generic-application-history.save-non-am-container-meta-info"
	s.all = !c.IsSet(tasksKey) || c.Bool(tasksKey)
	s.secure = c.Text("hadoop.security.authentication") == "kerberos"
	base := ssl.Scheme(c) + "://" + c.Connectable(a).String()
	s.endpoint = base + "/ws/v1/timeline/"
	if c.Bool(prefix + "generic-application-history.enabled") {
		s.pages = base + "/applicationhistory/app/"
	}
	s.trust, err = ssl.Client(c)
	return err
}

// ownPages reports whether the server of version 1 is a ResourceManager of the cluster, which tells of ended applications by itself and stores nothing.
func ownPages(c *conf.Config) bool {
	masters, err := c.RMAddresses(conf.WebKey(c, "yarn.resourcemanager."))
	return err == nil && slices.Contains(masters, c.Address(conf.WebKey(c, prefix)))
}

// Problems says what keeps a ResourceManager from publishing to the timeline service that a configuration names.
func Problems(c *conf.Config) []conf.Problem {
	warn := func(err error) []conf.Problem { return []conf.Problem{conf.AtKey(c, conf.Warning, enabledKey, err)} }
	switch v1, v2 := timeline.Versions(c); {
	case v1 && ownPages(c):
		return warn(fmt.Errorf("a ResourceManager tells of ended applications, but takes no entities: "+
			"set it to false, and %sgeneric-application-history.enabled to true", prefix))
	case v2:
		if err := javaservices.Collecting(c, environ.Of(c.Dir(), os.LookupEnv)); err != nil {
			return warn(fmt.Errorf("the ResourceManager doesn't publish to timeline version 2: %w", err))
		}
	case c.Bool(enabledKey) && !v1:
		return warn(errors.New("the timeline service has the versions 1.0, 1.5 and 2.0; applications run without one of another version"))
	}
	return nil
}

// containers reports whether containers of tasks are published.
func (s *Settings) containers() bool { return s.v1 && s.all || s.v2 && s.granted }

// callLimit is how long the server may take for a call.
const callLimit = 30 * time.Second

// client returns what calls the server, as a user whom it believes or whose tickets prove it.
func (s *Settings) client(user string, tickets func() (negotiate.Tickets, error)) (client *http.Client, post string) {
	transport := s.trust.Transport()
	transport.MaxIdleConnsPerHost = 1
	if s.secure {
		return &http.Client{Timeout: callLimit, Transport: &negotiate.Transport{Next: transport, Tickets: tickets}}, s.endpoint
	}
	return &http.Client{Timeout: callLimit, Transport: transport}, s.endpoint + "?user.name=" + url.QueryEscape(user)
}
