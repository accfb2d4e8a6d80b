package timelineservice

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/yarn/kerberos/negotiate"
)

// Keys of the timeline service.
const (
	prefix     = "yarn.timeline-service."
	enabledKey = prefix + "enabled"
)

// Settings say to which server a ResourceManager publishes, and what.
type Settings struct {
	endpoint string // it takes entities
	pages    string // the server's pages of applications, without the id; "": it has none
	all      bool   // publish the containers of tasks, too, and not only those of ApplicationMasters
	secure   bool   // the server asks for tickets
	trust    *ssl.Trust
}

// Of reads the settings; nil if nothing is published.
func Of(c *conf.Config) (*Settings, error) {
	if !c.Bool(enabledKey) || !c.Bool("yarn.system-metrics-publisher.enabled") || !speaksV1(c) {
		return nil, nil
	}
	key := conf.WebKey(c, prefix)
	a := c.Address(key)
	if a.Host == "" {
		return nil, conf.ErrorAt(c, key, fmt.Errorf("it names no timeline server: set it to its host and port, or %s to false", enabledKey))
	}
	const tasksKey = prefix + "generic-application-history.save-non-am-container-meta-info"
	s := &Settings{
		all:    !c.IsSet(tasksKey) || c.Bool(tasksKey),
		secure: c.Text("hadoop.security.authentication") == "kerberos",
	}
	base := ssl.Scheme(c) + "://" + c.Connectable(a).String()
	s.endpoint = base + "/ws/v1/timeline/"
	if c.Bool(prefix + "generic-application-history.enabled") {
		s.pages = base + "/applicationhistory/app/"
	}
	var err error
	if s.trust, err = ssl.Client(c); err != nil {
		return nil, err
	}
	return s, nil
}

// Problems says if a configuration names timeline servers to which nothing is published.
func Problems(c *conf.Config) []conf.Problem {
	if !c.Bool(enabledKey) || speaksV1(c) {
		return nil
	}
	return []conf.Problem{conf.AtKey(c, conf.Warning, enabledKey, errors.New("the ResourceManager publishes to timeline servers of version 1.0 and 1.5 only; "+
		"applications run without one of another version"))}
}

// speaksV1 reports whether the configuration names a timeline server of version 1 or 1.5.
func speaksV1(c *conf.Config) bool {
	versions := c.Strings(prefix + "versions")
	if len(versions) == 0 {
		versions = []string{c.Text(prefix + "version")}
	}
	for _, v := range versions {
		if n, err := strconv.ParseFloat(strings.TrimRight(v, "fFdD"), 32); err == nil && n >= 1 && n < 2 {
			return true
		}
	}
	return false
}

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
